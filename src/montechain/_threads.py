"""Work in parallel: in our own threads, without BLAS threads that compete with them, or where joblib is told to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from numbers import Integral
from threading import Lock, local
from typing import Any, TypeVar
from weakref import finalize

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")

LARGE = 1000
"""Minimum size, in bytes, of inputs that are sent to a cluster once, not with every task: that of joblib."""

_here = local()


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` stands for, as in joblib: None is that of ``joblib.parallel_config``.

    Within a task of `run_in_threads` it is one, so that threads do not start threads.

    >>> count_threads(None), count_threads(2)
    (1, 2)
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(
            f"`n_jobs={n_jobs!r}` must be a whole number other than 0, or None: n_jobs=2 for two threads, n_jobs=-1 "
            "for as many as there are cores."
        )
    if n_jobs == 1 or hasattr(_here, "works"):
        return 1
    # The cores of a cluster are not those of this machine.
    return min(effective_n_jobs(n_jobs), cpu_count()) if _works_elsewhere() else effective_n_jobs(n_jobs)


def _works_elsewhere() -> bool:
    """Return whether ``joblib.parallel_config`` has chosen a backend that works in other processes or machines."""
    backend, _ = get_active_backend(prefer="threads")
    return not getattr(backend, "uses_threads", False)


def run_in_threads(function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None) -> list[Result]:
    """Return ``function(task)`` for all tasks, in their order; threads take the tasks one by one.

    This is for functions that leave the interpreter for most of their time, such as kernels and matrix products. With
    several threads, BLAS uses one thread in each; with one, this is a plain loop, and BLAS is left as it is. As in a
    loop, the first task that fails raises its error. After that, or after Ctrl-C, no task is begun.

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


def run_tasks(
    function: Callable[..., Result], tasks: Iterable[Any], n_jobs: int | None, *shared: Any, in_threads: bool = True
) -> list[Result]:
    """Return ``function(task, *shared)`` for all tasks, in their order: for tasks worth sending to other machines.

    They run in threads, or one after the other if they have threads of their own (`in_threads=False`). If
    ``joblib.parallel_config`` has chosen a backend that works elsewhere, such as "dask", they go there, and `shared`
    goes to each worker once, however many tasks and calls there are.

    >>> run_tasks(pow, [1, 2, 3], 2, 2)
    [1, 4, 9]
    """
    waiting = list(tasks)
    stays = len(waiting) < 2 or hasattr(_here, "works") or n_jobs == 1 or not _works_elsewhere()
    if stays or effective_n_jobs(n_jobs) == 1:
        if in_threads:
            return run_in_threads(lambda task: function(task, *shared), waiting, n_jobs)
        return [function(task, *shared) for task in waiting]
    send_once(shared)
    # In a tuple, because joblib would keep a large task at a single worker, and lose it together with that worker.
    elsewhere = delayed(_run_elsewhere)
    size = -(-len(waiting) // (8 * effective_n_jobs(n_jobs)))  # in batches, because sending costs milliseconds
    return Parallel(n_jobs=n_jobs, batch_size=size)(elsewhere(function, (task,), *shared) for task in waiting)


def _run_elsewhere(function: Callable[..., Result], task: tuple[Any], *shared: Any) -> Result:
    """Run a task in a worker of joblib, without threads of its own."""
    _here.works = True
    try:
        with one_blas_thread():
            return function(*task, *shared)
    finally:
        del _here.works


def send_once(shared: Iterable[Any]) -> None:
    """Send large inputs to all workers of a Dask cluster, unless they are there.

    joblib would send them again in each call, and to a single worker: if that one died, the job would fail.
    """
    backend = get_active_backend()[0]
    if not hasattr(backend, "data_futures"):
        return
    from dask.sizeof import sizeof

    for own in shared:
        if id(own) not in backend.data_futures and sizeof(own) > LARGE:
            with suppress(TypeError):  # as in joblib, objects without weak references are not sent
                finalize(own, backend.data_futures.pop, id(own), None)
                backend.data_futures[id(own)] = backend.client.scatter(own, hash=False, broadcast=True)


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
    """Return the controllers of libraries whose number of threads is set for the process, and of those set by thread.

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
