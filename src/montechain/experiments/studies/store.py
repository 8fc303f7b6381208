"""The store of results, with room for searches that can be taken up again and for documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from montechain.experiments.results import Unit
from montechain.experiments.store import FINISHED, ResultStore

__all__ = ["Checkpoint", "FinishedOnly", "Step", "StudyStore"]

TABLES = (
    """
    CREATE TABLE IF NOT EXISTS trace_steps (
        key TEXT NOT NULL, iteration INTEGER NOT NULL, "order" TEXT NOT NULL, payoff REAL, candidate REAL,
        accepted INTEGER NOT NULL, others TEXT NOT NULL, PRIMARY KEY (key, iteration)
    )
    """,
    "CREATE TABLE IF NOT EXISTS trace_states (key TEXT PRIMARY KEY, iteration INTEGER NOT NULL, rng TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS documents (key TEXT PRIMARY KEY, content TEXT NOT NULL)",
)


class Step(NamedTuple):
    """One iteration of a search: where it stands after it, the payoffs there, and the candidate's."""

    iteration: int
    order: tuple[int, ...]
    payoff: float
    candidate: float
    accepted: bool
    others: dict[str, float]


class Checkpoint(NamedTuple):
    """Where a search was when it was last written down, and the state of its random numbers there."""

    step: Step
    rng: dict[str, Any]


class StudyStore(ResultStore):
    """A `ResultStore` that also keeps the steps of searches, as they are made, and documents.

    Whether a search or a document is finished is written as for any other unit of work: claimed by one process,
    finished once.

    Examples
    --------
    >>> import tempfile
    >>> unit = Unit("music", "0f", "OrderSearch", "{}", "{}", fold=0, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = StudyStore(Path(folder) / "results.sqlite")
    ...     store.write_steps(unit, [Step(0, (1, 0), 0.5, 0.5, True, {"J_Ham": 1.5})], {"state": 7})
    ...     found = store.checkpoint(unit), store.curve(unit)["J_Ham"].tolist()
    >>> found[0].step.order, found[0].rng, found[1]
    ((1, 0), {'state': 7}, [1.5])
    """

    def __init__(self, path: str | Path, *, lease: float = 300.0):
        super().__init__(path, lease=lease)
        with self._transaction() as database:
            for statement in TABLES:
                database.execute(statement)

    def write_steps(self, unit: Unit, steps: Sequence[Step], rng: dict[str, Any]) -> None:
        """Write steps and the state of the random numbers after the last of them, all or nothing."""
        rows = [
            (unit.key, s.iteration, json.dumps(s.order), s.payoff, s.candidate, int(s.accepted), json.dumps(s.others))
            for s in steps
        ]
        with self._transaction() as database:
            database.executemany("INSERT OR REPLACE INTO trace_steps VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            state = (unit.key, steps[-1].iteration, json.dumps(rng))
            database.execute("INSERT OR REPLACE INTO trace_states VALUES (?, ?, ?)", state)

    def checkpoint(self, unit: Unit) -> Checkpoint | None:
        """Return where a search was when it was last written down; None if it was never."""
        with self._transaction(write=False) as database:
            found = database.execute("SELECT iteration, rng FROM trace_states WHERE key = ?", (unit.key,)).fetchone()
            if found is None:
                return None
            row = database.execute(
                "SELECT * FROM trace_steps WHERE key = ? AND iteration = ?", (unit.key, found[0])
            ).fetchone()
        return Checkpoint(_step(row[1:]), json.loads(found[1]))

    def curve(self, unit: Unit) -> pd.DataFrame:
        """Return all steps of a search that are written down, one row each, recorded payoffs as further columns."""
        with self._transaction(write=False) as database:
            rows = database.execute(
                "SELECT * FROM trace_steps WHERE key = ? ORDER BY iteration", (unit.key,)
            ).fetchall()
        steps = [_step(row[1:]) for row in rows]
        columns = list(Step._fields[:-1])
        return pd.DataFrame([{**step._asdict(), **step.others} for step in steps], columns=None if steps else columns)

    def write_document(self, unit: Unit, content: Any) -> None:
        """Write something that JSON can hold."""
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO documents VALUES (?, ?)", (unit.key, json.dumps(content)))

    def document(self, unit: Unit) -> Any:
        """Return what was written, or None."""
        with self._transaction(write=False) as database:
            row = database.execute("SELECT content FROM documents WHERE key = ?", (unit.key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def reason(self, unit: Unit) -> str | None:
        """Return why a unit did not finish, empty if it did, None if it was never done."""
        with self._transaction(write=False) as database:
            return self._cause(database, unit)


class FinishedOnly(StudyStore):
    """The same, for those who only want to know what is there: every unit counts as finished, if without rows."""

    def claim(self, unit: Unit, measures: Iterable[str], limits: Any = None) -> str:  # noqa: D102
        return FINISHED


def _step(row: Sequence[Any]) -> Step:
    iteration, order, payoff, candidate, accepted, others = row
    return Step(iteration, tuple(json.loads(order)), payoff, candidate, bool(accepted), json.loads(others))
