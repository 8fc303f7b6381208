"""Progress of a fit: scikit-learn's callbacks where the installed version has them, and `verbose`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from montechain._compilation import NOTICE, watch_compilation

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "link_progress", "with_callbacks"]


@contextmanager
def link_progress(estimator: Any, n_links: int, X: Any, y: Any):
    """Report the links of a chain as they are learned; yields what to call after each of them.

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
