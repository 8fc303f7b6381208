"""Saving and loading models: a zip file with a manifest and a payload that is built without pickle."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import skops.io
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from skops.io.exceptions import UntrustedTypesFoundException

from montechain._files import atomic_write
from montechain.errors import ModelFileError
from montechain.persistence.containers import DAMAGE, write_stored
from montechain.persistence.manifest import (
    FORMAT,
    LARGEST_MANIFEST,
    MANIFEST,
    PAYLOAD,
    damaged,
    opened,
    other_versions,
    read_manifest,
    versions,
)
from montechain.persistence.schema import check_payload, normalised
from montechain.persistence.structure import check_structure
from montechain.persistence.trust import TRUSTED

__all__ = ["describe", "load", "save"]

JOBLIB = "If you trust all who will handle the file, use joblib.dump(model, path)."


def save(model: Any, path: str | Path, *, about: dict[str, Any] | None = None, allow_untrusted: bool = False) -> None:
    """Save a fitted model so that it can be loaded without trusting a pickle.

    The file takes its name only once it is complete, and it is read back before: what `save` has written,
    `load` can load. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator
        A fitted estimator of montechain, or one of scikit-learn that holds some, such as a pipeline.
    path : str or Path
        By custom it ends with ``.mchain``.
    about : dict, optional
        Facts to keep beside the model, such as what it was trained on: anything that JSON can say.
    allow_untrusted : bool, default=False
        Whether the model may hold types that `load` does not trust by itself: functions of your own, classifiers
        of other packages. Whoever loads the file then has to name them, ``load(path, trusted=[...])``.

    Raises
    ------
    TypeError
        If the model holds what cannot be loaded again; the message names it.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> from montechain.persistence import describe, load, save
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ChainClassifier(random_state=0).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mchain"
    ...     save(model, path, about={"trained on": "an example"})
    ...     same = load(path)
    ...     facts = describe(path)
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    >>> facts["about"]
    {'trained on': 'an example'}
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(
            f"`model` is a {type(model).__name__}: give a fitted estimator, such as ChainClassifier().fit(X, Y)."
        )
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise NotFittedError(
            f"this {type(model).__name__} is not fitted yet, so there is nothing to save: call fit first."
        ) from error
    facts = _plain_facts(about)
    payload = _payload_of(model)
    untrusted = _read_back(payload, model, allow_untrusted)
    manifest = {
        "format": FORMAT,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "versions": {"python": platform.python_version(), **versions()},
        "payload": {"name": PAYLOAD, "size": len(payload), "sha256": hashlib.sha256(payload).hexdigest()},
        "untrusted": untrusted,
        "about": facts,
    }
    content = json.dumps(manifest, indent=2, ensure_ascii=False).encode()
    if len(content) > LARGEST_MANIFEST:
        raise ValueError(
            f"`about` is too large: {len(content)} bytes of at most {LARGEST_MANIFEST}. Keep facts, not data."
        )
    with atomic_write(path) as stream:
        write_stored(stream, {MANIFEST: content, PAYLOAD: payload})


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Load a model that `save` has written.

    Nothing in the file is run. Only montechain's own types and those of scikit-learn are built, and what is built
    is checked before it is returned.

    Parameters
    ----------
    path : str or Path
    trusted : iterable of str, optional
        Further types that may be built, by their full names such as ``"package.module.Classifier"``. Whoever
        made the file decides what these do when they are built: name only what you would run.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, was tampered with, is of a newer format, or holds types that are not
        trusted. The message says which.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from montechain import ChainClassifier
    >>> from montechain.persistence import load, save
    >>> model = ChainClassifier(parents="none").fit([[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mchain"
    ...     save(model, path)
    ...     load(path).predict([[0.0], [3.0]])[:, 0]
    array([0, 1])
    """
    trusted = trusted if isinstance(trusted, str) else list(trusted)
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in trusted):
        example = "load(path, trusted=['package.module.Classifier'])"
        raise TypeError(f"`trusted={trusted!r}` must be a list of full names, e.g. {example}.")
    path = Path(path)
    with opened(path) as stream:
        manifest, archive, entries = read_manifest(path, stream)
        about = manifest["payload"]
        try:
            if entries[PAYLOAD].file_size != about["size"]:
                raise ModelFileError(f"{path}: the model is not as large as its manifest says: it is damaged.")
            payload = archive.read(PAYLOAD)
        except DAMAGE as error:
            raise damaged(path, error) from error
        if hashlib.sha256(payload).hexdigest() != about["sha256"]:
            raise ModelFileError(f"{path}: its checksum is wrong: the file was tampered with or damaged. Get it anew.")
    try:
        return _build(payload, trusted)
    except _Untrusted as error:
        raise ModelFileError(
            f"{path} holds types that are not trusted: {', '.join(error.names)}. Nothing was built. If you know them "
            f"and trust whoever made the file: load(path, trusted={error.names})."
        ) from error
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}{other_versions(manifest)}") from error
    except (Exception, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the model in it cannot be built ({type(error).__name__}: {error}): it was tampered with or "
            f"damaged.{other_versions(manifest)}"
        ) from error


def describe(path: str | Path) -> dict[str, Any]:
    """Return what a model file says of itself, without building the model.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        With ``format``, ``class``, ``versions``, ``payload`` (size and checksum), ``untrusted`` (types that `load`
        has to be told to trust) and ``about`` (what was given to `save`). None of it is proven.

    Raises
    ------
    ModelFileError
        If the file is no model, or of a newer format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from montechain import ChainClassifier
    >>> from montechain.persistence import describe, save
    >>> model = ChainClassifier(parents="none").fit([[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.mchain"
    ...     save(model, path, about={"rows": 4})
    ...     facts = describe(path)
    >>> facts["class"], facts["about"]
    ('montechain.estimators.chain.ChainClassifier', {'rows': 4})
    """
    path = Path(path)
    with opened(path) as stream:
        return read_manifest(path, stream)[0]


class _Untrusted(Exception):
    def __init__(self, names: Iterable[str]):
        self.names = sorted(names)
        super().__init__(", ".join(self.names))


def _build(payload: bytes, trusted: Iterable[str]) -> Any:
    """Return the model; nothing is built unless the whole payload has been judged."""
    strange = check_payload(payload, frozenset(trusted))
    allowed = sorted({*TRUSTED, *trusted})
    if strange:
        raise _Untrusted(strange | (set(skops.io.get_untrusted_types(data=payload)) - set(allowed)))
    try:
        model = skops.io.loads(payload, trusted=allowed)
    except UntrustedTypesFoundException as error:
        raise _Untrusted(set(skops.io.get_untrusted_types(data=payload)) - set(allowed)) from error
    try:
        check_structure(model)
    except ValueError as error:
        raise ModelFileError(
            f"the parts of the model do not belong together ({error}): it was tampered with."
        ) from error
    return model


def _payload_of(model: Any) -> bytes:
    try:
        return normalised(skops.io.dumps(model))
    except (Exception, RecursionError) as error:
        raise TypeError(
            f"this {type(model).__name__} cannot be saved without pickle ({type(error).__name__}: {error}). {JOBLIB}"
        ) from error


def _read_back(payload: bytes, model: Any, allow_untrusted: bool) -> list[str]:
    """Return the types that have to be trusted; an error if the payload could not be loaded."""
    needed: list[str] = []
    try:
        _build(payload, needed)
    except _Untrusted as error:
        needed = error.names
    except (Exception, RecursionError) as error:
        raise TypeError(
            f"this {type(model).__name__} cannot be saved, because it could not be loaded again: {error} {JOBLIB}"
        ) from error
    if not needed:
        return []
    nameless = [name for name in needed if not _can_be_found(name)]
    if nameless:
        raise TypeError(
            f"the model holds {', '.join(nameless)}, which cannot be found by name in another process. Define it in a "
            "module that can be imported, or use one of montechain's own, such as loss='hamming'."
        )
    if not allow_untrusted:
        best = " Or save its `best_estimator_`." if hasattr(model, "best_estimator_") else ""
        raise TypeError(
            f"the model holds {', '.join(needed)}, which load() does not trust by itself, as it may run anything. Use "
            "another estimator or loss, or save it with save(model, path, allow_untrusted=True): it can then be loaded "
            f"with load(path, trusted={needed}).{best}"
        )
    return needed


def _can_be_found(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    found: Any = sys.modules.get(module)
    if found is None and "." in module:  # a method: package.module.Class.method
        module, _, owner = module.rpartition(".")
        found = getattr(sys.modules.get(module), owner, None)
    return module != "__main__" and hasattr(found, attribute)


def _plain_facts(about: dict[str, Any] | None) -> dict[str, Any]:
    try:
        if not isinstance(about, dict | None):
            raise TypeError(f"it is a {type(about).__name__}")
        return json.loads(json.dumps(about or {}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`about` must be a dictionary that JSON can say ({error}), e.g. about={{'rows': 593}}."
        ) from error
