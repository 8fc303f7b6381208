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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table and a model."""
    place = tmp_path_factory.mktemp("failures")
    bridges(80).to_csv(place / "bridges.csv", index=False, na_rep="?")
    made = run("fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", "-o", "bridges.mchain", folder=place)
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


def test_inputs_that_are_missing_are_named(folder):
    table = pd.read_csv(folder / "bridges.csv")
    table.rename(columns={"length": "lenght"}).to_csv(folder / "misspelt.csv", index=False)
    answer = run("predict", "bridges.mchain", "misspelt.csv", folder=folder)
    assert (answer.code, "'length'" in answer.err, "did you mean 'lenght'?" in answer.err) == (DATA, True, True)


def test_a_missing_input_is_not_taken_for_one_that_is_there(tmp_path):
    table = bridges(80).rename(columns={"length": "size_1", "erected": "size_2"})
    table.to_csv(tmp_path / "bridges.csv", index=False)
    options = ["--targets", TARGETS, "--drop", "id", "-o", "m.mchain"]
    assert run("fit", "bridges.csv", *options, folder=tmp_path).code == 0
    table.drop(columns="size_1").to_csv(tmp_path / "short.csv", index=False)
    answer = run("predict", "m.mchain", "short.csv", folder=tmp_path)
    assert answer.code == DATA
    assert "'size_1'" in answer.err
    assert "did you mean" not in answer.err


def test_notes_speak_of_options(folder):
    answer = run("fit", "bridges.csv", "--targets", TARGETS, "-o", "noted.mchain", folder=folder)
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
    assert answer.code == MODEL
    assert "pickle" in answer.err
    assert not (folder / "exploded").exists()


def limited(arguments, folder, n_bytes):
    """Run the command where no file may grow beyond so many bytes: a disk that is full."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    # Compiled code is kept beside the sources, and must have been written before.
    code = "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from montechain.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=folder, env=environment(), preexec_fn=limit,
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip


@pytest.mark.parametrize("target", ["model", "table"])
def test_full_disk_leaves_what_was_there(folder, tmp_path, target):
    old = tmp_path / ("old.mchain" if target == "model" else "old.csv")
    old.write_text("what was there before", encoding="utf-8")
    if target == "model":
        arguments = ["fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", "-o", old, "--force"]
    else:
        arguments = ["predict", "bridges.mchain", "bridges.csv", "-o", old, "--force"]
    answer = limited(arguments, folder, 1000)
    assert answer.returncode == OUTPUT, answer.stderr
    assert "cannot be written" in answer.stderr
    assert old.read_text(encoding="utf-8") == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == [old.name]


def test_full_disk_behind_standard_output(folder):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "montechain", "predict", "bridges.mchain", "bridges.csv"],
            cwd=folder, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=240,
        )  # fmt: skip
    assert done.returncode == OUTPUT
    assert "cannot be written" in done.stderr


def test_reader_that_goes_away(folder):
    predict = f"{sys.executable} -m montechain predict bridges.mchain bridges.csv --top-k 20"
    command = f"{predict} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, timeout=240
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode in (0, BROKEN_PIPE)


class TestTerminal:
    """In a terminal there are bars and colours, and Ctrl-C."""

    def test_progress_bar_and_colours(self, folder):
        search = "search(n_iterations=400)"
        arguments = ["fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", "--order", search, "-o", "long.mchain"]
        code, shown = run_in_terminal(arguments, folder=folder)
        assert code == 0, shown
        assert "order search" in shown
        assert "━" in shown
        assert "\x1b[" in shown

    def test_bar_of_an_evaluation(self, folder):
        arguments = [
            "evaluate",
            "bridges.csv",
            "--targets",
            TARGETS,
            "--drop",
            "id",
            "--methods",
            "PtMsCC,CDN,ECC",
            "--cv",
            "5",
        ]
        code, shown = run_in_terminal(arguments, folder=folder)
        assert code == 0, shown
        assert "evaluating" in shown
        assert "/20" in shown  # three methods and the baseline, five folds

    def test_quiet_shows_no_bar(self, folder):
        arguments = [
            "--quiet",
            "evaluate",
            "bridges.csv",
            "--targets",
            TARGETS,
            "--drop",
            "id",
            "--methods",
            "PtMsCC,CDN",
        ]
        code, shown = run_in_terminal(arguments, folder=folder)
        assert code == 0, shown
        assert "evaluating" not in shown
        assert "PtMsCC" in shown

    def test_control_c_keeps_the_best_order_of_a_search(self, folder):
        search = "search(n_iterations=1000000)"
        arguments = ["fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", "--order", search, "-o", "kept.mchain"]
        code, shown = run_in_terminal(arguments, folder=folder, interrupt_at=r"payoff \d")
        assert code == 0, shown
        assert "interrupted after" in shown
        assert run("inspect", "kept.mchain", folder=folder).code == 0

    def test_control_c_ends_an_evaluation_with_what_is_finished(self, folder, tmp_path):
        options = ["--targets", TARGETS, "--drop", "id", "--methods", "IC,CDN", "--cv", "60"]
        arguments = ["evaluate", "bridges.csv", *options, "--store", str(tmp_path / "results")]
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
    @pytest.mark.parametrize("how", ["itself", "symlink", "hard link"])
    def test_an_input_is_kept_with_force(self, folder, command, how):
        source = folder / "bridges.csv"
        before = source.read_bytes()
        other = {"itself": source, "symlink": folder / "soft.csv", "hard link": folder / "hard.csv"}[how]
        if how == "symlink":
            other.symlink_to(source)
        elif how == "hard link":
            other.hardlink_to(source)
        try:
            answer = run(*command, other, "--force", folder=folder)
        finally:
            if other != source:
                other.unlink()
        assert (answer.code, source.read_bytes()) == (OUTPUT, before)
        assert "is an input of this command" in answer.err

    def test_the_model_is_an_input_of_predict(self, folder):
        (folder / "model.csv").write_bytes((folder / "bridges.mchain").read_bytes())
        answer = run("predict", "model.csv", "bridges.csv", "-o", "model.csv", "--force", folder=folder)
        assert answer.code == OUTPUT
        assert (folder / "model.csv").read_bytes() == (folder / "bridges.mchain").read_bytes()

    def test_a_store_is_not_the_table(self, folder):
        before = (folder / "bridges.csv").read_bytes()
        command = ["evaluate", "bridges.csv", "--targets", TARGETS, "--store", "bridges.csv"]
        assert run(*command, folder=folder).code == OUTPUT
        assert (folder / "bridges.csv").read_bytes() == before


class TestDoubtfulTargets:
    """Targets that cannot be learned are refused; those that look like a mistake get a note."""

    def fit(self, place, table, *options):
        table.to_csv(place / "t.csv", index=False)
        return run("fit", "t.csv", "-t", "target,other", "-o", "m.mchain", "--force", *options, folder=place)

    def table(self, target, n_rows=30):
        return pd.DataFrame({"x": range(n_rows), "target": target, "other": ["yes", "no"] * (n_rows // 2)})

    @pytest.mark.parametrize("format", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M", "%m/%d/%Y"])
    def test_dates(self, tmp_path, format):
        table = self.table(pd.date_range("2024-03-31 12:30", periods=30).strftime(format))
        refused = self.fit(tmp_path, table)
        assert refused.code == DATA
        assert "target 'target' holds dates" in refused.err
        assert "--nominal target" in refused.err
        assert self.fit(tmp_path, table, "--nominal", "target").code == 0

    def test_one_class(self, tmp_path):
        answer = self.fit(tmp_path, self.table("always"))
        assert answer.code == 0, answer.err
        assert "target 'target' is 'always' in every row" in answer.err

    def test_nearly_as_many_classes_as_rows(self, tmp_path):
        answer = self.fit(tmp_path, self.table([f"name {n}" for n in range(30)]))
        assert answer.code == 0, answer.err
        assert "30 classes in 30 rows" in answer.err

    def test_one_row(self, tmp_path):
        answer = self.fit(tmp_path, self.table("a", 2)[:1])
        assert answer.code == DATA
        assert "at least 2 are needed" in answer.err
        assert not (tmp_path / "m.mchain").exists()


class TestStrayWords:
    """One word in a column of numbers: told at fit, an error with its line at predict, or by option."""

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("stray")
        table = bridges(80)
        table.to_csv(folder / "clean.csv", index=False)
        table["length"] = table["length"].astype(object)
        table.loc[5, "length"] = "heavy"
        table.to_csv(folder / "stray.csv", index=False)
        table.to_excel(folder / "stray.xlsx", index=False)
        answer = run("fit", "stray.csv", "-t", TARGETS, "-o", "m.mchain", folder=folder)
        assert answer.code == 0, answer.err
        assert "line 7 holds 'heavy'" in answer.err
        return folder

    def test_at_fit_they_stop_by_option(self, place):
        answer = run("fit", "stray.csv", "-t", TARGETS, "--stray", "error", "-o", "x.mchain", folder=place)
        assert (answer.code, "stray.csv, line 7" in answer.err, "'heavy'" in answer.err) == (DATA, True, True)
        assert not (place / "x.mchain").exists()

    def test_at_predict_they_stop_unless_told_otherwise(self, place):
        answer = run("predict", "m.mchain", "stray.csv", folder=place)
        assert (answer.code, answer.out) == (DATA, "")
        assert "stray.csv, line 7" in answer.err
        assert "--stray missing" in answer.err
        assert run("predict", "m.mchain", "clean.csv", folder=place).code == 0
        answer = run("predict", "m.mchain", "stray.csv", "--stray", "missing", folder=place)
        assert (answer.code, answer.out.count("\n")) == (0, 81), answer.err

    def test_excel_files(self, place):
        answer = run("fit", "stray.xlsx", "-t", TARGETS, "-o", "excel.mchain", folder=place)
        assert answer.code == 0, answer.err
        assert run("predict", "excel.mchain", "clean.csv", folder=place).code == 0

    def test_an_unknown_way_to_treat_them(self, place):
        answer = run("predict", "m.mchain", "clean.csv", "--stray", "drop", folder=place)
        assert answer.code == MISUSE
        assert "--stray drop" in answer.err
