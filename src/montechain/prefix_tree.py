"""What inference sees of a chain: the conditionals of its links, and the tree of label prefixes over some rows.

Everything here is in *positions*: position k holds the k-th label of the order. Label vectors are integer codes, one
column per position.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from montechain._kernels.joint import complete as complete_kernel
from montechain._kernels.joint import log_joint as log_joint_kernel
from montechain._kernels.ties import on_grid
from montechain._rows import distinct, row_blocks, take_rows
from montechain.errors import NonFiniteError
from montechain.links.linear import LinearScorer, LinearScores
from montechain.targets import CODE, UNKNOWN

MAX_CACHED = 2**18
"""Maximum number of cached answers of links while the prefixes of some rows are searched."""
CELLS_AT_ONCE = 2**23
"""Approximate number of cells of x that are repeated at a time, one row for each of its prefixes."""


class ChainBase(ABC):
    """The interface of a chain that every inference strategy uses.

    By position: `n_classes` is the number of classes, `parents` holds the earlier positions that the link looks at, and
    `order` the label that stands there.
    """

    n_classes: tuple[int, ...]
    order: Sequence[int]
    parents: tuple[tuple[int, ...], ...]
    scorer: LinearScorer | None = None
    """All links, if they are label-linear."""

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_scores(self) -> int:
        """Number of label-linear scores of a row; 0 if some link is not label-linear."""
        return 0 if self.scorer is None else len(self.scorer.intercept)

    @abstractmethod
    def conditional(self, X: Any, prefix: np.ndarray) -> np.ndarray:
        """Return log p(class of position k | x, prefix), of shape (n, K).

        `X` is an array, CSR matrix or data frame of n rows; `prefix`, of shape (n, k), has the classes of positions
        0..k-1.
        """

    def scores(self, X: Any) -> LinearScores | None:
        """Return the label-linear scores of a batch, or None if some link is not label-linear."""
        return None if self.scorer is None else self.scorer.scores(X)

    def log_joint(self, X: Any, Y: np.ndarray) -> np.ndarray:
        """Return log p(y | x) for each row; `Y` holds one complete label vector per row."""
        return PrefixTree(self, X).log_joint(Y)

    def sample(self, X: Any, uniforms: np.ndarray, given: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw label vectors from p(y | x), link by link: of shape (n, S, L).

        `uniforms`, of shape (n, S, L), holds numbers in [0, 1): sample s of row i takes the class of position k at
        which the cumulative probability first exceeds ``uniforms[i, s, k]``. With a first axis of length one, all rows
        share one table. A class that is known in `given`, of shape (n, L), is taken, not drawn.

        The second result, of shape (n, S), is the sum of the log-probabilities of the known classes along each draw:
        its importance weight for p(y | x, given). Zero where nothing is known.
        """
        tree = PrefixTree(self, X, given)
        n_rows, n_samples = tree.n_rows, uniforms.shape[1]
        sample = np.arange(n_rows * n_samples)
        labels = np.zeros((len(sample), self.n_labels), dtype=CODE)
        table = uniforms.reshape(-1, self.n_labels)
        log_weight = tree.complete(sample // n_samples, labels, table, sample % len(table), 0, self.n_labels)
        return labels.reshape(n_rows, n_samples, -1), log_weight.reshape(n_rows, n_samples)


class PrefixTree:
    """The tree of label prefixes over a batch of n rows: what every search works on.

    Label-linear chains are searched by kernels, which take `arrays`. Chains of any kind are searched level by level
    with `expand`. Answers of links are cached, up to `MAX_CACHED`, because most searches visit a prefix more than once.
    `given`, int32 of shape (n, L), holds known classes, `UNKNOWN` elsewhere.
    """

    def __init__(self, chain: ChainBase, X: Any, given: np.ndarray | None = None):
        self.chain = chain
        self.X = X
        self.given = given
        self.n_rows = X.shape[0]
        self.n_cached = 0
        # By position: the keys of the pairs that it was evaluated for, sorted, and their log-probabilities.
        self.answers: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def scores(self) -> LinearScores | None:
        """The label-linear scores of the rows, or None if some link is not label-linear."""
        return None if self.chain.scorer is None else self.chain.scorer.scores(self.X)

    @cached_property
    def known(self) -> np.ndarray:
        """Known classes, of shape (n, L), `UNKNOWN` elsewhere."""
        return np.full((self.n_rows, self.chain.n_labels), UNKNOWN, dtype=CODE) if self.given is None else self.given

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """The first arguments of kernels: those of `LinearScores`, and `given`, without rows if nothing is known."""
        assert self.scores is not None
        return (*self.scores, no_knowledge(self.chain.n_labels) if self.given is None else self.given)

    def blocks(self, size: int, rng: np.random.Generator) -> Iterator[PrefixTree]:
        """Yield the trees of at most `size` consecutive rows each, at least one; see `row_blocks` for `rng`."""
        for rows in row_blocks(self.n_rows, max(1, size), rng):
            yield self if size >= self.n_rows else self.take(rows)

    def take(self, rows: slice | np.ndarray) -> PrefixTree:
        """Return the tree of some rows."""
        return PrefixTree(self.chain, take_rows(self.X, rows), None if self.given is None else self.given[rows])

    def expand(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the classes that may follow each (row, prefix), of shape (m, K).

        Each distinct pair of a row and its parents' classes is evaluated once, all of them in one
        call. Classes other than a known one get minus infinity.
        """
        k = prefix.shape[1]
        parents = list(self.chain.parents[k])
        n_classes = [self.chain.n_classes[j] for j in parents]
        if self.scores is not None:
            log_proba = self.scores.conditional(rows, prefix)
        else:
            key, first, inverse = distinct(rows, prefix[:, parents], n_classes)
            # With too many parents, a pair does not have the same key in each call.
            is_key = self.n_rows * math.prod(n_classes) < 2**62
            own = rows[first], prefix[first]
            log_proba = (self._answer(k, key, *own) if is_key else self._conditional(*own))[inverse]
        if self.given is not None:
            known = self.given[rows, k][:, None]
            log_proba = np.where((known >= 0) & (np.arange(log_proba.shape[1]) != known), -np.inf, log_proba)
        return log_proba

    def log_joint(self, Y: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return log p(y | x) of label vectors of `rows`, by default one for each row of the batch.

        Vectors that disagree with `given` have minus infinity if the links are not label-linear.
        """
        if self.scores is not None:
            (base, links), Y = self.scores, np.ascontiguousarray(Y, dtype=CODE)
            if rows is None:
                return log_joint_kernel(base, links, Y)
            blocks = row_blocks(len(rows), max(1, CELLS_AT_ONCE // max(1, base.shape[1])))
            return np.concatenate([log_joint_kernel(base[rows[own]], links, Y[own]) for own in blocks])
        rows = np.arange(self.n_rows) if rows is None else rows
        steps = (self.expand(rows, Y[:, :k])[np.arange(len(rows)), Y[:, k]] for k in range(self.chain.n_labels))
        return sum(steps, np.zeros(len(rows)))

    def complete(
        self, rows: np.ndarray, labels: np.ndarray, uniforms: np.ndarray, sample: np.ndarray, start: Any, stop: Any
    ) -> np.ndarray:
        """Draw the classes of the positions from `start` to `stop` of some prefixes, link by link.

        The prefixes are those of `rows`; their classes are written to `labels`, int32 of shape (m, L). `sample` says
        which of the `uniforms`, of shape (S, L), each of them uses. Returns the sums of the log-probabilities of known
        classes, which are taken, not drawn.
        """
        log_weight = np.zeros(len(rows))
        start, stop = (np.full(len(rows), own, dtype=np.int64) for own in (start, stop))
        if self.scores is not None:
            return complete_kernel(*self.arrays, rows, labels, uniforms, sample, start, stop)
        for k in range(self.chain.n_labels):
            here = np.flatnonzero((start <= k) & (k < stop))
            if len(here) == 0:
                continue
            log_proba = self.expand(rows[here], labels[here, :k])
            classes = draw_classes(log_proba, uniforms[sample[here], k])
            if self.given is not None:
                known = self.given[rows[here], k]
                classes = np.where(known >= 0, known, classes)
                log_weight[here] += np.where(known >= 0, log_proba[np.arange(len(here)), classes], 0.0)
            labels[here, k] = classes
        return log_weight

    def _answer(self, k: int, key: np.ndarray, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of distinct pairs in the order of their keys, asking for those not known yet."""
        known, answers = self.answers.get(k, (np.empty(0, dtype=np.int64), np.empty((0, self.chain.n_classes[k]))))
        new = np.flatnonzero(~np.isin(key, known, assume_unique=True))
        if len(new):
            known = np.concatenate([known, key[new]])
            order = np.argsort(known)
            answers = np.concatenate([answers, self._conditional(rows[new], prefix[new])])[order]
            known = known[order]
            if self.n_cached + len(new) <= MAX_CACHED:
                self.n_cached += len(new)
                self.answers[k] = known, answers
        return answers[np.searchsorted(known, key)]

    def _conditional(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        if len(rows) == 0:  # classifiers reject an empty batch
            return np.empty((0, self.chain.n_classes[prefix.shape[1]]))
        if len(rows) == self.n_rows and (rows == np.arange(self.n_rows)).all():
            log_proba = self.chain.conditional(self.X, prefix)
        else:
            parts = row_blocks(len(rows), max(1, CELLS_AT_ONCE // max(1, self.X.shape[1])))
            answers = [self.chain.conditional(take_rows(self.X, rows[part]), prefix[part]) for part in parts]
            log_proba = np.concatenate(answers)
        if not (log_proba < np.inf).all():  # NaN or infinite
            raise NonFiniteError(self.chain.order[prefix.shape[1]])
        return on_grid(log_proba)


def draw_classes(log_proba: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return for each row the class at which the cumulative probability first exceeds its uniform number."""
    cumulative = np.cumsum(np.exp(log_proba), axis=1)
    # The last class takes what rounding leaves: the sum may fall just short of a uniform near one.
    return (cumulative[:, :-1] <= uniforms[:, None]).sum(axis=1)


def no_knowledge(n_labels: int) -> np.ndarray:
    """Return the `given` of kernels for "nothing is known": an array without rows."""
    return np.empty((0, n_labels), dtype=CODE)
