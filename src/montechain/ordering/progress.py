"""A progress bar for searches that take a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from montechain._compilation import NOTICE, watch_compilation

__all__ = ["search_progress"]

N_LINES = 10
"""Number of lines printed where there is no terminal."""


@contextmanager
def search_progress(n_steps: int, *, stream: TextIO | None = None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Show the progress of a search and its best payoff so far. Yields a function to call after each step.

    On a terminal this is a bar. Elsewhere, as in a log file, it is a line for every tenth of the `n_steps` of all
    restarts together. By default, `stream` is standard error.

    Examples
    --------
    >>> with search_progress(2, stream=sys.stdout) as on_step:
    ...     on_step({"restart": 0, "iteration": 0, "payoff": 12.5})
    ...     on_step({"restart": 0, "iteration": 1, "payoff": 13.0})
    order search: 1 of 2, payoff 12.5
    order search: 2 of 2, payoff 13
    """
    stream = sys.stderr if stream is None else stream
    bar = _bar(stream) if hasattr(stream, "isatty") and stream.isatty() else None
    task = None if bar is None else bar.add_task("order search", total=n_steps, payoff="")
    n_done, best = 0, None

    def on_step(row: Mapping[str, Any]) -> None:
        nonlocal n_done, best
        n_done += 1
        best = row["payoff"] if best is None or row["payoff"] > best else best
        if bar is not None:
            bar.update(task, completed=n_done, payoff=f"{best:.6g}")
        elif n_done * N_LINES // n_steps > (n_done - 1) * N_LINES // n_steps:
            print(f"order search: {n_done} of {n_steps}, payoff {best:.6g}", file=stream, flush=True)

    with bar or nullcontext(), watch_compilation(lambda: print(f"order search: {NOTICE}", file=stream)):
        yield on_step


def _bar(stream: TextIO) -> Any:
    # Imported here, since most who search no orders should not wait for it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = "order search", BarColumn(), MofNCompleteColumn(), TextColumn("payoff {task.fields[payoff]}")
    return Progress(*columns, TimeRemainingColumn(), console=Console(file=stream))
