"""Studies on generated data with a known truth: regret against the number of rows, a large table, time limits."""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.report import table
from benchmarks.generated import make_known_chain
from montechain import AutoChainClassifier
from montechain._files import atomic_write

N_TEST = 2000
SIZES = (250, 1000, 4000, 16_000)
LIMITS = (5.0, 15.0, 30.0)
N_LARGE = 100_000

Row = dict[str, Any]


def _parts(n_rows: int, n_features: int, n_classes: Any) -> tuple[Any, np.ndarray, Any, np.ndarray, Any]:
    """Return training rows, test rows and the truth."""
    data, truth = make_known_chain(n_rows + N_TEST, n_features, 5, n_classes, dependence=2.0, random_state=0)
    X, Y = data.X.to_numpy(), data.Y.to_numpy()
    return X[:n_rows], Y[:n_rows], X[n_rows:], Y[n_rows:], truth


def regret(n_rows: int, kind: str) -> Row:
    """Return how far expected scores are below the best possible ones, after learning from some rows."""
    X, Y, X_test, Y_test, truth = _parts(SIZES[-1], 15, 2)
    X, Y = X[:n_rows], Y[:n_rows]
    seen = (lambda x: x) if kind == "linear" else np.cbrt  # the model sees distorted but equivalent inputs
    start = time.process_time()
    model = AutoChainClassifier(random_state=0, n_jobs=1).fit(seen(X), Y)
    seconds = time.process_time() - start
    best = truth.bayes_scores(X_test)
    decision = model.decide(seen(X_test))
    chosen = np.exp(truth.log_joint(X_test, decision.labels)).mean()
    vectors, log_proba = truth.distribution(X_test)
    proba = np.exp(log_proba)
    by_label = model.set_params(loss="hamming").predict(seen(X_test))
    right = np.mean([(proba * (vectors[:, j] == by_label[:, [j]])).sum(axis=1).mean() for j in range(vectors.shape[1])])
    extra = (truth.log_joint(X_test, Y_test) - model.log_joint(seen(X_test), Y_test)).mean()
    return {
        "inputs": kind, "rows": n_rows, "best exact match": best.exact_match, "regret": best.exact_match - chosen,
        "best Hamming score": best.hamming_score, "regret of it": best.hamming_score - right,
        "log-loss above the truth's": extra, "certified": decision.certified.mean(), "fit CPU s": seconds,
    }  # fmt: skip


def large(n_rows: int) -> Row:
    """Return the cost and the scores of fitting a large table with 30 inputs and 5 targets."""
    X, Y, X_test, Y_test, truth = _parts(n_rows, 30, (2, 3, 2, 4, 2))
    start = time.process_time()
    model = AutoChainClassifier(random_state=0, n_jobs=1).fit(np.cbrt(X), Y)
    fitted = time.process_time()
    decision = model.decide(np.cbrt(X_test))
    return {
        "rows": n_rows, "fit CPU s": fitted - start, "predict CPU s": time.process_time() - fitted,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "exact match": (decision.labels == Y_test).all(axis=1).mean(),
        "best possible": truth.bayes_scores(X_test).exact_match, "certified": decision.certified.mean(),
    }  # fmt: skip


def limit(seconds: float, n_rows: int) -> Row:
    """Return how long a fit takes with a time limit."""
    X, Y, X_test, Y_test, _ = _parts(n_rows, 30, (2, 3, 2, 4, 2))
    AutoChainClassifier(random_state=0, n_jobs=1).fit(X[:100], Y[:100])  # compiles
    start = time.perf_counter()
    model = AutoChainClassifier(time_limit=seconds, random_state=0, n_jobs=1).fit(np.cbrt(X), Y)
    taken = time.perf_counter() - start
    hits = (model.predict(np.cbrt(X_test)) == Y_test).all(axis=1).mean()
    return {"rows": n_rows, "limit s": seconds, "taken s": taken, "taken / limit": taken / seconds, "exact match": hits}


STUDIES: dict[str, tuple[str, Callable[..., Row], list[tuple[Any, ...]]]] = {
    "regret": (
        "Regret to the Bayes decision: generated chains of 5 labels, 15 inputs, 2,000 test rows; *distorted* are the "
        "cube roots of the inputs, so that the truth is not linear in what the model sees",
        regret,
        [(n_rows, kind) for kind in ("linear", "distorted") for n_rows in SIZES],
    ),
    "large": ("A large table: 30 inputs, 5 targets of 2 to 4 classes, one thread", large, [(N_LARGE,)]),
    "limit": (
        "`time_limit`, by the clock, one thread",
        limit,
        [(seconds, n_rows) for n_rows in (4000, N_LARGE // 2) for seconds in LIMITS],
    ),
}  # fmt: skip
"""Title, function and arguments of each row."""


def run(store: Path, names: Iterable[str]) -> None:
    """Compute the rows of these studies that are missing, each in a process of its own."""
    for name in names:
        _, function, arguments = STUDIES[name]
        for own in arguments:
            path = store / f"study-{name}-{'-'.join(map(str, own))}.json"
            if path.exists():
                continue
            with multiprocessing.get_context("fork").Pool(1) as pool:
                row = pool.apply(function, own)
            with atomic_write(path, "w", encoding="utf-8") as stream:
                json.dump(
                    {key: value if isinstance(value, str) else float(value) for key, value in row.items()}, stream
                )
            print(f"{path.stem}: {row}", file=sys.stderr, flush=True)


def sections(store: Path) -> list[str]:
    """Return the finished studies as Markdown."""
    found = []
    for name, (title, _, arguments) in STUDIES.items():
        paths = [store / f"study-{name}-{'-'.join(map(str, own))}.json" for own in arguments]
        rows = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
        if rows:
            cells = [[_shown(value) for value in row.values()] for row in rows]
            found.append(f"### {title}\n\n{table(list(rows[0]), cells)}")
    return ["## On generated data", *found] if found else []


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 100 else f"{value:.4f}" if value < 1 else f"{value:.2f}"
