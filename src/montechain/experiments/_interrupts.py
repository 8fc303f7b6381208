"""Ctrl-C while something is being measured: it is neither half a result nor a failure of the method."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["whole_or_interrupted"]


class _Interrupted(BaseException):
    """What Ctrl-C raises meanwhile: a search of orders would end early at a KeyboardInterrupt, and go on."""


@contextmanager
def whole_or_interrupted() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if Ctrl-C was pressed, whatever the work made of it.

    An interrupt that meets compiled code, for instance, comes out as a SystemError, which looks like a failure.
    Outside the main thread, where no signal arrives, this does nothing.

    Examples
    --------
    >>> with whole_or_interrupted():
    ...     result = 6 * 7
    >>> result
    42
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        raise _Interrupted

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    except _Interrupted:
        pass
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
