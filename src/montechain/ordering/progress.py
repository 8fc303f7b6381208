"""A progress bar for searches that take a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from montechain._compilation import NOTICE, watch_compilation

__all__ = ["search_progress"]

N_LINES = 10
"""Number of lines printed where there is no terminal."""


@contextmanager
def search_progress(n_steps: int, *, stream: TextIO | None = None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Show the progress of a search and its best payoff so far. Yields a function to call after each step.

    On a terminal this is a bar. Elsewhere, as in a log file, it is a line for every tenth of the steps.

    Parameters
    ----------
    n_steps : int
        Steps of all restarts together.
    stream : file, optional
        By default, standard error.

    Examples
    --------
    >>> with search_progress(2, stream=sys.stdout) as on_step:
    ...     on_step({"restart": 0, "iteration": 0, "payoff": 12.5})
    ...     on_step({"restart": 0, "iteration": 1, "payoff": 13.0})
    order search: 1 of 2, payoff 12.5
    order search: 2 of 2, payoff 13
    """
    stream = sys.stderr if stream is None else stream
    on_terminal = hasattr(stream, "isatty") and stream.isatty()
    show, close = _bar(n_steps, stream) if on_terminal else _lines(n_steps, stream)
    lock = threading.Lock()  # restarts may run in several threads
    n_done, best = 0, None

    def on_step(row: Mapping[str, Any]) -> None:
        nonlocal n_done, best
        with lock:
            n_done += 1
            best = row["payoff"] if best is None or row["payoff"] > best else best
            show(n_done, best)

    try:
        with watch_compilation(lambda: print(f"order search: {NOTICE}", file=stream)):
            yield on_step
    finally:
        close()


Display = tuple[Callable[[int, float], None], Callable[[], None]]


def _bar(n_steps: int, stream: TextIO) -> Display:
    # Imported here, since most who search no orders should not wait for it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = "order search", BarColumn(), MofNCompleteColumn(), TextColumn("payoff {task.fields[payoff]}")
    progress = Progress(*columns, TimeRemainingColumn(), console=Console(file=stream))
    task = progress.add_task("order search", total=n_steps, payoff="")
    progress.start()
    return lambda n, payoff: progress.update(task, completed=n, payoff=f"{payoff:.6g}"), progress.stop


def _lines(n_steps: int, stream: TextIO) -> Display:
    n_shown = 0

    def show(n: int, payoff: float) -> None:
        nonlocal n_shown
        if n * N_LINES // max(n_steps, 1) > n_shown:
            n_shown = n * N_LINES // max(n_steps, 1)
            stream.write(f"order search: {n} of {n_steps}, payoff {payoff:.6g}\n")
            stream.flush()

    return show, lambda: None
