"""Models as they are named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import montechain as mc
from montechain._files import similar_file
from montechain.cli import output
from montechain.errors import ModelFileError

__all__ = ["Model", "open_model"]


@dataclass(frozen=True)
class Model:
    """A fitted classifier, and what its file says about it.

    Attributes
    ----------
    classifier : fitted classifier
    manifest : dict
        What `montechain.persistence.describe` returns. Its ``about`` is empty for a model that was saved in Python.
    """

    classifier: Any
    manifest: dict[str, Any]

    @property
    def about(self) -> dict[str, Any]:
        """What `montechain fit` recorded."""
        return self.manifest.get("about") or {}

    def recorded(self, key: str) -> list[str]:
        """Return one of the lists of columns that `montechain fit` recorded."""
        return self.about.get(key, [])

    @property
    def target_names(self) -> list[str]:
        """Names of the targets."""
        from montechain.estimators.checks import innermost
        from montechain.targets import named_labels

        names = getattr(innermost(self.classifier), "target_names_", None)
        return [str(name) for name in named_labels(names, len(self.classes))]

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
        names = getattr(self.classifier, "feature_names_in_", None)
        if names is None:
            return self.recorded("inputs")
        return [str(name) for name in names if name not in self.recorded("dropped")]


def open_model(path: Path, beside: str = "") -> Model:
    """Return a model; `beside` is the other file of the command."""
    from montechain.persistence import describe

    try:
        with output.progress("loading"):
            model = Model(mc.load(path), describe(path))
    except ModelFileError as error:
        if beside.endswith(".mchain") and path.suffix != ".mchain":
            raise ModelFileError(f"{error} The model comes first: montechain predict {beside} {path}") from error
        raise
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}{similar_file(path, '*.mchain')}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not _is_sound(model.about):
        raise ModelFileError(f"{path}: what it says about itself is not what `montechain fit` writes: it was changed.")
    return model


def _is_sound(about: Any) -> bool:
    """Return whether a record could be one of `montechain fit`: nothing vouches for this part of a file."""

    def are(values: Any, kind: type) -> bool:
        return isinstance(values, list) and all(isinstance(value, kind) for value in values)

    if not isinstance(about, dict):
        return False
    targets, pairs = about.get("targets", {}), about.get("dependencies", [])
    return (
        all(are(about.get(key, []), str) for key in ("inputs", "nominal", "numeric", "text", "dropped"))
        and isinstance(dates := about.get("dates", {}), dict)
        and are(list(dates.values()), str)
        and isinstance(targets, dict)
        and all(isinstance(kinds, list) for kinds in targets.values())
        and are(pairs, dict)
        and all(are(pair.get("targets"), str) and len(pair["targets"]) == 2 for pair in pairs)
        and all(isinstance(pair.get("information"), int | float) for pair in pairs)
    )
