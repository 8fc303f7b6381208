"""Pack learned links into a few large arrays, for files and other processes, and unpack them with every size checked.

A label-linear link has an array for each of its parents, so a chain over a hundred labels has thousands of small
arrays. Here they are concatenated. Unpacking checks that the arrays agree with each other, because the compiled
kernels trust their sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from montechain.links.base import FittedLink
from montechain.links.linear import ONE_VERSUS_REST, PAIRWISE, SOFTMAX, FittedLinearLink, n_scores

__all__ = ["check_parents", "joined", "pack_links", "ragged", "unpack_links", "whole_numbers"]


def pack_links(links: Sequence[FittedLink]) -> dict[str, Any]:
    """Return links as plain arrays; links that are not label-linear are left unchanged.

    Examples
    --------
    >>> link = FittedLinearLink.constant(np.log([0.2, 0.8]), n_features=3, parents_n_classes=[2, 4])
    >>> packed = pack_links([link, link])
    >>> packed["coef"].shape, packed["effects"].shape
    ((3, 2), (12,))
    >>> unpack_links(packed)[1].parent_effects[1].shape
    (4, 1)
    """
    is_linear = np.array([isinstance(link, FittedLinearLink) for link in links], dtype=bool)
    linear = [link for link in links if isinstance(link, FittedLinearLink)]
    n_parents, parents_n_classes = joined([[len(block) for block in link.parent_effects] for link in linear])
    n_features = linear[0].coef.shape[0] if linear else 0
    return {
        "is_linear": is_linear,
        "others": [link for link in links if not isinstance(link, FittedLinearLink)],
        "n_classes": np.array([link.n_classes for link in linear], dtype=np.int64),
        "response": np.array([link.response for link in linear], dtype=np.int64),
        "is_weighted": np.array([link.score_weight is not None for link in linear], dtype=bool),
        "coef": np.concatenate([np.empty((n_features, 0)), *(link.coef for link in linear)], axis=1),
        "intercept": _end_to_end(link.intercept for link in linear),
        "score_weight": _end_to_end(link.score_weight for link in linear if link.score_weight is not None),
        "n_parents": n_parents,
        "parents_n_classes": parents_n_classes,
        "effects": _end_to_end(block for link in linear for block in link.parent_effects),
    }


def unpack_links(packed: Mapping[str, Any]) -> tuple[FittedLink, ...]:
    """Return the links that `pack_links` has packed.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or hold numbers that are not finite.
    """
    n_classes, response = whole_numbers(packed, "n_classes", 1), whole_numbers(packed, "response", 0)
    is_linear, is_weighted = (
        _array(packed, name, 1, "b", "a list of truth values").tolist() for name in ("is_linear", "is_weighted")
    )
    parents_n_classes = ragged(whole_numbers(packed, "n_parents", 0), whole_numbers(packed, "parents_n_classes", 1))
    n_linear, others = len(n_classes), list(packed["others"])
    if {len(response), len(is_weighted), len(parents_n_classes), sum(is_linear)} != {n_linear}:
        raise ValueError("the numbers of links do not agree.")
    if not set(response) <= {SOFTMAX, ONE_VERSUS_REST, PAIRWISE}:
        raise ValueError(f"a link has an unknown response: {sorted(set(response))}.")
    if len(others) != len(is_linear) - n_linear or not all(_is_link(link) for link in others):
        raise ValueError("expected a link, but found something else.")
    if any(weighted and kind != PAIRWISE for weighted, kind in zip(is_weighted, response, strict=True)):
        raise ValueError("a link has weights of pairs, but its scores are not about pairs.")
    widths = [n_scores(kind, k) for kind, k in zip(response, n_classes, strict=True)]
    coef = _numbers(packed, "coef", 2)
    if coef.shape[1] != sum(widths):
        raise ValueError(f"the coefficients have {coef.shape[1]} columns for {sum(widths)} scores.")
    intercepts = _cut(_numbers(packed, "intercept", 1), widths)
    weighted_widths = [width for width, weighted in zip(widths, is_weighted, strict=True) if weighted]
    weights = iter(_cut(_numbers(packed, "score_weight", 1), weighted_widths))
    sizes = [k * width for width, own in zip(widths, parents_n_classes, strict=True) for k in own]
    blocks = iter(_cut(_numbers(packed, "effects", 1), sizes))
    ends = np.cumsum(widths, dtype=np.intp)
    linear = iter(
        [
            FittedLinearLink(
                n_classes[i],
                response[i],
                np.ascontiguousarray(coef[:, ends[i] - widths[i] : ends[i]]),
                intercepts[i],
                tuple(next(blocks).reshape(k, widths[i]) for k in parents_n_classes[i]),
                next(weights) if is_weighted[i] else None,
            )
            for i in range(n_linear)
        ]
    )
    rest = iter(others)
    return tuple(next(linear) if kind else next(rest) for kind in is_linear)


def check_parents(links: Sequence[Any], parents: Sequence[Sequence[int]]) -> None:
    """Raise a ValueError unless each link expects the numbers of classes that its parents have.

    `parents` holds, for each link, the places of its parents among the links.
    """
    for link, own in zip(links, parents, strict=True):
        has = [int(links[j].n_classes) for j in own]
        if isinstance(link, FittedLinearLink):
            expects = [len(block) for block in link.parent_effects]
        else:  # links of the user's own making need not say what they expect
            expects = [int(k) for k in getattr(link, "parents_n_classes", has)]
        if has != expects:
            raise ValueError(f"a link expects parents with {expects} classes, but they have {has}.")


def joined(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of several lists, and their numbers end to end; the reverse of `ragged`."""
    lengths = np.array([len(numbers) for numbers in lists], dtype=np.int64)
    return lengths, np.array([number for numbers in lists for number in numbers], dtype=np.int64)


def ragged(lengths: Sequence[int], numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return lists of the given lengths.

    >>> ragged([2, 0, 1], [5, 6, 7])
    [(5, 6), (), (7,)]
    """
    return [tuple(part.tolist()) for part in _cut(np.array(numbers, dtype=np.int64), lengths)]


def whole_numbers(packed: Mapping[str, Any], name: str, least: int) -> list[int]:
    """Return a one-dimensional array of whole numbers as a list, if it is one."""
    array = _array(packed, name, 1, "iu", "a list of whole numbers")
    if len(array) and array.min() < least:
        raise ValueError(f"{name!r} holds {array.min()}, which is below {least}.")
    return array.tolist()


def _numbers(packed: Mapping[str, Any], name: str, n_dimensions: int) -> np.ndarray:
    array = _array(packed, name, n_dimensions, "f", f"an array of numbers with {n_dimensions} dimensions")
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"{name!r} holds numbers that are not finite, or not of double precision.")
    return array


def _array(packed: Mapping[str, Any], name: str, n_dimensions: int, kinds: str, what: str) -> np.ndarray:
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.ndim != n_dimensions or array.dtype.kind not in kinds:
        raise ValueError(f"{name!r} is not {what}.")
    return array


def _cut(array: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
    if len(array) != sum(lengths):
        raise ValueError(f"found {len(array)} numbers instead of {sum(lengths)}.")
    return np.split(array, np.cumsum(lengths)[:-1]) if lengths else []


def _end_to_end(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *map(np.ravel, arrays)]).astype(np.float64)


def _is_link(link: Any) -> bool:
    n_classes = getattr(link, "n_classes", None)
    # A label-linear link must come as arrays, which are checked.
    is_other = not isinstance(link, FittedLinearLink) and hasattr(link, "log_proba")
    return is_other and isinstance(n_classes, int | np.integer) and bool(n_classes >= 1)
