"""The store: what enters it stays, once, whoever dies."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from montechain.errors import DataError, OutputError
from montechain.experiments import MEASURES, Limits, ResultStore
from montechain.experiments import store as store_module
from montechain.experiments.results import DNF, Measurement, Outcome, Result, Unit
from tests.experiments import interrupted_runs
from tests.experiments.kills import Kill

UNIT = Unit("music", "0f", "MCC", "{}", "{}", fold=0, seed=0)
GOOD = Outcome([Measurement("exact_match", 0.25), Measurement("jaccard", None, "undefined", "no labels")])


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "results.sqlite"


def timeless(path: Path) -> list[Result]:
    """Return the rows of a store without those that no second run repeats."""
    return [row for row in ResultStore(path).results() if MEASURES[row.measure].repeatable]


def run_program(*arguments: object) -> str:
    program = Path(interrupted_runs.__file__)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, program, *map(str, arguments)]
    return subprocess.run(command, check=True, env=environment, timeout=600, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> list[Result]:
    folder = tmp_path_factory.mktemp("undisturbed")
    interrupted_runs.run(str(folder / "store"), str(folder / "log"))
    rows = timeless(folder / "store")
    assert len((folder / "log").read_text().split()) == interrupted_runs.N_UNITS
    assert Counter(row.measure for row in rows)["exact_match"] == interrupted_runs.N_UNITS
    assert len({row.value for row in rows if row.measure == "hamming_score"}) > 5  # the seeds matter
    return rows


@pytest.mark.slow
def test_runs_killed_while_they_work_leave_what_an_undisturbed_one_leaves(path, tmp_path, undisturbed):
    log = tmp_path / "log"
    n_kills = 25
    kills = [Kill.from_json(kill) for kill in json.loads(run_program("kill", path, log, n_kills, 3))]
    assert timeless(path) == undisturbed
    fits = Counter(log.read_text().split())
    assert len(fits) == interrupted_runs.N_UNITS
    # A fit is repeated only if a kill met it: nothing that was finished is done again.
    n_repeated = sum(fits.values()) - interrupted_runs.N_UNITS
    assert 5 <= n_repeated <= n_kills
    # Each has finished something, and there were kills in the midst of writes.
    assert len(kills) == n_kills
    assert all(kill.found.units < kill.left.units < interrupted_runs.N_UNITS for kill in kills[1:])
    assert sum(kill.in_write for kill in kills) >= 3
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    database.close()


@pytest.mark.slow
def test_runs_that_share_a_store_share_the_work(path, tmp_path, undisturbed):
    log = tmp_path / "log"
    run_program("share", path, log, 3)
    assert timeless(path) == undisturbed
    assert set(Counter(log.read_text().split()).values()) == {1}


def test_a_unit_is_claimed_by_one_and_finished_once(path):
    one, two = ResultStore(path), ResultStore(path)
    assert one.claim(UNIT, ["exact_match"]) == "claimed"
    assert two.claim(UNIT, ["exact_match"]) == "taken"
    assert one.claim(UNIT, ["exact_match"]) == "claimed"  # it is ours already
    rows = one.finish(UNIT, GOOD)
    assert [row.value for row in rows] == [0.25, None]
    assert two.claim(UNIT, ["exact_match"]) == "finished"
    late = two.finish(UNIT, Outcome([Measurement("exact_match", 0.99)]))
    assert late == rows == two.results(UNIT) == one.results()
    assert len(one) == 1


def test_claims_can_be_given_up(path):
    one, two = ResultStore(path), ResultStore(path)
    one.claim(UNIT, ["exact_match"])
    one.release()
    assert two.claim(UNIT, ["exact_match"]) == "claimed"


def test_the_claim_of_a_dead_process_is_void(path, monkeypatch):
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    dead = ResultStore(path)
    monkeypatch.setattr(store_module.os, "getpid", lambda: child.pid)
    monkeypatch.setattr(store_module, "_start_of", lambda pid: "12345")
    dead.claim(UNIT, ["exact_match"])
    monkeypatch.undo()
    assert ResultStore(path).claim(UNIT, ["exact_match"]) == "claimed"


def test_a_process_number_used_again_does_not_keep_a_claim(path, monkeypatch):
    dead = ResultStore(path)
    monkeypatch.setattr(store_module, "_start_of", lambda pid: "started long ago")
    dead.claim(UNIT, ["exact_match"])
    monkeypatch.undo()
    assert ResultStore(path).claim(UNIT, ["exact_match"]) == "claimed"


def test_claims_from_another_machine_end_with_their_heartbeat(path, monkeypatch):
    elsewhere = ResultStore(path, lease=0.5)
    monkeypatch.setattr(store_module, "_host", lambda: "elsewhere")
    elsewhere.claim(UNIT, ["exact_match"])
    monkeypatch.undo()
    here = ResultStore(path, lease=0.5)
    for _ in range(4):
        time.sleep(0.25)
        assert here.claim(UNIT, ["exact_match"]) == "taken"  # its heart beats
    elsewhere._stop.set()
    time.sleep(0.8)
    assert here.claim(UNIT, ["exact_match"]) == "claimed"


def test_many_threads_claim_each_unit_once(path):
    units = [Unit("music", "0f", "MCC", "{}", "{}", fold, 0) for fold in range(12)]
    ResultStore(path)
    claimed = []

    def work() -> None:
        store = ResultStore(path)
        for unit in units:
            if store.claim(unit, ["exact_match"]) == "claimed":
                claimed.append(unit.fold)
                store.finish(unit, Outcome([Measurement("exact_match", unit.fold / 12)]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(12))
    assert [row.fold for row in ResultStore(path).results()] == list(range(12))


def test_more_measures_make_a_unit_unfinished_and_replace_its_rows(path):
    store = ResultStore(path)
    store.claim(UNIT, ["exact_match"])
    store.finish(UNIT, GOOD)
    assert store.claim(UNIT, ["hamming_score"]) == "claimed"
    assert sorted(store.measured(UNIT)) == ["exact_match", "jaccard"]
    more = [*GOOD.measurements, Measurement("hamming_score", 0.5)]
    assert [row.measure for row in store.finish(UNIT, Outcome(more))] == ["exact_match", "jaccard", "hamming_score"]
    assert store.claim(UNIT, ["hamming_score", "jaccard"]) == "finished"


def test_a_failure_does_not_erase_what_was_measured(path):
    store = ResultStore(path)
    store.finish(UNIT, GOOD)
    failure = Outcome.did_not_finish(["exact_match", "hamming_score"], "time", "too slow")
    rows = store.finish(UNIT, failure, Limits(seconds=1))
    assert [(row.measure, row.value, row.status) for row in rows] == [
        ("exact_match", 0.25, "ok"),
        ("jaccard", None, "undefined"),
        ("hamming_score", None, DNF),
    ]


@pytest.mark.parametrize(("cause", "field"), [("time", "seconds"), ("memory", "memory_gb")])
def test_what_hit_a_limit_is_tried_again_under_a_wider_one_only(path, cause, field):
    store = ResultStore(path)
    failure = Outcome.did_not_finish(["exact_match"], cause, "too much")
    store.finish(UNIT, failure, Limits(**{field: 2}))
    assert store.claim(UNIT, ["exact_match"], Limits(**{field: 1})) == "finished"
    assert store.claim(UNIT, ["exact_match"], Limits(**{field: 2})) == "finished"
    assert store.claim(UNIT, ["exact_match"], Limits(**{field: 3})) == "claimed"
    assert store.claim(UNIT, ["exact_match"], None) == "claimed"
    store.finish(UNIT, GOOD, Limits(**{field: 3}))
    assert store.results(UNIT)[0].value == 0.25


def test_failures_are_kept_until_they_are_forgotten(path):
    store = ResultStore(path)
    other = Unit("music", "0f", "PCC", "{}", "{}", fold=0, seed=0)
    store.finish(UNIT, GOOD)
    store.finish(other, Outcome.did_not_finish(["exact_match"], "error", "ValueError: no"))
    assert store.claim(other, ["exact_match"]) == "finished"
    assert store.results(other)[0].reason == "ValueError: no"
    assert store.forget_failures([UNIT]) == 0
    assert store.forget_failures() == 1
    assert store.claim(other, ["exact_match"]) == "claimed"
    assert len(store) == 1


def test_failures_of_some_units_are_forgotten(path):
    store = ResultStore(path)
    units = [Unit("music", "0f", "MCC", "{}", "{}", fold, 0) for fold in range(3)]
    for unit in units:
        store.finish(unit, Outcome.did_not_finish(["exact_match"], "error", "no"))
    assert store.forget_failures(units[:2]) == 2
    assert [row.fold for row in store.results()] == [2]


def test_the_frame_has_every_field(path):
    store = ResultStore(path)
    assert store.to_frame().empty
    store.finish(UNIT, Outcome([*GOOD.measurements, Measurement("joint_log_likelihood", float("-inf"))]))
    frame = store.to_frame()
    assert list(frame.columns) == [
        "dataset", "method", "parameters", "protocol", "fold", "seed", "measure", "value", "status", "reason",
        "versions", "fingerprint",
    ]  # fmt: skip
    assert frame["value"].dtype == float
    assert frame["value"].isna().tolist() == [False, True, False]
    assert frame["value"].iloc[2] == float("-inf")
    assert isinstance(frame, pd.DataFrame)


def test_names_are_no_commands(path):
    nasty = Unit("'); DROP TABLE results; --", "0f", "x\"';", "{}", "{}", 0, 0)
    store = ResultStore(path)
    store.finish(nasty, GOOD)
    assert store.results(nasty)[0].dataset == nasty.dataset


def test_files_that_are_no_stores_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be taken for a header of one" * 50)
    with pytest.raises(DataError, match=r"notes.txt: this is not a store of results"):
        ResultStore(text)
    assert text.read_text().startswith("not a database")
    foreign = tmp_path / "foreign.sqlite"
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE songs (title TEXT)")
    database.commit()
    database.close()
    with pytest.raises(DataError, match="another program"):
        ResultStore(foreign)
    with pytest.raises(DataError, match="is a folder"):
        ResultStore(tmp_path)
    with pytest.raises(OutputError, match="cannot be opened"):
        ResultStore(tmp_path / "nowhere" / "results.sqlite")


def test_an_empty_file_is_a_new_store(path):
    """What a process that was killed while it made the file leaves behind."""
    path.touch()
    ResultStore(path).finish(UNIT, GOOD)
    assert len(ResultStore(path)) == 1


def test_a_damaged_store_and_one_of_the_future_are_refused(path):
    store = ResultStore(path)
    for fold in range(60):
        store.finish(Unit("music", "0f", "MCC" * 50, "{}", "{}", fold, 0), GOOD)
    content = bytearray(path.read_bytes())
    content[8192:16384] = b"\xff" * 8192
    damaged = path.with_name("damaged.sqlite")
    damaged.write_bytes(bytes(content))
    with pytest.raises(DataError, match="damaged"):
        ResultStore(damaged)
    cut = path.with_name("cut.sqlite")
    cut.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(DataError, match="damaged"):
        ResultStore(cut)
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(DataError, match="format 99"):
        ResultStore(path)


def test_a_store_that_cannot_be_written_says_so(path, monkeypatch):
    ResultStore(path)
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(OutputError, match="locked"):
            ResultStore(path)
    finally:
        blocker.close()
