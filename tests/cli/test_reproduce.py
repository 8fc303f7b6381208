"""``montechain reproduce``: the real command, killed and continued."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from montechain.experiments.reproduction import Reproduction
from tests.command import Answer, environment
from tests.experiments.kills import kill_again_and_again, progress
from tests.experiments.stand_ins import contents

# The command, also where it is not among the others.
PROGRAM = """
from montechain.cli import main
from montechain.cli.app import app
from montechain.cli.reproduce import reproduce

if all(command.callback is not reproduce for command in app.registered_commands):
    app.command()(reproduce)
main()
"""
FILES = ["report.html", "reproduction.json", "results.sqlite", "tables.md", "tables.tex"]


def start(*arguments: object, folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "reproduce", *map(str, arguments)], cwd=folder, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


class Command:
    """The command at work, to be killed together with the processes that work for it."""

    def __init__(self, *arguments: object, folder: Path):
        self.process = start(*arguments, folder=folder)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        tasks = Path(f"/proc/{self.process.pid}/task")
        workers = [int(pid) for file in tasks.glob("*/children") for pid in file.read_text().split()]
        for pid in (self.process.pid, *workers):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()  # ends when those that it started have ended, too


def run(*arguments: object, folder: Path) -> Answer:
    process = start(*arguments, folder=folder)
    out, err = process.communicate(timeout=600)
    return Answer(process.returncode, out, err)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["acuracy"], 2, "did you mean 'accuracy'"),
        (["accuracy", "--estimator", "smv"], 2, "did you mean 'svm'"),
        (["--jobs", "0"], 2, "--jobs 2"),
        (["--time-limit", "-1"], 2, "seconds"),
        (["accuracy", "--data", "nowhere"], 3, "--data FOLDER"),
        (["accuracy", "--out", "file"], 5, "file"),
    ],
)
def test_misuse_is_answered_with_what_to_type(tmp_path, arguments, code, text):
    (tmp_path / "file").write_text("not a folder")
    answer = run(*arguments, folder=tmp_path)
    assert answer.code == code, answer
    assert text in answer.err
    assert "Traceback" not in answer.err


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, data_folder) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    answer = run("natural_order", "examples", "--quick", "--data", data_folder, "--out", "out", folder=folder)
    assert answer.code == 0, answer
    assert "0." in answer.out
    return folder / "out"


@pytest.mark.slow
@pytest.mark.real_data
def test_it_writes_numbers_a_page_and_tables(undisturbed):
    assert sorted(path.name for path in undisturbed.iterdir()) == FILES
    found = Reproduction.from_json((undisturbed / "reproduction.json").read_text(encoding="utf-8"))
    cells = next(table.cells for table in found.comparisons if table.key == "natural_order")
    assert set(cells["status"]) == {"ok"}
    # The same methods as MEKA's, on the same data with the same order of the labels.
    assert cells.loc[cells["measure"] == "exact_match", "meka_difference"].abs().max() < 0.03
    assert {example.dataset for example in found.examples} == {"music", "bridges"}
    assert found.about["command"].startswith("montechain reproduce natural_order examples --data DATA --out OUT")
    told = json.dumps(found.about)
    assert platform.node() not in told or len(platform.node()) < 4
    assert str(undisturbed) not in told


@pytest.mark.slow
@pytest.mark.real_data
def test_a_second_run_finds_everything_done(undisturbed, data_folder):
    before = contents(undisturbed / "results.sqlite")
    answer = run(
        "natural_order", "examples", "--quick", "--data", data_folder, "--out", undisturbed, "--json",
        folder=undisturbed.parent,
    )  # fmt: skip
    assert answer.code == 0, answer
    told = json.loads(answer.out)
    assert [table["key"] for table in told["tables"]] == ["natural_order"]
    assert [Path(path).name for path in told["written"]] == [
        "results.sqlite", "reproduction.json", "report.html", "tables.md", "tables.tex",
    ]  # fmt: skip
    assert contents(undisturbed / "results.sqlite") == before


@pytest.mark.slow
@pytest.mark.real_data
def test_runs_killed_while_they_work_leave_what_an_undisturbed_one_leaves(tmp_path, undisturbed, data_folder):
    command = ["natural_order", "examples", "--quick", "--data", data_folder, "--out", "out", "--jobs", "2"]
    store, whole = tmp_path / "out" / "results.sqlite", progress(undisturbed / "results.sqlite")
    kills = kill_again_and_again(lambda: Command(*command, folder=tmp_path), store, whole, n_kills=4, seed=0)
    assert all(kill.found.units < kill.left.units for kill in kills[1:])
    # The work is quick: a kill may come when only the report was left to be written.
    assert sum(kill.left.units < whole.units for kill in kills[1:]) >= 2
    answer = run(*command, folder=tmp_path)
    assert answer.code == 0, answer
    assert contents(store) == contents(undisturbed / "results.sqlite")


@pytest.mark.slow
@pytest.mark.real_data
def test_an_interrupted_run_shows_what_it_has(tmp_path, data_folder):
    command = ["accuracy", "--quick", "--data", data_folder, "--out", "out"]
    process = start(*command, folder=tmp_path)
    store = tmp_path / "out" / "results.sqlite"
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline and not (store.exists() and store.stat().st_size and contents(store)["results"]):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "the same command goes on" in err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    found = Reproduction.from_json((tmp_path / "out" / "reproduction.json").read_text(encoding="utf-8"))
    assert found.about["complete"] is False
    assert "missing" in set(found.comparisons[0].cells["status"])
    with_reason = found.comparisons[0].cells.query("status == 'missing'")["reason"]
    assert with_reason.str.contains("of 5 are done").all()
