"""How much memory a process holds, and held at most."""

from __future__ import annotations

import math
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["PeakMemory", "can_see_memory", "resident_mb"]

MIB = 1024.0
SAMPLING_SECONDS = 0.01


def can_see_memory() -> bool:
    """Return whether the memory of other processes can be read here."""
    return Path("/proc/self/statm").exists()


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process and of those that it started, in MiB; 0 for one that is gone."""
    total, waiting = 0.0, [pid]
    while waiting:
        process = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
            total += pages * os.sysconf("SC_PAGE_SIZE") / MIB**2
            for thread in os.listdir(f"/proc/{process}/task"):
                with suppress(OSError):
                    waiting += map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())
    return total


class PeakMemory:
    """Measure the most resident memory that this process holds within a ``with`` block, in MiB.

    The kernel's own high-water mark is set back at the beginning and read at the end, where it can be; else the
    memory is looked at a hundred times a second. On systems without either, it is the most since the process began.

    Examples
    --------
    >>> with PeakMemory() as memory:
    ...     _ = bytearray(1)
    >>> memory.peak_mb > 1
    True
    """

    peak_mb: float = float("nan")

    def __enter__(self) -> PeakMemory:
        self._stop: threading.Event | None = None
        self._marked = _reset_mark()
        if not self._marked and can_see_memory():
            self._stop, self._largest = threading.Event(), resident_mb(os.getpid())
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._stop is not None:
            self._stop.set()
            self._thread.join()
            self.peak_mb = max(self._largest, resident_mb(os.getpid()))
        else:
            self.peak_mb = _read_mark() if self._marked else _most_ever()

    def _watch(self) -> None:
        assert self._stop is not None
        while not self._stop.wait(SAMPLING_SECONDS):
            self._largest = max(self._largest, resident_mb(os.getpid()))


def _reset_mark() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return not math.isnan(_read_mark())
    except OSError:
        return False


def _read_mark() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / MIB
    return float("nan")


def _most_ever() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB**2 if sys.platform == "darwin" else most / MIB
