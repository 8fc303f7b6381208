"""Limits of time and memory, enforced in a child process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from montechain.experiments._memory import can_see_memory, resident_mb
from montechain.experiments.measures import Task
from montechain.experiments.results import Outcome

__all__ = ["Limits", "Worker"]

LOOK_SECONDS = 0.05
"""The child's memory is looked at so often."""
START_SECONDS = 300.0
"""A child that has not started by then never will; nor will one that is not ready for its task."""
LEFTOVER_MB = 512.0
"""A child that holds so much more after its work than when it was first ready for any is replaced by a new one."""


@dataclass(frozen=True)
class Limits:
    """What one method may use on one fold: training, prediction and measuring together.

    A method that exceeds a limit is ended, and its measures are DNF.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock time.
    memory_gb : float, optional
        Resident memory of the process that does the work and of those that it starts, in GiB; the interpreter
        and the data count. It is looked at twenty times a second, so it can be exceeded for a moment.

    Examples
    --------
    >>> Limits(seconds=3600, memory_gb=8)
    Limits(seconds=3600, memory_gb=8)
    >>> Limits(seconds=0)
    Traceback (most recent call last):
        ...
    ValueError: `seconds=0` of Limits must be a positive number or None, e.g. Limits(seconds=3600).
    """

    seconds: float | None = None
    memory_gb: float | None = None

    def __post_init__(self) -> None:
        for name, example in (("seconds", 3600), ("memory_gb", 8)):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ValueError(
                    f"`{name}={value!r}` of Limits must be a positive number or None, e.g. Limits({name}={example})."
                )


class Worker:
    """A child process that does one task after another, and is ended when a task exceeds its limits.

    Use it in a ``with`` block. If this process dies, however it does, so does the child.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits):
        if limits.memory_gb is not None and not can_see_memory():
            raise ValueError(
                "`memory_gb` of Limits cannot be enforced on this system, which has no /proc: leave it out."
            )
        self.limits = limits
        self._process: Any = None
        self._connection: Connection | None = None
        self._resident_when_new: float | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def run(self, task: Task) -> Outcome:
        """Return the outcome of a task; DNF if it exceeds a limit or its process dies.

        The time limit begins when the compiled kernels are warm.
        """
        try:
            message = pickle.dumps(task)
        except Exception as error:  # whatever the parts of a method raise
            reason = f"cannot be sent to a child process ({type(error).__name__}: {error}); try limits=None"
            return Outcome.did_not_finish(task.measures, "error", reason)
        connection = self._start()
        try:
            connection.send_bytes(message)
        except OSError:  # the child died meanwhile
            return Outcome.did_not_finish(task.measures, *self._bury())
        seconds = self.limits.seconds
        # Before the work, modules are imported and kernels compiled: that may take longer than a short limit.
        allowances = {"prepared": None if seconds is None else max(seconds, START_SECONDS), "done": seconds}
        for stage, allowed in allowances.items():
            answer, cause, reason = self._wait(connection, allowed)
            if cause:
                self.end()
                return Outcome.did_not_finish(task.measures, cause, reason)
            if answer[0] != stage:  # the task could not be unpickled, or its outcome not be pickled
                return Outcome.did_not_finish(task.measures, "error", answer[1])
            if stage == "prepared" and self._resident_when_new is None:
                self._resident_when_new = answer[1]
        _, outcome, resident = answer
        if resident > (self._resident_when_new or 0.0) + LEFTOVER_MB:
            self.end()
        return outcome

    def end(self) -> None:
        """End the child and whatever it started, at once."""
        if self._process is None:
            return
        pid = self._process.pid
        if hasattr(os, "killpg"):
            # Only its own group: a child that has not got one yet is still in ours.
            with suppress(OSError):
                if os.getpgid(pid) == pid:
                    os.killpg(pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self._process.close()
        assert self._connection is not None
        self._connection.close()
        self._process = self._connection = None

    def _start(self) -> Connection:
        if self._process is not None and not self._process.is_alive():
            self.end()
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=False)
            self._process.start()
            other.close()
            try:
                if not self._connection.poll(START_SECONDS):
                    raise EOFError
                self._connection.recv_bytes()
                self._resident_when_new = None
            except EOFError:
                self.end()
                raise RuntimeError(
                    "the process that enforces `limits` did not start. In a script, put what calls it under "
                    'if __name__ == "__main__":, or pass limits=None.'
                ) from None
        assert self._connection is not None
        return self._connection

    def _wait(self, connection: Connection, seconds: float | None) -> tuple[Any, str, str]:
        """Return the child's next message, or why it is not waited for any longer."""
        begin = time.monotonic()
        while not connection.poll(LOOK_SECONDS):
            if seconds is not None and time.monotonic() - begin > seconds:
                return None, "time", f"exceeded the time limit of {seconds:g} s"
            if self.limits.memory_gb is not None:
                used = resident_mb(self._process.pid) / 1024.0
                if used > self.limits.memory_gb:
                    return None, "memory", f"exceeded the memory limit of {self.limits.memory_gb:g} GiB"
        try:
            return pickle.loads(connection.recv_bytes()), "", ""
        except (EOFError, OSError):
            return None, *self._bury()

    def _bury(self) -> tuple[str, str]:
        """Return why the child died, and forget it."""
        self._process.join()
        cause, reason = _death(self._process.exitcode)
        self.end()
        return cause, reason


def _death(exit_code: int) -> tuple[str, str]:
    if exit_code == -getattr(signal, "SIGKILL", 9):
        return "memory", "the process was killed from outside, as the system does when memory runs out"
    if exit_code < 0:
        return "error", f"the process was ended by {signal.Signals(-exit_code).name}"
    return "error", f"the process ended by itself with exit code {exit_code}"


def _serve(connection: Connection) -> None:
    """Do tasks until the connection ends: what the child process runs."""
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own, so that all that it starts can be ended with it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    connection.send_bytes(b"ready")
    while True:
        try:
            message = connection.recv_bytes()
        except EOFError:
            return
        try:
            task = pickle.loads(message)
            task.prepare()
            connection.send_bytes(pickle.dumps(("prepared", resident_mb(os.getpid()))))
            outcome = task.run()
            del task, message
            answer = pickle.dumps(("done", outcome, resident_mb(os.getpid())))
        except Exception as error:
            answer = pickle.dumps(("failed", f"{type(error).__name__}: {error}"))
        connection.send_bytes(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
