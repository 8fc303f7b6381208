"""Tags: rows of any number of them as targets of every estimator, and several in one cell of a table."""

import io
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import montechain as mc
from command import run
from montechain._tags import expand_tags, join_tags, tag_rows
from montechain.targets import TargetCodec

TAGS = ["calm", "pop", "rock"]
X = np.random.default_rng(0).normal(size=(120, 3))
MARKS = (X + 0.4 * X[:, [1, 2, 0]] > 0.3).astype(int)
ROWS = [[tag for tag, is_there in zip(TAGS, row, strict=True) if is_there] for row in MARKS]


def as_objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


words = st.text(st.characters(exclude_categories=["Cs", "Z"], exclude_characters=";"), min_size=1, max_size=4)
tables = st.lists(st.none() | st.frozensets(words, max_size=4), min_size=1).filter(any)


@settings(max_examples=100)
@given(tables, st.sampled_from(["sets", "objects", "series", "polars"]))
def test_tags_become_codes_and_come_back(rows, container):
    make = {
        "sets": list,
        "objects": lambda rows: as_objects([None if row is None else list(row) for row in rows]),
        "series": lambda rows: pd.Series([None if row is None else list(row) for row in rows], dtype=object),
        "polars": lambda rows: pl.Series([None if row is None else list(row) for row in rows]),
    }[container]
    codec, codes = TargetCodec.fit_encode(make(rows))
    codec = pickle.loads(pickle.dumps(codec))
    assert codec.names == sorted(set().union(*filter(None, rows)))
    np.testing.assert_array_equal(codec.encode(make(rows)), codes)
    known = [row is not None for row in rows]
    assert (codes[np.logical_not(known)] == -1).all()
    found = codec.decode(codes[known])
    assert [sorted(row) for row in rows if row is not None] == found.tolist()
    np.testing.assert_array_equal(codec.encode(found), codes[known])
    # As knowledge, a tag is there, and nothing is known of the others.
    partial = codec.encode_given(make(rows))
    expected = [[tag in (row or ()) for tag in codec.names] for row in rows]
    np.testing.assert_array_equal(partial != -1, expected)


def test_lists_that_are_tables_or_tags():
    assert tag_rows([["a", "b"], ["c", "d"]]) is None
    assert tag_rows([["a", "b"], ["c", "d"]], certain=True) == [{"a", "b"}, {"c", "d"}]
    assert tag_rows([["a", "b"], ["c"]]) == [{"a", "b"}, {"c"}]
    assert tag_rows([{1, 2}, {3}, None]) == [{1, 2}, {3}, None]
    for table in ([[1, 2], [3]], ["ab", "c"], [1, 2], np.eye(2), [None, None], pd.Series(["a", "b"]), {"a"}):
        assert tag_rows(table) is None
    codec, codes = TargetCodec.fit_encode([{"a", 1}, set()])  # of types that cannot be compared
    assert codec.names == [1, "a"]
    assert codec.decode(codes).tolist() == [[1, "a"], []]


@pytest.mark.parametrize(
    "estimator",
    [
        mc.ChainClassifier(random_state=0),
        mc.ChainPopulationClassifier(n_chains=2, random_state=0),
        mc.LabelPowersetClassifier(),
        mc.DependencyNetworkClassifier(random_state=0),
    ],
)
def test_estimators_answer_as_for_the_table_of_zeros_and_ones(estimator, tmp_path):
    frame = pd.DataFrame(MARKS, columns=TAGS)
    of_marks = estimator.fit(X, frame).predict(X).to_numpy()
    model = estimator.fit(X, ROWS)
    mc.save(model, tmp_path / "m.mchain")
    model = mc.load(tmp_path / "m.mchain")
    assert model.target_names_ == TAGS
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * 3
    found = model.predict(X)
    assert [[tag in row for tag in TAGS] for row in found] == of_marks.astype(bool).tolist()
    assert model.score(X, ROWS) == pytest.approx((of_marks == MARKS).all(axis=1).mean())


def test_knowledge_and_probabilities_of_tags():
    model = mc.ChainClassifier(random_state=0).fit(X, ROWS)
    completed = model.predict(X, given=[{"pop"}] * 60 + [set()] * 60)
    assert all("pop" in row for row in completed[:60])
    assert completed[60:].tolist() == model.predict(X)[60:].tolist()
    by_name = model.predict(X, given=pd.DataFrame({"rock": [0] * 120}))
    assert not any("rock" in row for row in by_name)
    probable = model.log_joint(X, ROWS)
    np.testing.assert_allclose(probable, mc.ChainClassifier(random_state=0).fit(X, MARKS).log_joint(X, MARKS))
    # A tag that no training row had is improbable, and not predicted.
    new = [[*row, "jazz"] for row in ROWS]
    np.testing.assert_allclose(model.log_joint(X, new), probable - np.log(2 * len(X) + 1))
    assert model.score(X, new) == 0
    with pytest.raises(ValueError, match=r"row 0 of `given` has the tag 'rok', .*did you mean 'rock'"):
        model.predict(X[:1], given=[{"rok"}])


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_metrics_of_tags_are_those_of_zeros_and_ones(seed):
    rng = np.random.default_rng(seed)
    true, predicted = rng.integers(2, size=(2, 9, 4))
    tags = [[{"abcd"[j] for j in np.flatnonzero(row)} for row in side] for side in (true, predicted)]
    for metric in (mc.metrics.exact_match, mc.metrics.hamming_score, mc.metrics.f1_score):
        used = (true | predicted).any(axis=0)  # a tag that no row has does not count
        if used.any():
            assert metric(*tags) == pytest.approx(metric(true[:, used], predicted[:, used]))


@settings(max_examples=100)
@given(
    st.lists(st.frozensets(words.map(str.strip).filter(bool), max_size=4), min_size=1),
    st.sampled_from([";", ", ", "|"]),
)
def test_cells_are_split_and_joined(rows, separator):
    rows = [frozenset(tag for tag in row if separator.strip() not in tag) for row in rows]
    frame = pd.DataFrame({"tags": [f"{separator}  ".join(row) for row in rows], "other": range(len(rows))})
    expanded, tags = expand_tags(frame, ["tags"], separator)
    assert expanded.shape == (len(rows), 1 + len(set().union(*rows)))
    joined = join_tags(expanded, ["tags", "other"], tags, separator)
    assert joined["tags"].tolist() == [separator.join(sorted(row)) for row in rows]
    pd.testing.assert_frame_equal(expand_tags(joined, ["tags"], separator, tags)[0], expanded)


def songs():
    cells = ["; ".join(reversed(row)) for row in ROWS]
    return pd.DataFrame(X, columns=list("abc")), pd.DataFrame(
        {"genres": cells, "up": np.where(X[:, 0] > 0, "yes", "no")}
    )


@pytest.mark.parametrize("classifier", [mc.ChainClassifier(random_state=0), RandomForestClassifier(20, random_state=0)])
def test_a_table_classifier_of_tags(classifier, tmp_path):
    inputs, targets = songs()
    model = mc.TableClassifier(classifier, tags="genres").fit(inputs, targets)
    mc.save(model, tmp_path / "m.mchain")
    model = mc.load(tmp_path / "m.mchain")
    assert model.tags_ == {"genres": TAGS}
    assert model.target_names_ == [*(f"genres={tag}" for tag in TAGS), "up"]
    found = model.predict(inputs)
    assert found.columns.tolist() == ["genres", "up"]
    assert set(found["genres"]) <= {";".join(row) for row in ROWS}
    share = np.mean([cell == ";".join(row) for cell, row in zip(found["genres"], ROWS, strict=True)])
    assert share > 0.8
    assert share >= model.score(inputs, targets) > 0.7


def test_knowledge_and_containers_of_a_table_classifier_of_tags():
    inputs, targets = songs()
    model = mc.TableClassifier(mc.ChainClassifier(random_state=0), tags=["genres"]).fit(inputs, targets)
    known = pd.DataFrame({"genres": ["pop"] * 60 + [""] * 60})
    completed = model.predict(inputs, given=known)["genres"]
    assert completed[:60].str.contains("pop").all()
    assert completed[60:].tolist() == model.predict(inputs)["genres"][60:].tolist()
    expanded = expand_tags(targets, ["genres"], ";")[0]
    plain = mc.TableClassifier(mc.ChainClassifier(random_state=0)).fit(inputs, expanded)
    np.testing.assert_allclose(model.log_joint(inputs, targets), plain.log_joint(inputs, expanded))
    in_polars = mc.TableClassifier(mc.ChainClassifier(random_state=0), tags=["genres"]).fit(
        inputs, pl.from_pandas(targets)
    )
    assert in_polars.predict(inputs)["genres"].to_list() == model.predict(inputs)["genres"].tolist()
    in_lists = targets.assign(genres=targets["genres"].str.split(";"))
    assert mc.TableClassifier(mc.ChainClassifier(), tags="genres").fit(inputs, in_lists).tags_ == model.tags_
    partly = mc.TableClassifier(mc.ChainClassifier(), tags="genres").fit(inputs, targets.replace("pop", None))
    assert partly.notes_ == ["the tags of 13 missing cells are unknown. If they have none, use fillna('')."]
    assert expand_tags(targets.replace("pop", None), ["genres"], ";")[0]["genres=rock"].isna().sum() == 13
    for options, y, message in (
        ({"tags": "genre"}, targets, "names 'genre', which is not a column of `y`; did you mean 'genres'"),
        ({"tags": "genres", "separator": ""}, targets, "`separator=''` of TableClassifier must be a text"),
        ({"tags": "genres"}, targets.assign(genres=""), "column 'genres' of `y` has no tags"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            mc.TableClassifier(mc.ChainClassifier(), **options).fit(inputs, y)


def test_a_fit_that_fails_keeps_the_columns_of_the_targets():
    inputs, targets = songs()
    model = mc.TableClassifier(mc.ChainClassifier(random_state=0), tags="genres").fit(inputs, targets)
    before = model.predict(inputs)
    with pytest.raises(ValueError, match="has no tags"):
        model.fit(inputs, targets.assign(genres="", other=0))
    pd.testing.assert_frame_equal(model.predict(inputs), before)


def test_tags_on_the_command_line(tmp_path):
    inputs, targets = songs()
    table = pd.concat([inputs, targets], axis=1)
    table.to_csv(tmp_path / "songs.csv", index=False)
    data = mc.read_dataset(tmp_path / "songs.csv", targets=["genres"], tags=["genres"])
    assert len(data.Y) == 120  # an empty cell is not an unknown one
    made = run("fit songs.csv -t up --tags genres --separator ; -m Default -o m.mchain", folder=tmp_path)
    assert "calm, pop, rock" in made.out
    found = pd.read_csv(io.StringIO(run("predict m.mchain songs.csv", folder=tmp_path).out), keep_default_na=False)
    model = mc.load(tmp_path / "m.mchain")
    assert found[["up", "genres"]].to_numpy().tolist() == model.predict(inputs).to_numpy().tolist()
    table.assign(genres="rock")[["a", "b", "c", "genres"]].to_csv(tmp_path / "known.csv", index=False)
    for options in ("--given", "--given --top-k 2"):
        answer = run(f"predict m.mchain known.csv {options}", folder=tmp_path).out
        assert pd.read_csv(io.StringIO(answer))["genres"].str.contains("rock").all()
    order = "genres=pop,up,genres=rock,genres=calm"
    run(f"fit songs.csv -t up --tags genres -m CC --set order={order} -o ordered.mchain", folder=tmp_path)
    assert ",".join(mc.load(tmp_path / "ordered.mchain").classifier_.order) == order
    scores = run("evaluate songs.csv --tags genres -m CC --cv 2", folder=tmp_path).out
    assert "exact match" in scores
    for wrong in ("-t last:1", "--separator ''"):
        run(f"fit songs.csv {wrong} --tags genres -o x.mchain", folder=tmp_path, code=2)
    run("evaluate songs.csv -t up,up,genres --tags genres,genres -m CC --cv 2", folder=tmp_path)
