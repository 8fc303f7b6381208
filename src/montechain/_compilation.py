"""Notice when kernels are compiled: tell the user, and keep the wait out of measured times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from numba.core import event

NOTICE = "compiling once, about 10 s; kept for the next time."
"""What users are told when a kernel is compiled."""


class Compilation(event.Listener):
    """Wall-clock and CPU time spent compiling since the start of a `watch_compilation` block."""

    def __init__(self, announce: Callable[[], None] | None = None):
        self.seconds = self.cpu_seconds = 0.0
        self._announce = announce
        self._depth = 0

    def on_start(self, event: event.Event) -> None:
        """Start the clock, unless another kernel that needs this one has started it."""
        if self._depth == 0:
            if self._announce is not None:
                self._announce()
                self._announce = None
            self._start = time.perf_counter(), time.process_time()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Stop the clock."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start[0]
            self.cpu_seconds += time.process_time() - self._start[1]


@contextmanager
def watch_compilation(announce: Callable[[], None] | None = None) -> Iterator[Compilation]:
    """Measure the compilation of kernels inside a ``with`` block; kernels loaded from the cache do not count.

    `announce` is called when the first kernel is about to be compiled.

    Examples
    --------
    >>> import numba
    >>> with watch_compilation(lambda: print(NOTICE)) as compilation:
    ...     numba.njit(lambda x: x + 1)(1)
    compiling once, about 10 s; kept for the next time.
    2
    >>> compilation.seconds > 0
    True
    """
    listener = Compilation(announce)
    event.register("numba:compile", listener)
    try:
        yield listener
    finally:
        event.unregister("numba:compile", listener)
