"""The probabilistic chain: p(y | x) as a product of links.

Everything in this module speaks of *positions*: position k holds the label ``order[k]``. Label
vectors are integer codes, one column per position. The scikit-learn classes translate.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._compat import take_rows
from montechain._kernels.joint import log_joint as log_joint_kernel
from montechain._kernels.joint import sample as sample_kernel
from montechain._kernels.ties import on_grid
from montechain._savable import savable
from montechain.errors import NonFiniteError
from montechain.links.base import UNKNOWN, FittedLink, LinkLearner, LinkProblem
from montechain.links.design import as_matrix
from montechain.links.linear import FittedLinearLink, LinearScorer, LinearScores
from montechain.links.packing import check_parents, joined, pack_links, ragged, unpack_links, whole_numbers
from montechain.targets import CODE

__all__ = ["Chain", "ChainBase", "PrefixTree"]

REMEMBERED = 2**18
"""At most so many answers of links are kept while the prefixes of some rows are searched."""
CELLS_AT_ONCE = 2**23
"""About so many numbers of x are repeated at a time, one row for each of its prefixes, for links of any kind."""


class ChainBase(ABC):
    """The narrow view of a chain that every inference strategy works with.

    Attributes
    ----------
    n_classes : tuple of int
        Number of classes of the label at each position.
    parents : tuple of tuples of int
        For each position, the earlier positions that its link looks at.
    """

    n_classes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def label_at(self, k: int) -> int:
        """Return the label that stands at position `k`, for error messages."""
        return k

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_scores(self) -> int:
        """Number of label-linear scores of a row; 0 if some link is not label-linear."""
        return 0

    @abstractmethod
    def conditional(self, X: Any, prefix: np.ndarray) -> np.ndarray:
        """Return log p(class of position k | x, prefix), of shape (n, K), where k is the prefix's length.

        Parameters
        ----------
        X : array, CSR matrix or data frame of n rows
        prefix : int ndarray of shape (n, k)
            The classes of positions 0..k-1, one prefix per row.
        """

    def scores(self, X: Any) -> LinearScores | None:
        """Return the label-linear scores of a batch, or None if some link is not label-linear."""
        return None

    def log_joint(self, X: Any, Y: np.ndarray) -> np.ndarray:
        """Return log p(y | x) for each row; `Y` holds one complete label vector per row."""
        Y = np.ascontiguousarray(Y, dtype=CODE)
        scores = self.scores(X)
        if scores is not None:
            return log_joint_kernel(*scores.arrays, Y)
        return PrefixTree(self, X).log_joint(np.arange(len(Y)), Y)

    def sample(self, X: Any, uniforms: np.ndarray, given: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw label vectors from p(y | x), link by link.

        Parameters
        ----------
        X : array, CSR matrix or data frame of n rows
        uniforms : ndarray of shape (n, S, L) or (1, S, L)
            Uniform numbers in [0, 1): sample s of row i takes the class of position k at which the
            cumulative probability first exceeds ``uniforms[i, s, k]``. With a first axis of length
            one, all rows share one table.
        given : int32 ndarray of shape (n, L), optional
            Known classes, `UNKNOWN` elsewhere: a known class is taken, not drawn.

        Returns
        -------
        labels : int32 ndarray of shape (n, S, L)
        log_weight : ndarray of shape (n, S)
            Sum of the log-probabilities of the known classes along each draw: the importance weight
            of the draw for p(y | x, given). Zero where nothing is known.
        """
        scores = self.scores(X)
        if scores is not None:
            return sample_kernel(*scores.arrays, no_knowledge(self.n_labels) if given is None else given, uniforms)
        tree = PrefixTree(self, X, given)
        n_rows, n_samples = tree.n_rows, uniforms.shape[1]
        rows = np.repeat(np.arange(n_rows), n_samples)
        labels = np.zeros((n_rows * n_samples, self.n_labels), dtype=CODE)
        log_weight = np.zeros(n_rows * n_samples)
        for k in range(self.n_labels):
            log_proba = tree.expand(rows, labels[:, :k])
            drawn = draw_classes(log_proba, np.broadcast_to(uniforms[:, :, k], (n_rows, n_samples)).ravel())
            labels[:, k] = drawn
            if given is not None:
                known = given[rows, k] >= 0
                labels[known, k] = given[rows[known], k]
                log_weight[known] += log_proba[known, labels[known, k]]
        return labels.reshape(n_rows, n_samples, -1), log_weight.reshape(n_rows, n_samples)


@savable
class Chain(ChainBase):
    """A learned chain.

    Parameters
    ----------
    order : sequence of int
        The label that stands at each position.
    parents : sequence of sequences of int
        For each position, the earlier positions that its link looks at, in the order in which the
        link was given them.
    links : sequence of fitted links
        One for each position.
    """

    def __init__(self, order: Sequence[int], parents: Sequence[Sequence[int]], links: Sequence[FittedLink]):
        self.order = tuple(int(label) for label in order)
        self.parents = tuple(tuple(int(j) for j in positions) for positions in parents)
        self.links = tuple(links)
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        self.scorer = LinearScorer(linear, self.parents) if len(linear) == len(self.links) else None

    @classmethod
    def learn(
        cls,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        n_classes: Sequence[int],
        order: Sequence[int],
        parents: Sequence[Sequence[int]],
        *,
        seed: int = 0,
        **options: Any,
    ) -> Chain:
        """Learn the links of a chain.

        Where a parent is unknown, its class is drawn from the chain learned so far; a link is
        learned from the rows in which its own label is known.

        Parameters
        ----------
        learner : LinkLearner
        X : array, CSR matrix or data frame of n rows
        codes : int32 ndarray of shape (n, L)
            One column per *label*, `UNKNOWN` where a label is not known.
        n_classes : sequence of int
            Number of classes of each label.
        order : sequence of int
            The label at each position.
        parents : sequence of sequences of int
            For each *label*, the labels that are its parents.
        seed : int
            For the classes drawn in place of unknown parents.
        **options
            Passed on to `LinkLearner.fit_links`.
        """
        filled = codes.copy()
        incomplete = {label for label in set().union(*parents) if (codes[:, label] == UNKNOWN).any()}
        links: list[FittedLink] = []
        waiting: list[LinkProblem] = []
        for label in order:
            waiting.append(LinkProblem(label, tuple(parents[label])))
            if label in incomplete or label == order[-1]:
                # All links up to here have complete parents and are learned together.
                links += learner.fit_links(X, codes, filled, n_classes, waiting, **options)
                waiting = []
            if label in incomplete:
                rows = np.flatnonzero(codes[:, label] == UNKNOWN)
                log_proba = links[-1].log_proba(take_rows(X, rows), filled[rows][:, list(parents[label])])
                filled[rows, label] = draw_classes(log_proba, np.random.default_rng([seed, label]).random(len(rows)))
        position = {label: k for k, label in enumerate(order)}
        return cls(order, [[position[j] for j in parents[label]] for label in order], links)

    def __getstate__(self) -> dict[str, Any]:
        """Return the chain as a few arrays, for pickles and model files."""
        n_parents, parents = joined(self.parents)
        order = np.array(self.order, dtype=np.int64)
        return {"order": order, "n_parents": n_parents, "parents": parents, "links": pack_links(self.links)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the chain anew; a ValueError says what does not fit together."""
        order = whole_numbers(state, "order", 0)
        parents = ragged(whole_numbers(state, "n_parents", 0), whole_numbers(state, "parents", 0))
        links = unpack_links(state["links"])
        if not order or len(links) != len(order) or len(parents) != len(order):
            raise ValueError(
                f"there are {len(links)} links and {len(parents)} sets of parents for {len(order)} labels."
            )
        if sorted(order) != list(range(len(order))):
            raise ValueError(f"the order {order} is not a permutation of the labels.")
        for k, own in enumerate(parents):
            if len(set(own)) != len(own) or any(j >= k for j in own):
                raise ValueError(f"the parents {list(own)} of position {k} are not distinct earlier positions.")
        check_parents(links, parents)
        self.__init__(order, parents, links)  # type: ignore[misc]

    def conditional(self, X: Any, prefix: np.ndarray) -> np.ndarray:  # noqa: D102
        k = prefix.shape[1]
        return self.links[k].log_proba(X, prefix[:, list(self.parents[k])])

    def label_at(self, k: int) -> int:  # noqa: D102
        return self.order[k]

    @property
    def n_scores(self) -> int:  # noqa: D102
        return 0 if self.scorer is None else len(self.scorer.intercept)

    def scores(self, X: Any) -> LinearScores | None:  # noqa: D102
        if self.scorer is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scorer.scores(X)
            is_finite = math.isfinite(scores.base.sum())
        if not is_finite:
            self._check_scores(scores, X)
        return scores

    def _check_scores(self, scores: LinearScores, X: Any) -> None:
        """Raise an error if a score has overflowed; intercepts may be infinite, for impossible classes."""
        assert self.scorer is not None
        rows, columns = np.nonzero(~np.isfinite(scores.base) & np.isfinite(self.scorer.intercept))
        if len(rows) == 0 and not np.isnan(scores.base).any():
            return
        if len(rows) == 0:
            rows, columns = np.nonzero(np.isnan(scores.base))
        position = int(np.searchsorted(scores.score_start, columns[0], side="right")) - 1
        x = as_matrix(take_rows(X, rows[:1]))
        x = np.ravel(x.toarray() if sp.issparse(x) else x)
        with np.errstate(over="ignore", invalid="ignore"):
            column = int(np.argmax(np.abs(x * self.scorer.coef[:, columns[0]])))
        raise NonFiniteError(self.order[position], column, x[column])


class PrefixTree:
    """The tree of label prefixes over a batch of rows, for chains of any kind.

    What a link has answered is remembered, up to `REMEMBERED` answers, because most searches go through the tree more
    than once.

    Parameters
    ----------
    chain : ChainBase
    X : array, CSR matrix or data frame of n rows
    given : int32 ndarray of shape (n, L), optional
        Known classes, `UNKNOWN` elsewhere.
    """

    def __init__(self, chain: ChainBase, X: Any, given: np.ndarray | None = None):
        self.chain = chain
        self.X = X
        self.given = given
        self.n_rows = X.shape[0]
        self.n_remembered = 0
        # For each position: the keys of the pairs it was evaluated for, sorted, and the log-probabilities.
        self.answers = [(np.empty(0, dtype=np.int64), np.empty((0, n))) for n in chain.n_classes]

    def expand(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the classes that may follow each (row, prefix), of shape (m, K).

        Each distinct pair of a row and its parents' classes is evaluated once, all of them in one
        call. Classes other than a known one get minus infinity.
        """
        k = prefix.shape[1]
        parents = list(self.chain.parents[k])
        n_classes = [self.chain.n_classes[j] for j in parents]
        if self.n_rows * math.prod(n_classes) < 2**62:
            key, first, inverse = distinct(rows, prefix[:, parents], n_classes)
            log_proba = self._answer(k, key, rows[first], prefix[first])[inverse]
        else:  # too many for a key that is the same in each call
            _, first, inverse = distinct(rows, prefix[:, parents], n_classes)
            log_proba = self._conditional(rows[first], prefix[first])[inverse]
        if self.given is not None:
            known = self.given[rows, k][:, None]
            log_proba = np.where((known >= 0) & (np.arange(log_proba.shape[1]) != known), -np.inf, log_proba)
        return log_proba

    def log_joint(self, rows: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log p(y | x) of label vectors of the given rows; minus infinity if they disagree with `given`."""
        total = np.zeros(len(rows))
        for k in range(self.chain.n_labels):
            total += self.expand(rows, Y[:, :k])[np.arange(len(rows)), Y[:, k]]
        return total

    def _answer(self, k: int, key: np.ndarray, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of distinct pairs in the order of their keys, asking for those not known yet."""
        known, answers = self.answers[k]
        place = np.searchsorted(known, key)
        is_new = np.ones(len(key), dtype=bool)
        inside = place < len(known)
        is_new[inside] = known[place[inside]] != key[inside]
        if not is_new.any():
            return answers[place]
        new = np.flatnonzero(is_new)
        found = self._conditional(rows[new], prefix[new])
        if len(new) == len(key):
            log_proba = found
        else:
            log_proba = np.empty((len(key), answers.shape[1]))
            log_proba[new], log_proba[~is_new] = found, answers[place[~is_new]]
        if self.n_remembered + len(new) <= REMEMBERED:
            self.n_remembered += len(new)
            self.answers[k] = np.insert(known, place[new], key[new]), np.insert(answers, place[new], found, axis=0)
        return log_proba

    def _conditional(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        log_proba = self._ask(rows, prefix)
        if not (log_proba < np.inf).all():  # NaN or infinite: no search could make sense of it
            raise NonFiniteError(self.chain.label_at(prefix.shape[1]))
        return log_proba

    def _ask(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        if len(rows) == 0:  # no prefix is left, and classifiers refuse to answer for no rows
            return np.empty((0, self.chain.n_classes[prefix.shape[1]]))
        all_rows = len(rows) == self.n_rows and (rows == np.arange(self.n_rows)).all()
        if all_rows:
            return on_grid(self.chain.conditional(self.X, prefix))
        n_each = max(1, CELLS_AT_ONCE // max(1, self.X.shape[1]))
        parts = [slice(start, start + n_each) for start in range(0, len(rows), n_each)]
        found = [self.chain.conditional(take_rows(self.X, rows[part]), prefix[part]) for part in parts]
        return on_grid(np.concatenate(found))


def distinct(
    rows: np.ndarray, codes: np.ndarray, n_classes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct pairs of a row and a vector of codes: a key, the first place, and which one each pair is.

    They are sorted by row, then by code. `n_classes` bounds the codes of each column. As long as all keys fit into 62
    bits, a pair always has the same key.

    Examples
    --------
    >>> distinct(np.array([1, 0, 1]), np.array([[0, 1], [1, 1], [0, 1]]), [2, 2])
    (array([3, 5]), array([1, 0]), array([1, 0, 1]))
    """
    # One number for each pair: far quicker to sort than rows of a matrix.
    key, size = rows.astype(np.int64), int(rows.max(initial=0)) + 1
    for column, n in zip(codes.T, n_classes, strict=True):
        if size > 2**62 // n:
            found, key = np.unique(key, return_inverse=True)
            size = len(found)
        key = key * n + column
        size *= n
    if len(key) < 2 or (key[1:] > key[:-1]).all():
        return key, np.arange(len(key)), np.arange(len(key))
    return np.unique(key, return_index=True, return_inverse=True)


def draw_classes(log_proba: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return for each row the class at which the cumulative probability first exceeds its uniform number."""
    cumulative = np.cumsum(np.exp(log_proba), axis=1)
    # The last class takes what rounding leaves: the sum may fall just short of a uniform near one.
    return (cumulative[:, :-1] <= uniforms[:, None]).sum(axis=1)


def no_knowledge(n_labels: int) -> np.ndarray:
    """Return the `given` of kernels for "nothing is known": an array without rows."""
    return np.empty((0, n_labels), dtype=CODE)
