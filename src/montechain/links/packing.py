"""Pack learned links into a few large arrays, for files and other processes, and unpack them with every size checked.

A label-linear link has an array for each of its parents, so a chain over a hundred labels has thousands of small
arrays. Here they are concatenated. Unpacking checks that the arrays agree with each other, because the compiled
kernels trust their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from montechain.links.base import FittedLink
from montechain.links.linear import ONE_VERSUS_REST, PAIRWISE, SOFTMAX, FittedLinearLink, n_scores

__all__ = ["check_parents", "joined", "pack_links", "ragged", "unpack_links", "whole_numbers"]


def pack_links(links: Sequence[FittedLink]) -> dict[str, Any]:
    """Return links as plain arrays; links that are not label-linear are left unchanged.

    Parameters
    ----------
    links : sequence of fitted links

    Returns
    -------
    dict

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
    blocks = [effects for link in linear for effects in link.parent_effects]
    return {
        "is_linear": is_linear,
        "others": [link for link in links if not isinstance(link, FittedLinearLink)],
        "n_classes": np.array([link.n_classes for link in linear], dtype=np.int64),
        "response": np.array([link.response for link in linear], dtype=np.int64),
        "is_weighted": np.array([link.score_weight is not None for link in linear], dtype=bool),
        "coef": np.concatenate([np.empty((_n_features(linear), 0)), *(link.coef for link in linear)], axis=1),
        "intercept": _laid_end_to_end([link.intercept for link in linear]),
        "score_weight": _laid_end_to_end([link.score_weight for link in linear if link.score_weight is not None]),
        "n_parents": np.array([len(link.parent_effects) for link in linear], dtype=np.int64),
        "parents_n_classes": np.array([len(block) for block in blocks], dtype=np.int64),
        "effects": _laid_end_to_end(blocks),
    }


def unpack_links(packed: Mapping[str, Any]) -> tuple[FittedLink, ...]:
    """Return the links that `pack_links` has packed.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or hold numbers that are not finite.
    """
    n_classes, response = whole_numbers(packed, "n_classes", 1), whole_numbers(packed, "response", 0)
    n_linear = len(n_classes)
    is_linear, is_weighted = flags(packed, "is_linear"), flags(packed, "is_weighted")
    if len(response) != n_linear or len(is_weighted) != n_linear or sum(is_linear) != n_linear:
        raise ValueError("the numbers of links do not agree.")
    if not set(response) <= {SOFTMAX, ONE_VERSUS_REST, PAIRWISE}:
        raise ValueError(f"a link has an unknown response: {sorted(set(response))}.")
    others = list(packed["others"])
    if len(others) != len(is_linear) - n_linear or not all(_is_link(link) for link in others):
        raise ValueError("expected a link, but found something else.")
    widths = [n_scores(kind, k) for kind, k in zip(response, n_classes, strict=True)]
    if any(weighted and kind != PAIRWISE for weighted, kind in zip(is_weighted, response, strict=True)):
        raise ValueError("a link has weights of pairs, but its scores are not about pairs.")
    coef = _numbers(packed, "coef", 2)
    if coef.shape[1] != sum(widths):
        raise ValueError(f"the coefficients have {coef.shape[1]} columns for {sum(widths)} scores.")
    intercepts = _cut(_numbers(packed, "intercept", 1), widths)
    weights = iter(
        _cut(
            _numbers(packed, "score_weight", 1),
            [width for width, weighted in zip(widths, is_weighted, strict=True) if weighted],
        )
    )
    parents_n_classes = ragged(whole_numbers(packed, "n_parents", 0), whole_numbers(packed, "parents_n_classes", 1))
    if len(parents_n_classes) != n_linear:
        raise ValueError("the numbers of links and of lists of parents do not agree.")
    blocks = iter(
        _cut(
            _numbers(packed, "effects", 1),
            [k * width for width, own in zip(widths, parents_n_classes, strict=True) for k in own],
        )
    )
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)
    linear = iter(
        [
            FittedLinearLink(
                n_classes[i],
                response[i],
                np.ascontiguousarray(coef[:, starts[i] : starts[i + 1]]),
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

    Parameters
    ----------
    links : sequence of fitted links
    parents : sequence of sequences of int
        For each link, the places of its parents among the links.
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
    if sum(lengths) != len(numbers):
        raise ValueError(f"found {len(numbers)} numbers instead of {sum(lengths)}.")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    return [tuple(numbers[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def whole_numbers(packed: Mapping[str, Any], name: str, least: int) -> list[int]:
    """Return a one-dimensional array of whole numbers as a list, if it is one."""
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name!r} is not a list of whole numbers.")
    if len(array) and array.min() < least:
        raise ValueError(f"{name!r} holds {array.min()}, which is below {least}.")
    return array.tolist()


def flags(packed: Mapping[str, Any], name: str) -> list[bool]:
    """Return a one-dimensional array of truth values as a list, if it is one."""
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != np.bool_:
        raise ValueError(f"{name!r} is not a list of truth values.")
    return array.tolist()


def _numbers(packed: Mapping[str, Any], name: str, n_dimensions: int) -> np.ndarray:
    array = packed[name]
    if not isinstance(array, np.ndarray) or array.ndim != n_dimensions or array.dtype != np.float64:
        raise ValueError(f"{name!r} is not an array of numbers with {n_dimensions} dimensions.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name!r} holds numbers that are not finite.")
    return array


def _cut(array: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
    if len(array) != sum(lengths):
        raise ValueError(f"found {len(array)} numbers instead of {sum(lengths)}.")
    return np.split(array, np.cumsum(lengths)[:-1]) if lengths else []


def _laid_end_to_end(arrays: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.empty(0), *(np.ravel(array) for array in arrays)]).astype(np.float64)


def _n_features(linear: Sequence[FittedLinearLink]) -> int:
    return linear[0].coef.shape[0] if linear else 0


def _is_link(link: Any) -> bool:
    n_classes = getattr(link, "n_classes", None)
    # A label-linear link must come as arrays, which are checked.
    is_other = not isinstance(link, FittedLinearLink) and hasattr(link, "log_proba")
    return is_other and isinstance(n_classes, int | np.integer) and bool(n_classes >= 1)
