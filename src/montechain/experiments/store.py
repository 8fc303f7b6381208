"""Results in one SQLite file: written as they are made, safe against death at any moment."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from pathlib import Path

import pandas as pd

from montechain.errors import DataError, OutputError
from montechain.experiments.limits import Limits
from montechain.experiments.results import DNF, Outcome, Result, Unit

__all__ = ["CLAIMED", "FINISHED", "TAKEN", "ResultStore"]

CLAIMED = "claimed"
"""The unit is ours to do."""
FINISHED = "finished"
"""Its results are in the store."""
TAKEN = "taken"
"""Another run is at it."""

APPLICATION = 0x6D636861  # "mcha": tells our files from those of other programs
SCHEMA_VERSION = 1
BUSY_SECONDS = 60.0
RESULT_COLUMNS = [field.name for field in fields(Result)]

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS units (
        key TEXT PRIMARY KEY, dataset TEXT NOT NULL, fingerprint TEXT NOT NULL, method TEXT NOT NULL,
        parameters TEXT NOT NULL, protocol TEXT NOT NULL, fold INTEGER NOT NULL, seed INTEGER NOT NULL,
        versions TEXT NOT NULL, cause TEXT NOT NULL, limit_seconds REAL, limit_memory_gb REAL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS results (
        key TEXT NOT NULL REFERENCES units (key), position INTEGER NOT NULL, measure TEXT NOT NULL, value REAL,
        status TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (key, measure)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS claims (
        key TEXT PRIMARY KEY, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
        heartbeat REAL NOT NULL
    )
    """,
)


class ResultStore:
    """A file of results that runs add to, and that a run which was killed continues from.

    A unit of work is one method on one fold of one data set. All of its rows enter the file in one transaction,
    once. Before it is begun, a run claims it, so that two runs on one file share the work; the claim of a
    process that died is void at once on the same machine, and elsewhere when its heartbeat has stopped for
    `lease` seconds. Should two runs do the same unit nevertheless, the first to finish counts.

    Parameters
    ----------
    path : str or Path
        The file; it is made if it does not exist. Its folder must.
    lease : float, default=300
        So many seconds without a sign of life end a claim.

    Raises
    ------
    DataError
        If the file is not such a store, or is damaged.
    OutputError
        If it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from montechain.experiments.results import Measurement
    >>> unit = Unit("music", "0f", "MCC", "{}", "{}", fold=0, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(Path(folder) / "results.sqlite")
    ...     first = store.claim(unit, ["exact_match"])
    ...     rows = store.finish(unit, Outcome([Measurement("exact_match", 0.31)]))
    ...     again = store.claim(unit, ["exact_match"])
    ...     frame = store.to_frame()
    >>> first, again, frame["value"].tolist()
    ('claimed', 'finished', [0.31])
    """

    def __init__(self, path: str | Path, *, lease: float = 300.0):
        self.path = Path(path)
        self.lease = float(lease)
        self._owner = uuid.uuid4().hex
        self._heart: threading.Thread | None = None
        self._stop = threading.Event()
        if self.path.is_dir():
            raise DataError("this is a folder; name a file in it, such as results.sqlite.", path=self.path)
        with self._transaction() as database:
            self._open(database)

    # -- what is there ------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of units that are finished."""
        with self._transaction(write=False) as database:
            return int(database.execute("SELECT count(*) FROM units").fetchone()[0])

    def results(self, unit: Unit | None = None) -> list[Result]:
        """Return the rows of one unit, or of all of them, in an order that does not depend on when they were made.

        Those of one unit bear its name of the data set, whatever it was called when they were made.
        """
        query = f"""
            SELECT {", ".join(RESULT_COLUMNS)} FROM results JOIN units USING (key)
            {"" if unit is None else "WHERE key = ?"}
            ORDER BY dataset, fingerprint, protocol, seed, method, parameters, fold, position
        """
        with self._transaction(write=False) as database:
            rows = [Result(*row) for row in database.execute(query, () if unit is None else (unit.key,))]
        return rows if unit is None else [replace(row, dataset=unit.dataset) for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Return all rows as a data frame with the columns of `Result`; a missing value is NaN."""
        frame = pd.DataFrame([asdict(result) for result in self.results()], columns=RESULT_COLUMNS)
        return frame.astype({"value": "float64", "fold": "int64", "seed": "int64"})

    # -- doing the work -----------------------------------------------------------------------

    def claim(self, unit: Unit, measures: Iterable[str], limits: Limits | None = None) -> str:
        """Ask for a unit of work.

        Parameters
        ----------
        unit : Unit
        measures : iterable of str
            What it must have been measured for to count as finished.
        limits : Limits, optional
            What it may use now. One that did not finish for lack of time or memory is done again if
            it may now use more of it.

        Returns
        -------
        {"claimed", "finished", "taken"}
        """
        with self._transaction() as database:
            if self._is_finished(database, unit, measures, limits):
                return FINISHED
            row = database.execute(
                "SELECT owner, host, pid, started, heartbeat FROM claims WHERE key = ?", (unit.key,)
            ).fetchone()
            if row is not None and row[0] != self._owner and self._is_alive(*row[1:]):
                return TAKEN
            database.execute(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
                (unit.key, self._owner, _host(), os.getpid(), _start_of(os.getpid()), time.time()),
            )
        self._keep_alive()
        return CLAIMED

    def measured(self, unit: Unit) -> list[str]:
        """Return the measures that a unit has rows of."""
        with self._transaction(write=False) as database:
            return [name for (name,) in database.execute("SELECT measure FROM results WHERE key = ?", (unit.key,))]

    def finish(self, unit: Unit, outcome: Outcome, limits: Limits | None = None) -> list[Result]:
        """Write what was measured of a unit, give up the claim, and return the unit's rows.

        If another run finished it meanwhile, its rows stay and are returned.
        """
        measurements = outcome.measurements
        with self._transaction() as database:
            if not self._is_finished(database, unit, [row.measure for row in measurements], limits):
                had = dict(database.execute("SELECT measure, position FROM results WHERE key = ?", (unit.key,)))
                if outcome.cause and self._cause(database, unit) == "":
                    # What was measured before stays, if more was asked for and that did not finish.
                    measurements = [row for row in measurements if row.measure not in had]
                else:
                    had = {}
                    self._replace_unit(database, unit, outcome, limits)
                database.executemany(
                    "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        (unit.key, len(had) + position, row.measure, row.value, row.status, row.reason)
                        for position, row in enumerate(measurements)
                    ],
                )
            database.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (unit.key, self._owner))
        return self.results(unit)

    def release(self) -> None:
        """Give up all claims of this store object, as when a run is interrupted."""
        self._stop.set()
        with self._transaction() as database:
            database.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))

    def forget_failures(self, units: Iterable[Unit] | None = None) -> int:
        """Remove units that did not finish, so that they are tried again; return how many there were.

        Parameters
        ----------
        units : iterable of Unit, optional
            Among these; among all by default.
        """
        with self._transaction() as database:
            failed = {key for (key,) in database.execute("SELECT DISTINCT key FROM results WHERE status = ?", (DNF,))}
            if units is not None:
                failed &= {unit.key for unit in units}
            for table in ("results", "units"):
                database.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in failed])
            return len(failed)

    # -- helpers ------------------------------------------------------------------------------

    @staticmethod
    def _cause(database: sqlite3.Connection, unit: Unit) -> str | None:
        """Return why a unit did not finish, empty if it did; None if it was never done."""
        row = database.execute("SELECT cause FROM units WHERE key = ?", (unit.key,)).fetchone()
        return None if row is None else row[0]

    @staticmethod
    def _replace_unit(database: sqlite3.Connection, unit: Unit, outcome: Outcome, limits: Limits | None) -> None:
        seconds, memory = (None, None) if limits is None else (limits.seconds, limits.memory_gb)
        database.execute("DELETE FROM results WHERE key = ?", (unit.key,))
        database.execute(
            "INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                unit.key, unit.dataset, unit.fingerprint, unit.method, unit.parameters, unit.protocol, unit.fold,
                unit.seed, outcome.versions, outcome.cause, seconds, memory,
            ),
        )  # fmt: skip

    @staticmethod
    def _is_finished(database: sqlite3.Connection, unit: Unit, measures: Iterable[str], limits: Limits | None) -> bool:
        row = database.execute(
            "SELECT cause, limit_seconds, limit_memory_gb FROM units WHERE key = ?", (unit.key,)
        ).fetchone()
        if row is None:
            return False
        cause, *old = row
        if cause in ("time", "memory"):
            place = 0 if cause == "time" else 1
            new = None if limits is None else (limits.seconds, limits.memory_gb)[place]
            if old[place] is not None and (new is None or new > old[place]):
                return False
        had = {name for (name,) in database.execute("SELECT measure FROM results WHERE key = ?", (unit.key,))}
        return had.issuperset(measures)

    def _is_alive(self, host: str, pid: int, started: str, heartbeat: float) -> bool:
        if host == _host() and _start_of(pid) != started:
            return False
        return time.time() - heartbeat < self.lease

    def _keep_alive(self) -> None:
        if self._heart is not None and self._heart.is_alive() and not self._stop.is_set():
            return
        # Each heart has a signal of its own: one that was stopped must not go on because another began.
        self._stop = threading.Event()
        self._heart = threading.Thread(target=self._beat, args=(self._stop,), daemon=True)
        self._heart.start()

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(self.lease / 10.0):
            # A beat that is missed because the file is busy is made up by the next one.
            with suppress(DataError, OutputError), self._transaction() as database:
                database.execute("UPDATE claims SET heartbeat = ? WHERE owner = ?", (time.time(), self._owner))

    def _open(self, database: sqlite3.Connection) -> None:
        application = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        is_empty = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if application != APPLICATION and not (application == 0 and is_empty):
            raise DataError("this is a database of another program. Name a new file.", path=self.path)
        if version > SCHEMA_VERSION:
            raise DataError(
                f"this store has format {version}, and this montechain reads up to {SCHEMA_VERSION}: use a newer one.",
                path=self.path,
            )
        problem = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if problem != "ok":
            raise DataError(f"this store is damaged ({problem}). Name a new file, or restore it.", path=self.path)
        if is_empty:
            for statement in SCHEMA:
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction: no connection outlives it, so none crosses threads or processes."""
        try:
            database = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise OutputError(f"{self.path} cannot be opened: {error}.") from error
        try:
            database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield database
            database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise OutputError(f"{self.path} cannot be read or written: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise DataError(f"this is not a store of results, or it is damaged ({error}).", path=self.path) from error
        finally:
            database.close()  # takes back what was not committed


def _host() -> str:
    """Return what tells apart places in which the same process number means different processes."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _start_of(pid: int) -> str:
    """Return when a process was started, in a form to compare; empty if there is none of this number."""
    if os.name == "nt":
        return "alive"  # there, asking would end the process; the heartbeat alone decides
    if Path("/proc/self/stat").exists():
        try:
            # The name, in brackets, may hold anything; the rest are numbers.
            rest = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return ""
        return "" if rest[0] in "ZX" else rest[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:  # it exists, but is not ours
        return "alive"
    return "alive"
