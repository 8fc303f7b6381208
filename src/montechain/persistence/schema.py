"""The plan of a payload, judged before anything in it is built.

A payload is a zip file of arrays and of ``schema.json``: a tree of nodes, each of which names a way to build an
object (its loader), the object's type, and its parts. skops builds from it. Its own audit of the types follows; here
the tree itself is judged, linear in its size, so that this audit and the building cannot be led astray:

- every way of building is known, and builds only the types that belong to it;
- nodes have numbers, and skops builds the first of those that share one: they must be the same to the letter, so that
  what is judged is what is built, no few nodes can stand for billions, and none contains itself;
- arrays are as large as they say, and hold no objects;
- what compiled code reads without looking (the nodes of trees, parameters of losses) is checked.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from montechain.errors import ModelFileError
from montechain.persistence.arrays import check_array_file, check_sparse_file, without_padding
from montechain.persistence.containers import checked_entries, write_stored
from montechain.persistence.trees import check_nodes
from montechain.persistence.trust import PINNED, TRUSTED

__all__ = ["check_payload", "normalised"]

SCHEMA = "schema.json"
OLDEST_PROTOCOL = 2
"""Older plans are built by older rules, which are looser; montechain has never written one."""
DEEPEST = 120
"""Real models are some thirty nodes deep."""
ALWAYS_ALLOWED = 2**28
"""Bytes that all files of a payload may unfold into, however small it is."""
MOST_UNFOLDED = 50
"""All files of a payload may unfold into so many times its size."""
SPOILED = "it was tampered with or damaged"

Node = dict[str, Any]


def _values(state: Node) -> list[Node]:
    return [state["key_types"], *state["content"].values()]


def _array(state: Node) -> list[Node]:
    return [*state["content"], state["shape"]] if state["type"] == "json" else []


def _reduced(state: Node) -> list[Node]:
    return [state["content"], state["__reduce__"]["args"]]


def _each(state: Node) -> list[Node]:
    return list(state["content"])


def _named(*names: str) -> Callable[[Node], list[Node]]:
    return lambda state: [state["content"][name] for name in names]


def _content(state: Node) -> list[Node]:
    return [state["content"]]


def _nothing(state: Node) -> list[Node]:
    return []


PARTS: dict[str, Callable[[Node], list[Node]]] = {
    "BytearrayNode": _nothing,
    "BytesNode": _nothing,
    "ConstructorFromReduceNode": _content,
    "DTypeNode": _content,
    "DefaultDictNode": _named("main", "default_factory"),
    "DictNode": _values,
    "FunctionNode": _nothing,
    "JsonNode": _nothing,
    "ListNode": _each,
    "LossNode": _reduced,
    "MaskedArrayNode": _named("data", "mask"),
    "MethodNode": _named("obj"),
    "NdArrayNode": _array,
    "ObjectNode": lambda state: [state["content"]] if state.get("content") is not None else [],
    "OperatorFuncNode": lambda state: [state["attrs"]],
    "PartialNode": _named("func", "args", "kwds", "namespace"),
    "RandomGeneratorNode": _named("bit_generator", "seed_seq"),
    "RandomStateNode": _content,
    "SetNode": _each,
    "SliceNode": _nothing,
    "SparseMatrixNode": _nothing,
    "TreeNode": _reduced,
    "TupleNode": _each,
    "TypeNode": _nothing,
}
"""Every way of building that is known, and where its parts are."""

FILES = {"NdArrayNode": ".npy", "SparseMatrixNode": ".npz", "BytesNode": ".bin", "BytearrayNode": ".bin"}
"""What is kept in a file of its own."""
CALLS = {"ConstructorFromReduceNode", "MethodNode", "OperatorFuncNode", "PartialNode", "RandomGeneratorNode"}
"""Ways of building that call something, or keep something to be called: only for types that the user trusts."""


def check_payload(payload: bytes, trusted: Collection[str]) -> set[str]:
    """Judge a payload; return the names of types that would have to be trusted first.

    Parameters
    ----------
    payload : bytes
    trusted : collection of str
        Types that the user trusts, built in whichever way.

    Raises
    ------
    ModelFileError
        If no trust could make the payload a model.
    """
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        entries = checked_entries(archive, len(payload), "the model's payload")
        if SCHEMA not in entries:
            raise ModelFileError(f"the model's payload has no {SCHEMA}: {SPOILED}.")
        schema = json.loads(archive.read(SCHEMA))
        return _Judge(archive, entries, frozenset(trusted)).judge(schema)


def normalised(payload: bytes) -> bytes:
    """Return a payload whose bytes depend on nothing but the model: numbers and files named in order, no times.

    skops numbers objects by their addresses in memory.
    """
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        schema = json.loads(archive.read(SCHEMA))
        numbered: dict[Any, Node] = {}
        files: dict[str, str] = {}
        waiting = [schema]
        while waiting:
            node = waiting.pop()
            first = numbered.setdefault(_identity(node), node)
            if first is not node:
                # The same object once more, with the same parts to the letter: they are numbered already.
                node.update(first)
                continue
            waiting += reversed(PARTS[node["__loader__"]](node))
            node["__id__"] = len(numbered)
            if "file" in node and node["__loader__"] in FILES:
                node["file"] = files.setdefault(node["file"], f"{len(files) + 1}{FILES[node['__loader__']]}")
        content = {SCHEMA: json.dumps(schema, separators=(",", ":")).encode()}
        content |= {
            new: without_padding(archive.read(old)) if new.endswith(".npy") else archive.read(old)
            for old, new in files.items()
        }
    buffer = io.BytesIO()
    write_stored(buffer, content)
    return buffer.getvalue()


def _identity(node: Node) -> Any:
    """Return what makes a node the same as another: values that never change are the same if they are equal."""
    if node["__loader__"] in ("JsonNode", "TypeNode", "FunctionNode"):
        return node["__module__"], node["__class__"], node.get("content")
    return node["__id__"]


class _Judge:
    """Goes through a plan once, depth first, as skops does."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], trusted: frozenset[str]):
        self.archive = archive
        self.entries = entries
        self.trusted = trusted
        self.strange: set[str] = set()
        self.seen: dict[int, Node] = {}
        self.open: set[int] = set()
        self.sizes: dict[tuple[str, str], int] = {}
        self.total = 0
        self.most = max(ALWAYS_ALLOWED, MOST_UNFOLDED * sum(entry.file_size for entry in entries.values()))

    def judge(self, schema: Any) -> set[str]:
        if not isinstance(schema, dict):
            raise ModelFileError(f"the model's plan is no object: {SPOILED}.")
        protocol = schema.get("protocol")
        if not isinstance(protocol, int) or isinstance(protocol, bool) or protocol < OLDEST_PROTOCOL:
            raise ModelFileError(f"the model's plan has the protocol {protocol!r}, which is not one of montechain's.")
        self._judge(schema, 0)
        return self.strange

    def _judge(self, state: Any, depth: int) -> None:
        """Judge a node and all below it."""
        if depth > DEEPEST:
            raise ModelFileError(f"the model's plan is more than {DEEPEST} nodes deep: {SPOILED}.")
        loader, name, number = self._head(state)
        if number in self.open:
            raise ModelFileError(f"the model's plan contains itself: {SPOILED}.")
        if number in self.seen:
            if self.seen[number] != state:
                raise ModelFileError(f"two different parts of the model's plan have the number {number}: {SPOILED}.")
            return
        self.seen[number] = state
        self._judge_type(state, loader, name)
        self.open.add(number)
        for part in PARTS[loader](state):
            self._judge(part, depth + 1)
        self.open.discard(number)
        if loader in FILES:
            # As often as a file is read: once for every node that names it.
            self.total += self._judge_file(state, loader)
            if self.total > self.most:
                raise ModelFileError(f"the model's arrays would unfold into more than {self.most} bytes: {SPOILED}.")
        if loader == "TreeNode":
            self._judge_tree(state)
        if loader == "LossNode" and self._plain(state["content"]) not in ({}, (), None):
            # Compiled code takes a fixed number of values from it without counting them.
            raise ModelFileError(f"a loss function of the model has a state: {SPOILED}.")

    @staticmethod
    def _head(state: Any) -> tuple[str, str, int]:
        if not isinstance(state, dict):
            raise ModelFileError(f"a part of the model's plan is no object: {SPOILED}.")
        loader, module, kind, number = (state.get(f"__{key}__") for key in ("loader", "module", "class", "id"))
        if loader not in PARTS or not isinstance(loader, str):
            raise ModelFileError(f"the model's plan builds something by {loader!r}, which is not known: {SPOILED}.")
        if not isinstance(module, str) or not isinstance(kind, str):
            raise ModelFileError(f"a part of the model's plan has no type: {SPOILED}.")
        if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
            raise ModelFileError(f"a part of the model's plan has no number: {SPOILED}.")
        return loader, f"{module}.{kind}", number

    def _judge_type(self, state: Node, loader: str, name: str) -> None:
        if loader == "JsonNode" and not isinstance(state["content"], str):
            raise ModelFileError(f"a plain value of the model is no text: {SPOILED}.")
        if loader == "DictNode" and not self._are_types(state["key_types"]):
            raise ModelFileError(f"the keys of a dictionary have no types: {SPOILED}.")
        if loader == "MethodNode":
            name = f"{name}.{state['content']['func']}"
        if name in self.trusted:
            return
        if name in TRUSTED and loader != TRUSTED[name]:
            raise ModelFileError(f"the model's plan builds a {name} by {loader}: {SPOILED}.")
        if loader == "RandomGeneratorNode" and self._is_plain_generator(state):
            return
        if loader in CALLS or (loader in PINNED and name not in PINNED[loader]):
            self.strange.add(name)

    @staticmethod
    def _are_types(state: Any) -> bool:
        # The keys are made by calling these.
        if not isinstance(state, dict) or state.get("__loader__") != "ListNode":
            return False
        return all(isinstance(part, dict) and part.get("__loader__") == "TypeNode" for part in state["content"])

    @staticmethod
    def _is_plain_generator(state: Node) -> bool:
        """Return whether this is numpy's default generator; others keep places in tables that nobody checks."""
        bits = state["content"]["bit_generator"]
        name = bits["content"]["bit_generator"]
        is_named = bits["__loader__"] == "DictNode" and name["__loader__"] == "JsonNode"
        return is_named and name["content"] == '"PCG64"' and state["__class__"] == "Generator"

    def _judge_file(self, state: Node, loader: str) -> int:
        """Return the bytes that a file unfolds into."""
        if loader == "NdArrayNode" and state["type"] == "json":
            return 0
        name = state["file"]
        if name not in self.entries or name == SCHEMA:
            raise ModelFileError(f"the model's payload has no {name!r}, which its plan mentions: {SPOILED}.")
        if (loader, name) in self.sizes:
            return self.sizes[loader, name]
        size = self.entries[name].file_size
        if loader == "NdArrayNode":
            with self.archive.open(name) as stream:
                check_array_file(stream, size, name)
        elif loader == "SparseMatrixNode":
            size = check_sparse_file(self.archive.read(name), name)
        self.sizes[loader, name] = size
        return size

    def _judge_tree(self, state: Node) -> None:
        """Judge a tree of scikit-learn by its parts: already its making reads as many numbers as it is told to."""
        arguments, content = self._plain(state["__reduce__"]["args"]), self._plain(state["content"])
        if not isinstance(arguments, tuple) or len(arguments) != 3 or not isinstance(content, dict):
            raise ModelFileError(f"a tree of the model has not the parts of a tree: {SPOILED}.")
        try:
            check_nodes(*arguments, content)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
            raise ModelFileError(f"a tree of the model does not hold together ({error}): {SPOILED}.") from error

    def _plain(self, state: Node) -> Any:
        """Return a dictionary, tuple, array or plain value of the plan; NotImplemented for anything else.

        Not None, which is a plain value itself.
        """
        loader = state["__loader__"]
        if loader == "JsonNode":
            return json.loads(state["content"])
        if loader == "TupleNode":
            return tuple(self._plain(part) for part in state["content"])
        if loader == "DictNode":
            return {key: self._plain(part) for key, part in state["content"].items()}
        if loader == "NdArrayNode" and state["type"] == "numpy":
            self._judge_file(state, loader)
            return np.load(io.BytesIO(self.archive.read(state["file"])), allow_pickle=False)
        return NotImplemented
