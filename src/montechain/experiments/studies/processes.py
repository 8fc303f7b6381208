"""Studies in processes of their own, which share the work through the store."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from montechain.errors import DataError, ModelFileError, OutputError
from montechain.experiments.studies.base import Setting, Study
from montechain.experiments.studies.running import all_pieces, work

__all__ = ["work_in_processes"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""What tells libraries how many threads to use, if it is set before they are loaded."""
ERRORS = {kind.__name__: kind for kind in (DataError, ModelFileError, OutputError, ValueError, TypeError, ImportError)}
"""Failures that keep their kind on the way from a process to its parent."""


def work_in_processes(
    studies: Sequence[Study],
    setting: Setting,
    *,
    n_jobs: int = 1,
    on_progress: Callable[[int], None] = lambda n_done: None,
) -> None:
    """Do the work of studies in `n_jobs` other processes.

    An interrupt (Ctrl-C) does not reach them: a search that it met would end early and count as finished. They are
    ended instead, at once, which the store is safe against; so they are if this process dies.

    Parameters
    ----------
    studies : sequence of Study
    setting : Setting
    n_jobs : int, default=1
    on_progress : callable, optional
        Told how many steps of how many there are in all are done, each time that one is.

    Raises
    ------
    RuntimeError
        If all of them died.
    """
    n_done = [0] * len(all_pieces(studies, setting))
    context = multiprocessing.get_context("spawn")
    processes: list[Any] = []
    open_: dict[Connection, Any] = {}
    try:
        with _shared_cores(n_jobs):
            for number in range(n_jobs):
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_serve, args=(list(studies), setting, number, theirs))
                process.start()
                theirs.close()
                processes.append(process)
                open_[ours] = process
        n_finished = 0
        while open_:
            for connection in wait(list(open_)):
                assert isinstance(connection, Connection)
                try:
                    message = connection.recv()
                except (EOFError, OSError):  # it died; the others find its claims void
                    open_.pop(connection).join()
                    connection.close()
                    continue
                if message[0] == "failed":
                    _, kind, text = message
                    raise ERRORS.get(kind, RuntimeError)(text if kind in ERRORS else f"{kind}: {text}")
                if message[0] == "finished":
                    n_finished += 1
                else:
                    _, piece, n_steps = message
                    n_done[piece] = max(n_done[piece], n_steps)
                    on_progress(sum(n_done))
        if n_finished == 0:
            codes = ", ".join(str(process.exitcode) for process in processes)
            raise RuntimeError(
                f"the processes that did the work died (exit codes {codes}), as they do when memory runs out. What "
                "they had finished is kept; the same command goes on from there."
            )
    finally:
        for process in processes:
            process.kill()
            process.join()
        for connection in open_:
            connection.close()


def _serve(studies: list[Study], setting: Setting, number: int, connection: Connection) -> None:
    """Do the work: what another process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()  # out of reach of the terminal's Ctrl-C, also where the work listens for it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Three labels have six orders, so a search for ten finds fewer: said once in the report, not for every fold.
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"

    def on_done(piece: int, n_steps: int) -> None:
        connection.send(("done", piece, n_steps))

    try:
        work(studies, setting, backwards=number % 2 == 1, on_done=on_done)
        connection.send(("finished",))
    except Exception as error:
        with suppress(OSError):
            connection.send(("failed", type(error).__name__, str(error)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@contextmanager
def _shared_cores(n_jobs: int) -> Iterator[None]:
    """Let processes that are started meanwhile share the cores, so that they do not disturb each other's times."""
    n_threads = max(1, (os.cpu_count() or 1) // n_jobs)
    before = {name: os.environ.get(name) for name in THREADS}
    if n_jobs > 1:
        os.environ.update({name: str(n_threads) for name in THREADS if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
