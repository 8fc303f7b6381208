"""How `AutoChainClassifier` builds its model, step by step; each step leaves a usable model.

1. Feature maps: scaled inputs, TF-IDF, out-of-bag forests, a kernel map, cross-fitted boosting (`Block`).
2. Chains of logistic links over one or several maps, judged by the likelihood of held-out rows (`Part`).
3. A log-linear pool of the chains and forests over the label vectors seen in training.
4. The mixture of the chains and the pool, weighted by the likelihood of held-out rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from montechain._rows import take_rows
from montechain._threads import one_blas_thread, run_tasks
from montechain.assembly import (
    Block,
    HeldOutRows,
    MappedModel,
    Part,
    Weights,
    assemble,
    leaderboard,
    learn_chain,
    mapped_rows,
    own_log_odds,
    side_by_side,
    weigh,
    weighted_mean,
)
from montechain.chain import Chain
from montechain.features import BoostingRace, ClippedScaler, CrossFittedFeatures, OutOfBagForestFeatures, is_clear
from montechain.links import LogisticLink
from montechain.links.row_blocks import RowBlocks
from montechain.population.pool import candidate_log_proba, shortlist
from montechain.seen_vectors import count_vectors
from montechain.targets import UNKNOWN

MAX_CROSS_VALIDATED_ROWS = 6000
"""With more rows than this, a single part is held out instead of each part in turn."""
N_FOLDS = 4
MOST_ROWS = {"chain": 30_000, "tree": 10_000, "held out": 4000, "order": 4000}
"""Maximum number of rows for learning chains and trees, for learning weights, and for ranking orders."""
MOST_VECTORS = 4000
"""Maximum number of label vectors in the pool; the most frequent ones are kept."""
N_TREES = 400
VECTOR_FOREST_CELLS = 2**22
"""Maximum number of label vectors times rows for which a second forest splits on whole label vectors."""
N_KERNEL, KERNEL_ROWS = 500, 20_000
CS = {False: (0.5, 4.0, 32.0, 256.0, 2048.0), True: (0.1, 0.5, 4.0, 32.0, 256.0)}
"""Values of C to try: for a penalty centred on zero, and for one centred on the log-odds of other classifiers."""
PARENT_CS = (0.1, 1.0)
MAX_DROP = 0.02
"""Drop in held-out log-likelihood at which the search for C stops."""
N_ORDERS = 3
N_TRIED = 8
"""Number of label orders that are drawn and compared; the best one is used first."""
BOOSTING_PLANS = ((250, 8, 30.0), (150, 6, 30.0), (120, 4, 30.0), (100, 3, 30.0), (60, 2, 60.0))
"""Rounds and folds of boosting, from the best plan to the cheapest, each with the seconds that it may take."""
INDEPENDENT = "forests, independent"
MIN_WEIGHT_FOR_ORDERS = 0.15
"""Minimum total weight, in the mixture and the pool, for which a part gets further orders."""
RESERVE = 2.0
"""Time reserved for learning the weights at the end, relative to the time of the first part."""


class Recipe:
    """The training rows, with labels in codes or `UNKNOWN`, and what has been learned from them so far."""

    def __init__(
        self, X: Any, codes: np.ndarray, n_classes: Sequence[int], *, seed: int, n_jobs: int | None, sample_weight=None
    ):
        if len(codes) < 2:
            raise ValueError("`X` has only 1 row (n_samples=1): give at least 2 rows to learn from.")
        self.X, self.codes, self.n_classes = X, codes, [int(k) for k in n_classes]
        self.n_rows, self.n_labels = codes.shape
        self.all_rows = np.arange(self.n_rows)
        self.sample_weight, self.seed, self.n_jobs = sample_weight, seed, n_jobs
        self.weight = np.ones(self.n_rows) if sample_weight is None else sample_weight
        self.rng = np.random.default_rng([seed, 7])
        shuffled = self.rng.permutation(self.n_rows)
        if self.n_rows > MAX_CROSS_VALIDATED_ROWS:
            held_out = [shuffled[: min(self.n_rows // 5, MOST_ROWS["held out"])]]
        else:
            n_folds = min(N_FOLDS, self.n_rows)
            held_out = [shuffled[f::n_folds] for f in range(n_folds)]
        self.folds = [(np.setdiff1d(self.all_rows, rows), np.sort(rows)) for rows in held_out]
        self.held_out = np.concatenate([rows for _, rows in self.folds])
        drawn = [tuple(self.rng.permutation(self.n_labels).tolist()) for _ in range(N_TRIED)]
        self.orders = [list(order) for order in dict.fromkeys(drawn)]
        """Label orders. Most chains have the first."""
        self.blocks: dict[str, Block] = {}
        self.parts: list[Part] = []
        self.candidates: list[np.ndarray] = []
        self.left_out: list[str] = []
        """Steps for which there was not enough time."""
        self._weighed: tuple[Weights, HeldOutRows] | None = None

    def steps(self, deadline: float | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield the next steps, the most useful first, each as a name and a function.

        Skip steps that would finish after the `deadline`, a time of `time.perf_counter`.
        """
        yield "linear", self.add_linear
        # The time of the linear part for each of its columns predicts the time of other parts from theirs.
        linear = self.parts[0]
        each = linear.seconds / max(1, linear.blocks[0].n_columns)

        def is_time_for(step: str, seconds: float) -> bool:
            if deadline is None or time.perf_counter() + seconds < deadline - RESERVE * linear.seconds:
                return True
            self.left_out.append(step)
            return False

        if "tf-idf" in self.blocks and is_time_for("tf-idf", linear.seconds):
            yield "tf-idf", lambda: self.add_part("tf-idf", ["tf-idf"])
        if is_time_for("forests", 4.0 * linear.seconds):
            yield "forests", lambda: self.add_forests(deadline)
        if len(self.blocks) > 1 and is_time_for("union", each * sum(own.n_columns for own in self.blocks.values())):
            yield "union", lambda: self.add_part("union", list(self.blocks))
        if is_time_for("kernel", 2.0 * self._kernel_seconds()):
            yield "kernel", self.add_kernel
        # Half of the time left: chains over the log-odds come after the boosting itself.
        plan = self._boosting_plan(np.inf if deadline is None else (deadline - time.perf_counter()) / 2.0)
        if plan is not None:
            yield "boosting", lambda: self.add_boosting(*plan, is_time_for)
        elif self._boosting_plan(np.inf) is not None:
            self.left_out.append("boosting")
        if is_time_for("orders", sum(part.seconds for part in self.parts if part.has_parents) / 2.0):
            yield "orders", self.add_orders

    def seconds_left(self, step: str) -> float | None:
        """Return roughly how long a step and those after it take, judged by the first one; None for the first."""
        if not self.parts:
            return None
        chains, n_columns = self.parts[0].seconds, self.X.shape[1]
        tree_cells = min(self.n_rows, MOST_ROWS["tree"]) * np.log2(self.n_rows) * np.sqrt(n_columns)
        # Measured: a tree costs something for each row, level and input that it tries, and more if it has many labels.
        of_trees = 2 * N_TREES * (5e-4 + 2e-8 * tree_cells * (1.0 + self.n_labels / 20.0))
        n_rounds, n_folds = self._boosting_plan(np.inf) or (0, 0)
        seconds = {
            "tf-idf": chains if "tf-idf" in self.blocks else 0.0,
            "forests": chains + of_trees,
            "union": chains,
            "kernel": self._kernel_seconds(),
            "boosting": self._round_seconds() * n_rounds * (n_folds + 3) / 4.0,
            "orders": chains + self._kernel_seconds(),
        }
        return float(sum(list(seconds.values())[list(seconds).index(step) :]))

    def _set_vectors(self) -> None:
        """Count the label vectors, and set which of them are candidates in held-out rows."""
        vectors, numbers, counts = count_vectors(self.codes, None)
        self.kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_VECTORS])
        self.vectors, self.counts = vectors[self.kept], counts[self.kept]
        place = np.full(len(vectors), -1)
        place[self.kept] = np.arange(len(self.kept))
        self.target = place[numbers[self.held_out]]

    def add_block(self, name: str, transformer: Any, values: Any, **options: Any) -> None:
        """Keep the columns of a feature map, scaled so that rows have a mean squared length of one."""
        squares = values.multiply(values).sum() if sp.issparse(values) else np.square(values).sum()
        scale = float(np.sqrt(squares / self.n_rows)) or 1.0
        self.blocks[name] = Block(transformer, values / scale, scale, **options)

    def add_linear(self) -> None:
        """Scale the inputs, fill in unknown labels by a first chain, and add chains over the inputs."""
        is_sparse = sp.issparse(self.X)
        scaler = MaxAbsScaler() if is_sparse else ClippedScaler()
        self.add_block("linear", scaler, scaler.fit_transform(self.X))
        if is_sparse and self.X.nnz and self.X.data.min() >= 0.0:
            are_counts = self.X.data.max() > 1.0 and self.X.data.min() >= 1.0
            counter = TfidfTransformer(sublinear_tf=bool(are_counts))
            self.add_block("tf-idf", counter, sp.csr_array(counter.fit_transform(self.X)))
        self._fill_in_unknown_labels()
        self._set_vectors()
        self._rank_orders()
        self.add_part("linear", ["linear"])

    def _fill_in_unknown_labels(self) -> None:
        if (self.codes != UNKNOWN).all():
            return
        linear = self.blocks["linear"]
        (chain,) = self._chains([linear], [(self.all_rows, self.orders[0], 4.0, 4.0, True, 1e-4)])
        self.codes = chain.complete(linear.values, self.codes, np.random.default_rng([self.seed, 8]))

    def _rank_orders(self) -> None:
        """Put the orders first under which chains over the inputs give held-out rows the highest likelihood."""
        if len(self.orders) == 1:
            return
        linear, (train, rows) = [self.blocks["linear"]], self.folds[0]
        train, Z = _thinned(train, "order"), self._matrix(linear, rows)
        chains = self._chains(linear, [(train, order, 4.0, 4.0, True, 1e-4) for order in self.orders])
        logs = [self._likelihood(chain, Z, rows) for chain in chains]
        ranked = sorted(zip(logs, self.orders, strict=True), key=lambda pair: float(pair[0]), reverse=True)
        self.orders = [order for _, order in ranked]

    def add_forests(self, deadline: float | None) -> None:
        """Grow forests, and add chains and independent links over their log-odds."""
        kinds = ["labels"]
        if self.n_labels > 1 and len(self.vectors) * self.n_rows <= VECTOR_FOREST_CELLS:
            kinds.append("vectors")
        for number, kind in enumerate(kinds):
            limit = None if deadline is None else (deadline - time.perf_counter()) / (2.0 * (len(kinds) - number))
            forest = OutOfBagForestFeatures(
                N_TREES, split_on=kind, max_rows=MOST_ROWS["tree"], time_limit=limit, n_jobs=self.n_jobs,
                random_state=self.seed + number,
            )  # fmt: skip
            values = forest.fit_transform(self.X, self.codes, sample_weight=self.sample_weight)
            shares, forest.out_of_bag_ = forest.out_of_bag_, None
            self.add_block(f"forest on {kind}", forest, values, is_stacked=True, shares=shares)
        names = [f"forest on {kind}" for kind in kinds]
        self.add_part("forests", names)
        if self.n_labels > 1:
            self.add_part(INDEPENDENT, names, has_parents=False)

    def add_kernel(self) -> None:
        """Approximate a Gaussian kernel, and add chains over the map."""
        source = self.blocks.get("tf-idf", self.blocks["linear"])

        def some_rows(n_rows: int) -> Any:
            rows = self.rng.choice(self.n_rows, min(self.n_rows, n_rows), replace=False)
            return take_rows(source.values, np.sort(rows))

        gamma = 1.0 / max(np.median(pairwise_distances(some_rows(500)) ** 2), 1e-12) / source.scale**2
        kernel = Nystroem(gamma=gamma, n_components=max(1, min(N_KERNEL, self.n_rows // 2)), random_state=self.seed)
        pipeline = make_pipeline(source.transformer, kernel)
        kernel.fit(some_rows(KERNEL_ROWS) * source.scale)
        self.add_block("kernel", pipeline, pipeline.transform(self.X))
        self.add_part("kernel", ["kernel"])

    def _boosting_plan(self, limit: float) -> tuple[int, int] | None:
        """Return how many rounds and folds boosting may take, or None if even few of them take too long."""
        if sp.issparse(self.X) and self.n_rows * self.X.shape[1] > 2**24:
            return None
        for n_rounds, n_folds, most in BOOSTING_PLANS:
            if self._round_seconds() * n_rounds * (n_folds + 3) <= min(most, limit):
                return n_rounds, n_folds
        return None

    def _round_seconds(self) -> float:
        """Return how long a round of boosting takes. Measured: it has a cost for each tree, histogram and cell."""
        n_trees, n_columns = sum(1 if k == 2 else k for k in self.n_classes), self.X.shape[1]
        return n_trees * (6e-4 + 5e-6 * n_columns + 4e-9 * self.n_rows * n_columns)

    def _kernel_seconds(self) -> float:
        """Return how long chains over the kernel map take, from the time of those over the inputs."""
        return self.parts[0].seconds * max(1.0, np.sqrt(N_KERNEL / self.X.shape[1]))

    def add_boosting(self, n_rounds: int, n_folds: int, is_time_for: Callable[[str, float], bool]) -> None:
        """Boost trees for each label, and add chains over their log-odds.

        A race on the first held-out rows decides on the inputs, the size of leaves and the number of rounds for each
        label. If it shows that boosting is worse than the forests, or takes too long, boosting is left out.
        """
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        started = time.perf_counter()
        with one_blas_thread():
            given = X, self.folds[0], n_rounds, self.sample_weight, self.seed
            races = run_tasks(BoostingRace, self.codes.T, self.n_jobs, *given)
            if self._lose_to_forests(races):
                return
            if not is_time_for("boosting", (time.perf_counter() - started) * (n_folds + 2)):
                return
            races = run_tasks(BoostingRace.refine, races, self.n_jobs, X)
        boosting = CrossFittedFeatures(
            [race.booster for race in races], columns=[race.columns for race in races], cv=n_folds, n_jobs=self.n_jobs,
            random_state=self.seed,
        )  # fmt: skip
        values = boosting.fit_transform(X, self.codes, sample_weight=self.sample_weight)
        boosting.estimator = boosting.estimator[0]
        self.add_block("boosting", boosting, values, is_stacked=True)
        self.add_part("boosting", ["boosting"])
        self.add_part("union with boosting", [name for name in self.blocks if name != "kernel"])

    def _lose_to_forests(self, races: Sequence[BoostingRace]) -> bool:
        """Return whether forests clearly give the held-out labels, each by itself, higher probabilities."""
        forests = [part for part in self.parts if part.name == INDEPENDENT]
        boosted = np.sum([race.log_proba for race in races], axis=0)
        return any(is_clear(part.log_proba[: len(boosted)] - boosted) for part in forests)

    def add_part(self, name: str, names: Sequence[str], *, has_parents: bool = True) -> None:
        """Learn chains over some blocks: how strong the penalty should be, held-out predictions, the final chain."""
        started = time.perf_counter()
        blocks = [self.blocks[own] for own in names]
        C, parent_C, first = self._penalty(blocks, has_parents)
        log_proba, tables = [], []
        wanted = [(train, self.orders[0], C, parent_C, has_parents, 1e-4) for train, _ in self.folds[1:]]
        wanted.append((self.all_rows, self.orders[0], C, parent_C, has_parents, 1e-5))
        *others, final = self._chains(blocks, wanted)
        for f, ((_, rows), chain) in enumerate(zip(self.folds, [first, *others], strict=True)):
            Z = self._matrix(blocks, rows)
            log_proba.append(chain.log_joint(Z, self.codes[rows][:, chain.order]))
            if len(self.candidates) <= f:  # chosen once, by the first chain
                self.candidates.append(shortlist(chain, Z, self.vectors, np.log(self.counts)))
            tables.append(candidate_log_proba(chain, Z, self.vectors, self.candidates[f]))
        held_out = np.concatenate(log_proba), np.concatenate(tables)
        n_rows, seconds = len(_thinned(self.all_rows, "chain")), time.perf_counter() - started
        self.parts.append(Part(name, blocks, C, parent_C, has_parents, *held_out, [final], n_rows, seconds))

    def add_orders(self) -> None:
        """Learn the chains of large weight again, in other orders."""
        for part, weight in zip(self.parts, self._weigh()[0].of_parts, strict=True):
            if weight > MIN_WEIGHT_FOR_ORDERS and part.has_parents:
                orders = self.orders[len(part.chains) : N_ORDERS]
                wanted = [(self.all_rows, order, part.C, part.parent_C, True, 1e-5) for order in orders]
                part.chains += self._chains(part.blocks, wanted)

    def learn_from_blocks(self, rows: RowBlocks, deadline: float | None) -> None:
        """Learn the chains that see no other classifiers' predictions again, from all rows instead of a sample."""
        for part, weight in zip(self.parts, self._weigh()[0].of_parts, strict=True):
            if weight > 0.0 and not any(block.is_stacked for block in part.blocks):
                if deadline is not None and time.perf_counter() > deadline:
                    self.left_out.append(f"{part.name} from all rows")
                    continue
                maps = [(block.transformer, block.scale) for block in part.blocks]
                inputs = rows.replaced(mapped_rows, [(maps, not sp.issparse(self.X))] * len(rows.blocks))
                orders = [list(chain.order) for chain in part.chains]
                wanted = [(inputs, order, part.C, part.parent_C, part.has_parents, 1e-5) for order in orders]
                part.chains, part.n_rows = self._chains(part.blocks, wanted, n_jobs=1), rows.shape[0]

    def _penalty(self, blocks: list[Block], has_parents: bool) -> tuple[float, float, Chain]:
        """Return the strengths of the penalties that are best for the first held-out rows, and the chain."""
        train, rows = self.folds[0]
        Z = self._matrix(blocks, rows)

        def tried(C: float, parent_C: float) -> tuple[float, float, float, Chain]:
            (chain,) = self._chains(blocks, [(train, self.orders[0], C, parent_C, has_parents, 1e-4)])
            return self._likelihood(chain, Z, rows), C, parent_C, chain

        best: Any = None
        for C in CS[any(block.is_stacked for block in blocks)]:
            found = tried(C, C)
            if best is not None and found[0] < best[0] - MAX_DROP:
                break
            best = found if best is None or found[0] > best[0] else best
        if has_parents and self.n_labels > 1:
            best = max([best, *(tried(best[1], parent_C) for parent_C in PARENT_CS)], key=lambda own: own[0])
        return best[1:]

    def _chains(self, blocks: list[Block], wanted: list[tuple[Any, ...]], n_jobs: int | None = None) -> list[Chain]:
        """Return chains over some blocks; for each, its rows, order, penalties, whether it has parents, tolerance."""
        values, tasks = [block.values for block in blocks], []
        centre = own_log_odds(blocks, self.n_classes)
        for rows, order, C, parent_C, has_parents, tol in wanted:
            parents = [tuple(order[: order.index(label)]) if has_parents else () for label in range(self.n_labels)]
            learner = LogisticLink(C, tol=tol, max_iter=300, parent_C=parent_C, centre=centre)
            if isinstance(rows, np.ndarray):
                rows = _thinned(rows, "chain")
            tasks.append((learner, rows, order, parents))
        about: dict[str, Any] = {"n_classes": self.n_classes, "seed": self.seed, "n_jobs": self.n_jobs}
        learn = partial(learn_chain, dense=not sp.issparse(self.X), **about)
        return run_tasks(learn, tasks, n_jobs or self.n_jobs, self.codes, self.weight, *values, in_threads=False)

    def _likelihood(self, chain: Chain, Z: Any, rows: np.ndarray) -> float:
        """Return the mean log-probability of held-out rows, weighted."""
        return weighted_mean(chain.log_joint(Z, self.codes[rows][:, chain.order]), self.weight[rows])

    def _matrix(self, blocks: list[Block], rows: np.ndarray) -> Any:
        return side_by_side([take_rows(block.values, rows) for block in blocks], dense=not sp.issparse(self.X))

    def model(self) -> tuple[MappedModel, list[dict[str, Any]]]:
        """Return the mixture of what has been learned so far, and how its parts did on held-out rows."""
        weights, rows = self._weigh()
        blocks = list(self.blocks.values())
        return assemble(self.parts, blocks, rows, weights, self.n_classes), leaderboard(self.parts, rows, weights)

    def _weigh(self) -> tuple[Weights, HeldOutRows]:
        """Return the weights of the parts learned so far, computed once for them, and the rows that they come from."""
        if self._weighed is None or len(self._weighed[0].mixture) != len(self.parts) + 1:
            weight, candidates = self.weight[self.held_out], np.concatenate(self.candidates)
            rows = HeldOutRows(self.held_out, candidates, self.target, self.vectors, self.counts, self.kept, weight)
            self._weighed = weigh(self.parts, list(self.blocks.values()), rows, seed=self.seed), rows
        return self._weighed


def _thinned(rows: np.ndarray, use: str) -> np.ndarray:
    """Return rows at equal distances, as few as `MOST_ROWS` says."""
    return rows[:: -(-len(rows) // MOST_ROWS[use])]
