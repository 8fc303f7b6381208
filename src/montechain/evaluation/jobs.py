"""Run jobs in this process or in child processes, within limits, and keep what has finished."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from pickle import PicklingError
from typing import Any

import psutil
from threadpoolctl import threadpool_limits

import montechain
from montechain._files import atomic_write
from montechain.errors import DataError, OutputError

__all__ = ["DNF", "OK", "Job", "Limits", "ResultStore", "digest", "library_versions", "run_jobs"]

OK, DNF = "ok", "DNF"
POLL_SECONDS = 0.05
START_SECONDS = 300.0
"""Time that imports and compilation may take, whatever the limit."""


@dataclass(frozen=True)
class Limits:
    """What one job may use, such as one method on one fold; a job that exceeds a limit is ended as DNF.

    Parameters
    ----------
    seconds : float, optional
        Wall-clock time, without compilation.
    memory_gb : float, optional
        Resident memory of the process that does the work and of its children, in GiB. It is checked twenty times a
        second, so it can be exceeded for a moment.

    Examples
    --------
    >>> Limits(seconds=3600, memory_gb=8).seconds
    3600
    """

    seconds: float | None = None
    memory_gb: float | None = None

    def __post_init__(self) -> None:
        for name, example in (("seconds", 3600), ("memory_gb", 8)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                wanted = f"must be a positive number or None, e.g. Limits({name}={example})."
                raise ValueError(f"`{name}={value!r}` of Limits {wanted}")


@dataclass(frozen=True)
class Job:
    """Work that is stored as a whole.

    Attributes
    ----------
    identity : dict
        Everything that the result depends on, as JSON can hold it.
    make_work : callable
        Builds the work when its turn comes: an object that can be pickled, with ``prepare()``, which is not timed, and
        ``run()``, which returns a dict that JSON can hold.
    labels : dict
        What else there is to say about it, such as the name of the data set.
    """

    identity: dict[str, Any]
    make_work: Callable[[], Any]
    labels: dict[str, Any] = field(default_factory=dict)


def library_versions() -> dict[str, str]:
    """Return the versions of montechain, Python and the libraries that results depend on."""
    own = {"montechain": montechain.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "pandas")}


def digest(identity: Any) -> str:
    """Return a short hash of something that JSON can hold."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


class ResultStore:
    """A folder with one JSON file for each finished job.

    A file appears only once it is complete, so a run that is killed loses the jobs that were under way and nothing
    else. The file name is a hash of the job's identity and of the version of montechain.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(folder)
    ...     store.put({"method": "CC", "fold": 0}, {"status": "ok", "values": {"exact_match": 0.3}})
    ...     store.get({"method": "CC", "fold": 0})["values"], store.get({"method": "CC", "fold": 1}), len(list(store))
    ({'exact_match': 0.3}, None, 1)
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder} is not a folder and cannot become one: {error.strerror}.") from error

    def path(self, identity: dict[str, Any]) -> Path:
        """Return the file of a job, whether it exists or not."""
        return self.folder / f"{digest([montechain.__version__, identity])}.json"

    def get(self, identity: dict[str, Any]) -> dict[str, Any] | None:
        """Return the outcome of a job, or None if it has not finished."""
        path = self.path(identity)
        return self._read(path) if path.exists() else None

    def put(self, identity: dict[str, Any], outcome: dict[str, Any]) -> None:
        """Write the outcome of a job: all of it or nothing."""
        with atomic_write(self.path(identity), "w", encoding="utf-8") as stream:
            json.dump({"identity": identity, "versions": library_versions(), **outcome}, stream)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._read, sorted(self.folder.glob("*.json")))

    @staticmethod
    def _read(path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict) or found.get("status") not in (OK, DNF):
                raise ValueError("it is not a stored result")
            return found
        except ValueError as error:
            raise DataError(f"cannot be read: {error}. Delete the file to compute it again.", path=path) from error


def run_jobs(
    jobs: Sequence[Job],
    *,
    store: ResultStore | None = None,
    limits: Limits | None = None,
    n_jobs: int = 1,
    retry: bool = False,
    on_done: Callable[[int, dict[str, Any]], None] = lambda number, outcome: None,
) -> list[dict[str, Any]]:
    """Run jobs and return their outcomes; those that finished before come from the store.

    With `limits`, or with `n_jobs` above 1, each job runs in a child process. `retry` runs failed jobs again; otherwise
    only those run again that exceeded a limit which is now wider. `on_done` is called with the position and the
    outcome of each job once it is stored.

    Returns
    -------
    list of dict
        With ``status``: "ok" with ``values``, or "DNF" with ``cause`` ("error", "time" or "memory") and ``reason``.
    """
    stored = [None if store is None else store.get(job.identity) for job in jobs]
    outcomes = {number: found for number, found in enumerate(stored) if found and not _again(found, limits, retry)}
    for number, outcome in outcomes.items():
        on_done(number, outcome)
    waiting = [number for number in range(len(jobs)) if number not in outcomes]
    if limits is None and n_jobs == 1:
        finished = ((number, _run_here(jobs[number].make_work())) for number in waiting)
    else:
        finished = _run_in_children(jobs, waiting, limits or Limits(), n_jobs)
    with closing(finished):
        for number, outcome in finished:
            outcomes[number] = outcome
            if store is not None:
                store.put(jobs[number].identity, {**outcome, "limits": asdict(limits or Limits())})
            on_done(number, outcome)
    return [outcomes[number] for number in range(len(jobs))]


def _again(found: dict[str, Any], limits: Limits | None, retry: bool) -> bool:
    """Return whether a stored job deserves another try."""
    if found["status"] == OK or retry:
        return found["status"] != OK
    name = {"time": "seconds", "memory": "memory_gb"}.get(found["cause"], "")
    before, now = found["limits"].get(name), getattr(limits, name, None)
    return before is not None and (now is None or now > before)


def _attempt(work: Any) -> dict[str, Any]:
    try:
        return {"status": OK, "values": work.run()}
    except MemoryError as error:
        return _failed("memory", f"out of memory: {error}")
    except Exception as error:  # whatever a method raises, the others still run
        return _failed("error", f"{type(error).__name__}: {error}")


def _failed(cause: str, reason: str) -> dict[str, Any]:
    return {"status": DNF, "cause": cause, "reason": reason}


def _run_here(work: Any) -> dict[str, Any]:
    """Do the work in this process. After Ctrl-C there is no outcome, whatever the work made of it.

    A search for orders takes a KeyboardInterrupt as a wish to end early and goes on, and compiled code may turn it into
    another error: neither is what an undisturbed run would have found.
    """
    pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, on_signal) if in_main_thread else None
    try:
        work.prepare()
        outcome = _attempt(work)
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
    return outcome


def _run_in_children(
    jobs: Sequence[Job], waiting: list[int], limits: Limits, n_jobs: int
) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield the number and the outcome of each job as it ends."""
    running = dict[int, _Child]()
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                number = waiting.pop(0)
                try:
                    running[number] = _Child(jobs[number].make_work(), n_jobs)
                except (AttributeError, TypeError, PicklingError) as error:
                    why = f"cannot be sent to a child process ({type(error).__name__}: {error}); try without limits"
                    yield number, _failed("error", why)
            wait([child.connection for child in running.values()], timeout=POLL_SECONDS)
            for number, child in list(running.items()):
                if (outcome := child.outcome(limits)) is not None:
                    running.pop(number).end()
                    yield number, outcome
    finally:
        for child in running.values():
            child.end()


class _Child:
    """A process that does one job. It dies with its parent, and Ctrl-C does not reach it."""

    def __init__(self, work: Any, n_jobs: int):
        context = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
        if os.name == "posix":
            context.set_forkserver_preload([__name__, "montechain.evaluation"])
        self.connection, theirs = context.Pipe()
        self.process: Any = context.Process(target=_serve, args=(work, theirs, n_jobs))  # type: ignore[attr-defined]
        self.process.start()
        theirs.close()
        self.began, self.is_prepared = time.monotonic(), False

    def outcome(self, limits: Limits) -> dict[str, Any] | None:
        """Return the outcome of the work, or None if it goes on."""
        try:
            while self.connection.poll():
                message = self.connection.recv()
                if message is not None:
                    return message
                self.is_prepared, self.began = True, time.monotonic()
        except (EOFError, OSError):
            return self._ended()
        seconds, memory = limits.seconds, limits.memory_gb
        allowed = None if seconds is None else seconds if self.is_prepared else max(seconds, START_SECONDS)
        if allowed is not None and time.monotonic() - self.began > allowed:
            return _failed("time", f"exceeded the time limit of {seconds:g} s")
        if memory is not None:
            with suppress(psutil.Error):  # a process that has just ended takes nothing
                if sum(one.memory_info().rss for one in _family(self.process.pid)) > memory * 2**30:
                    return _failed("memory", f"exceeded the memory limit of {memory:g} GiB")
        return None

    def _ended(self) -> dict[str, Any]:
        """Return the outcome of work whose process has ended without one."""
        self.process.join()
        code = self.process.exitcode
        if code == 1 and not self.is_prepared:
            raise RuntimeError(
                "a child process did not start. In a script, put the call under "
                'if __name__ == "__main__":, or leave out limits and n_jobs.'
            ) from None
        if code == -9:
            return _failed("memory", "the process was killed from outside, as happens when memory runs out")
        return _failed("error", f"the process ended with exit code {code}")

    def end(self) -> None:
        """Kill the process and everything it started."""
        for process in _family(self.process.pid):
            with suppress(psutil.Error):
                process.kill()
        self.process.join()
        self.connection.close()


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _serve(work: Any, connection: Connection, n_jobs: int) -> None:
    """Do the work: what the child process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")
    with threadpool_limits(max(1, (os.cpu_count() or 1) // n_jobs)):
        try:
            work.prepare()
            connection.send(None)
            outcome = _attempt(work)
        except Exception as error:
            outcome = _failed("error", f"{type(error).__name__}: {error}")
    connection.send(outcome)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    for child in _family(os.getpid())[1:]:
        child.kill()
    os._exit(1)
