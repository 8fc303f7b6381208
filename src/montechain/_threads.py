"""Our own threads: how many to use, and how to keep BLAS threads from competing with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from numbers import Integral
from threading import Lock, local
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")

_here = local()


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for, as joblib has it: ``joblib.parallel_config(n_jobs=2)`` counts.

    Within a task of `run_in_threads` it is one, so that threads do not start threads.

    Examples
    --------
    >>> count_threads(None), count_threads(2)
    (1, 2)
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(
            f"`n_jobs={n_jobs!r}` must be a whole number other than 0, or None: n_jobs=2 for two threads, n_jobs=-1 "
            "for as many as there are cores."
        )
    return 1 if n_jobs == 1 or hasattr(_here, "works") else effective_n_jobs(n_jobs)


def run_in_threads(function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None) -> list[Result]:
    """Return ``function(task)`` for all tasks, in their order; threads take the tasks one by one.

    This is for functions that leave the interpreter for most of their time, such as kernels and matrix products. With
    several threads, BLAS uses one thread in each; with one, this is a plain loop, and BLAS is left as it is. As in a
    loop, the first task that fails raises its error. After that, or after Ctrl-C, no task is begun.

    Examples
    --------
    >>> run_in_threads(abs, [-3, 1, -2], n_jobs=2)
    [3, 1, 2]
    """
    waiting = list(tasks)
    n_threads = min(count_threads(n_jobs), len(waiting))
    if n_threads <= 1:
        return [function(task) for task in waiting]
    with one_blas_thread(), ThreadPoolExecutor(n_threads, initializer=_begin_thread) as pool:
        try:
            # Settings such as numpy's `errstate` belong to a context, and are handed on.
            futures = [pool.submit(copy_context().run, function, task) for task in waiting]
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin_thread() -> None:
    _here.works = True
    _limit(_libraries()[1])


_lock = Lock()
_n_users = 0
_before: list[tuple[Any, int]] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS and OpenMP use one thread only.

    May be nested, and used by several threads at a time: the old setting is restored when the last one leaves.
    Sums in one thread are also rounded the same way on every machine, however many cores it has.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _n_users, _before
    of_process, of_thread = _libraries()
    own = _limit(of_thread)
    with _lock:
        _n_users += 1
        if _n_users == 1:
            _before = _limit(of_process)
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _restore(_before)
        _restore(own)


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set libraries to one thread. Return those that had more, with their number."""
    counts = [(library, library.get_num_threads()) for library in libraries]
    before = [(library, count) for library, count in counts if count is not None and count > 1]
    for library, _ in before:
        library.set_num_threads(1)
    return before


def _restore(before: list[tuple[Any, int]]) -> None:
    for library, count in before:
        # threadpoolctl lets one thread at a time control OpenBLAS, the one that was first.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(count)
        release(force=False)


_known: tuple[int, list[Any], list[Any]] = (0, [], [])


def _libraries() -> tuple[list[Any], list[Any]]:
    """Return what controls the libraries whose number of threads belongs to the process, and to each thread.

    Looking for them takes milliseconds, so it is repeated only after new modules have been imported.
    """
    global _known
    if _known[0] != len(sys.modules):
        n_modules = len(sys.modules)
        kinds: tuple[list[Any], list[Any]] = ([], [])
        for library in ThreadpoolController().lib_controllers:
            is_openmp = "openmp" in (library.user_api, getattr(library, "threading_layer", ""))
            kinds[is_openmp].append(library)
        _known = n_modules, *kinds
    return _known[1], _known[2]
