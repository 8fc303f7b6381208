"""Save fitted models to files, and load them without running any code from the file."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import platform
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import montechain
from montechain._files import atomic_write
from montechain.errors import ModelFileError
from montechain.persistence.objects import Untrusted, decode, encode, full_name

__all__ = ["describe", "load", "save"]

FORMAT = 2
"""Version of the file format."""
MANIFEST, STRUCTURE, ARRAYS, OTHER = "manifest.json", "structure.json", "arrays.bin", "object-{}.skops"
LARGEST_MANIFEST = 2**24
SPOILED = "it is damaged or was manipulated. Get a new copy."


def save(model: Any, path: str | Path, *, about: dict[str, Any] | None = None, allow_untrusted: bool = False) -> None:
    """Save a fitted model to a file that can be loaded safely.

    The model is read back before the file takes its name, so `load` can load what `save` has written. An existing file
    is replaced in one step.

    Parameters
    ----------
    model : estimator
        A fitted estimator of montechain, or one of scikit-learn that holds some, such as a pipeline.
    path : str or Path
        Usually ends with ``.mchain``.
    about : dict, optional
        Notes to keep with the model, such as what it was trained on: anything that JSON can hold.
    allow_untrusted : bool, default=False
        Whether the model may hold types that `load` does not trust by itself: your own functions, classifiers from
        other packages. Whoever loads the file must then name them: ``load(path, trusted=[...])``.

    Raises
    ------
    TypeError
        If the model holds something that cannot be saved. The message names it.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from montechain import ChainClassifier
    >>> from montechain.persistence import describe, load, save
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 0], [1, 1], [1, 0]]
    >>> model = ChainClassifier(parents="none").fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mchain"
    ...     save(model, path, about={"rows": 4})
    ...     same, manifest = load(path), describe(path)
    >>> same.predict([[0.0], [3.0]])[:, 0]
    array([0, 1])
    >>> manifest["class"], manifest["about"]
    ('montechain.estimators.chain.ChainClassifier', {'rows': 4})
    """
    name = type(model).__name__
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"`model` is a {name}. Give a fitted estimator, such as ChainClassifier().fit(X, Y).")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise NotFittedError(f"this {name} is not fitted yet, so there is nothing to save. Call fit first.") from error
    try:
        notes = json.dumps({} if about is None else about, allow_nan=False)
        if not notes.startswith("{"):
            raise TypeError(f"it is a {type(about).__name__}")
    except (TypeError, ValueError) as error:
        example = "about={'rows': 593}"
        raise TypeError(f"`about` must be a dictionary that JSON can hold ({error}), e.g. {example}.") from error
    try:
        nodes, arrays, others = encode(model)
        content = {STRUCTURE: json.dumps(nodes, separators=(",", ":")).encode(), ARRAYS: arrays}
        content |= {OTHER.format(i): other for i, other in enumerate(others)}
        untrusted = _untrusted_types(content)
        if untrusted and allow_untrusted:
            _build(content, untrusted)
    except Exception as error:
        raise TypeError(
            f"this {name} cannot be saved ({type(error).__name__}: {error}). If you trust everyone who handles the "
            "file, use joblib.dump(model, path) instead."
        ) from error
    if untrusted and not allow_untrusted:
        best = " Or save its `best_estimator_`." if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"the model holds {', '.join(untrusted)}, which load() does not trust by itself because it may run "
            "anything. Use another estimator or loss, or save it with save(model, path, allow_untrusted=True): it can "
            f"then be loaded with load(path, trusted={untrusted}).{best}"
        )
    manifest = {
        "format": FORMAT,
        "class": full_name(type(model)),
        "versions": _versions(),
        "sha256": _checksum(content),
        "untrusted": untrusted,
        "about": json.loads(notes),
    }
    header = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    if len(header) > LARGEST_MANIFEST:
        raise ValueError(f"`about` takes {len(header)} bytes of at most {LARGEST_MANIFEST}. Keep notes, not data.")
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for entry, data in {MANIFEST: header, **content}.items():
            archive.writestr(zipfile.ZipInfo(entry), data)  # without the time: equal models give equal files


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Load a model that `save` has written.

    No code from the file is run. The file may hold objects of montechain and scikit-learn, and their parts are
    checked against each other before compiled code sees them. See `save` for an example.

    Parameters
    ----------
    path : str or Path
    trusted : iterable of str, optional
        Further types that the file may hold, by full name, such as ``"package.module.Classifier"``. The file decides
        what they are made of, so name them only if you trust its author.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged or manipulated, has another format, or holds types that are not trusted.
        The message says which.
    """
    trusted = trusted if isinstance(trusted, str) else list(trusted)
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        example = "load(path, trusted=['package.module.Classifier'])"
        raise TypeError(f"`trusted={trusted!r}` must be a list of full names, e.g. {example}.")
    manifest, content = _read(Path(path), with_model=True)
    if _checksum(content) != manifest.get("sha256"):
        raise ModelFileError(f"{path}: its checksum is wrong: {SPOILED}")
    try:
        return _build(content, trusted)
    except Untrusted as error:
        raise ModelFileError(
            f"{path} holds types that are not trusted: {error}. Nothing was built. If you know these types and trust "
            f"the author of the file: load(path, trusted={error.names})."
        ) from error
    except Exception as error:
        saved, here = manifest["versions"], _versions()
        changed = [
            f"{name} {saved[name]} (here {here[name]})" for name in here if saved.get(name) not in (None, here[name])
        ]
        hint = f" It was saved with {', '.join(changed)}." if changed else ""
        message = f"{path}: the model cannot be rebuilt ({type(error).__name__}: {error}): {SPOILED}{hint}"
        raise ModelFileError(message) from error


def describe(path: str | Path) -> dict[str, Any]:
    """Return what a model file says about itself, without loading the model. See `save` for an example.

    It has the keys ``format``, ``class``, ``versions``, ``sha256``, ``untrusted`` (the types to name in `load`) and
    ``about`` (the notes given to `save`). Nothing proves any of it. A `ModelFileError` says that a file is not a model.
    """
    return _read(Path(path), with_model=False)[0]


def _build(content: dict[str, bytes], trusted: Iterable[str]) -> Any:
    others = [content[OTHER.format(i)] for i in range(len(content) - 2)]
    model = decode(json.loads(content[STRUCTURE]), content[ARRAYS], others, frozenset(trusted))
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"it is a {type(model).__name__}, not an estimator")
    check_is_fitted(model)
    return model


def _untrusted_types(content: dict[str, bytes]) -> list[str]:
    """Return the types that `load` must be told to trust. Another process must find them by name."""
    try:
        _build(content, ())
    except Untrusted as error:
        nameless = [name for name in error.names if "<" in name or name.startswith("__main__.")]
        if nameless:
            raise TypeError(
                f"{nameless[0]} cannot be found by name in another process. Define it in a module that can be "
                "imported, or use one of montechain's own, such as loss='hamming'"
            ) from error
        return error.names
    return []


def _versions() -> dict[str, str]:
    installed = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "skops")}
    return {"python": platform.python_version(), "montechain": montechain.__version__, **installed}


def _checksum(content: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(f"{name} {len(content[name])}\n".encode() + content[name])
    return digest.hexdigest()


def _read(path: Path, *, with_model: bool) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a file, and its other entries if the model is wanted."""
    try:
        with path.open("rb") as stream:
            if stream.read(4) != b"PK\x03\x04":
                raise ModelFileError(
                    f"{path} is not a model. Give a file written by montechain.save or `montechain fit -o`. A pickle, "
                    "such as joblib.dump writes, is not opened, because it can run any code: if you trust its author, "
                    "use joblib.load, and save the model with montechain.save."
                )
            with zipfile.ZipFile(stream) as archive:
                _check_entries(path, archive, stream.seek(0, io.SEEK_END))
                manifest = json.loads(archive.read(MANIFEST))
                _check_manifest(path, manifest)
                names = set(archive.namelist()) - {MANIFEST}
                if names != {STRUCTURE, ARRAYS, *(OTHER.format(i) for i in range(len(names) - 2))}:
                    raise ModelFileError(f"{path} does not hold the entries of a model file: {SPOILED}")
                return manifest, {name: archive.read(name) for name in names if with_model}
    except (FileNotFoundError, ModelFileError):
        raise
    except (IsADirectoryError, PermissionError) as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}.") from error
    except Exception as error:
        raise ModelFileError(f"{path} cannot be read ({error}): {SPOILED}") from error


def _check_entries(path: Path, archive: zipfile.ZipFile, size: int) -> None:
    """Raise a ModelFileError unless all entries are stored as they are, so that none can grow when it is read."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if MANIFEST not in names:
        what = "was written by skops: open it with skops.io.load" if "schema.json" in names else "is a zip file"
        raise ModelFileError(f"{path} is not a model but {what}. Give a file written by montechain.save.")
    if len(set(names)) != len(names):
        raise ModelFileError(f"{path} holds an entry twice: {SPOILED}")
    if any(e.compress_type != zipfile.ZIP_STORED or e.flag_bits & 1 or e.file_size != e.compress_size for e in entries):
        raise ModelFileError(f"{path} holds an entry that is compressed or encrypted: {SPOILED}")
    if sum(entry.file_size for entry in entries) > size or archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
        raise ModelFileError(f"{path} holds an entry that is too large: {SPOILED}")


def _check_manifest(path: Path, manifest: Any) -> None:
    number, author = manifest["format"], manifest["versions"].get("montechain")
    if type(number) is not int or number < 1 or type(manifest.get("about")) is not dict:
        raise ModelFileError(f"{path}: its manifest is incomplete: {SPOILED}")
    if number != FORMAT:
        advice = (
            "Upgrade it: pip install --upgrade montechain" if number > FORMAT else "Fit the model again and save it."
        )
        raise ModelFileError(
            f"{path} was saved by montechain {author} in format {number}. This is montechain {montechain.__version__}, "
            f"which reads format {FORMAT}. {advice}"
        )
