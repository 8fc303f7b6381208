"""Objects as a flat list of JSON nodes and one block of bytes for all arrays, and back.

A node refers only to nodes before it, so the list is built from first to last and nothing can contain itself. Every
array takes the next bytes of the block, so nothing in a file can grow into more than the file holds.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

import numpy as np
import scipy.sparse as sp
import skops.io
from numpy.lib import format as npy_format

from montechain._savable import is_savable, require
from montechain.persistence import foreign

__all__ = ["Untrusted", "decode", "encode", "full_name"]

PLAIN = (type(None), bool, int, float, str)
SEQUENCES: dict[str, Any] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
SPARSE = {f"{kind}_{shape}" for kind in ("csr", "csc", "coo") for shape in ("matrix", "array")}
DTYPE = re.compile(r"[<>|=][biufcSUMm][1-9][0-9]*(\[[0-9a-zA-Z]+\])?")
BUILTINS = {f"builtins.{kind.__name__}": kind for kind in (bool, dict, float, int, list, set, str, tuple)}
NAME = re.compile(r"(montechain|sklearn)(\.(?!tests\b|__main__\b)\w+)+|numpy\.\w+")
"""Names that are looked up. No module outside these packages is ever imported because a file names it."""
GENERATORS = {"MT19937": np.random.MT19937, "PCG64": np.random.PCG64}
TWISTER_LENGTH, LARGEST_CHARACTER = 624, 0x10FFFF


class Untrusted(Exception):
    """The model holds objects of types that `load` was not told to trust."""

    def __init__(self, names: Collection[str]):
        self.names = sorted(names)
        super().__init__(", ".join(self.names))


def full_name(value: Any) -> str:
    """Return the name, with the module, of a class or function, or of the class of anything else."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def encode(model: Any) -> tuple[list[Any], bytes, list[bytes]]:
    """Return the nodes of a model (the model is the last), its arrays, and what had to be left to skops."""
    encoder = _Encoder()
    encoder.child(model)
    return encoder.nodes, bytes(encoder.arrays), encoder.others


def decode(nodes: Any, arrays: bytes, others: list[bytes], trusted: Collection[str]) -> Any:
    """Return the model that `encode` has taken apart, or raise an error of any kind if the file makes no sense.

    Raises
    ------
    Untrusted
        If something was left to skops that is not in `trusted`, before anything is built or skops reads anything.
    """
    by_skops = [node["skops"] for node in nodes if "skops" in node]
    require(len(by_skops) == len(others), "there are not as many parts written by skops as are announced")
    untrusted = {str(name) for first, names in by_skops for name in (first, *names)} - set(trusted)
    if untrusted:
        raise Untrusted(untrusted)
    decoder = _Decoder(arrays, others, trusted)
    for node in nodes:
        ((kind, content),) = node.items()
        require(kind in KINDS, f"there is no kind of part named {kind!r}")
        part = getattr(decoder, f"make_{kind}")(*content)
        foreign.check_loaded(part)
        if hasattr(part, "_check_loaded"):
            part._check_loaded()
        decoder.made.append(part)
    require(decoder.position == len(arrays), "there are arrays that nothing uses")
    return decoder.made[-1]


class _Encoder:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays = bytearray()
        self.others: list[bytes] = []
        # With the objects themselves, so that none is deleted and no other gets its id.
        self.places: dict[int, tuple[Any, list[int] | None]] = {}

    def child(self, value: Any) -> Any:
        """Return a plain value as it is; for anything else, a list with the place of its node."""
        if type(value) in PLAIN:
            return value
        if id(value) not in self.places:
            self.places[id(value)] = value, None
            kind, *content = self._node(value)
            self.nodes.append({kind: content})
            self.places[id(value)] = value, [len(self.nodes) - 1]
        place = self.places[id(value)][1]
        if place is None:
            raise TypeError(f"a {type(value).__name__} contains itself")
        return place

    def _children(self, values: Any) -> list[Any]:
        return [self.child(value) for value in values]

    def _pairs(self, content: dict[Any, Any]) -> list[Any]:
        return [self._children(pair) for pair in content.items()]

    def _node(self, value: Any) -> tuple[Any, ...]:
        cls = type(value)
        if SEQUENCES.get(cls.__name__) is cls:
            in_order = value if cls in (list, tuple) else sorted(value, key=repr)
            return "sequence", cls.__name__, self._children(in_order)
        if isinstance(value, dict) and (cls in (dict, OrderedDict) or foreign.is_library_class(cls)):
            return "dict", full_name(cls), self._pairs(value)
        if cls is np.ndarray and value.dtype.kind == "O":
            return "objects", list(value.shape), self._children(value.ravel())
        if (cls is np.ndarray or isinstance(value, np.generic)) and _is_plain(value.dtype):
            return self._array(value)
        if isinstance(value, np.dtype) and _is_plain(value):
            return "dtype", npy_format.dtype_to_descr(value)
        if cls.__name__ in SPARSE and sp.issparse(value):
            where = value.coords if value.format == "coo" else (value.indices, value.indptr)
            return "sparse", cls.__name__, list(value.shape), self._children((value.data, *where))
        if isinstance(value, np.random.RandomState | np.random.Generator):
            generator: Any = getattr(value, "_bit_generator", None) or getattr(value, "bit_generator", None)
            if type(generator).__name__ in GENERATORS:
                return "random", cls.__name__, self.child(generator.state)
        name = getattr(value, "__name__", "")
        if isinstance(value, np.ufunc | type) and getattr(np, name, None) is value:
            return "name", f"numpy.{name}"
        if hasattr(value, "__qualname__") and full_name(value) in foreign.FUNCTIONS | BUILTINS.keys():
            return "name", full_name(value)
        if cls is slice:
            return "slice", self._children((value.start, value.stop, value.step))
        if full_name(cls) == foreign.TREE or cls.__module__ in foreign.COMPILED_LOSSES:
            make, arguments, *state = value.__reduce__()
            return "compiled", full_name(cls), self._children(arguments if make is cls else ()), self._children(state)
        state = value.__getstate__() if _is_known(cls) else ()
        if isinstance(state, dict | None):
            return "object", full_name(cls), self._pairs(state or {})
        self.others.append(skops.io.dumps(value))
        return "skops", full_name(value), skops.io.get_untrusted_types(data=self.others[-1])

    def _array(self, value: Any) -> tuple[Any, ...]:
        array = np.asarray(value)
        is_fortran = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
        if array.dtype.names is not None:
            # Between the fields of a record is whatever was in memory: write zeros.
            array = np.zeros(array.shape, array.dtype)
            for field in array.dtype.names or ():
                array[field] = value[field]
        self.arrays += array.tobytes("F" if is_fortran else "C")
        kind = "array" if type(value) is np.ndarray else "scalar"
        return kind, npy_format.dtype_to_descr(array.dtype), list(array.shape), is_fortran


class _Decoder:
    def __init__(self, arrays: bytes, others: list[bytes], trusted: Collection[str]):
        self.arrays, self.position = arrays, 0
        self.others, self.trusted = iter(others), sorted(trusted)
        self.made: list[Any] = []

    def child(self, value: Any) -> Any:
        if type(value) is not list:
            require(type(value) in PLAIN, "a part of the model is neither a value nor a reference")
            return value
        (place,) = value
        require(type(place) is int and 0 <= place < len(self.made), "a part refers to one that does not come before it")
        return self.made[place]

    def _children(self, values: Any) -> list[Any]:
        return [self.child(value) for value in values]

    def make_sequence(self, name: str, parts: Any) -> Any:
        return SEQUENCES[name](self._children(parts))

    def make_dict(self, name: str, pairs: Any) -> Any:
        cls = {"builtins.dict": dict, "collections.OrderedDict": OrderedDict}.get(name) or _find_class(name)
        made = cls.__new__(cls)
        require(isinstance(made, dict), f"{name} is not a dictionary")
        for key, value in map(self._children, pairs):
            cls.__setitem__(made, key, value)
        return made

    def make_slice(self, parts: Any) -> slice:
        return slice(*self._children(parts))

    def make_array(self, descr: Any, shape: Any, is_fortran: Any) -> np.ndarray:
        dtype = self.make_dtype(descr)
        require(all(type(length) is int and length >= 0 for length in shape), f"an array has the shape {shape}")
        n_bytes = math.prod(shape) * dtype.itemsize
        require(n_bytes <= len(self.arrays) - self.position, "an array is larger than the file")
        raw = np.frombuffer(self.arrays, np.uint8, n_bytes, self.position).copy()
        self.position += n_bytes
        require(dtype.kind != "b" or (raw <= 1).all(), "a truth value is neither true nor false")
        if dtype.kind == "U":
            characters = raw.view(f"{descr[0]}u4")
            require((characters <= LARGEST_CHARACTER).all(), "a text holds a character that does not exist")
        return raw.view(dtype).reshape(shape, order="F" if is_fortran else "C")

    def make_scalar(self, *content: Any) -> Any:
        return self.make_array(*content)[()]

    def make_dtype(self, descr: Any) -> np.dtype:
        """Return a type of numbers, texts or times, or a record of such."""
        fields = [(str(name), kind) for name, kind in ([("", descr)] if isinstance(descr, str) else descr)]
        for name, kind in fields:
            is_padding = name == "" and re.fullmatch(r"\|V[0-9]+", kind) and descr is not kind
            require(is_padding or DTYPE.fullmatch(kind), f"an array has the type {descr}")
        as_numpy: Any = descr if isinstance(descr, str) else fields
        dtype = npy_format.descr_to_dtype(as_numpy)
        require(_is_plain(dtype), f"an array has the type {descr}")
        return dtype

    def make_objects(self, shape: Any, parts: Any) -> np.ndarray:
        array = np.empty(len(parts), dtype=object)
        for place, part in enumerate(parts):
            array[place] = self.child(part)
        return array.reshape([int(length) for length in shape])

    def make_sparse(self, name: str, shape: Any, parts: Any) -> Any:
        values, one, other = self._children(parts)
        require(name in SPARSE and {type(values), type(one), type(other)} == {np.ndarray}, f"{name} is not sparse")
        if name.startswith("coo"):  # these check their indices by themselves
            return getattr(sp, name)((values, (one, other)), shape=tuple(shape))
        matrix = getattr(sp, name)((values, one, other), shape=tuple(shape))
        matrix.check_format(full_check=True)
        # scipy looks no further if the last of these is negative.
        require((np.diff(matrix.indptr) >= 0).all(), f"the rows of a {name} overlap")
        return matrix

    def make_random(self, name: str, content: Any) -> Any:
        state = self.child(content)
        require(0 <= state["state"].get("pos", 0) <= TWISTER_LENGTH, "a random number generator is outside its table")
        generator = GENERATORS[state["bit_generator"]](0)
        generator.state = state
        return {"RandomState": np.random.RandomState, "Generator": np.random.Generator}[name](generator)

    def make_name(self, name: Any) -> Any:
        found = BUILTINS.get(name) or _find(name)
        is_scalar = isinstance(found, type) and (issubclass(found, np.generic) or name in BUILTINS)
        require(is_scalar or isinstance(found, np.ufunc) or name in foreign.FUNCTIONS, f"a file may not name {name}")
        return found

    def make_compiled(self, name: str, arguments: Any, state: Any) -> Any:
        given, module = self._children(arguments), name.rpartition(".")[0]
        if name == foreign.TREE:
            return foreign.make_tree(*given, *self._children(state))
        require(module in foreign.COMPILED_LOSSES and not state, f"{name} is not a loss function")
        require(all(type(value) in (int, float) for value in given), "a loss function has unknown parameters")
        loss = getattr(importlib.import_module(module), name.rpartition(".")[2])
        require(isinstance(loss, type), f"{name} is not a loss function")
        return loss(*given)

    def make_object(self, name: str, pairs: Any) -> Any:
        made: Any = object.__new__(_find_class(name))
        state = dict(map(self._children, pairs))
        require(all(type(key) is str for key in state), f"a {name} has an attribute without a name")
        made.__setstate__(state) if hasattr(made, "__setstate__") else made.__dict__.update(state)
        return made

    def make_skops(self, name: str, trusted: Any) -> Any:
        made = skops.io.loads(next(self.others), trusted=self.trusted)
        require(full_name(made) == name, f"there is no {name}")
        return made


KINDS = {name.removeprefix("make_") for name in vars(_Decoder) if name.startswith("make_")}


def _is_known(cls: type) -> bool:
    return is_savable(cls) if cls.__module__.startswith("montechain.") else foreign.is_library_class(cls)


def _find(name: Any) -> Any:
    require(isinstance(name, str) and NAME.fullmatch(name), f"a file may not name {name!r}")
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _find_class(name: Any) -> Any:
    """Return the class of this name, if a file may hold its instances."""
    found = _find(name)
    require(isinstance(found, type) and _is_known(found), f"a file may not hold a {name}")
    return found


def _is_plain(dtype: np.dtype) -> bool:
    if dtype.names:
        return all(_is_plain(dtype[field]) for field in dtype.names)
    return dtype.kind in "biufcSUMm" and dtype.itemsize > 0 and dtype.subdtype is None
