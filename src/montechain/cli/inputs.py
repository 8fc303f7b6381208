"""The inputs of a file as a model wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from montechain._messages import nearest

if TYPE_CHECKING:
    import pandas as pd

    from montechain.datasets import Dataset

__all__ = ["open_inputs"]


def open_inputs(
    file: str, classifier: Any, about: dict[str, Any], *, keep: list[str], **reading: Any
) -> tuple[Dataset, pd.DataFrame]:
    """Return the rows of a file, with those targets that it has as labels, and the columns to copy.

    Parameters
    ----------
    file : str
    classifier : fitted classifier
    about : dict
        What was recorded when it was fitted; empty for a model that was not made on the command line.
    keep : list of str
        Columns of the file that are wanted as they are.
    **reading
        Passed on to the reader.
    """
    import pandas as pd

    from montechain.datasets import read_dataset
    from montechain.datasets.formats import find_format
    from montechain.datasets.libsvm import dataset_from_libsvm

    targets = [str(name) for name in getattr(classifier, "target_names_", [])]
    wanted = about.get("inputs", [])
    if not file.startswith("openml:") and find_format(file, reading.get("format")) == "libsvm":
        # Such a file does not say how many inputs there are, nor whether they are counted from 0: the model does.
        dataset = dataset_from_libsvm(
            file, targets=targets, zero_based=wanted[:1] == ["feature_0"], n_features=len(wanted) or None, partial=True
        )
    else:
        kinds = {kind: about.get(kind, []) for kind in ("text", "nominal")}
        dataset = read_dataset(file, targets=targets, partial=True, **kinds, **reading)
    kept = pd.DataFrame(index=range(len(dataset.Y)))
    for name in keep:
        if name in dataset.label_names:
            kept[name] = dataset.Y[name].to_numpy()
        elif isinstance(dataset.X, pd.DataFrame) and name in dataset.X:
            kept[name] = dataset.X[name].to_numpy()
        else:
            raise ValueError(f"`--keep {name}`: {file} has no such column{nearest(name, dataset.feature_names) or '.'}")
    return dataset.with_inputs(wanted) if wanted else dataset, kept
