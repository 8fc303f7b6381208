"""Tables and models as they are named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import montechain as mc
from montechain._messages import by_name, nearest
from montechain.cli import output
from montechain.cli.options import Columns, Reading, parse_targets, split_names
from montechain.errors import DataError, ModelFileError

if TYPE_CHECKING:
    import pandas as pd


def read_training_table(source: str, columns: Columns, reading: Reading) -> mc.Dataset:
    """Return the data set of a file, its targets in the order in which they were named.

    A DataError says if there is no such file, or nothing can be learned from it.
    """
    targets = parse_targets(columns.targets)
    kinds: Any = {name: split_names(getattr(columns, name)) for name in ("drop", "text", "nominal", "numeric", "tags")}
    if columns.separator != ";" and not kinds["tags"]:
        raise ValueError(f"`--separator {columns.separator}` is for tags: name their columns, as in --tags genres.")
    if kinds["tags"]:
        if not isinstance(targets, list | None):
            raise ValueError(f"`--tags` needs the other targets by name, not `--targets {columns.targets}`.")
        targets = [*(targets or []), *kinds["tags"]]
    with output.progress("reading"):
        dataset = mc.read_dataset(source, targets=targets, **kinds, **reading.arguments())
    output.notes(dataset.notes)
    if isinstance(targets, list):
        classes = dict(zip(dataset.label_names, dataset.classes, strict=True))
        classes = {name: classes[name] for name in targets}  # each only once
        dataset = replace(dataset, Y=dataset.Y[list(classes)], classes=list(classes.values()))
    if len(dataset.Y) < 2:
        raise DataError("at least 2 rows with a known target are needed to learn from.", path=source)
    return dataset


def check_loss(loss: str | None, dataset: mc.Dataset) -> None:
    """Raise an error if there is no such loss, or if it cannot know which classes are relevant."""
    from montechain.losses import LOSSES, Loss

    by_name("loss", loss or "exact_match", Loss, LOSSES, "leave it out")
    for name, classes in zip(dataset.label_names, dataset.classes, strict=True):
        if loss in ("f1", "jaccard") and len(classes) > 2:
            raise ValueError(
                f"`--loss {loss}` takes targets with two classes, but {name!r} has {len(classes)}. In Python, "
                "F1(negative=[...]) names the class of each target that does not count."
            )


def with_tags_as_targets(dataset: mc.Dataset, columns: Columns) -> mc.Dataset:
    """Return a data set with a target, 0 or 1, for each tag."""
    from montechain._tags import expand_tags

    classes = dict(zip(dataset.label_names, dataset.classes, strict=True))
    Y, _ = expand_tags(dataset.Y, split_names(columns.tags), columns.separator)
    return replace(dataset, Y=Y, classes=[classes.get(name, [0, 1]) for name in Y])


@dataclass(frozen=True)
class Model:
    """A fitted classifier, the manifest of its file, and what `montechain fit`, if used, recorded about it."""

    classifier: Any
    manifest: dict[str, Any]
    about: dict[str, Any]

    def inputs_of(self, *kinds: str) -> list[str]:
        """Return the names of the inputs that the encoder takes for one of these kinds."""
        encoder = getattr(self.classifier, "encoder_", None)
        return [str(column.name) for column in getattr(encoder, "columns_", ()) if column.kind in kinds]

    @property
    def target_names(self) -> list[str]:
        """Names of the targets."""
        from montechain.estimators.checks import innermost
        from montechain.targets import named_labels

        names = getattr(innermost(self.classifier), "target_names_", None)
        return [str(name) for name in named_labels(names, len(self.classes))]

    @property
    def target_columns(self) -> list[str]:
        """The columns of a table that hold the targets; one with tags holds several."""
        return getattr(self.classifier, "_target_columns", self.target_names)

    @property
    def classes(self) -> list[Any]:
        """The classes of each target."""
        classes = self.classifier.classes_
        return classes if isinstance(classes, list) else [classes]

    @property
    def word_targets(self) -> list[str]:
        """Names of the targets whose classes are words."""
        pairs = zip(self.target_names, self.classes, strict=True)
        return [name for name, classes in pairs if all(isinstance(value, str) for value in classes.tolist())]

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, in their order; empty if unknown. Identifiers that `fit` left out are not needed."""
        names = getattr(self.classifier, "feature_names_in_", self.about.get("inputs", []))
        return [str(name) for name in names if name not in self.about.get("dropped", [])]


def open_model(path: Path) -> Model:
    """Return a model."""
    from montechain.persistence import describe

    try:
        with output.progress("loading"):
            classifier, manifest = mc.load(path), describe(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    about = manifest.get("about") or {}
    try:  # this part of a file is not trusted: could `montechain fit` have written it?
        lists = [about.get("inputs", []), about.get("dropped", []), *about.get("targets", {}).values()]
        is_sound = all(isinstance(own, list) and all(isinstance(text, str) for text in own) for own in lists)
    except AttributeError:
        is_sound = False
    if not is_sound:
        raise ModelFileError(f"{path}: its notes were not written by `montechain fit`, or were changed.")
    return Model(classifier, manifest, about)


def read_new_rows(
    file: str, model: Model, reading: Reading, *, given: bool, keep: Sequence[str]
) -> tuple[mc.Dataset, pd.DataFrame]:
    """Return the rows to predict, and the columns to copy into the result, the key first.

    Columns that are neither inputs nor needed otherwise are ignored: whatever they hold, the rows can be
    predicted. With `given`, the targets in the file become the labels of the data set; otherwise it has none. The key
    is the first column left out when the model was fitted that has a different value in every row; otherwise the row
    number. `keep` names other columns to copy.
    """
    import pandas as pd

    # Columns are typed as they were when the model was fitted: in this file, words might be nothing but digits.
    targets = model.target_columns if given else []
    kinds: Any = {"text": model.inputs_of("text"), "numeric": model.inputs_of("number")}
    kinds["nominal"] = [*model.inputs_of("nominal", "words"), *model.word_targets]
    kinds["tags"] = [name for name in getattr(model.classifier, "tags_", {}) if name in targets]
    typed = [*model.input_names, *targets] if model.input_names else None
    with output.progress("reading"):
        dataset = mc.read_dataset(file, targets=targets, partial=True, typed=typed, **kinds, **reading.arguments())
    output.notes(dataset.notes)
    X, Y, there = dataset.X, dataset.Y, dataset.feature_names
    numbers = [name for name in model.word_targets if name in Y and pd.api.types.is_numeric_dtype(Y[name])]
    Y = Y.assign(**{name: Y[name].astype("string").astype(object) for name in numbers})
    if given and not dataset.label_names:
        raise ValueError(f"`--given` has nothing to condition on: no target is filled in anywhere in {file}.")
    if not given and (ignored := [name for name in model.target_columns if name in there]):
        listed = ", ".join(ignored[:5]) + (", ..." if len(ignored) > 5 else "")
        output.note(f"note: the targets {listed} in {file} are ignored. Use --given to condition on them.")
    frame = pd.concat([X if isinstance(X, pd.DataFrame) else pd.DataFrame(index=range(len(Y))), Y], axis=1)
    for name in keep:
        if name not in frame:
            raise ValueError(f"`--keep {name}`: {file} has no such column{nearest(name, frame.columns) or '.'}")
    left_out = [name for name in model.about.get("dropped", []) if name in frame]
    key = next(([name] for name in left_out if frame[name].is_unique and not frame[name].hasnans), [])
    copied = frame[list(dict.fromkeys([*key, *keep]))].copy()
    if not key:
        copied.insert(0, "row", range(1, len(copied) + 1), allow_duplicates=True)
    inputs = model.input_names or [name for name in there if name not in model.target_columns]
    if missing := [name for name in inputs if name not in there]:
        close = nearest(missing[0], [name for name in there if name not in inputs])
        listed = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise DataError(f"these inputs are missing: {listed}{close or '.'}", path=file)
    X = X[inputs] if isinstance(X, pd.DataFrame) else X[:, [there.index(name) for name in inputs]]
    return replace(dataset, X=X, Y=Y, feature_names=inputs), copied
