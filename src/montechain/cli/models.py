"""Models as they are named on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from montechain._files import similar_file
from montechain.cli import output
from montechain.errors import ModelFileError

__all__ = ["Model", "open_model"]


@dataclass(frozen=True)
class Model:
    """A fitted classifier, and what its file says of it.

    Attributes
    ----------
    classifier : fitted classifier
    manifest : dict
        What `montechain.persistence.describe` returns.
    about : dict
        What was recorded when it was fitted; empty for a model that was not made on the command line.
    """

    classifier: Any
    manifest: dict[str, Any]
    about: dict[str, Any]

    @property
    def target_names(self) -> list[str]:
        """Names of the targets."""
        from montechain.estimators.wrappers import innermost
        from montechain.targets import named_labels

        names = getattr(innermost(self.classifier), "target_names_", None)
        return [str(name) for name in named_labels(names, len(self.classes))]

    @property
    def classes(self) -> list[Any]:
        """The classes of each target."""
        classes = self.classifier.classes_
        return classes if isinstance(classes, list) else [classes]

    @property
    def targets_of_words(self) -> list[str]:
        """Names of the targets whose classes are words."""
        pairs = zip(self.target_names, self.classes, strict=True)
        return [name for name, classes in pairs if all(isinstance(value, str) for value in classes.tolist())]

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, in their order; empty if nothing tells them."""
        names = getattr(self.classifier, "feature_names_in_", None)
        return self._listed("inputs") if names is None else [str(name) for name in names]

    @property
    def nominal(self) -> list[str]:
        """Inputs that are words."""
        return self._listed("nominal")

    @property
    def text(self) -> list[str]:
        """Inputs that are running text."""
        return self._listed("text")

    @property
    def dropped(self) -> list[str]:
        """Columns left out when the model was fitted: by the user, or because they look like identifiers."""
        return self._listed("dropped")

    def _listed(self, key: str) -> list[str]:
        return self.about.get(key, [])


def open_model(path: Path, beside: str = "") -> Model:
    """Return a model, and what its file says of it; `beside` is the other file of the command."""
    from montechain.persistence import describe, load

    try:
        with output.progress("loading"):
            classifier, manifest = load(path), describe(path)
    except ModelFileError as error:
        if beside.endswith(".mchain") and path.suffix != ".mchain":
            raise ModelFileError(f"{error} The model comes first: montechain predict {beside} {path}") from error
        raise
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}{similar_file(path, '*.mchain')}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    about = manifest.get("about") or {}
    _check(about, path)
    return Model(classifier, manifest, about)


def _check(about: Any, path: Path) -> None:
    """Refuse what `montechain fit` would not have recorded: nothing vouches for this part of a file."""
    sound = isinstance(about, dict)
    for key in ("inputs", "nominal", "text", "dropped"):
        names = about.get(key, []) if sound else []
        sound = sound and isinstance(names, list) and all(isinstance(name, str) for name in names)
    targets = about.get("targets", {}) if sound else {}
    sound = sound and isinstance(targets, dict) and all(isinstance(kinds, list) for kinds in targets.values())
    pairs = about.get("dependencies", []) if sound else []
    sound = sound and isinstance(pairs, list) and all(_is_dependency(pair) for pair in pairs)
    if not sound:
        raise ModelFileError(f"{path}: what it says about itself is not what `montechain fit` writes: it was changed.")


def _is_dependency(pair: Any) -> bool:
    if not isinstance(pair, dict) or not isinstance(pair.get("information"), int | float):
        return False
    targets = pair.get("targets")
    return isinstance(targets, list) and len(targets) == 2 and all(isinstance(name, str) for name in targets)
