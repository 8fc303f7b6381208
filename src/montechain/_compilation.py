"""Measure the compilation of kernels, to keep it out of other times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event


class Compilation(event.TimingListener):
    """Time spent compiling since the start of a `watch_compilation` block."""

    @property
    def seconds(self) -> float:
        """Seconds by the clock; a kernel that another one needs does not count twice."""
        return self.duration if self.done else 0.0


@contextmanager
def watch_compilation() -> Iterator[Compilation]:
    """Measure the compilation of kernels inside a ``with`` block; kernels loaded from the cache do not count."""
    with event.install_listener("numba:compile", Compilation()) as listener:
        yield listener
