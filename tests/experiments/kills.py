"""Killing processes while they work: when so much has entered a store since they began, or in the midst of a write."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from montechain.experiments import ResultStore

__all__ = ["Forked", "Kill", "Progress", "kill_again_and_again", "progress", "slow_writes"]

LIMIT_SECONDS = 120.0
"""A process that has not done what it was to do by then is taken to be stuck."""
LOOK_SECONDS = 0.003
"""The store is looked at so often."""
WRITE_SECONDS = 0.004
"""So much longer takes a write that is to be met by a kill."""
LATER_SECONDS = 0.05
"""A kill that follows an event does so within this time."""

SPREAD = 0.6
"""The kills are spread over so much of the work: each comes a little later than it is meant to."""


class Progress(NamedTuple):
    """What is in a store: finished units, steps of searches, and searches that are begun and not finished."""

    units: int = 0
    steps: int = 0
    open_searches: int = 0

    def writes(self, steps_per_write: int) -> float:
        """Return how many times something was written, about."""
        return self.units + self.steps / steps_per_write


class Kill(NamedTuple):
    """What a process found in the store, what it left, and whether it was writing when it was killed."""

    found: Progress
    left: Progress
    in_write: bool

    @classmethod
    def from_json(cls, row: list) -> Kill:
        return cls(Progress(*row[0]), Progress(*row[1]), row[2])


class Victim(Protocol):
    """A process at work."""

    def has_ended(self) -> bool:
        """Return whether it has ended by itself."""
        ...

    def kill(self) -> None:
        """Kill it, with those that work for it, and wait until they are dead."""
        ...


class Forked:
    """A child that does something, forked from a process that has loaded what it needs.

    Parameters
    ----------
    do : callable
    """

    def __init__(self, do: Callable[[], object]):
        self.pid = os.fork()
        self.code: int | None = None
        if self.pid:
            return
        try:
            do()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)

    def has_ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is not None

    def kill(self) -> None:
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def wait(self) -> int:
        """Return its exit code."""
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code


def progress(path: str | Path) -> Progress:
    """Look at a store without touching it.

    Raises
    ------
    sqlite3.Error
        If it cannot be read now, or was left in the midst of a write.
    """
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1.0)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "units" not in tables:
            return Progress()
        units = database.execute("SELECT count(*) FROM units").fetchone()[0]
        if not {"trace_steps", "trace_states"} <= tables:
            return Progress(units)
        steps, begun = (database.execute(query).fetchone()[0] for query in (
            "SELECT count(*) FROM trace_steps",
            "SELECT count(*) FROM trace_states WHERE key NOT IN (SELECT key FROM units)",
        ))  # fmt: skip
        return Progress(units, steps, begun)


def kill_again_and_again(
    start: Callable[[], Victim],
    path: str | Path,
    whole: Progress,
    n_kills: int,
    seed: int,
    *,
    steps_per_write: int = 1,
) -> list[Kill]:
    """Start the work so many times and kill it each time: a third of them in a write, a third soon after one.

    The first one is killed while it makes the store, the others when they have written something.

    Parameters
    ----------
    start : callable
        Starts the work.
    path : str or Path
        The store.
    whole : Progress
        What is in the store when all is done: the kills are spread over it.
    n_kills, seed : int
    steps_per_write : int, default=1
        So many steps of a search are written at once.

    Returns
    -------
    list of Kill
        Fewer than `n_kills` if the last one came after all was written.
    """
    moments = random.Random(seed)
    kills: list[Kill] = []
    left = Progress()
    for number in range(n_kills):
        found = left
        done = found.writes(steps_per_write)
        rest = max(0.0, SPREAD * whole.writes(steps_per_write) - done)
        goal = done + moments.uniform(0.0, 2.0) * rest / (n_kills - number)
        later = moments.uniform(0.0, 1.0)
        victim = start()
        try:
            if number > 0:
                _wait_for(victim, lambda goal=goal, found=found: _is_reached(path, found, goal, steps_per_write))
            if number % 3 == 0:
                _wait_for(victim, lambda: _is_in_write(path), look=0.0005)
                time.sleep(later * WRITE_SECONDS)
            elif number % 3 == 1:
                time.sleep(later * LATER_SECONDS)
        finally:
            ended = victim.has_ended()
            victim.kill()
        if ended:
            raise RuntimeError("a process ended before it was killed: there is too little work")
        left, in_write = _left(path)
        kills.append(Kill(found, left, in_write))
        if left.units >= whole.units:
            break  # only what follows the work, such as a report, was still to be done
    return kills


@contextmanager
def slow_writes() -> Iterator[None]:
    """Make each transaction that writes last a little longer before it is committed."""
    plain = ResultStore._transaction

    @contextmanager
    def slowly(self: ResultStore, *, write: bool = True) -> Iterator[Any]:
        with plain(self, write=write) as database:
            yield database
            if write:
                time.sleep(WRITE_SECONDS / 2)

    ResultStore._transaction = slowly  # type: ignore[method-assign]
    try:
        yield
    finally:
        ResultStore._transaction = plain  # type: ignore[method-assign]


def _wait_for(victim: Victim, is_so: Callable[[], bool], look: float = LOOK_SECONDS) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_so():
        if victim.has_ended() and not is_so():
            raise RuntimeError("a process ended before it was killed: it failed, or there is too little work")
        if time.monotonic() > deadline:
            raise TimeoutError(f"a process has not written what it should have in {LIMIT_SECONDS:g} s")
        time.sleep(look)


def _is_reached(path: str | Path, found: Progress, goal: float, steps_per_write: int) -> bool:
    try:
        now = progress(path)
    except sqlite3.Error:  # it does not exist yet, or what a kill left has not been taken back yet
        return False
    return now[:2] != found[:2] and now.writes(steps_per_write) >= goal


def _journal(path: str | Path) -> Path:
    return Path(f"{path}-journal")


def _is_in_write(path: str | Path) -> bool:
    try:
        return _journal(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def _left(path: str | Path) -> tuple[Progress, bool]:
    """Return what a dead process left, and whether it was writing; in a copy, so that the next one meets it as it is.

    What it had written and not committed is taken back when the store is opened.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        shutil.copy(path, copy)
        with suppress(FileNotFoundError):
            shutil.copy(_journal(path), _journal(copy))
        with closing(sqlite3.connect(copy)) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return progress(copy), _is_in_write(path)
