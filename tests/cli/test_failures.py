"""Failures: the message, the exit code, and that no file is left behind or lost."""

import json
import os
import subprocess

import pandas as pd
import pytest

from bad_inputs import COMMANDS, DATA, EVALUATE, FIT, MISUSE, OUTPUT, PREDICT
from bridge_table import TARGETS, bridges
from command import run, run_in_terminal
from montechain import TableEncoder
from montechain.cli.output import in_options

MORE_COMMANDS = [
    (f"{FIT} -m Majority -e svm -o x.mchain", MISUSE, "`--estimator` has no effect with Majority: "),
    (f"{EVALUATE} -m RF-PCT,Forest -e svm", MISUSE, "`--estimator` has no effect with RF-PCT, Forest: "),
    (f"{FIT} --set n_jobs=2 -o x.mchain", MISUSE, "`--set` does not take n_jobs: use --jobs 2 "),
    (f"{EVALUATE} --cv 200", MISUSE, "`--cv 200` is too many: the table has only 80 rows."),
    ("predict bridges.mchain infinite.csv", DATA, "infinite.csv: column 'length' of `X` contains infinity"),
]
INTERRUPTED, BROKEN_PIPE = 130, 141
MAIN = "from montechain.cli import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and a model."""
    place = tmp_path_factory.mktemp("failures")
    bridges(80).to_csv(place / "bridges.csv", index=False, na_rep="?")
    bridges(80).assign(length=float("inf")).to_csv(place / "infinite.csv", index=False)
    run(FIT, "-o", "bridges.mchain", folder=place)
    return place


@pytest.mark.parametrize(("command", "code", "said"), [*COMMANDS, *MORE_COMMANDS])
def test_message_and_exit_code(folder, command, code, said):
    answer = run(command, folder=folder, code=code)
    assert said in " ".join(answer.err.split()) + " "
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert not (folder / "x.mchain").exists()


def test_errors_for_machines(folder):
    for command, code, kind in (
        ("predict bridges.mchain nothing.csv --json", DATA, "DataError"),
        ("fit bridges.csv --tragets a --json", MISUSE, "NoSuchOption"),
    ):
        error = json.loads(run(command, folder=folder, code=code).err)
        assert (error["exit_code"], error["error"]) == (code, kind)


def test_a_missing_input_is_named_and_not_taken_for_one_that_is_there(folder):
    table = pd.read_csv(folder / "bridges.csv")
    table.rename(columns={"length": "lenght"}).to_csv(folder / "misspelt.csv", index=False)
    answer = run("predict bridges.mchain misspelt.csv", folder=folder, code=DATA)
    assert ("'length'" in answer.err, "did you mean 'lenght'?" in answer.err) == (True, True)
    table = table.rename(columns={"length": "size_1", "erected": "size_2"})
    table.to_csv(folder / "sizes.csv", index=False)
    run(f"fit sizes.csv -m Default -t {TARGETS} --drop id -o sizes.mchain", folder=folder)
    table.drop(columns="size_1").to_csv(folder / "short.csv", index=False)
    answer = run("predict sizes.mchain short.csv", folder=folder, code=DATA)
    assert ("'size_1'" in answer.err, "did you mean" in answer.err) == (True, False)


def test_notes_speak_of_options(folder):
    answer = run(f"fit bridges.csv -m Default -t {TARGETS} -o noted.mchain", folder=folder)
    assert "column 'id' looks like an identifier" in answer.err
    assert "drop=" not in answer.err
    (dates,) = TableEncoder().fit(pd.DataFrame({"day": ["01/02/2024", "03/04/2024"]})).notes_
    assert in_options(dates).endswith("if so, write dates as 2024-12-31.")


def test_help_without_arguments(folder):
    for command in ("", "data"):
        answer = run(command, folder=folder)
        assert answer.err == ""
        assert "Usage: montechain" in answer.out


@pytest.mark.parametrize(("command", "name"), [(FIT, "old.mchain"), (PREDICT, "old.csv")])
def test_full_disk_leaves_what_was_there(folder, tmp_path, command, name):
    program = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # the size of files, in bytes
{MAIN}
"""
    old = tmp_path / name
    old.write_text("what was there before", encoding="utf-8")
    # Compiled code is cached beside the sources, and must have been written before.
    answer = run(command, "-o", old, "--force", folder=folder, code=OUTPUT, program=program)
    assert "cannot be written" in answer.err
    assert old.read_text(encoding="utf-8") == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == [old.name]


def test_standard_output_that_is_full_or_goes_away(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["head", "-n", "1", pipe], stdout=subprocess.DEVNULL):
        gone = run(PREDICT, "--top-k", 20, folder=folder, code=None, program=MAIN, stdout=pipe)
    assert gone.code in (0, BROKEN_PIPE)
    full = run(PREDICT, folder=folder, code=OUTPUT, program=MAIN, stdout="/dev/full")
    assert "cannot be written" in full.err
    for answer in (gone, full):
        assert "Traceback" not in answer.err
        assert "Exception ignored" not in answer.err


class TestTerminal:
    """In a terminal there are bars and colours, and Ctrl-C."""

    @pytest.mark.parametrize(
        ("command", "seen", "unseen"),
        [
            (f"{EVALUATE} --methods IC,CDN", ["evaluating", "/15"], []),  # two methods and the baseline, five folds
            (f"--quiet {EVALUATE} --methods IC", ["IC"], ["evaluating"]),
            (f"fit bridges.csv -t {TARGETS} --drop id -o auto.mchain", ["learning: forests, about", " s left"], []),
            (f"{FIT} -m MsCC --set order__n_iterations=400 -o long.mchain", ["order search", "━", "\x1b["], []),
        ],
    )
    def test_bars_and_colours_unless_quiet(self, folder, command, seen, unseen):
        code, shown = run_in_terminal(command, folder=folder)
        assert code == 0, shown
        assert all(text in shown for text in seen)
        assert not any(text in shown for text in unseen)

    def test_control_c_keeps_the_best_order_of_a_search(self, folder):
        command = f"{FIT} -m MsCC --set order__n_iterations=200000 -o kept.mchain"
        code, shown = run_in_terminal(command, folder=folder, interrupt_at=r"payoff \d")
        assert code == 0, shown
        assert "interrupted after" in shown
        run("inspect kept.mchain", folder=folder)

    def test_control_c_ends_an_evaluation_with_what_is_finished(self, folder, tmp_path):
        command = f"{EVALUATE} --methods IC,CDN --cv 60 --store {tmp_path / 'results'}"
        code, shown = run_in_terminal(command, folder=folder, interrupt_at=r"[3-9]/180")
        assert code == INTERRUPTED, shown
        assert "to resume" in shown
        assert "Majority" in shown
        assert len(list((tmp_path / "results").glob("*.json"))) >= 3


class TestNothingIsLost:
    """No command overwrites its own input, or any other file without --force."""

    COMMANDS = (FIT, PREDICT, f"{EVALUATE} --methods Majority --cv 2", "data export digits")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_an_existing_file_is_kept_without_force(self, folder, tmp_path, command):
        old = tmp_path / "old.csv"
        old.write_text("precious", encoding="utf-8")
        answer = run(command, "-o", old, folder=folder, code=OUTPUT)
        assert old.read_text(encoding="utf-8") == "precious"
        assert "already exists" in answer.err
        assert "--force" in answer.err
        run(command, "-o", old, "--force", folder=folder)
        assert old.read_bytes() != b"precious"

    @pytest.mark.parametrize("command", COMMANDS[:3])
    def test_an_input_is_kept_with_force(self, folder, tmp_path, command):
        source = folder / "bridges.csv"
        before = source.read_bytes()
        (tmp_path / "soft.csv").symlink_to(source)
        (tmp_path / "hard.csv").hardlink_to(source)
        for other in (source, tmp_path / "soft.csv", tmp_path / "hard.csv"):
            answer = run(command, "-o", other, "--force", folder=folder, code=OUTPUT)
            assert source.read_bytes() == before
            assert "is an input of this command" in answer.err

    def test_models_and_stores_are_not_written_over(self, folder):
        model, table = (folder / name for name in ("bridges.mchain", "bridges.csv"))
        (folder / "model.csv").write_bytes(model.read_bytes())
        before = table.read_bytes()
        run("predict model.csv bridges.csv -o model.csv --force", folder=folder, code=OUTPUT)
        run(f"{EVALUATE} --store bridges.csv", folder=folder, code=OUTPUT)
        run(f"{EVALUATE} --store model.csv", folder=folder, code=OUTPUT)
        assert ((folder / "model.csv").read_bytes(), table.read_bytes()) == (model.read_bytes(), before)


class TestDoubtfulTargets:
    """Targets that cannot be learned are refused; those that look like a mistake get a note."""

    def fit(self, place, target, options="", n_rows=30, code=0):
        table = pd.DataFrame({"x": range(30), "target": target, "other": ["yes", "no"] * 15})
        table[:n_rows].to_csv(place / "t.csv", index=False)
        return run(f"fit t.csv -m Default -t target,other -o m.mchain --force {options}", folder=place, code=code).err

    @pytest.mark.parametrize("format", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M", "%m/%d/%Y"])
    def test_dates(self, tmp_path, format):
        dates = pd.date_range("2024-03-31 12:30", periods=30).strftime(format)
        refused = self.fit(tmp_path, dates, code=DATA)
        assert "target 'target' holds dates" in refused
        assert "--nominal target" in refused
        self.fit(tmp_path, dates, "--nominal target")

    def test_one_row_or_one_class(self, tmp_path):
        assert "at least 2 rows" in self.fit(tmp_path, "a", n_rows=1, code=DATA)
        assert not (tmp_path / "m.mchain").exists()
        assert "target 'target' has only one class, 'always'" in self.fit(tmp_path, "always")


def test_one_word_in_a_column_of_numbers(tmp_path):
    """Stray words count as missing, with a note that names the line."""
    table = bridges(80)
    table.to_csv(tmp_path / "clean.csv", index=False)
    table["length"] = table["length"].astype(object)
    table.loc[5, "length"] = "heavy"
    table.to_csv(tmp_path / "stray.csv", index=False)
    table.to_excel(tmp_path / "stray.xlsx", index=False)
    for command, said in (
        (f"fit stray.xlsx -m Default -t {TARGETS} -o excel.mchain", "holds 'heavy'"),
        (f"fit stray.csv -m Default -t {TARGETS} -o m.mchain", "line 7 holds 'heavy'"),
        ("predict excel.mchain clean.csv", ""),
        ("predict m.mchain clean.csv", ""),
        ("predict m.mchain stray.csv", "line 7 holds 'heavy'"),
        (f"evaluate stray.csv -m IC --cv 2 -t {TARGETS}", "line 7 holds 'heavy'"),
    ):
        assert said in run(command, folder=tmp_path).err


def test_formulas_are_neutralised_if_asked(tmp_path):
    table = bridges(40).assign(note="=HYPERLINK(1)", material=["-steel", "wood"] * 20)
    table.to_csv(tmp_path / "t.csv", index=False)
    run(f"fit t.csv -m Default -t {TARGETS} --drop id,note -o m.mchain", folder=tmp_path)
    plain, safe = (
        run(f"predict m.mchain t.csv --keep note {more}", folder=tmp_path).out for more in ("", "--safe-csv")
    )
    assert "=HYPERLINK(1)" in plain
    assert "'=HYPERLINK(1)" in safe
    cells = [cell for line in safe.splitlines() for cell in line.split(",")]
    assert "'-steel" in cells
    assert not any(cell.startswith(("=", "-", "+", "@")) for cell in cells)
