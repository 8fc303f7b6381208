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
    """Return the order of the labels and the parents of each.

    Parameters
    ----------
    parents : {"all", "none", "tree"}, int or mapping
        ``"all"``: every earlier label. ``"none"``: no label, so that labels are independent given x.
        ``"tree"``: the maximum spanning tree of the pairwise mutual information of the labels,
        directed away from the first label of `order`. An integer k: the k earlier labels with the
        largest mutual information. Else an explicit directed acyclic graph: ``{label: its parents}``
        (labels left out have none).
    order : sequence of int
        A permutation of the labels. A tree or graph may need a different order: then labels are taken
        from the front of `order` as soon as all of their parents have been taken.
    codes : int ndarray of shape (n, L)
        Classes, -1 where a label is unknown.
    n_classes : sequence of int
    fixed : bool
        Whether the user chose this order: then an explicit graph in which a parent comes after its child is an error.
    names : sequence, optional
        Names of the labels, which an explicit graph may use.
    sample_weight, information : ndarrays of shape (n,) and (L, L), optional
        Weights of the rows for `mutual_information`; or its result, if it is known already.

    Returns
    -------
    order : tuple of int
    parents : tuple of tuples of int
        For each *label*, the labels that are its parents, in ascending order.
    """
    if isinstance(parents, str) and parents not in NAMES:
        raise ValueError(f"`parents={parents!r}` is not known{nearest(parents, NAMES) or '.'} {ALLOWED}")
    order = tuple(order)
    if isinstance(parents, str) and parents != "tree":
        return order, _earlier(order, len(order) if parents == "all" else 0)
    if isinstance(parents, str) or (isinstance(parents, int | np.integer) and not isinstance(parents, bool)):
        if information is None:
            information = mutual_information(codes, n_classes, sample_weight)
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
            f"`parents` makes label {parent} a parent of label {label}, but comes after it in "
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

    Each pair is counted over the rows in which both labels are known.

    Parameters
    ----------
    codes : int ndarray of shape (n, L)
        Classes, -1 where a label is unknown.
    n_classes : sequence of int
    sample_weight : ndarray of shape (n,), optional
        How much each row counts; a weight of 0 leaves the row out.

    Examples
    --------
    >>> codes = np.array([[0, 0], [1, 1], [0, 1]])
    >>> mutual_information(codes, [2, 2], sample_weight=np.array([1.0, 1.0, 0.0])).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    n_rows, n_labels = codes.shape
    label_of = np.repeat(np.arange(n_labels), n_classes)
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
