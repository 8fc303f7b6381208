"""The inputs of a file as a model wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from montechain._files import check_input_path
from montechain._messages import nearest
from montechain.cli import output

if TYPE_CHECKING:
    import pandas as pd

    from montechain.cli.models import Model
    from montechain.datasets import Dataset

__all__ = ["open_inputs"]


def open_inputs(
    file: str, model: Model, *, given: bool, key: str | None, keep: Sequence[str], **reading: Any
) -> tuple[Dataset, pd.DataFrame]:
    """Return the rows of a file, and the columns to copy into the result, the key first.

    Columns that are neither inputs nor needed otherwise are not looked at: whatever they hold, the rows can be
    predicted.

    Parameters
    ----------
    file : str
    model : Model
    given : bool
        Whether the targets in the file become the labels of the data set. Otherwise it has none.
    key : str or None
        The column that identifies a row. None: the first column left out when the model was fitted that has a
        different value in every row; otherwise row numbers.
    keep : sequence of str
        Other columns to copy.
    **reading
        Passed on to the reader.
    """
    import pandas as pd

    targets = model.target_names if given else []
    with output.progress("reading"):
        dataset = _read(file, model, targets, reading)
    if given and not dataset.label_names:
        raise ValueError(f"`--given`, but no target is filled in anywhere in {file}.")
    there = [name for name in model.target_names if name in dataset.feature_names]
    if there and not given:
        listed = ", ".join(there[:5]) + (", ..." if len(there) > 5 else "")
        output.note(f"note: the targets {listed} in {file} are ignored; --given conditions on them.")
    identifier = _identifier(dataset, model) if key is None else key
    wanted = {name: "--key" if name == key else "--keep" for name in dict.fromkeys([identifier, *keep]) if name}
    columns = [_column(dataset, name, file, option) for name, option in wanted.items()]
    copied = pd.DataFrame(dict(enumerate(columns)), index=range(len(dataset.Y))).set_axis(list(wanted), axis=1)
    if identifier is None:
        copied.insert(0, "row", range(1, len(dataset.Y) + 1), allow_duplicates=True)
    dataset = _with_words(dataset, model)
    _note_strangers(dataset, model, file)
    inputs = model.input_names or [name for name in dataset.feature_names if name not in model.target_names]
    return replace(dataset, name=file).with_inputs(inputs), copied


def _identifier(dataset: Dataset, model: Model) -> str | None:
    """Return the first column left out at fit that tells the rows apart."""
    import pandas as pd

    if not isinstance(dataset.X, pd.DataFrame):
        return None
    candidates = [name for name in model.dropped if name in dataset.X]
    return next((name for name in candidates if dataset.X[name].is_unique and not dataset.X[name].hasnans), None)


def _read(file: str, model: Model, targets: list[str], reading: dict[str, Any]) -> Dataset:
    from montechain.datasets import read_dataset
    from montechain.datasets.files import find_format
    from montechain.datasets.sparse_text import dataset_from_libsvm

    if not file.startswith("openml:"):
        check_input_path(file)
    if not file.startswith("openml:") and find_format(file, reading.get("format")) == "libsvm":
        # Such a file does not say how many inputs there are, nor whether they are counted from 0: the model does.
        counted_from_0 = model.input_names[:1] == ["feature_0"]
        return dataset_from_libsvm(
            file, targets=targets, zero_based=counted_from_0, n_features=len(model.input_names) or None,
            encoding=reading["encoding"], partial=True,
        )  # fmt: skip
    # What was words when the model was fitted is words, even where this file holds nothing but digits.
    kinds: dict[str, Any] = {"text": model.text, "nominal": [*model.nominal, *model.targets_of_words]}
    typed = [*model.input_names, *targets] if model.input_names else None
    return read_dataset(file, targets=targets, partial=True, typed=typed, **kinds, **reading)


def _with_words(dataset: Dataset, model: Model) -> Dataset:
    """Return the labels whose classes are words as words, even where this file has only such as look like numbers."""
    import pandas as pd

    Y = dataset.Y.copy()
    for name in model.targets_of_words:
        if name in Y and pd.api.types.is_numeric_dtype(Y[name]):
            Y[name] = Y[name].astype("string").astype(object)
    return replace(dataset, Y=Y)


def _note_strangers(dataset: Dataset, model: Model, file: str) -> None:
    """Say which columns of words hold nothing that the model has met: they tell it nothing."""
    for column in getattr(getattr(model.classifier, "encoder_", None), "columns_", ()):
        if column.kind == "nominal" and column.categories and column.name in dataset.feature_names:
            cells = dataset.X[column.name].dropna().astype(str)
            if len(cells) and not cells.isin(column.categories).any():
                few = ", ".join(map(repr, cells.unique()[:3]))
                output.note(f"note: nothing in {column.name!r} of {file} ({few}) was there when the model learned.")


def _column(dataset: Dataset, name: str, file: str, option: str) -> Any:
    import pandas as pd

    if name in dataset.label_names:
        return dataset.Y[name].to_numpy()
    if not isinstance(dataset.X, pd.DataFrame) or name not in dataset.X:
        raise ValueError(f"`{option} {name}`: {file} has no such column{nearest(name, dataset.feature_names) or '.'}")
    column = dataset.X[name]
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")  # whole numbers with gaps: 7, not 7.0
    return column.array
