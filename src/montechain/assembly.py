"""From chains and forests, judged on held-out rows, to one mixture over the features that they need."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.features import OutOfBagForestFeatures
from montechain.inference import BranchAndBound
from montechain.joint import ChainModel, JointModel
from montechain.links.row_blocks import Rows
from montechain.population import Population
from montechain.population.pool import VectorPool, log_shares, mixture_log_proba, pool_weights, stacking_weights
from montechain.population.search import log_sum

SMALL_WEIGHT = 0.01
"""Weight in the mixture or the pool below which a chain is left out."""
MIN_POOL_ROWS = 10
"""Minimum number of held-out rows with a label vector seen in other rows; with fewer, no pool is learned."""
N_GROUPS = 4
"""Groups of held-out rows, each judged by a pool learned from the others."""
N_REPEATS = 3
"""Number of rounds in which the pool and the weights of the mixture are refitted together."""
MIN_ROW_WEIGHT = 1e-9
"""Smallest weight of a row when the pool is learned."""
ROWS_AT_ONCE = 500
MAX_NODES = 4000
"""Maximum number of prefixes expanded per row in each chain."""
RESIDUAL = 0.01
"""Probability mass of the mixture that may be left out when marginals and losses are computed."""
LARGEST_DENSE = 3000
"""Maximum number of columns for which the features of a dense X are dense."""


@dataclass
class Block:
    """Features of the training rows under one feature map, distributed like those of new rows.

    `is_stacked` says whether they are another classifier's log-odds of the labels; `shares` holds, for forests, the
    out-of-bag shares of the label vectors.
    """

    transformer: Any
    values: Any
    scale: float
    is_stacked: bool = False
    shares: Any = None

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.values.shape[1]


@dataclass
class Part:
    """Chains over some blocks, and what chains learned without the held-out rows predict for those rows.

    `log_proba`, of shape (n,), is that of the true label vectors; `table`, of shape (n, S), that of the candidates.
    """

    name: str
    blocks: list[Block]
    C: float
    parent_C: float
    has_parents: bool
    log_proba: np.ndarray
    table: np.ndarray
    chains: list[Chain]
    n_rows: int
    seconds: float


@dataclass(frozen=True)
class HeldOutRows:
    """The held-out rows, by their number, and the label vectors that they might have.

    `candidates`, of shape (n, S), has the numbers of the vectors that are considered in each row, and `target` that of
    the true one, -1 if it is not among the `vectors`. `kept` says which of the forests' vectors these are.
    """

    rows: np.ndarray
    candidates: np.ndarray
    target: np.ndarray
    vectors: np.ndarray
    counts: np.ndarray
    kept: np.ndarray
    weight: np.ndarray

    @cached_property
    def place(self) -> np.ndarray:
        """Where the true vector stands among the candidates; -1 if it does not."""
        is_own = self.candidates == self.target[:, None]
        return np.where(is_own.any(axis=1), is_own.argmax(axis=1), -1)

    @cached_property
    def counts_elsewhere(self) -> np.ndarray:
        """How many other rows have each candidate, of shape (n, S): a row must not count itself as seen before."""
        return self.counts[self.candidates] - (self.candidates == self.target[:, None])

    def log_shares(self, block: Block) -> np.ndarray:
        """Return the logarithms of a forest's shares of the candidates, of shape (n, S)."""
        logs = log_shares(block.shares[self.rows][:, self.kept])
        pieces = np.array_split(np.arange(len(self.rows)), max(1, len(self.rows) // ROWS_AT_ONCE))
        return np.concatenate([np.take_along_axis(logs[own].toarray(), self.candidates[own], axis=1) for own in pieces])


@dataclass(frozen=True)
class Weights:
    """Weights by the likelihood of held-out rows.

    `mixture` has those of the P parts and, last, of the pool; `pool` those of the parts, of the forests, and of the
    logarithm of the counts, inside the pool; `log_proba`, of shape (n, P + 1), is that of the true label vectors.
    """

    mixture: np.ndarray
    pool: np.ndarray
    log_proba: np.ndarray

    @property
    def of_parts(self) -> np.ndarray:
        """Total influence of each part, directly in the mixture and through the pool; of shape (P,)."""
        in_pool = self.pool[: len(self.mixture) - 1]
        return self.mixture[:-1] + self.mixture[-1] * in_pool / max(in_pool.sum(), 1e-12)


def weigh(parts: Sequence[Part], blocks: Sequence[Block], held_out: HeldOutRows, *, seed: int) -> Weights:
    """Return the weights that make the held-out rows most probable.

    The pool is first learned from all rows equally, then again with each row weighted by the share of it that the
    mixture leaves to the pool, which sharpens it: expectation maximisation for the weights of both.
    """
    forests = [block for block in blocks if block.shares is not None]
    rows = held_out
    for repeat in range(N_REPEATS + 1):
        pool, of_pool = _pool(parts, forests, rows, seed)
        log_proba = np.column_stack([*(part.log_proba for part in parts), of_pool])
        mixture = _mixture_weights(log_proba, held_out.weight)
        if mixture[-1] == 0.0 or repeat == N_REPEATS:
            break
        share = np.exp(np.log(mixture[-1]) + of_pool - mixture_log_proba(log_proba, mixture))
        rows = replace(held_out, weight=np.maximum(share, MIN_ROW_WEIGHT) * held_out.weight)
    return Weights(mixture, pool, log_proba)


def assemble(
    parts: Sequence[Part], blocks: Sequence[Block], held_out: HeldOutRows, weights: Weights, n_classes: Sequence[int]
) -> MappedModel:
    """Return the mixture of the parts and their pool. Chains and feature maps without weight are left out."""
    has_pool, in_pool, vectors = weights.mixture[-1] > 0.0, weights.pool[: len(parts)], held_out.vectors
    forests = [block for block in blocks if block.shares is not None and has_pool]
    used = [part for part, own in zip(parts, weights.of_parts, strict=True) if own > 0.0]
    needed = {id(block) for block in (*forests, *(block for part in used for block in part.blocks))}
    blocks = [block for block in blocks if id(block) in needed]
    ends = np.cumsum([block.n_columns for block in blocks] + [len(vectors)] * len(forests)).tolist()
    starts = {id(block): end - block.n_columns for block, end in zip(blocks, ends, strict=False)}
    chains = {part.name: [_embedded(chain, part.blocks, starts, ends[-1]) for chain in part.chains] for part in used}
    models: list[JointModel] = []
    shares: list[float] = []
    open_parts = [(part, weight) for part, weight in zip(parts, weights.mixture, strict=False) if weight > 0.0]
    n_open = sum(len(part.chains) for part, _ in open_parts)
    for part, weight in open_parts:
        share = weight / len(part.chains)
        # The less a chain weighs, the more of its mass may be left out for the same error of the mixture.
        residual = float(min(RESIDUAL / (n_open * share), 0.5))
        inference = BranchAndBound(max_nodes=MAX_NODES, residual=residual)
        models += [ChainModel(chain, inference) for chain in chains[part.name]]
        shares += [share] * len(part.chains)
    if has_pool:
        guide = next((part for part in used if not part.has_parents), used[0])
        sources = [chains[part.name] for part, own in zip(parts, in_pool, strict=True) if own > 0.0]
        own = np.concatenate([in_pool[in_pool > 0.0], weights.pool[len(parts) :]])
        columns = [end - len(vectors) for end in ends[len(blocks) :]]
        models.append(VectorPool(vectors, held_out.counts, n_classes, sources, columns, own, chains[guide.name][0]))
        shares.append(float(weights.mixture[-1]))
    transformers, scales = [block.transformer for block in blocks], [block.scale for block in blocks]
    return MappedModel(transformers, scales, held_out.kept if has_pool else None, Population(models, shares))


def _pool(
    parts: Sequence[Part], forests: Sequence[Block], held_out: HeldOutRows, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the pool, and the log-probabilities of the held-out rows under pools learned without them.

    Rows whose vector no other row has are impossible under the pool.
    """
    place, counts = held_out.place, held_out.counts_elsewhere
    is_seen = (place >= 0) & (counts[np.arange(len(place)), place] > 0.0)
    log_proba = np.full(len(place), -np.inf)
    if is_seen.sum() < MIN_POOL_ROWS or len(held_out.vectors) < 2:
        return np.zeros(len(parts) + len(forests) + 1), log_proba
    tensor = np.stack([
        *(part.table for part in parts),
        *(held_out.log_shares(block) for block in forests),
        np.log(np.maximum(counts, 1.0)),
    ])  # fmt: skip
    allowed = counts > 0.0

    def learned(rows: np.ndarray) -> np.ndarray:
        found = pool_weights(tensor[:, rows], allowed[rows], place[rows], sample_weight=held_out.weight[rows])
        found[: len(parts)][found[: len(parts)] < SMALL_WEIGHT] = 0.0
        return found

    group = np.random.default_rng([seed, 10]).permutation(len(place)) % N_GROUPS
    for g in range(N_GROUPS):
        others, own = np.flatnonzero((group != g) & is_seen), np.flatnonzero((group == g) & is_seen)
        if len(others) and len(own):
            scores = np.where(allowed[own], np.tensordot(learned(others), tensor[:, own], axes=1), -np.inf)
            log_proba[own] = scores[np.arange(len(own)), place[own]] - log_sum(scores)
    return learned(np.flatnonzero(is_seen)), log_proba


def _mixture_weights(logs: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
    """Return the weights of the parts and, last, of the pool; negligible ones are set to zero."""
    weights = stacking_weights(logs, sample_weight=sample_weight)
    weights[weights < SMALL_WEIGHT] = 0.0
    if not weights[:-1].any():
        # Vectors never seen must stay possible: the best part keeps a little.
        weights[int(np.argmax([weighted_mean(own, sample_weight) for own in logs[:, :-1].T]))] = SMALL_WEIGHT
    kept = np.flatnonzero(weights)
    weights[kept] = stacking_weights(logs[:, kept], sample_weight=sample_weight)
    floor = 1.0 / (len(logs) + 2.0)
    if weights[:-1].sum() < floor:
        open_parts = kept[kept < len(weights) - 1]
        weights[open_parts] = floor / len(open_parts)
    return weights / weights.sum()


def leaderboard(parts: Sequence[Part], held_out: HeldOutRows, weights: Weights) -> list[dict[str, Any]]:
    """Return what was learned with its held-out scores, the most likely first."""
    board = []
    for part, weight in zip(parts, weights.mixture, strict=False):
        hits = part.table.argmax(axis=1) == held_out.place
        board.append({
            "model": part.name, "log_likelihood": weighted_mean(part.log_proba, held_out.weight),
            "exact_match": weighted_mean(hits, held_out.weight), "weight": float(weight), "C": part.C,
            "parent_C": part.parent_C, "rows": part.n_rows, "seconds": part.seconds,
        })  # fmt: skip
    mixed = mixture_log_proba(weights.log_proba, weights.mixture)
    for name, log_proba, weight in (("pool", weights.log_proba[:, -1], weights.mixture[-1]), ("mixture", mixed, 1.0)):
        # The pool gives no probability to vectors that it has not seen; its mean would always be minus infinity.
        finite = np.isfinite(log_proba)
        value = weighted_mean(log_proba[finite], held_out.weight[finite]) if finite.any() else -np.inf
        board.append({"model": name, "log_likelihood": value, "weight": float(weight)})
    return sorted(board, key=lambda row: -row["log_likelihood"])


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean of a value of each row; the plain one if no row has weight."""
    return float(np.average(values, weights=weight if weight.any() else None))


def _embedded(chain: Chain, blocks: Sequence[Block], starts: dict[int, int], n_columns: int) -> Chain:
    """Return a chain over all columns from one that was learned from some blocks of them."""
    columns = np.concatenate([starts[id(block)] + np.arange(block.n_columns) for block in blocks])

    def spread(coef: np.ndarray) -> np.ndarray:
        full = np.zeros((n_columns, coef.shape[1]))
        full[columns] = coef
        return full

    linear: Sequence[Any] = chain.links
    return Chain(chain.order, chain.parents, [replace(link, coef=spread(link.coef)) for link in linear])


def own_log_odds(blocks: Sequence[Block], n_classes: Sequence[int]) -> list[np.ndarray] | None:
    """Return a coefficient of one for each label's own log-odds, shared by the classifiers that have some."""
    n_stacked = sum(block.is_stacked for block in blocks)
    if n_stacked == 0:
        return None
    centres, start = [], 0
    for k in n_classes:
        own_odds = np.array([[0.0, 1.0]]) if k == 2 else np.eye(k)
        parts = [np.zeros((block.n_columns, k)) for block in blocks]
        for part, block in zip(parts, blocks, strict=True):
            if block.is_stacked:
                part[start : start + len(own_odds)] = own_odds * (block.scale / n_stacked)
        centres.append(np.concatenate(parts))
        start += len(own_odds)
    return centres


def side_by_side(blocks: Sequence[Any], *, dense: bool) -> Any:
    """Return blocks of columns as one matrix: CSR, or dense if wanted and there are not too many columns."""
    if dense and sum(block.shape[1] for block in blocks) <= LARGEST_DENSE:
        parts = [block.toarray() if sp.issparse(block) else block for block in blocks]
        return np.ascontiguousarray(np.hstack(parts), dtype=np.float64)
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], dtype=np.float64))
    return np.hstack(blocks)


def learn_chain(task, codes, weight, *values, n_classes, seed, n_jobs, dense) -> Chain:
    """Return a chain over feature maps side by side; if its rows are `RowBlocks`, they hold all that is needed."""
    learner, rows, order, parents = task
    Z, options = rows, {}
    if isinstance(rows, np.ndarray):
        Z, codes = side_by_side([take_rows(own, rows) for own in values], dense=dense), codes[rows]
        options = {"sample_weight": weight[rows]}
    with warnings.catch_warnings():
        # The best penalty is searched for, so that a rough solution does no harm.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Chain.learn(learner, Z, codes, n_classes, order, parents, seed=seed, n_jobs=n_jobs, **options)


def mapped_rows(rows: Rows, maps: Sequence[tuple[Any, float]], dense: bool) -> Rows:
    """Return rows of a block with feature maps, which are divided by their scales, side by side as inputs."""
    if not len(rows.codes):
        return rows
    return replace(rows, X=side_by_side([own.transform(rows.X) / scale for own, scale in maps], dense=dense))


def _over_features(name: str) -> Any:
    """Return a method that asks the inner model about the features of X."""

    def query(self: MappedModel, X: Any, *parameters: Any, **options: Any) -> Any:
        return getattr(self.model, name)(self.transform(X), *parameters, **options)

    return query


@savable
@dataclass(eq=False, repr=False)
class MappedModel(JointModel):
    """A joint model over fitted transformers side by side; the shares of label vectors in forests come last.

    `scales` are what the columns of each transformer are divided by. `kept` has the label vectors whose shares are
    wanted, of those that the forests have seen; None for no shares.
    """

    transformers: list[Any]
    scales: list[float]
    kept: np.ndarray | None
    model: JointModel

    def __post_init__(self) -> None:
        self.n_classes = self.model.n_classes

    def _check_loaded(self) -> None:
        require(len(self.transformers) == len(self.scales), "the number of scales is not that of the feature maps")
        require(all(np.isfinite(scale) and scale > 0.0 for scale in self.scales), "a feature map has no scale")
        require(all(hasattr(own, "transform") for own in self.transformers), "a feature map is not a transformer")
        require(isinstance(self.model, JointModel) and self.model.n_classes == self.n_classes, "the model is wrong")

    def transform(self, X: Any) -> Any:
        """Return the features of some rows, dense or CSR."""
        blocks: list[Any] = []
        shares: list[Any] = []
        for transformer, scale in zip(self.transformers, self.scales, strict=True):
            if isinstance(transformer, OutOfBagForestFeatures):
                own = transformer.forest_.shares(X)
                blocks.append(transformer.of_shares(own) / scale)
                if self.kept is not None:
                    shares.append(log_shares(own[:, self.kept]))
            else:
                blocks.append(transformer.transform(X) / scale)
        return side_by_side(blocks + shares, dense=not sp.issparse(X))

    log_joint, log_evidence = _over_features("log_joint"), _over_features("log_evidence")
    most_probable, decide = _over_features("most_probable"), _over_features("decide")
    top_k, marginals = _over_features("top_k"), _over_features("marginals")
    distribution = _over_features("distribution")
    draw, sample = _over_features("draw"), _over_features("sample")
