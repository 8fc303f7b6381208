"""What happens when something is wrong: the message, the exit code, and that nothing is left behind or lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pandas as pd
import pytest

from bridge_table import TARGETS, bridges
from command import environment, run, run_in_terminal

MISUSE, DATA, MODEL, OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 3, 4, 5, 130, 141
FIT_DEFAULT = ["fit", "--method", "Default"]
"""A small chain: what is tested does not depend on the model."""
FIT = ["fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", "--method", "Default"]
EVALUATE = ["evaluate", "bridges.csv", "--targets", TARGETS, "--drop", "id"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and a model."""
    place = tmp_path_factory.mktemp("failures")
    bridges(80).to_csv(place / "bridges.csv", index=False, na_rep="?")
    made = run(*FIT, "-o", "bridges.mchain", folder=place)
    assert made.code == 0, made.err
    return place


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["fit", "bridges.csv", "-o", "x.mchain"], DATA, "--targets"),
        (["fit", "bridges.csv", "--targets", "material,spam", "-o", "x.mchain"], (MISUSE, DATA), "'span'"),
        (["fit", "bridges.csv", "--targets", TARGETS], MISUSE, "--output"),
        (["fit", "bridges.csv", "--targets", TARGETS, "-o", "no/such/x.mchain"], OUTPUT, "no/such"),
        (["fit", "bridge.csv", "--targets", TARGETS, "-o", "x.mchain"], DATA, "bridges.csv"),
        (["fit", "musik", "-o", "x.mchain"], DATA, "music"),
        (["fit", "music", "-o", "x.mchain"], DATA, "MONTECHAIN_DATA"),
        (["fit", "bridges.csv", "--targets", TARGETS, "--method", "PMCC", "-o", "x.mchain"], MISUSE, "'PMsCC'"),
        (["fit", "bridges.csv", "--targets", TARGETS, "--inference", "baem", "-o", "x.mchain"], MISUSE, "'beam'"),
        (["fit", "bridges.csv", "--targets", TARGETS, "-i", "beam(widht=3)", "-o", "x.mchain"], MISUSE, "'width'"),
        (["fit", "bridges.csv", "--targets", TARGETS, "-i", "beam(width=", "-o", "x.mchain"], MISUSE, "beam(width=10)"),
        (["fit", "bridges.csv", "--targets", TARGETS, "--loss", "haming", "-o", "x.mchain"], MISUSE, "'hamming'"),
        (["fit", "bridges.csv", "--targets", TARGETS, "--order", "span,typ", "-o", "x.mchain"], MISUSE, "'type'"),
        (["fit", "bridges.csv", "--targets", TARGETS, "-e", "lojistic", "-o", "x.mchain"], MISUSE, "'logistic'"),
        (["predict", "nothing.mchain", "bridges.csv"], MODEL, "nothing.mchain"),
        (["predict", "bridges.csv", "bridges.csv"], MODEL, "bridges.csv"),
        (["predict", "bridges.mchain", "nothing.csv"], DATA, "nothing.csv"),
        (["predict", "bridges.mchain", "bridges.csv", "--keep", "idd"], MISUSE, "'id'"),
        (["predict", "bridges.mchain", "bridges.csv", "-o", "out.docx"], MISUSE, ".csv"),
        (["predict", "bridges.mchain", "bridges.csv", "-o", "no/such/out.csv"], OUTPUT, "no/such/out.csv"),
        (["predict", "bridges.mchain", "bridges.csv", "--top-k", "0"], MISUSE, "--top-k"),
        (["evaluate", "bridges.csv", "--targets", TARGETS, "--methods", "CC,MCCC"], MISUSE, "'MCC'"),
        (["evaluate", "bridges.csv", "--targets", TARGETS, "--methods", ","], MISUSE, "--methods"),
        (["evaluate", "bridges.csv", "--targets", TARGETS, "--cv", "offical"], MISUSE, "official"),
        (["inspect", "nothing.mchain"], MODEL, "nothing.mchain"),
        (["data", "export", "parkinsons", "-o", "p.csv"], DATA, "not public"),
        (["ftt"], MISUSE, "'fit'"),
        (["fit", "bridges.csv", "--targets", "material", "span", "-o", "x.mchain"], MISUSE, "commas"),
        (["fit", "bridges.csv", "--tragets", TARGETS, "-o", "x.mchain"], MISUSE, "--targets"),
        (["fit", ".", "--targets", TARGETS, "-o", "x.mchain"], DATA, "is a folder, not a file"),
        (["predict", "bridges.mchain", "."], DATA, "is a folder, not a file"),
        (["fit", "bridges.csv", "--targets", TARGETS, "--chains", "0", "-o", "x.mchain"], MISUSE, "--chains 10"),
        (["fit", "bridges.csv", "-t", TARGETS, "-m", "CC", "--time-limit", "5", "-o", "x"], MISUSE, "--time-limit"),
        (["fit", "bridges.csv", "-t", TARGETS, "-i", "beam", "--time-limit", "5", "-o", "x"], MISUSE, "--time-limit"),
        (["fit", "bridges.csv", "-t", TARGETS, "--time-limit", "-5", "-o", "x.mchain"], MISUSE, "positive number"),
        (["fit", "bridges.csv", "--targets", "last:99", "-o", "x.mchain"], DATA, "--targets last:1"),
        (["evaluate", "bridges.csv", "--targets", TARGETS, "--cv", "1"], MISUSE, "--cv 5"),
    ],
)  # fmt: skip
def test_message_and_exit_code(folder, arguments, code, said):
    answer = run(*arguments, folder=folder)
    assert answer.code in (code if isinstance(code, tuple) else (code,)), answer.err
    assert said in " ".join(answer.err.split())
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert not (folder / "x.mchain").exists()


def test_errors_for_machines(folder):
    answer = run("predict", "bridges.mchain", "nothing.csv", "--json", folder=folder)
    error = json.loads(answer.err)
    assert (answer.code, error["exit_code"], error["error"]) == (DATA, DATA, "DataError")
    assert "nothing.csv" in error["message"]


@pytest.mark.parametrize("arguments", [["predict", "bridges.mchain", "q.csv"], ["fit", "q.csv", "-t", "a", "-o", "x"]])
def test_a_missing_file_is_not_taken_for_an_unrelated_one(folder, arguments):
    answer = run(*arguments, folder=folder)
    assert answer.code == DATA
    assert "q.csv: there is no such file." in answer.err
    assert "did you mean" not in answer.err


def test_a_missing_input_is_named_and_not_taken_for_one_that_is_there(folder):
    table = pd.read_csv(folder / "bridges.csv")
    table.rename(columns={"length": "lenght"}).to_csv(folder / "misspelt.csv", index=False)
    answer = run("predict", "bridges.mchain", "misspelt.csv", folder=folder)
    assert (answer.code, "'length'" in answer.err, "did you mean 'lenght'?" in answer.err) == (DATA, True, True)
    table = table.rename(columns={"length": "size_1", "erected": "size_2"})
    table.to_csv(folder / "sizes.csv", index=False)
    assert run(*FIT_DEFAULT, "sizes.csv", "-t", TARGETS, "--drop", "id", "-o", "sizes.mchain", folder=folder).code == 0
    table.drop(columns="size_1").to_csv(folder / "short.csv", index=False)
    answer = run("predict", "sizes.mchain", "short.csv", folder=folder)
    assert (answer.code, "'size_1'" in answer.err, "did you mean" in answer.err) == (DATA, True, False)


def test_notes_speak_of_options(folder):
    answer = run(*FIT_DEFAULT, "bridges.csv", "--targets", TARGETS, "-o", "noted.mchain", folder=folder)
    assert answer.code == 0, answer.err
    assert "column 'id' looks like an identifier" in answer.err
    assert "drop=" not in answer.err


def test_help_without_arguments(folder):
    for command in ([], ["data"]):
        answer = run(*command, folder=folder)
        assert (answer.code, answer.err) == (0, "")
        assert "Usage: montechain" in answer.out


def test_a_pickle_is_not_opened(folder):
    import pickle

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(folder / "exploded"),)

    (folder / "bomb.mchain").write_bytes(pickle.dumps(Bomb()))
    answer = run("predict", "bomb.mchain", "bridges.csv", folder=folder)
    assert (answer.code, "pickle" in answer.err) == (MODEL, True)
    assert not (folder / "exploded").exists()


@pytest.mark.parametrize(
    ("command", "name"), [([*FIT], "old.mchain"), (["predict", "bridges.mchain", "bridges.csv"], "old.csv")]
)
def test_full_disk_leaves_what_was_there(folder, tmp_path, command, name):
    def limit():  # no file may grow beyond so many bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    old = tmp_path / name
    old.write_text("what was there before", encoding="utf-8")
    # Compiled code is kept beside the sources, and must have been written before.
    code = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from montechain.cli import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", code, *command, "-o", str(old), "--force"], cwd=folder, env=environment(),
        preexec_fn=limit, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert answer.returncode == OUTPUT, answer.stderr
    assert "cannot be written" in answer.stderr
    assert old.read_text(encoding="utf-8") == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == [old.name]


def test_standard_output_that_is_full_or_goes_away(folder):
    predict = f"{sys.executable} -m montechain predict bridges.mchain bridges.csv"
    for command, codes, said in (
        (f"{predict} > /dev/full", (OUTPUT,), "cannot be written"),
        (f"{predict} --top-k 20 | head -n 1; exit ${{PIPESTATUS[0]}}", (0, BROKEN_PIPE), ""),
    ):
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=240
        )
        assert done.returncode in codes
        assert said in done.stderr
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


class TestTerminal:
    """In a terminal there are bars and colours, and Ctrl-C."""

    @pytest.mark.parametrize(
        ("arguments", "seen", "unseen"),
        [
            # Three methods and the baseline, five folds.
            ([*EVALUATE, "--methods", "PtMsCC,CDN,ECC"], ["evaluating", "/20"], []),
            (["--quiet", *EVALUATE, "--methods", "PtMsCC,CDN"], ["PtMsCC"], ["evaluating"]),
            ([*FIT, "--order", "search(n_iterations=400)", "-o", "long.mchain"], ["order search", "━", "\x1b["], []),
        ],
    )
    def test_bars_and_colours_unless_quiet(self, folder, arguments, seen, unseen):
        code, shown = run_in_terminal(arguments, folder=folder)
        assert code == 0, shown
        assert all(text in shown for text in seen)
        assert not any(text in shown for text in unseen)

    def test_control_c_keeps_the_best_order_of_a_search(self, folder):
        arguments = [*FIT, "--order", "search(n_iterations=1000000)", "-o", "kept.mchain"]
        code, shown = run_in_terminal(arguments, folder=folder, interrupt_at=r"payoff \d")
        assert code == 0, shown
        assert "interrupted after" in shown
        assert run("inspect", "kept.mchain", folder=folder).code == 0

    def test_control_c_ends_an_evaluation_with_what_is_finished(self, folder, tmp_path):
        arguments = [*EVALUATE, "--methods", "IC,CDN", "--cv", "60", "--store", str(tmp_path / "results")]
        code, shown = run_in_terminal(arguments, folder=folder, interrupt_at="evaluating")
        assert code == INTERRUPTED, shown
        assert "to resume" in shown
        assert "Majority" in shown


class TestNothingIsLost:
    """No command writes over its own input, nor over any file unless told to."""

    COMMANDS = (
        ["fit", "bridges.csv", "--targets", TARGETS, "-o"],
        ["predict", "bridges.mchain", "bridges.csv", "-o"],
        ["evaluate", "bridges.csv", "--targets", TARGETS, "--methods", "Majority", "--cv", "2", "-o"],
        ["data", "export", "digits", "-o"],
    )

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_an_existing_file_is_kept_without_force(self, folder, tmp_path, command):
        old = tmp_path / "old.csv"
        old.write_text("precious", encoding="utf-8")
        answer = run(*command, old, folder=folder)
        assert (answer.code, old.read_text(encoding="utf-8")) == (OUTPUT, "precious")
        assert "already exists" in answer.err
        assert "--force" in answer.err
        assert run(*command, old, "--force", folder=folder).code == 0
        assert old.read_bytes() != b"precious"

    @pytest.mark.parametrize("command", COMMANDS[:3], ids=lambda command: command[0])
    def test_an_input_is_kept_with_force(self, folder, tmp_path, command):
        source = folder / "bridges.csv"
        before = source.read_bytes()
        (tmp_path / "soft.csv").symlink_to(source)
        (tmp_path / "hard.csv").hardlink_to(source)
        for other in (source, tmp_path / "soft.csv", tmp_path / "hard.csv"):
            answer = run(*command, other, "--force", folder=folder)
            assert (answer.code, source.read_bytes()) == (OUTPUT, before)
            assert "is an input of this command" in answer.err

    def test_models_and_stores_are_not_written_over(self, folder):
        model, table = (folder / name for name in ("bridges.mchain", "bridges.csv"))
        (folder / "model.csv").write_bytes(model.read_bytes())
        before = table.read_bytes()
        for command in (
            ["predict", "model.csv", "bridges.csv", "-o", "model.csv", "--force"],
            [*EVALUATE, "--store", "bridges.csv"],
        ):
            assert run(*command, folder=folder).code == OUTPUT
        assert ((folder / "model.csv").read_bytes(), table.read_bytes()) == (model.read_bytes(), before)


class TestDoubtfulTargets:
    """Targets that cannot be learned are refused; those that look like a mistake get a note."""

    def fit(self, place, target, *options, n_rows=30):
        table = pd.DataFrame({"x": range(30), "target": target, "other": ["yes", "no"] * 15})
        table[:n_rows].to_csv(place / "t.csv", index=False)
        return run(*FIT_DEFAULT, "t.csv", "-t", "target,other", "-o", "m.mchain", "--force", *options, folder=place)

    @pytest.mark.parametrize("format", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M", "%m/%d/%Y"])
    def test_dates(self, tmp_path, format):
        dates = pd.date_range("2024-03-31 12:30", periods=30).strftime(format)
        refused = self.fit(tmp_path, dates)
        assert refused.code == DATA
        assert "target 'target' holds dates" in refused.err
        assert "--nominal target" in refused.err
        assert self.fit(tmp_path, dates, "--nominal", "target").code == 0

    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ("always", "target 'target' is 'always' in every row"),
            ([f"name {n}" for n in range(30)], "30 classes in 30 rows"),
        ],
    )
    def test_one_class_or_nearly_as_many_as_rows(self, tmp_path, target, said):
        answer = self.fit(tmp_path, target)
        assert answer.code == 0, answer.err
        assert said in answer.err

    def test_one_row(self, tmp_path):
        answer = self.fit(tmp_path, "a", n_rows=1)
        assert (answer.code, "at least 2 are needed" in answer.err) == (DATA, True)
        assert not (tmp_path / "m.mchain").exists()


def test_one_word_in_a_column_of_numbers(tmp_path):
    """It is told at fit, and is an error with its line at predict; either by option."""
    table = bridges(80)
    table.to_csv(tmp_path / "clean.csv", index=False)
    table["length"] = table["length"].astype(object)
    table.loc[5, "length"] = "heavy"
    table.to_csv(tmp_path / "stray.csv", index=False)
    table.to_excel(tmp_path / "stray.xlsx", index=False)
    for file, model in (("stray.csv", "m.mchain"), ("stray.xlsx", "excel.mchain")):
        answer = run(*FIT_DEFAULT, file, "-t", TARGETS, "-o", model, folder=tmp_path)
        assert (answer.code, "holds 'heavy'" in answer.err) == (0, True), answer.err
        assert run("predict", model, "clean.csv", folder=tmp_path).code == 0
    for command, code, said in (
        (["fit", "stray.csv", "-t", TARGETS, "--stray", "error", "-o", "x.mchain"], DATA, "stray.csv, line 7"),
        (["fit", "stray.csv", "-t", TARGETS, "-m", "Default", "-o", "y.mchain"], 0, "line 7 holds 'heavy'"),
        (["predict", "m.mchain", "stray.csv"], DATA, "stray.csv, line 7"),
        (["predict", "m.mchain", "stray.csv"], DATA, "--stray missing"),
        (["predict", "m.mchain", "clean.csv", "--stray", "drop"], MISUSE, "--stray drop"),
    ):
        answer = run(*command, folder=tmp_path)
        assert (answer.code, said in answer.err) == (code, True), answer.err
        assert code == 0 or answer.out == ""
    assert not (tmp_path / "x.mchain").exists()
    answer = run("predict", "m.mchain", "stray.csv", "--stray", "missing", folder=tmp_path)
    assert (answer.code, answer.out.count("\n")) == (0, 81), answer.err
