"""Progress of a fit: scikit-learn's callbacks where the installed version has them, and `verbose`."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from montechain._compilation import NOTICE, watch_compilation
from montechain.links import LinkLearner
from montechain.ordering import OrderSearch, SearchResult, search_progress

__all__ = ["link_progress", "search_orders"]


@contextmanager
def link_progress(estimator: Any, n_links: int, X: Any, y: Any):
    """Report links as they are learned. Yields a function to call with each problem when its link is learned.

    The fit is one task with a subtask for each link, in the sense of scikit-learn's callbacks. With `verbose`, a line
    says when kernels are being compiled; the times shown leave that out.
    """
    name = type(estimator).__name__
    context = None
    if hasattr(estimator, "_init_callback_context"):
        context = estimator._init_callback_context(max_subtasks=n_links)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    started, n_done = time.perf_counter(), 0

    def on_link(problem: Any) -> None:
        nonlocal n_done
        n_done += 1
        if context is not None:
            task = context.subcontext(task_name="link")
            task.call_on_fit_task_begin(estimator=estimator)
            task.call_on_fit_task_end(estimator=estimator)
        if estimator.verbose:
            seconds = time.perf_counter() - started - compilation.seconds
            names = getattr(estimator, "target_names_", None)
            label = problem.label if names is None else names[problem.label]
            print(f"[{name}] link {n_done} of {n_links}: label {label}, {seconds:.1f} s")

    with watch_compilation((lambda: print(f"[{name}] {NOTICE}")) if estimator.verbose else None) as compilation:
        yield on_link
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def search_orders(
    estimator: Any, learner: LinkLearner, X: Any, codes: np.ndarray, start: Any, seed: int, options: dict[str, Any]
) -> SearchResult:
    """Return the orders that the estimator's `order` finds on these rows, and set its `search_trace_`."""
    finder = estimator.order
    evaluator = finder.evaluator(
        learner, X, codes, estimator.codec_.n_classes,
        parents=estimator.parents, inference=estimator.inference, loss=estimator.loss,
        classes=estimator.codec_.classes, names=estimator.codec_.names, start=start,
        sample_weight=options.get("sample_weight"), seed=seed, n_jobs=estimator.n_jobs,
        fit_params={key: value for key, value in options.items() if key != "sample_weight"},
    )  # fmt: skip
    rng = np.random.default_rng([seed, 1])
    if isinstance(finder, OrderSearch):
        with search_progress(finder.n_steps) if estimator.verbose else nullcontext() as on_step:
            result = finder.find(evaluator, start=tuple(start), rng=rng, on_step=on_step)
    else:
        result = finder.find(evaluator, start=tuple(start), rng=rng)
    estimator.search_trace_ = result.trace
    return result
