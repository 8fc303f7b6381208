"""From a table to a saved model to predictions, in a clean directory, with the real command."""

from __future__ import annotations

import io
import json
import os

import numpy as np
import pandas as pd
import pytest

from bridge_table import TARGETS, bridges
from command import run, run_from_nothing
from montechain import load
from montechain.datasets import make_chain_data, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, new rows, and a model."""
    place = tmp_path_factory.mktemp("bridges")
    table = bridges()
    table.iloc[:200].to_csv(place / "bridges.csv", index=False, na_rep="?")
    new = table.iloc[200:].reset_index(drop=True)
    new.drop(columns=["material", "span", "type"]).to_csv(place / "new.csv", index=False, na_rep="?")
    new.to_csv(place / "half-known.csv", index=False, na_rep="?")
    options = ["--targets", TARGETS, "--drop", "id", "-o", "bridges.mchain"]
    answer = run_from_nothing("fit", "bridges.csv", *options, folder=place)
    assert answer.code == 0, answer.err
    assert "Learned from 200 rows with 3 inputs" in answer.out
    assert "target cells are missing" in answer.out
    return place


def as_table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False)


def test_predictions_are_those_of_the_library(folder):
    answer = run_from_nothing("predict", "bridges.mchain", "new.csv", folder=folder)
    assert answer.code == 0, answer.err
    table = as_table(answer.out)
    assert table.columns.tolist() == ["id", "material", "span", "type", "probability", "certified"]
    assert len(table) == 40
    assert table["id"].tolist() == [f"E{n}" for n in range(200, 240)]
    assert table["certified"].all()
    model = load(folder / "bridges.mchain")
    decision = model.decide(pd.read_csv(folder / "new.csv", na_values="?").drop(columns="id"))
    assert np.asarray(decision.labels, dtype=str).tolist() == table[["material", "span", "type"]].to_numpy(str).tolist()
    assert np.allclose(table["probability"], np.exp(decision.log_proba))


def test_written_table_is_the_printed_one(folder, tmp_path):
    expected = as_table(run("predict", "bridges.mchain", "new.csv", folder=folder).out)
    for name, read in {
        "out.csv": pd.read_csv,
        "out.csv.gz": pd.read_csv,
        "out.tsv": lambda path: pd.read_csv(path, sep="\t"),
        "out.parquet": pd.read_parquet,
        "out.feather": pd.read_feather,
        "out.jsonl": lambda path: pd.read_json(path, lines=True),
    }.items():
        answer = run("predict", "bridges.mchain", "new.csv", "-o", tmp_path / name, folder=folder)
        assert (answer.code, answer.out) == (0, "")
        assert "Predicted 40 rows" in answer.err
        found = read(tmp_path / name)
        assert found.columns.tolist() == expected.columns.tolist()
        assert found["type"].astype(str).tolist() == expected["type"].tolist()
        assert np.allclose(found["probability"], expected["probability"])


def test_marginals_and_the_best_answers(folder):
    first, marginals, best = (
        as_table(run("predict", "bridges.mchain", "new.csv", *options, folder=folder).out)
        for options in ([], ["--proba"], ["--top-k", "3"])
    )
    shares = marginals[[name for name in marginals if name.startswith("p(span=")]]
    assert shares.columns.tolist() == ["p(span=LONG)", "p(span=MEDIUM)", "p(span=SHORT)"]
    assert np.allclose(shares.sum(axis=1), 1)
    assert best.columns.tolist() == ["id", "rank", "material", "span", "type", "probability"]
    assert best["rank"].tolist() == [1, 2, 3] * 40
    assert (best.groupby("id")["probability"].diff().dropna() <= 0).all()
    assert best[best["rank"] == 1]["type"].tolist() == first["type"].tolist()


def test_targets_in_the_file_are_not_looked_at_unless_asked(folder):
    ignored = run("predict", "bridges.mchain", "half-known.csv", folder=folder)
    assert ignored.out == run("predict", "bridges.mchain", "new.csv", folder=folder).out
    assert "--given conditions on them" in ignored.err
    answer = run("predict", "bridges.mchain", "half-known.csv", "--given", folder=folder)
    assert answer.code == 0, answer.err
    completed, asked = as_table(answer.out), bridges().iloc[200:].reset_index(drop=True)
    assert asked[["material", "span", "type"]].isna().any(axis=None)
    for target in ("material", "span", "type"):
        known = asked[target].notna()
        assert completed[target][known].tolist() == asked[target][known].tolist()
        assert (completed[target] != "").all()


def test_every_prediction_has_a_key(folder):
    new = pd.read_csv(folder / "new.csv", keep_default_na=False)
    new.drop(columns="id").to_csv(folder / "nameless.csv", index=False)
    new.assign(id="same").to_csv(folder / "same.csv", index=False)
    for file, options, key in (
        ("new.csv", [], ("id", [f"E{n}" for n in range(200, 240)])),  # left out when the model was fitted
        ("nameless.csv", [], ("row", list(range(1, 41)))),
        ("same.csv", [], ("row", list(range(1, 41)))),  # not an identifier after all
        ("nameless.csv", ["--key", "river"], ("river", new["river"].tolist())),
    ):
        table = as_table(run("predict", "bridges.mchain", file, *options, folder=folder).out)
        assert (table.columns[0], table.iloc[:, 0].tolist()) == key
    refused = run("predict", "bridges.mchain", "new.csv", "--key", "idd", folder=folder)
    assert refused.code == 2
    assert "did you mean 'id'?" in refused.err


def test_targets_come_back_in_the_order_in_which_they_were_named(folder, tmp_path):
    model = tmp_path / "m.mchain"
    made = run(
        "fit",
        "bridges.csv",
        "-t",
        "type,material,span",
        "-m",
        "Default",
        "--drop",
        "id",
        "-o",
        model,
        "--json",
        folder=folder,
    )
    assert list(json.loads(made.out)["targets"]) == ["type", "material", "span"]
    table = as_table(run("predict", model, "new.csv", folder=folder).out)
    assert table.columns.tolist()[1:4] == ["type", "material", "span"]
    assert set(table["material"]) <= {"WOOD", "IRON", "STEEL"}


def test_an_infinite_log_likelihood_is_explained(tmp_path):
    table = pd.DataFrame({"x": range(40), "a": ["u", "v"] * 20, "b": ["u", "v"] * 20})
    table.loc[[0, 5], "b"] = ["v", "w"]  # two combinations that occur once
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run("evaluate", "t.csv", "-t", "a,b", "-m", "LP", "--cv", "2", folder=tmp_path)
    assert "-inf" in answer.out
    assert "probability 0 to a combination" in answer.err


def test_inspect(folder):
    answer = run("inspect", "bridges.mchain", folder=folder)
    assert answer.code == 0, answer.err
    assert all(text in answer.out for text in ("What was learned", "pool", "bridges.csv: 200 rows, 3 inputs"))
    facts = json.loads(run("inspect", "bridges.mchain", "--json", folder=folder).out)
    assert facts["manifest"]["about"]["unknown_cells"] > 0
    assert {"linear", "forests", "boosting", "pool"} <= {row["model"] for row in facts["model"]["leaderboard"]}


def test_inspect_a_chain(folder, tmp_path):
    model = tmp_path / "chain.mchain"
    options = ["--targets", TARGETS, "--drop", "id", "--order", "random", "-o", model]
    assert run("fit", "bridges.csv", *options, folder=folder).code == 0
    assert "Order: " in run("inspect", model, folder=folder).out
    facts = json.loads(run("inspect", model, "--json", folder=folder).out)
    assert sorted(facts["model"]["orders"][0]["order"]) == ["material", "span", "type"]
    assert facts["model"]["dependencies"]


def test_evaluate_beside_the_commonest_answer_and_from_a_store(folder, tmp_path):
    options = ["evaluate", "bridges.csv", "--targets", TARGETS, "--drop", "id", "--cv", "3"]
    answer = run(*options, "--methods", "IC,CC", folder=folder)
    assert answer.code == 0, answer.err
    assert all(name in answer.out for name in ("Majority", "IC", "CC", "exact match", "3-fold"))
    options += ["--store", tmp_path / "results", "--json"]
    first = json.loads(run(*options, "--methods", "CC", folder=folder).out)
    second = json.loads(run(*options, "--methods", "CC,IC", folder=folder).out)
    assert [row for row in second if row["method"] != "IC"] == first  # the times too: nothing was done again
    exact = pd.DataFrame(second).query("measure == 'exact_match'").groupby("method")["value"].mean()
    assert exact["CC"] > exact["Majority"]


@pytest.mark.parametrize(
    "choices",
    [
        ["--method", "PtMsCC"],
        ["--method", "LP"],
        ["--method", "CDN"],
        ["--method", "RF-PCT"],
        ["--method", "ECC", "--estimator", "svm"],
        ["--order", "search(n_iterations=3)", "--loss", "hamming"],
        ["--order", "type,span,material", "--inference", "beam(width=2)", "--parents", "1"],
        ["--chains", "3", "--estimator", "random_forest(n_estimators=5)", "--inference", "greedy"],
    ],
)
def test_every_kind_of_model_makes_the_journey(folder, tmp_path, choices):
    model = tmp_path / "model.mchain"
    answer = run("fit", "bridges.csv", "--targets", TARGETS, "--drop", "id", *choices, "-o", model, folder=folder)
    assert answer.code == 0, answer.err
    table = as_table(run("predict", model, "new.csv", folder=folder).out)
    assert len(table) == 40
    assert set(table["span"]) <= {"LONG", "MEDIUM", "SHORT"}
    assert run("inspect", model, folder=folder).code == 0


def test_arff_and_libsvm_files(tmp_path):
    data = make_chain_data(120, 6, 3, random_state=0).dataset
    table = data.to_frame()
    lines = [f"@attribute {name} numeric" for name in data.feature_names]
    lines += [f"@attribute {name} {{0,1}}" for name in data.label_names]
    rows = table.to_csv(header=False, index=False)
    head = f"@relation 'invented: -C -{len(data.label_names)}'\n" + "\n".join(lines) + "\n@data\n"
    (tmp_path / "invented.arff").write_text(head + rows, encoding="utf-8")
    sparse = [
        ",".join(str(k) for k in np.flatnonzero(labels)) + " " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(values))
        for values, labels in zip(data.X.to_numpy(), data.Y.to_numpy(), strict=True)
    ]
    (tmp_path / "invented.svm").write_text("\n".join(sparse) + "\n", encoding="utf-8")
    answers = []
    for name in ("invented.arff", "invented.svm"):
        made = run("fit", name, "--order", "given", "-o", f"{name}.mchain", folder=tmp_path)
        assert made.code == 0, made.err
        found = run("predict", f"{name}.mchain", name, "-o", f"{name}.csv", folder=tmp_path)
        assert found.code == 0, found.err
        answers.append(pd.read_csv(tmp_path / f"{name}.csv").iloc[:, 1:4].to_numpy())
    assert np.mean(answers[0] == data.Y.to_numpy()) > 0.6
    # One has standardised inputs and the other not, so that only nearly all answers agree.
    assert np.mean(answers[0] == answers[1]) > 0.9


@pytest.mark.real_data
def test_real_arff_file(data_folder, tmp_path):
    source = data_folder / "music" / "music-train.arff.gz"
    made = run("fit", source, "-o", "music.mchain", "--order", "given", folder=tmp_path)
    assert made.code == 0, made.err
    assert "391 rows with 72 inputs" in made.out
    test = data_folder / "music" / "music-test.arff.gz"
    table = as_table(run("predict", "music.mchain", test, folder=tmp_path).out)
    assert len(table) == 202
    assert table["certified"].all()
    shown = run("inspect", "music.mchain", folder=tmp_path)
    assert "relaxing-calm" in shown.out
    scores = run(
        "evaluate", "music", "--methods", "CC", "--cv", "official", "--data", data_folder, "--json", folder=tmp_path
    )
    exact = [row["value"] for row in json.loads(scores.out) if (row["method"], row["measure"]) == ("CC", "exact_match")]
    assert exact[0] > 0.2
    medical = data_folder / "medical" / "medical.arff.gz"
    assert run("fit", medical, "-m", "Default", "-o", "medical.mchain", folder=tmp_path).code == 0
    given = run("predict", "medical.mchain", data_folder / "medical" / "medical-test.arff", "--given", folder=tmp_path)
    assert given.code == 0, given.err


def test_exported_digits_lead_to_a_model(tmp_path):
    assert run("data", "export", "digits", "-o", "digits.csv", folder=tmp_path).code == 0
    table = pd.read_csv(tmp_path / "digits.csv")
    assert table.shape == (1797, 70)
    made = run("fit", "digits.csv", "--targets", "last:6", "--time-limit", "1", "-o", "digits.mchain", folder=tmp_path)
    assert made.code == 0, made.err
    predicted = as_table(run("predict", "digits.mchain", "digits.csv", folder=tmp_path).out)
    assert np.mean(predicted["parity"] == table["parity"]) > 0.8


def test_output_to_a_pipe_has_no_colours_or_bars(folder):
    for arguments in (["demo"], ["inspect", "bridges.mchain"], ["methods"], ["data", "list"], ["--help"]):
        answer = run(*arguments, folder=folder)
        assert answer.code == 0, answer.err
        assert "\x1b" not in answer.out + answer.err
        assert "\r" not in answer.out.replace(os.linesep, "\n")


class TestAwkwardFiles:
    """Files to be predicted that are not quite like those that were learned from."""

    @pytest.fixture(scope="class")
    @classmethod
    def place(cls, tmp_path_factory):
        folder = tmp_path_factory.mktemp("awkward")
        rng = np.random.default_rng(0)
        size = rng.normal(size=90)
        rooms = np.where(size < -0.5, "1", np.where(size < 0.7, "2", "3+"))
        garden = np.where(size + rng.normal(size=90) > 0, "yes", "no")
        table = pd.DataFrame({"code": rng.choice(["a1", "7"], 90), "size": size, "rooms": rooms, "garden": garden})
        table.to_csv(folder / "flats.csv", index=False)
        made = run(
            "fit", "flats.csv", "-m", "Default", "--targets", "rooms,garden", "-o", "flats.mchain", folder=folder
        )
        assert made.code == 0, made.err
        return folder

    def predict(self, place, text, *options):
        (place / "new.csv").write_text(text, encoding="utf-8")
        answer = run("predict", "flats.mchain", "new.csv", *options, folder=place)
        assert answer.code == 0, answer.err
        return as_table(answer.out) if "--json" not in options else json.loads(answer.out)

    def test_classes_and_inputs_of_words_that_look_like_numbers(self, place):
        table = self.predict(place, "code,size,rooms\n7,0.3,1\n7,0.1,\n", "--given")
        assert str(table["rooms"][0]) == "1"

    def test_columns_that_are_not_used_may_hold_anything(self, place):
        table = self.predict(place, 'price,size,code,rooms,garden\n"1,5",0.3,a1,0.12,0.5\n"2,5",0.1,7,0.7,0.1\n')
        assert len(table) == 2
        assert set(table["garden"]) <= {"yes", "no"}

    def test_a_target_that_is_kept_stands_beside_its_prediction(self, place):
        table = self.predict(place, "code,size,rooms\na1,0.3,2\na1,-3,9\n", "--keep", "rooms")
        assert table.columns.tolist() == ["row", "rooms_", "rooms", "garden", "probability", "certified"]
        assert table["rooms_"].tolist() == [2, 9]

    def test_identifiers_are_copied_as_they_are_written(self, place):
        table = self.predict(place, "id,code,size\n007,a1,0.3\n,a1,1\n12,7,1\n", "--keep", "id")
        assert table["id"].astype(str).tolist() == ["007", "", "12"]

    def test_a_file_and_json_at_once(self, place):
        rows = self.predict(place, "code,size\na1,0.3\n", "--json", "-o", "out.csv")
        assert pd.read_csv(place / "out.csv")["garden"].tolist() == [rows[0]["garden"]]

    def test_decimal_commas(self, place):
        (place / "european.csv").write_text(
            "code;size;rooms;garden\n"
            + "".join(f"a{n % 3};{n},5;{n % 2};{'yes' if n > 9 else 'no'}\n" for n in range(20)),
            encoding="utf-8",
        )
        refused = run(
            "fit", "european.csv", "-m", "Default", "--targets", "rooms,garden", "-o", "e.mchain", folder=place
        )
        assert refused.code == 3
        assert "--decimal" in refused.err
        made = run(
            "fit",
            "european.csv",
            "-m",
            "Default",
            "-t",
            "rooms,garden",
            "--decimal",
            ",",
            "-o",
            "e.mchain",
            folder=place,
        )
        assert made.code == 0, made.err
        assert load(place / "e.mchain").encoder_.columns_[1].kind == "number"

    def test_models_of_python_match_columns_by_name(self, place):
        from montechain import ChainClassifier, save

        data = make_chain_data(60, 3, 2, random_state=0).dataset
        save(ChainClassifier(random_state=0).fit(data.X, data.Y), place / "own.mchain")
        write_table(data.to_frame().iloc[:, ::-1], place / "reversed.csv")
        write_table(data.to_frame(), place / "straight.csv")
        one, other = (run("predict", "own.mchain", f"{name}.csv", folder=place) for name in ("reversed", "straight"))
        assert one.code == 0, one.err
        assert one.out == other.out
        assert len(as_table(one.out)) == 60


def test_running_text_is_evaluated_as_it_is_fitted(tmp_path):
    words = ["good music", "bad noise", "good noise", "bad music"] * 15
    table = pd.DataFrame({"review": [f"{text} {n}" for n, text in enumerate(words)]})
    table["good"] = ["yes" if "good" in text else "no" for text in words]
    table["music"] = ["yes" if "music" in text else "no" for text in words]
    table.to_csv(tmp_path / "reviews.csv", index=False)
    options = ["--targets", "good,music", "--text", "review", "--methods", "CC", "--cv", "3", "--json"]
    rows = json.loads(run("evaluate", "reviews.csv", *options, folder=tmp_path).out)
    exact = [row["value"] for row in rows if (row["method"], row["measure"]) == ("CC", "exact_match")]
    assert np.mean(exact) > 0.9


def test_unusable_outputs_are_refused_before_the_work(folder):
    for arguments, code in (
        (["evaluate", "bridges.csv", "-t", TARGETS, "-o", "scores.xlsx"], 2),
        (["fit", "bridges.csv", "-t", TARGETS, "-o", "."], 5),
        (["data", "export", "digits", "-o", "no/such/digits.csv"], 5),
    ):
        answer = run(*arguments, folder=folder)
        assert answer.code == code, answer.err
        assert answer.out == ""


def test_what_a_file_says_of_itself_is_not_believed(folder, tmp_path):
    import zipfile

    for about, said in (({"inputs": 3}, "it was changed"), ({"source": "\x1b[31mred"}, "[31mred")):
        with zipfile.ZipFile(folder / "bridges.mchain") as old, zipfile.ZipFile(tmp_path / "m.mchain", "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "manifest.json":
                    content = json.dumps({**json.loads(content), "about": about}).encode()
                new.writestr(name, content)
        answer = run("inspect", tmp_path / "m.mchain", folder=folder)
        assert said in answer.out + answer.err
        assert "\x1b" not in answer.out + answer.err
        assert "fault of montechain" not in answer.err
