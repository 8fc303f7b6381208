"""Save fitted models to files, and load them without running any code from the file.

A model file has a line that identifies it, a line of JSON about the model (the manifest), and, compressed together, the
parts of the model as JSON and the numbers of all its arrays. A part refers only to parts before it, so they are made
from first to last and nothing can contain itself. Every array takes the next bytes, so none can be larger than these.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import platform
import re
import zlib
from collections.abc import Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_classif
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

import montechain
from montechain._files import atomic_write
from montechain._messages import memory_limit
from montechain._savable import check_part, check_tree, is_savable, require
from montechain.errors import ModelFileError

__all__ = ["describe", "load", "save"]

MAGIC, FORMAT = b"montechain model\n", 3
"""First line of every model file, and the version of the format."""
SPOILED = "it is damaged or was tampered with. Get a new copy."
PLAIN = (type(None), bool, int, float, str)
CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "dict": dict, "Bunch": Bunch}
RANDOM = {"RandomState": np.random.RandomState, "Generator": np.random.default_rng}
LARGEST = 10**7
"""Maximum number of values in an object, counting repetitions."""
DTYPE = re.compile(r"[<>|][biufcSUMm][1-9][0-9]*(\[[0-9a-zA-Z]+\])?|\|O")
NAME = re.compile(r"(montechain|sklearn)(\.(?!tests\b|__main__\b)\w+)+")
"""Names that are looked up. No module outside these packages is ever imported because a file names it."""
COMPILED = {"sklearn._loss._loss", "sklearn.linear_model._sgd_fast", "sklearn.tree._tree"}
"""Modules of trees, and of loss functions that are made from a few numbers."""
VERSIONS = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "skops")}
VERSIONS |= {"python": platform.python_version(), "montechain": montechain.__version__}
"""What a model depends on."""


def save(model: Any, path: str | Path, *, about: dict[str, Any] | None = None, allow_untrusted: bool = False) -> None:
    """Save a fitted model to a file that can be loaded safely.

    The model is read back before the file takes its name, so `load` can load what `save` has written. An existing file
    is replaced in one step. If the model holds something that cannot be saved, a TypeError names it.

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

    Examples
    --------
    >>> import tempfile
    >>> from montechain import ChainClassifier, load, save
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 0], [1, 1], [1, 0]]
    >>> model = ChainClassifier(parents="none").fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.mchain", about={"rows": 4})
    ...     same = load(f"{folder}/model.mchain")
    >>> same.predict([[0.0], [3.0]])[:, 0]
    array([0, 1])
    """
    check_is_fitted(model)
    if hasattr(model, "best_estimator_") and not allow_untrusted:
        raise TypeError(f"a {type(model).__name__} cannot be saved: use save(model.best_estimator_, path).")
    try:
        about = json.loads(json.dumps({} if about is None else about, allow_nan=False))
        require(isinstance(about, dict), "it is not a dictionary")
    except (TypeError, ValueError) as error:
        raise TypeError(f"`about` must be a dictionary that JSON can hold, such as {{'rows': 4}}: {error}.") from error
    try:
        encoder = _Encoder()
        encoder.refer(model)
        parts, arrays = json.dumps(encoder.parts, separators=(",", ":")).encode(), bytes(encoder.arrays)
        untrusted = sorted(encoder.untrusted)
        _build(parts, arrays, untrusted)
    except Exception as error:
        raise TypeError(
            f"this {type(model).__name__} cannot be saved ({type(error).__name__}: {error}). If you trust everyone who "
            "handles the file, use joblib.dump(model, path) instead."
        ) from error
    if untrusted and not allow_untrusted:
        raise TypeError(
            f"the model holds {', '.join(untrusted)}, which load() does not trust by itself. Use another estimator or "
            f"loss, or save(model, path, allow_untrusted=True) and load(path, trusted={untrusted})."
        )
    manifest = {
        "format": FORMAT,
        "class": _full_name(type(model)),
        "versions": VERSIONS,
        "size": len(parts),
        "sha256": hashlib.sha256(parts + arrays).hexdigest(),
        "untrusted": untrusted,
        "about": about,
    }
    with atomic_write(path) as stream:
        stream.write(MAGIC + json.dumps(manifest).encode() + b"\n" + zlib.compress(parts + arrays, level=1))


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Load a model that `save` has written.

    No code from the file is run. The file may hold objects of montechain and scikit-learn, and their parts are
    checked against each other before compiled code sees them. A ModelFileError says that the file is not a model, is
    damaged or manipulated, has another format, or holds types that are not trusted. See `save` for an example.

    Parameters
    ----------
    path : str or Path
    trusted : iterable of str, optional
        Further types that the file may hold, by full name, such as ``"package.module.Classifier"``. The file decides
        what they are made of, so name them only if you trust its author.
    """
    manifest, packed = _read(Path(path), with_model=True)
    unpacker, limit = zlib.decompressobj(), memory_limit() // 4
    try:
        content = unpacker.decompress(packed, limit)
    except zlib.error:
        content = b""
    if len(content) == limit:
        raise ModelFileError(f"{path} unpacks to over {limit / 1e9:.3g} GB. MONTECHAIN_MAX_MEMORY sets another limit.")
    if unpacker.unused_data or not unpacker.eof or hashlib.sha256(content).hexdigest() != manifest.get("sha256"):
        raise ModelFileError(f"{path}: its checksum is wrong: {SPOILED}")
    if untrusted := sorted(set(map(str, manifest["untrusted"])).difference(trusted)):
        raise ModelFileError(
            f"{path} holds types that are not trusted: {', '.join(untrusted)}. Nothing was built. If you know these "
            f"types and trust the author of the file: load(path, trusted={untrusted})."
        )
    try:
        return _build(content[: manifest["size"]], content[manifest["size"] :], trusted)
    except Exception as error:
        changed = {own for own in manifest["versions"].items() if own not in VERSIONS.items()}
        hint = "".join(f" It was saved with {name} {version}." for name, version in sorted(changed))
        message = f"{path}: the model cannot be rebuilt ({type(error).__name__}: {error}): {SPOILED}{hint}"
        raise ModelFileError(message) from error


def describe(path: str | Path) -> dict[str, Any]:
    """Return what a model file says about itself, without loading the model. Nothing proves any of it.

    Some keys are ``class``, ``versions``, ``untrusted`` (types to name in `load`) and ``about`` (notes of `save`).
    """
    return _read(Path(path), with_model=False)[0]


def _read(path: Path, *, with_model: bool) -> tuple[dict[str, Any], bytes]:
    """Return the manifest of a file, and what follows it if the model is wanted."""
    with path.open("rb") as stream:
        head = stream.peek(64)[:64]
        if head.startswith(b"PK") and b"manifest.json" in head:
            raise ModelFileError(f"{path} was saved by montechain 0.1.0. Fit the model again and save it.")
        if stream.read(len(MAGIC)) != MAGIC:
            raise ModelFileError(
                f"{path} is not a model. Give a file written by montechain.save or `montechain fit -o`. A pickle "
                "is not opened, as it can run any code: if you trust its author, use joblib.load and montechain.save."
            )
        try:
            manifest = json.loads(stream.readline())
            number, author = manifest["format"], manifest["versions"].get("montechain")
            types = [type(manifest[key]) for key in ("format", "size", "untrusted", "about")]
            require(types == [int, int, list, dict] and manifest["size"] >= 0, "its manifest is incomplete")
        except Exception as error:
            raise ModelFileError(f"{path} cannot be read ({error}): {SPOILED}") from error
        if number != FORMAT:
            advice = "Upgrade it: pip install --upgrade montechain" if number > FORMAT else "Fit the model again."
            raise ModelFileError(
                f"{path} was saved by montechain {author} in format {number}. This is montechain "
                f"{montechain.__version__}, which reads format {FORMAT}. {advice}"
            )
        return manifest, stream.read() if with_model else b""


def _full_name(value: Any) -> str:
    """Return the name, with the module, of a class or function, or of the class of anything else."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


NUMBERS = [own for own in vars(np).values() if isinstance(own, type) and issubclass(own, np.generic)]
UFUNCS = {f"numpy.{name}": own for name, own in vars(np).items() if isinstance(own, np.ufunc)}
NAMED = UFUNCS | {_full_name(own): own for own in (bool, float, int, str, object, chi2, f_classif, *NUMBERS)}
"""What a model may refer to by name."""
NAMES = {id(own): name for name, own in NAMED.items()}


class _Encoder:
    """Take objects apart: a part is a list of its kind and the arguments of the `_Decoder` method of that kind."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.arrays = bytearray()
        self.untrusted: set[str] = set()
        # With the objects themselves, so that none is deleted and no other gets its id.
        self.places: dict[int, tuple[Any, list[int]]] = {}

    def refer(self, value: Any) -> Any:
        """Return a plain value as it is; for anything else, a list with the place of its part."""
        if type(value) in PLAIN:
            return value
        if id(value) not in self.places:
            kind, *content = self._take_apart(value)
            self.parts.append([kind, *map(self.refer, content)])
            self.places[id(value)] = value, [len(self.parts) - 1]
        return self.places[id(value)][1]

    def _take_apart(self, value: Any) -> tuple[Any, ...]:
        cls = type(value)
        if cls in CONTAINERS.values():
            return cls.__name__, *(value if cls in (list, tuple) else chain.from_iterable(value.items()))
        if id(value) in NAMES:
            return "name", NAMES[id(value)]
        if cls is slice:
            return "slice", value.start, value.stop, value.step
        if cls is np.ndarray and value.dtype.names:
            fields = {name: np.ascontiguousarray(value[name]) for name in value.dtype.names}
            is_aligned = np.dtype([(name, own.dtype) for name, own in fields.items()], align=True) == value.dtype
            return "record", bool(is_aligned), fields
        if cls is np.ndarray and value.dtype.kind == "O":
            return "objects", value.shape, *value.ravel()
        if (cls is np.ndarray or isinstance(value, np.generic)) and DTYPE.fullmatch(value.dtype.str):
            array = np.asarray(value)
            order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
            self.arrays += array.tobytes(order)
            return "array", array.dtype.str, order, *array.shape
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if isinstance(value, sp.csr_array | sp.csr_matrix):
            return "csr", cls is sp.csr_array, value.data, value.indices, value.indptr, value.shape
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return "random", cls.__name__
        module = {"_loss": "sklearn._loss._loss"}.get(cls.__module__, cls.__module__)
        if module in COMPILED:
            make, arguments, *state = value.__reduce__()
            return "compiled", f"{module}.{cls.__name__}", arguments if make is cls else (), *state
        state = value.__getstate__() if is_savable(cls) else ()
        if isinstance(state, dict | None):
            return "object", _full_name(cls), state or {}
        skops = importlib.import_module("skops.io")  # as late as possible: it loads all of scikit-learn
        content = skops.dumps(value)
        self.untrusted |= {_full_name(value), *skops.get_untrusted_types(data=content)}
        return "skops", _full_name(value), np.frombuffer(content, np.uint8)


def _build(parts: bytes, arrays: bytes, trusted: Iterable[str]) -> Any:
    """Return the model, or raise an error of any kind if the file makes no sense."""
    decoder = _Decoder(arrays, list(trusted))
    for part in json.loads(parts):
        decoder.add(*part)
    require(decoder.position == len(arrays), "some arrays are not used")
    check_is_fitted(decoder.made[-1])
    return decoder.made[-1]


class _Decoder:
    """Rebuild objects, each from those built before it."""

    def __init__(self, arrays: bytes, trusted: list[str]):
        self.arrays, self.position, self.trusted = arrays, 0, trusted
        self.made: list[Any] = []
        self.sizes: list[int] = []

    def add(self, kind: str, *content: Any) -> None:
        """Make the next object."""
        for own in content:
            is_place = type(own) is list and len(own) == 1 and type(own[0]) is int and own[0] >= 0
            require(is_place or type(own) in PLAIN, "a part is neither a value nor a reference to a part before it")
        values = [self.made[own[0]] if type(own) is list else own for own in content]
        self.sizes.append(1 + sum(self.sizes[own[0]] if type(own) is list else 1 for own in content))
        require(self.sizes[-1] <= LARGEST, "parts of the model are repeated too often")
        if kind in ("list", "tuple"):
            made = CONTAINERS[kind](values)
        elif kind in ("dict", "Bunch"):
            # A tuple cannot be a key: to compute the hash of one that is nested deeply ends the process.
            plain = all(type(key) in PLAIN or isinstance(key, np.generic) for key in values[::2])
            require(plain, "a dictionary has keys that are not plain values")
            made = CONTAINERS[kind]()
            made.update(zip(values[::2], values[1::2], strict=True))
        else:
            made = getattr(self, f"make_{kind}")(*values)
        check_part(made)
        self.made.append(made)

    make_slice, make_name = staticmethod(slice), staticmethod(NAMED.__getitem__)
    make_random = staticmethod(lambda name: RANDOM[name](0))

    def make_array(self, descr: str, order: Any, *shape: Any) -> Any:
        dtype = self.make_dtype(descr)
        require(dtype.kind != "O" and order in ("C", "F"), f"an array has the type {descr}, {order}")
        require(all(type(length) is int and length >= 0 for length in shape), f"an array has the shape {shape}")
        n_bytes = math.prod(shape) * dtype.itemsize
        require(n_bytes <= len(self.arrays) - self.position, "an array is larger than the file")
        raw = np.frombuffer(self.arrays, np.uint8, n_bytes, self.position).copy()
        self.position += n_bytes
        require(dtype.kind != "b" or (raw <= 1).all(), "a truth value is neither true nor false")
        require(dtype.kind != "U" or (raw.view(f"{descr[0]}u4") <= 0x10FFFF).all(), "a string has an invalid character")
        return raw.view(dtype).reshape(shape, order=order)[()]  # a scalar, if it has no dimensions

    def make_dtype(self, descr: str) -> np.dtype:
        require(DTYPE.fullmatch(descr), f"{descr!r} is not a type of arrays")
        return np.dtype(descr)

    def make_record(self, is_aligned: Any, fields: dict[str, Any]) -> np.ndarray:
        (shape,) = {own.shape for own in fields.values()}
        require(len(set(map(id, fields.values()))) == len(fields), "the fields of a record repeat each other")
        made = np.zeros(shape, np.dtype([(key, own.dtype) for key, own in fields.items()], align=is_aligned))
        for key, own in fields.items():
            made[key] = own
        return made

    def make_objects(self, shape: Any, *content: Any) -> np.ndarray:
        return np.fromiter(content, object, len(content)).reshape(shape)

    def make_csr(self, is_array: Any, values: Any, indices: Any, starts: Any, shape: Any) -> Any:
        matrix = (sp.csr_array if is_array else sp.csr_matrix)((values, indices, starts), shape=shape)
        matrix.check_format(full_check=True)
        # scipy looks no further if the last of these is negative.
        require((np.diff(matrix.indptr) >= 0).all(), "the rows of a sparse array overlap")
        return matrix

    def make_compiled(self, name: str, arguments: Any, *state: Any) -> Any:
        if name == "sklearn.tree._tree.Tree":
            check_tree(*arguments, *state)
        else:
            require(name.rpartition(".")[0] in COMPILED and not state, f"{name} is not a loss function")
            require(all(type(value) in (int, float) for value in arguments), "a loss function has unknown parameters")
        made = _find_class(name)(*arguments)
        for own in state:
            made.__setstate__(own)
        return made

    def make_object(self, name: str, state: dict[str, Any]) -> Any:
        cls = _find_class(name)
        require(is_savable(cls), f"a file may not hold a {name}")
        require(all(type(key) is str for key in state), f"a {name} has an attribute without a name")
        made: Any = object.__new__(cls)
        made.__setstate__(state) if hasattr(made, "__setstate__") else made.__dict__.update(state)
        return made

    def make_skops(self, name: str, content: Any) -> Any:
        require(name in self.trusted, f"{name} is not trusted")
        made = importlib.import_module("skops.io").loads(content.tobytes(), trusted=self.trusted)
        require(_full_name(made) == name, f"it is not a {name}")
        return made


def _find_class(name: str) -> type:
    require(NAME.fullmatch(name), f"a file may not name {name!r}")
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    require(isinstance(found, type), f"{name} is not a class")
    return found
