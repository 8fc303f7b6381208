"""Where the time of `fit` and `predict` goes, and how far it is from what the machine allows.

The machine's rates are measured, on one thread: matrix products and exponentials in double and single precision, and
memory bandwidth. The least work of a fit is what its iterations, taken as given, cannot do without: a product with the
inputs and one with their transpose, one exponential a row and label; the margins, their change and the residuals moved
once. All in single precision where the solver begins with that. The least work of a prediction is the product of the
inputs with all coefficients, and one exponential a row and label. Sparse products gather and cannot run at the rate of
dense ones: they are far from this limit by nature.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

import montechain
from benchmarks.peers import SETS, trainable_split
from benchmarks.report import Measurement, quantity
from benchmarks.timing import median_seconds
from montechain import ChainClassifier
from montechain.links._solver.problems import LogisticProblems

PACKAGE = str(Path(montechain.__file__).parent)
TOP = 4
"""Number of functions listed in the profile: those that take the most time themselves."""


@dataclass(frozen=True)
class Rates:
    """Rates of one thread, per second: floating-point operations of GEMM, exponentials, bytes read or written."""

    flops: float
    exponentials: float
    bytes: float


@cache
def machine(precision: Any = np.float64) -> Rates:
    """Measure the rates of this machine."""
    rng = np.random.default_rng(0)
    square: np.ndarray = rng.random((1000, 1000)).astype(precision)
    few: np.ndarray = -rng.random(2**12).astype(precision)  # stays in the cache
    large = rng.random(2**24)
    out, other = np.empty_like(few), np.empty_like(large)
    return Rates(
        2 * square.shape[0] ** 3 / median_seconds(lambda: square @ square, 5),
        len(few) / median_seconds(lambda: np.exp(few, out=out), 5),
        2 * large.nbytes / median_seconds(lambda: np.copyto(other, large), 5),
    )


def measure(n_runs: int, data: Sequence[str] = SETS) -> Iterator[Measurement]:
    """Yield the rates, then the fit and the prediction of each data set; the limit is in the column of the peer."""
    for which, precision in (("double", np.float64), ("single", np.float32)):
        rates = machine(precision)
        yield Measurement(f"GEMM, {which} precision", "1000 × 1000", rates.flops / 1e9, unit="GFLOP/s")
        yield Measurement(
            f"exponentials, {which} precision", "4,096 in cache", rates.exponentials / 1e6, unit="million/s"
        )
    yield Measurement("memory bandwidth", "copy of 128 MiB", machine().bytes / 1e9, unit="GB/s")
    for name in data:
        split = trainable_split(name)
        model = ChainClassifier(order=None, random_state=0)
        fit = partial(model.fit, split.X_train, split.Y_train)
        n_iter, precision = _iterations(fit)
        least = _least_of_fit(split.X_train, split.Y_train, n_iter, precision)
        note = f"{n_iter.mean():.0f} iterations a link, {precision.__name__}"
        yield _row("fit", name, fit, least, precision, note, n_runs)
        X = split.X_test
        n_labels = split.Y_train.shape[1]
        # Scores and answers are moved; at least one path from the first label to the last needs its probabilities.
        n_bytes = _n_bytes(X) + X.shape[0] * n_labels * (8 + 8)
        least = 2.0 * _n_values(X) * n_labels, float(n_bytes), float(X.shape[0] * n_labels)
        yield _row("exact predict", name, partial(model.predict, X), least, np.float64, "", n_runs)


def _iterations(fit: Callable[[], Any]) -> tuple[np.ndarray, Any]:
    """Return how many iterations each link takes, and the precision of most of them."""
    found = []
    solve = LogisticProblems.solve

    def recorded(self: LogisticProblems, *arguments: Any, **options: Any) -> Any:
        solution = solve(self, *arguments, **options)
        found.append((solution.n_iter, np.float64 if self.inputs.is_small else np.float32))
        return solution

    with mock.patch.object(LogisticProblems, "solve", recorded):
        fit()
    return np.concatenate([n_iter for n_iter, _ in found]), found[0][1]


def _row(
    what: str, name: str, work: Any, least: tuple[float, float, float], precision: Any, note: str, n_runs: int
) -> Measurement:
    flops, n_bytes, n_exp = least
    rates = machine(precision)
    computing = flops / rates.flops + n_exp / rates.exponentials
    moving = n_bytes / rates.bytes
    more = {
        "products": f"{flops / 1e6:,.0f} MFLOP, {quantity(flops / rates.flops, 's')}",
        "exponentials": f"{n_exp / 1e3:,.0f} thousand, {quantity(n_exp / rates.exponentials, 's')}",
        "bytes": f"{n_bytes / 1e6:,.1f} MB, {quantity(moving, 's')}",
        "where the time goes": where_time_goes(work),
    }
    return Measurement(
        what,
        name,
        median_seconds(work, n_runs),
        max(computing, moving),
        "limit: computing" if computing > moving else "limit: moving",
        at_least=False,
        note=note,
        more=more,
    )


def _least_of_fit(X: Any, Y: np.ndarray, n_iter: np.ndarray, precision: Any) -> tuple[float, float, float]:
    """Return flops, bytes and exponentials of a chain in which link k takes ``n_iter[k]`` iterations."""
    n_rows, n_features = X.shape
    if n_features > n_rows:  # rotated into as many inputs as there are rows
        of_inputs = float(n_rows * n_rows)
    else:
        of_inputs = float(_n_values(X))
    of_labels = Y.sum(axis=0) if sp.issparse(X) and n_features <= n_rows else np.full(Y.shape[1], n_rows)
    values = of_inputs + np.concatenate([[0.0], np.cumsum(of_labels)[:-1]])
    flops = float((4.0 * values * (n_iter + 1)).sum())
    # Margins read and written, their change and the residuals read or written; the inputs twice an iteration.
    size = np.dtype(precision).itemsize
    n_bytes = 4.0 * size * n_rows * n_iter.sum() + 2.0 * _n_bytes(X) * size / 8 * n_iter.max()
    return flops, float(n_bytes), float(n_rows * (n_iter + 1).sum())


def _n_values(X: Any) -> int:
    return X.nnz if sp.issparse(X) else X.size


def _n_bytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes


def where_time_goes(work: Any) -> str:
    """Return the functions that take the most time themselves; kernels count as part of their caller."""
    work()  # compiles the kernels
    profile = cProfile.Profile()
    profile.runcall(work)
    of_function: dict[str, float] = {}
    stats = pstats.Stats(profile)
    for (path, _, name), (_, _, own, _, _) in stats.stats.items():  # type: ignore[attr-defined]
        where = f"{Path(path).stem}.{name.strip('<>')}" if path.startswith(PACKAGE) else "elsewhere"
        of_function[where] = of_function.get(where, 0.0) + own
    total = sum(of_function.values())
    ordered = sorted(of_function.items(), key=lambda item: -item[1])[:TOP]
    return ", ".join(f"{name} {own / total:.0%}" for name, own in ordered)
