"""From a table to a saved model to predictions, in a clean directory, with the real command."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from benchmarks.generated import make_known_chain
from bridge_table import TARGETS, bridges
from command import run, run_from_nothing
from montechain import ChainClassifier, load, save
from montechain.datasets import write_table
from saved_models import packed, unpacked

FIT = f"fit bridges.csv -t {TARGETS} --drop id"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, new rows, a model of the default kind, and a chain."""
    place = tmp_path_factory.mktemp("bridges")
    table = bridges()
    table.iloc[:200].to_csv(place / "bridges.csv", index=False, na_rep="?")
    new = table.iloc[200:].reset_index(drop=True)
    new.drop(columns=["material", "span", "type"]).to_csv(place / "new.csv", index=False, na_rep="?")
    new.to_csv(place / "half-known.csv", index=False, na_rep="?")
    answer = run_from_nothing(*FIT.split(), "-o", "auto.mchain", folder=place)
    assert answer.code == 0, answer.err
    assert "Learned from 200 rows with 3 inputs" in answer.out
    assert "target cells are missing" in answer.out
    run(f"{FIT} -m Default -o bridges.mchain", folder=place)
    return place


def as_table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False)


def predict(options: str, folder, model="bridges.mchain") -> pd.DataFrame:
    return as_table(run(f"predict {model} {options}", folder=folder).out)


def test_predictions_are_those_of_the_library(folder):
    answer = run_from_nothing("predict", "auto.mchain", "new.csv", folder=folder)
    assert answer.code == 0, answer.err
    table = as_table(answer.out)
    assert table.columns.tolist() == ["id", "material", "span", "type", "probability", "certified"]
    assert table["id"].tolist() == [f"E{n}" for n in range(200, 240)]
    assert table["certified"].all()
    model = load(folder / "auto.mchain")
    decision = model.decide(pd.read_csv(folder / "new.csv", na_values="?").drop(columns="id"))
    assert np.asarray(decision.labels, dtype=str).tolist() == table[["material", "span", "type"]].to_numpy(str).tolist()
    assert np.allclose(table["probability"], np.exp(decision.log_proba))


def test_written_table_is_the_printed_one(folder, tmp_path):
    expected = predict("new.csv", folder)
    for name, read in {
        "out.tsv": lambda path: pd.read_csv(path, sep="\t"),
        "out.parquet": pd.read_parquet,
        "out.feather": pd.read_feather,
        "out.jsonl": lambda path: pd.read_json(path, lines=True),
    }.items():
        answer = run("predict bridges.mchain new.csv --json -o", tmp_path / name, folder=folder)
        assert [row["type"] for row in json.loads(answer.out)] == expected["type"].tolist()
        assert "Predicted 40 rows" in answer.err
        found = read(tmp_path / name)
        assert found.columns.tolist() == expected.columns.tolist()
        assert found["type"].astype(str).tolist() == expected["type"].tolist()
        assert np.allclose(found["probability"], expected["probability"])


def test_marginals_and_the_best_answers(folder):
    first, marginals, best = (predict(f"new.csv {options}", folder) for options in ("", "--proba", "--top-k 3"))
    shares = marginals[[name for name in marginals if name.startswith("p(span=")]]
    assert shares.columns.tolist() == ["p(span=LONG)", "p(span=MEDIUM)", "p(span=SHORT)"]
    assert np.allclose(shares.sum(axis=1), 1)
    assert best.columns.tolist() == ["id", "rank", "material", "span", "type", "probability"]
    assert best["rank"].tolist() == [1, 2, 3] * 40
    assert (best.groupby("id")["probability"].diff().dropna() <= 0).all()
    assert best[best["rank"] == 1]["type"].tolist() == first["type"].tolist()


def test_targets_in_the_file_are_not_looked_at_unless_asked(folder):
    ignored = run("predict bridges.mchain half-known.csv", folder=folder)
    assert ignored.out == run("predict bridges.mchain new.csv", folder=folder).out
    assert "Use --given to condition on them" in ignored.err
    completed, asked = predict("half-known.csv --given", folder), bridges().iloc[200:].reset_index(drop=True)
    assert asked[["material", "span", "type"]].isna().any(axis=None)
    for target in ("material", "span", "type"):
        known = asked[target].notna()
        assert completed[target][known].tolist() == asked[target][known].tolist()
        assert (completed[target] != "").all()


def test_every_prediction_has_a_key(folder):
    new = pd.read_csv(folder / "new.csv", keep_default_na=False)
    new.drop(columns="id").to_csv(folder / "nameless.csv", index=False)
    new.assign(id="same").to_csv(folder / "same.csv", index=False)
    for options, columns, first in (
        ("new.csv", ["id", "material"], [f"E{n}" for n in range(200, 240)]),  # left out when the model was fitted
        ("nameless.csv", ["row", "material"], list(range(1, 41))),
        ("same.csv --keep river", ["row", "river"], list(range(1, 41))),  # not an identifier after all
    ):
        table = predict(options, folder)
        assert (table.columns[:2].tolist(), table.iloc[:, 0].tolist()) == (columns, first)


def test_words_that_mean_missing(tmp_path):
    table = pd.DataFrame({"x": range(40), "size": ["1", "-", "3", "n.k."] * 10, "grade": ["NA", "A"] * 20})
    table.to_csv(tmp_path / "t.csv", index=False)
    command = "fit t.csv -t grade -m CC --missing-values -,n.k. --nominal size -o m.mchain"
    facts = json.loads(run(command, "--json", folder=tmp_path).out)
    assert facts["targets"] == {"grade": ["A", "NA"]}
    said = run("fit t.csv -t grade -m CC -o other.mchain", folder=tmp_path).err
    assert "target 'grade': 20 cells with 'NA' count as missing. If 'NA' is a class, name only the others: -" in said
    shown = json.loads(run("predict m.mchain t.csv --json --missing-values -,n.k.", folder=tmp_path).out)
    assert {row["grade"] for row in shown} <= {"A", "NA"}
    encoder = load(tmp_path / "m.mchain").encoder_
    assert [column.categories for column in encoder.columns_ if column.name == "size"] == [("1", "3")]


def test_an_infinite_log_likelihood_is_explained(tmp_path):
    table = pd.DataFrame({"x": range(40), "a": ["u", "v"] * 20, "b": ["u", "v"] * 20})
    table.loc[[0, 5], "b"] = ["v", "w"]  # two combinations that occur once
    table.to_csv(tmp_path / "t.csv", index=False)
    answer = run("evaluate t.csv -t a,b -m LP --cv 2", folder=tmp_path)
    assert "-inf" in answer.out
    assert "probability 0 to a combination" in answer.err


def test_inspect_shows_what_was_learned(folder):
    shown = run("inspect auto.mchain", folder=folder).out
    said = ("What was learned", "pool", "bridges.csv: 200 rows, 3 inputs", r"left out +id\b")
    assert all(re.search(text, shown) for text in said)
    facts = json.loads(run("inspect auto.mchain --json", folder=folder).out)
    assert facts["manifest"]["about"]["unknown_cells"] > 0
    assert {"linear", "forests", "boosting", "pool"} <= {row["model"] for row in facts["model"]["leaderboard"]}
    assert "Order: " in run("inspect bridges.mchain", folder=folder).out
    facts = json.loads(run("inspect --json bridges.mchain", folder=folder).out)
    assert sorted(facts["model"]["orders"][0]["order"]) == ["material", "span", "type"]


def test_evaluate_beside_the_commonest_answer_and_from_a_store(folder, tmp_path):
    command = f"evaluate bridges.csv --targets {TARGETS} --drop id --cv 3"
    shown = run(f"{command} --methods IC,CC", folder=folder).out
    assert all(name in shown for name in ("Majority", "IC", "CC", "exact match", "3-fold"))
    command += f" --store {tmp_path / 'results'} --json"
    first, second = (json.loads(run(f"{command} -m {names}", folder=folder).out) for names in ("CC", "CC,IC"))
    assert [row for row in second if row["method"] != "IC"] == first  # including the times: nothing was run again
    exact = pd.DataFrame(second).query("measure == 'exact_match'").groupby("method")["value"].mean()
    assert exact["CC"] > exact["Majority"]


@pytest.mark.parametrize(
    "choices",
    [
        "--method LP",
        "--method CDN",
        "--method RF-PCT",
        "--method ECC --estimator svm",
        "--method MsCC --set order__n_iterations=3 --loss hamming",
        "--method CC --set order=type,span,material --set inference=beam --set parents=1",
        "--method ECC --set n_chains=3 --estimator random_forest",
    ],
)
def test_every_kind_of_model_makes_the_journey(folder, tmp_path, choices):
    model = tmp_path / "model.mchain"
    fit = f"fit bridges.csv -t type,material,span --drop id {choices} -o"
    assert list(json.loads(run(fit, model, "--json", folder=folder).out)["targets"]) == ["type", "material", "span"]
    table = predict("new.csv", folder, model)
    assert table.columns.tolist()[1:4] == ["type", "material", "span"]  # in the order in which they were named
    assert len(table) == 40
    assert set(table["span"]) <= {"LONG", "MEDIUM", "SHORT"}
    run("inspect", model, folder=folder)


def test_dense_and_sparse_arff_files(tmp_path):
    data, _ = make_known_chain(120, 6, 3, random_state=0)
    lines = [f"@attribute {name} numeric" for name in data.feature_names]
    lines += [f"@attribute {name} {{0,1}}" for name in data.label_names]
    rows = data.to_frame().to_csv(header=False, index=False)
    head = f"@relation 'invented: -C -{len(data.label_names)}'\n" + "\n".join(lines) + "\n@data\n"
    (tmp_path / "invented.arff").write_text(head + rows, encoding="utf-8")
    sparse = [", ".join(f"{j} {cell}" for j, cell in enumerate(row.split(","))) for row in rows.splitlines()]
    (tmp_path / "sparse.arff").write_text(head + "".join(f"{{{row}}}\n" for row in sparse), encoding="utf-8")
    answers = []
    for name in ("invented.arff", "sparse.arff"):
        run(f"fit {name} -m Default --set order=None -o {name}.mchain", folder=tmp_path)
        answers.append(predict(name, tmp_path, f"{name}.mchain").iloc[:, 1:4].to_numpy())
    assert np.mean(answers[0] == data.Y.to_numpy()) > 0.6
    # One has standardised inputs and the other does not, so only nearly all answers agree.
    assert np.mean(answers[0] == answers[1]) > 0.9


@pytest.mark.real_data
def test_real_arff_file(data_folder, tmp_path):
    music = data_folder / "music"
    made = run("fit -m Default --set order=None -o music.mchain", music / "music-train.arff.gz", folder=tmp_path)
    assert "391 rows with 72 inputs" in made.out
    table = predict(f"{music / 'music-test.arff.gz'}", tmp_path, "music.mchain")
    assert len(table) == 202
    assert table["certified"].all()
    assert "relaxing-calm" in run("inspect music.mchain", folder=tmp_path).out
    scores = run("evaluate --methods CC --cv 2 --json", music / "music.arff.gz", folder=tmp_path)
    exact = [row["value"] for row in json.loads(scores.out) if (row["method"], row["measure"]) == ("CC", "exact_match")]
    assert exact[0] > 0.2
    run("fit -m Default -o medical.mchain", data_folder / "medical" / "medical.arff.gz", folder=tmp_path)
    run("predict medical.mchain --given", data_folder / "medical" / "medical-test.arff", folder=tmp_path)


def test_output_to_a_pipe_has_no_colours_or_bars(folder):
    for command in ("inspect bridges.mchain", "methods", "--help"):
        answer = run(command, folder=folder)
        assert not {"\x1b", "\r"} & set(answer.out + answer.err)


class TestAwkwardFiles:
    """Files to predict may differ a little from the training file."""

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
        run("fit flats.csv -m Default --targets rooms,garden -o flats.mchain", folder=folder)
        return folder

    @pytest.mark.parametrize(
        ("text", "options", "expected"),
        [
            # Classes and inputs of words that look like numbers.
            ("code,size,rooms\n7,0.3,1\n7,0.1,\n", "--given", {"rooms": ["1", None]}),
            # Columns that are not used may hold anything.
            ('price,size,code,rooms,garden\n"1,5",0.3,a1,0.12,0.5\n"2,5",0.1,7,0.7,0.1\n', "", {"row": ["1", "2"]}),
            # A kept target appears beside its prediction.
            ("code,size,rooms\na1,0.3,2\na1,-3,9\n", "--keep rooms", {"rooms_": ["2", "9"], "rooms": [None, "1"]}),
            # Identifiers are copied as they are written.
            ("id,code,size\n007,a1,0.3\n,a1,1\n12,7,1\n", "--keep id", {"id": ["007", "", "12"]}),
        ],
    )
    def test_predictions(self, place, text, options, expected):
        (place / "new.csv").write_text(text, encoding="utf-8")
        out = run(f"predict flats.mchain new.csv {options}", folder=place).out
        table = pd.read_csv(io.StringIO(out), keep_default_na=False, dtype=str)
        assert set(table["garden"]) <= {"yes", "no"}
        for name, cells in expected.items():
            found = table[name].tolist()
            assert [None if cell is None else one for one, cell in zip(found, cells, strict=True)] == cells

    def test_decimal_commas(self, place):
        rows = "".join(f"a{n % 3};{n},5;{n % 2};{'yes' if n > 9 else 'no'}\n" for n in range(20))
        (place / "european.csv").write_text(f"code;size;rooms;garden\n{rows}", encoding="utf-8")
        fit = "fit european.csv -m Default --targets rooms,garden -o e.mchain"
        assert "--decimal" in run(fit, folder=place, code=3).err
        run(f"{fit} --decimal ,", folder=place)
        assert load(place / "e.mchain").encoder_.columns_[1].kind == "number"

    def test_models_of_python_match_columns_by_name(self, place):
        data, _ = make_known_chain(60, 3, 2, random_state=0)
        save(ChainClassifier(random_state=0).fit(data.X, data.Y), place / "own.mchain")
        write_table(data.to_frame().iloc[:, ::-1], place / "reversed.csv")
        write_table(data.to_frame(), place / "straight.csv")
        one, other = (predict(f"{name}.csv", place, "own.mchain") for name in ("reversed", "straight"))
        pd.testing.assert_frame_equal(one, other)
        assert len(one) == 60


def test_running_text_is_evaluated_as_it_is_fitted(tmp_path):
    words = ["good music", "bad noise", "good noise", "bad music"] * 15
    table = pd.DataFrame({"review": [f"{text} {n}" for n, text in enumerate(words)]})
    for name in ("good", "music"):
        table[name] = ["yes" if name in text else "no" for text in words]
    table.to_csv(tmp_path / "reviews.csv", index=False)
    answer = run("evaluate reviews.csv -t good,music --text review -m CC --cv 3 --json", folder=tmp_path)
    scores = pd.DataFrame(json.loads(answer.out)).query("method == 'CC' and measure == 'exact_match'")
    assert scores["value"].mean() > 0.9


def test_what_a_file_says_of_itself_is_not_believed(folder, tmp_path):
    for about, said in (({"inputs": 3}, "or were changed"), ({"source": "\x1b[31mred"}, "[31mred")):
        content = packed(*unpacked((folder / "bridges.mchain").read_bytes()), about=about)
        (tmp_path / "m.mchain").write_bytes(content)
        answer = run("inspect", tmp_path / "m.mchain", folder=folder, code=None)
        assert said in answer.out + answer.err
        assert "\x1b" not in answer.out + answer.err
        assert answer.code in (0, 4)


def test_a_folder_of_parquet_files_is_predicted_part_by_part_and_resumed(folder):
    new = pd.read_csv(folder / "new.csv", na_values="?")
    (folder / "parts").mkdir()
    for part, rows in enumerate((slice(0, 15), slice(15, 40))):
        new[rows].to_parquet(folder / "parts" / f"part-{part}.parquet", index=False)
    answer = run("predict bridges.mchain parts", folder=folder, code=2)
    assert "--output predicted" in answer.err
    assert run("predict bridges.mchain parts -o predicted", folder=folder).code == 0
    first, second = sorted((folder / "predicted").iterdir())
    whole = predict("new.csv", folder)
    found = pd.concat([pd.read_parquet(first), pd.read_parquet(second)])
    assert found["span"].astype(str).tolist() == whole["span"].tolist()
    # What is there is kept, what is missing is made again.
    before = first.stat().st_mtime_ns
    second.unlink()
    answer = run("predict bridges.mchain parts -o predicted --json", folder=folder)
    assert json.loads(answer.out)["written"] == [f"predicted/{second.name}"]
    assert "1 of 2 files already exist" in answer.err
    assert second.exists()
    assert first.stat().st_mtime_ns == before


def test_a_scheduler_that_is_not_there(folder):
    (folder / "some").mkdir()
    answer = run("predict bridges.mchain some -o out --scheduler tcp://127.0.0.1:9", folder=folder, code=2)
    assert "`--scheduler tcp://127.0.0.1:9` cannot be reached" in answer.err
