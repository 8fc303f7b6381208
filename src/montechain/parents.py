"""Choose which earlier labels each link sees, and an order that fits."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from montechain._messages import nearest

NAMES = ("all", "none", "tree")
ALLOWED = (
    "Allowed are 'all', 'none', 'tree', an integer k (the k most informative earlier labels) or an explicit graph as a "
    "mapping such as {2: [0, 1]}."
)
Graph = tuple[tuple[int, ...], ...]
"""For each label, the labels that are its parents, in ascending order."""


def arrange(
    parents: Any,
    order: Sequence[int],
    codes: np.ndarray,
    n_classes: Sequence[int],
    *,
    fixed: bool = False,
    names: Sequence[Any] | None = None,
    sample_weight: np.ndarray | None = None,
    information: np.ndarray | None = None,
) -> tuple[tuple[int, ...], Graph]:
    """Return the order of the labels, and the parents of each *label*.

    `parents` is that of `ChainClassifier`: "all", "none", "tree", the number k of the most informative earlier labels,
    or a mapping ``{label: its parents}``, in which labels may be left out or given by `names`. A tree or mapping may
    need a different order: then labels are taken from the front of `order` as soon as all of their parents have been
    taken. If the user chose the order (`fixed`), a mapping in which a parent comes after its child is an error.

    `codes`, `n_classes` and `sample_weight` are those of `mutual_information`, and `information` is its result, if that
    is known already.
    """
    if isinstance(parents, str) and parents not in NAMES:
        raise ValueError(f"`parents={parents!r}` is not known{nearest(parents, NAMES) or '.'} {ALLOWED}")
    order = tuple(order)
    if isinstance(parents, str) and parents != "tree":
        return order, _earlier(order, len(order) if parents == "all" else 0)
    if isinstance(parents, str) or (isinstance(parents, int | np.integer) and not isinstance(parents, bool)):
        if information is None:
            of_blocks = getattr(codes, "information", None)
            information = mutual_information(codes, n_classes, sample_weight) if of_blocks is None else of_blocks
        if isinstance(parents, str):
            # scipy looks for the minimum and takes zero for "no edge": so subtract from more than the largest.
            weights = information.max() + 1.0 - information
            np.fill_diagonal(weights, 0.0)
            above = breadth_first_order(minimum_spanning_tree(weights), order[0], directed=False)[1]
            graph: Graph = tuple((int(parent),) if parent >= 0 else () for parent in above)
            return _topological(graph, order), graph
        if parents < 0:
            raise ValueError(f"`parents={parents}` must not be negative: give how many earlier labels a link may see.")
        return order, _earlier(order, int(parents), information)
    graph = _explicit(parents, len(order), names)
    fitting = _topological(graph, order)
    if fixed and fitting != order:
        label, parent = next((j, k) for j in order for k in graph[j] if order.index(k) > order.index(j))
        raise ValueError(
            f"`parents` makes label {parent} a parent of label {label}, but {parent} comes after it in "
            f"`order={list(order)}`. Put {parent} before {label}, or leave `order=None` to get a fitting order."
        )
    return fitting, graph


def label_numbers(labels: Iterable[Any], parameter: str, n_labels: int, names: Sequence[Any] | None) -> list[int]:
    """Return the numbers of labels that are given by number or name, which may be out of range."""
    position = {} if names is None else {name: label for label, name in enumerate(names)}
    numbers: list[Any] = [position.get(label, label) if isinstance(label, Hashable) else label for label in labels]
    for label in numbers:
        if not isinstance(label, int | np.integer) or isinstance(label, bool):
            known = "" if names is None else f" or names out of {list(names)}"
            raise ValueError(f"`{parameter}` holds {label!r}: allowed are the numbers 0 to {n_labels - 1}{known}.")
    return [int(label) for label in numbers]


def mutual_information(
    codes: np.ndarray, n_classes: Sequence[int], sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the mutual information, in nats, of each pair of labels, of shape (L, L).

    Each pair is counted over the rows in which both labels are known: `codes`, of shape (n, L), are -1 elsewhere. A
    `sample_weight` of 0 leaves a row out.

    >>> codes = np.array([[0, 0], [1, 1], [0, 1]])
    >>> mutual_information(codes, [2, 2], sample_weight=np.array([1.0, 1.0, 0.0])).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    return information_of(pair_counts(codes, n_classes, sample_weight), n_classes)


def pair_counts(codes: np.ndarray, n_classes: Sequence[int], sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Return the total weight of each pair of classes, a square matrix; the parameters are `mutual_information`'s."""
    n_rows, n_labels = codes.shape
    start = np.cumsum([0, *n_classes])
    first = start[:-1]
    weight = np.ones((n_rows, 1)) if sample_weight is None else np.asarray(sample_weight, np.float64)[:, None]
    # Most labels are mostly of their first class: count the other classes, and take them off the rows that are known.
    rows, labels = np.nonzero(codes > 0)
    others = sp.csr_array((np.ones(len(rows)), (rows, start[labels] + codes[rows, labels])), (n_rows, start[-1]))
    known = np.ones((n_rows, 1)) if (codes >= 0).all() else (codes >= 0).astype(np.float64)
    of_known = np.broadcast_to(others.T @ (weight * known), (start[-1], n_labels))
    counts = (others.T @ others.multiply(weight)).toarray()
    counts[:, first] += of_known - np.add.reduceat(counts, first, axis=1)
    of_known = of_known.T.copy()
    of_known[:, first] += known.T @ (weight * known) - np.add.reduceat(of_known, first, axis=1)
    counts[first] += of_known - np.add.reduceat(counts, first, axis=0)
    return counts


def information_of(counts: np.ndarray, n_classes: Sequence[int]) -> np.ndarray:
    """Return the mutual information of each pair of labels, from the result of `pair_counts`."""
    first = np.cumsum([0, *n_classes])[:-1]
    label_of = np.repeat(np.arange(len(first)), n_classes)
    total = np.add.reduceat(np.add.reduceat(counts, first, axis=0), first, axis=1)[label_of][:, label_of]
    row_margin = np.add.reduceat(counts, first, axis=1)[:, label_of]
    column_margin = np.add.reduceat(counts, first, axis=0)[label_of]
    # Weights need not be integers, so subtraction may leave a small remainder instead of zero.
    occurs = counts > 1e-12 * total.max(initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(occurs, counts / total * np.log(counts * total / (row_margin * column_margin)), 0.0)
    pairs = np.add.reduceat(np.add.reduceat(terms, first, axis=0), first, axis=1)
    return np.maximum(pairs, 0.0)


def _earlier(order: Sequence[int], k: int, information: Any = None) -> Graph:
    """Return the parents of each label: the `k` earlier labels that are most informative about it."""
    graph: list[tuple[int, ...]] = [()] * len(order)
    for position, label in enumerate(order):
        earlier = np.array(order[:position], dtype=int)
        if k < position:
            told = np.zeros(position) if information is None else information[label, earlier]
            earlier = earlier[np.argsort(-told, kind="stable")[:k]]
        graph[label] = tuple(sorted(earlier.tolist()))
    return tuple(graph)


def _topological(graph: Graph, order: Sequence[int]) -> tuple[int, ...]:
    """Return the labels so that parents come first, and otherwise as early as `order` has them; no cycles."""
    left, taken = list(order), dict[int, None]()
    while (ready := next((j for j in left if all(parent in taken for parent in graph[j])), None)) is not None:
        taken[ready] = None
        left.remove(ready)
    return tuple(taken)


def _explicit(parents: Any, n_labels: int, names: Sequence[Any] | None) -> Graph:
    """Return an explicit graph, which must be acyclic, as the sorted parents of each label."""
    if not isinstance(parents, Mapping):
        raise TypeError(f"`parents` is of type {type(parents).__name__}. {ALLOWED}")
    graph: list[tuple[int, ...]] = [()] * n_labels
    for label, above in parents.items():
        if isinstance(above, str) or not isinstance(above, Iterable):
            raise ValueError(
                f"`parents` gives label {label!r} the parents {above!r}: give a list, such as [{above!r}]."
            )
        own, *others = label_numbers([label, *above], "parents", n_labels, names)
        if out_of_range := [label for label in (own, *others) if not 0 <= label < n_labels]:
            raise ValueError(f"`parents` names the label {out_of_range[0]}: allowed are 0 to {n_labels - 1}.")
        graph[own] = tuple(sorted(set(others)))
    try:
        TopologicalSorter(dict(enumerate(graph))).prepare()
    except CycleError as error:
        path = " -> ".join(map(str, error.args[1]))
        raise ValueError(
            f"`parents` has a cycle: {path}. Remove one of these edges; a chain needs an acyclic graph."
        ) from None
    return tuple(graph)
