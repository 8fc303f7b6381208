"""Realistic tables: matrices expected by hand, by pandas and numpy, and laws on random tables."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from montechain.preparation import TableEncoder
from tests.unscaled import unscaled


def test_a_table_by_hand():
    dates = ["1970-01-03", "1970-01-01", None, "1969-12-31", "1970-01-01 12:00"]
    X = pd.DataFrame(
        {
            "length": [10.0, None, 30.0, 20.0, 60.0],
            "river": ["A", "M", None, "O", "A"],
            "clear": pd.Categorical(["G", "G", "N", None, "G"], categories=["N", "G"]),
            "toll": [True, False, True, True, True],
            "erected": pd.to_datetime(dates, format="ISO8601"),
        }
    )
    encoder = TableEncoder().fit(X)
    names = encoder.get_feature_names_out().tolist()
    calendar = [f"erected_{cycle}_{part}" for cycle in ("year", "month", "week", "day") for part in ("sin", "cos")]
    assert names == ["length", "erected", *calendar, "clear_N", "toll_False", "river_A", "river_M", "river_O"]
    expected = [
        [10, 2.00, 0, 0, 1, 0, 0],
        [25, 0.00, 0, 1, 0, 1, 0],
        [30, 0.25, 1, 0, 0, 0, 0],
        [20, -1.0, 0, 0, 0, 0, 1],
        [60, 0.50, 0, 0, 1, 0, 0],
    ]
    assert encoder.transform(X).dtype == np.float64
    result = unscaled(encoder, X)[:, [names.index(name) for name in names if name not in calendar]]
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_keep_passes_on_what_is_missing():
    X = pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", None, "y"], "c": ["u", "v", "w"]})
    result = unscaled(TableEncoder(missing="keep").fit(X), X)
    np.testing.assert_allclose(result, [[1, 0, 1, 0, 0], [np.nan, np.nan, 0, 1, 0], [3, 1, 0, 0, 1]], atol=1e-12)


def test_against_pandas_and_numpy():
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "a": rng.normal(3, 5, n),
            "b": rng.integers(0, 9, n),
            "c": rng.choice(["red", "green", "blue"], n),
            "d": pd.Categorical(rng.choice(["s", "m"], n), categories=["s", "m", "l", "xl"]),
        }
    )
    X.loc[rng.choice(n, 40, replace=False), "a"] = np.nan
    encoded = TableEncoder().set_output(transform="pandas").fit_transform(X)
    filled = X[["a", "b"]].fillna(X[["a", "b"]].median())
    expected = pd.concat(
        [(filled - filled.mean()) / filled.std(ddof=0), pd.get_dummies(X[["c", "d"]], dtype=float)], axis=1
    )
    pd.testing.assert_frame_equal(encoded, expected[encoded.columns])
    assert encoded.columns.tolist() == ["a", "b", "c_blue", "c_green", "c_red", "d_s", "d_m", "d_l", "d_xl"]


def test_one_of_two_categories_is_marked_the_rarer_and_ties_go_to_the_first_declared():
    X = pd.DataFrame(
        {
            "genbase": pd.Categorical(["NO", "NO", "YES"], categories=["YES", "NO"]),
            "tie": ["x", "y", None],
            "constant": pd.Categorical(["NO"] * 3, categories=["YES", "NO"]),
            "single": ["only"] * 3,
        }
    )
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["genbase_YES", "tie_y", "constant_YES", "single"]
    np.testing.assert_array_equal(encoder.transform(X), [[0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]])


def test_categories_unseen_missing_many_or_named_like_another_column():
    X = pd.DataFrame({"three": ["a", "b", "c"], "two": ["x", "y", "x"], "three_b": [1.0, 2.0, 3.0]})
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["three_b", "two_y", "three_a", "three_b_2", "three_c"]
    result = encoder.transform(pd.DataFrame({"three": ["d", None, "b"], "two": ["z", None, "y"], "three_b": 2.0}))
    np.testing.assert_array_equal(result, [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]])
    many = pd.DataFrame({f"word{j}": [f"w{i % 90}" for i in range(180)] for j in range(12)})
    result = TableEncoder().fit_transform(many)
    assert sp.issparse(result)
    assert result.shape == (180, 12 * 90)
    np.testing.assert_array_equal(result.sum(axis=1), 12)


def test_constant_columns_are_zero_and_stay_so():
    X = pd.DataFrame({"number": [7.0] * 4, "word": ["w"] * 4, "other": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X)[:, [0, 2]], np.zeros((4, 2)))
    strange = pd.DataFrame({"number": [1e9], "word": ["v"], "other": [1.0]})
    np.testing.assert_array_equal(encoder.transform(strange)[:, [0, 2]], np.zeros((1, 2)))


def test_columns_without_a_value_are_left_out_with_a_note():
    X = pd.DataFrame({"a": [1.0, 2.0], "void": [np.nan, np.nan], "nothing": [None, None], "mute": ["!", "?"]})
    encoder = TableEncoder(text="mute").fit(X)
    assert encoder.get_feature_names_out().tolist() == ["a"]
    assert [note.split(":")[0] for note in encoder.notes_] == [
        "column 'void' has no value and is left out.",
        "column 'nothing' has no value and is left out.",
        "column 'mute' has no word of two letters or more and is left out.",
    ]
    assert encoder.transform(pd.DataFrame({"a": [1.5]})).tolist() == [[0.0]]  # and they are not asked for again


def test_arrays_are_tables_of_numbers():
    X = np.array([[1.0, 5.0], [np.nan, 7.0], [3.0, 6.0]])
    by_frame = TableEncoder().fit_transform(pd.DataFrame(X, columns=["a", "b"]))
    np.testing.assert_array_equal(TableEncoder().fit_transform(X), by_frame)
    assert TableEncoder().fit(X).get_feature_names_out().tolist() == ["x0", "x1"]
    assert TableEncoder(drop=[0]).fit_transform(X).shape == (3, 1)


def test_lists_and_arrays_of_objects_find_their_types():
    rows = [[1, "a", True], [None, "b", False], [3.5, "c", True]]
    expected = [[1.0, 0, 1, 0, 0], [2.25, 1, 0, 1, 0], [3.5, 0, 0, 0, 1]]
    for X in (rows, np.array(rows, dtype=object)):
        np.testing.assert_allclose(unscaled(TableEncoder().fit(X), X), expected, atol=1e-12)
    texts = np.array([["1", "a"], ["2", "b"], ["4", "c"]])
    result = unscaled(TableEncoder().fit(texts), texts)
    np.testing.assert_allclose(result, [[1, 1, 0, 0], [2, 0, 1, 0], [4, 0, 0, 1]], atol=1e-12)


@pytest.fixture
def frame():
    return pd.DataFrame({"age": [20.0, 30.0, 40.0], "sex": ["m", "f", "f"], "town": ["x", "y", "z"]})


def test_other_columns_are_ignored_and_absent_ones_named(frame):
    encoder = TableEncoder().fit(frame)
    wider = frame.assign(extra=[object(), None, "?"])[["town", "extra", "sex", "age"]]
    np.testing.assert_array_equal(encoder.transform(wider), encoder.transform(frame))
    with pytest.raises(
        ValueError, match=r"lacks columns that the encoder was fitted with: 'age', 'town'; did you mean 'Age'"
    ):
        encoder.transform(frame.rename(columns={"age": "Age", "town": "where"}))


def test_a_column_that_changed_its_type_is_named_with_a_value(frame):
    encoder = TableEncoder().fit(frame.assign(day=pd.date_range("2020-01-01", periods=3), due=["13/02/2020"] * 3))
    for changed, message in (
        ({"age": ["20", "old", "40"]}, r"column 'age' of `X` held numbers .* but now row 1 holds 'old'"),
        ({"age": pd.to_datetime(["2020-01-01"] * 3)}, r"column 'age' .* row 0 holds Timestamp"),
        ({"age": [1.0, 1e300, 2.0]}, r"column 'age' of `X` contains infinity or numbers over 1e\+100: use NaN"),
        ({"due": "2020-01-02"}, r"row 0 holds '2020-01-02': give dates, or strings such as '31/03/2024'"),
        ({"sex": [1, 0, 0]}, r"column 'sex' of `X` held words such as 'f' .* but now row 0 holds 1"),
        ({"day": ["2020-01-02", "soon", None]}, r"column 'day' .* held dates .* but now row 1 holds 'soon'"),
        ({"day": [3, 4, 5]}, r"column 'day' .* held dates .* but now row 0 holds 3"),
    ):
        with pytest.raises(ValueError, match=message):
            encoder.transform(frame.assign(**{"day": None, "due": None, **changed}))


def test_the_same_values_in_another_spelling(frame):
    encoder = TableEncoder()
    plain = encoder.fit_transform(frame.assign(flag=[True, False, True], code=["1", "2", "3"]))
    for flag, code, age in (
        ([1, 0, 1], [1, 2, 3], ["20", "30.0", "40"]),
        (["true", "FALSE", "True"], [1.0, 2.0, 3.0], [Decimal(20), Decimal(30), Decimal(40)]),
        (np.array([True, False, True], dtype=object), pd.Categorical([1, 2, 3]), pd.array([20, 30, 40], dtype="Int64")),
    ):
        np.testing.assert_array_equal(encoder.transform(frame.assign(flag=flag, code=code, age=age)), plain)


def test_polars_enumerations_declare_categories_and_categoricals_do_not():
    pl.Series(["elsewhere"], dtype=pl.Categorical)
    columns = {"size": ["m", "s", None], "town": ["x", "y", "z"], "flag": [True, None, True], "number": [1, None, 3]}
    frame = pl.DataFrame(columns, schema_overrides={"size": pl.Enum(["s", "m", "l"]), "town": pl.Categorical})
    encoder = TableEncoder().fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["number", "flag_False", "size_s", "size_m", "size_l", "town_x", "town_y", "town_z"]
    expected = [[1, 0, 0, 1, 0, 1, 0, 0], [2, 0, 1, 0, 0, 0, 1, 0], [3, 0, 0, 0, 0, 0, 0, 1]]
    np.testing.assert_allclose(unscaled(encoder, frame), expected, atol=1e-12)
    assert isinstance(TableEncoder().set_output(transform="polars").fit_transform(frame), pl.DataFrame)


def test_frames_and_arrays_may_change_places_as_scikit_learn_says():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        by_place = TableEncoder().fit(X).transform(X.to_numpy())
    np.testing.assert_array_equal(by_place, TableEncoder().fit_transform(X))
    with pytest.warns(UserWarning, match="has feature names"):
        TableEncoder().fit(X.to_numpy()).transform(X)


DATES = st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1))  # pandas 2 reads no others
WORDS = st.sampled_from(["red", "green", "blue", "2", "", "Ünï"])
NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@st.composite
def tables(draw):
    """Return columns of random kinds as plain lists, with missing cells, and which of them are text."""
    n = draw(st.integers(2, 12))
    columns = {"n0": draw(st.lists(NUMBERS, min_size=n, max_size=n))}  # one column without a missing cell
    for j in range(draw(st.integers(0, 6))):
        cells = draw(st.sampled_from([NUMBERS, st.integers(-5, 5), st.booleans(), WORDS, DATES]))
        columns[f"c{j}"] = draw(st.lists(st.none() | cells, min_size=n, max_size=n))
    text = ["prose"] if draw(st.booleans()) else []
    if text:
        columns["prose"] = draw(st.lists(st.none() | st.text("ab ", max_size=12), min_size=n, max_size=n))
    return columns, text


def dense(result):
    return result.toarray() if sp.issparse(result) else result


@settings(max_examples=30)
@given(tables(), st.sampled_from(["impute", "keep"]), st.data())
def test_laws_on_random_tables(table, missing, data):
    columns, text = table
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    encoder = TableEncoder(missing=missing, text=text).fit(frame)
    whole = dense(encoder.transform(frame))
    assert whole.shape == (len(frame), len(encoder.get_feature_names_out()))
    assert np.isfinite(whole).all() if missing == "impute" else not np.isinf(whole).any()

    row = data.draw(st.integers(0, len(frame) - 1))
    np.testing.assert_array_equal(dense(encoder.transform(frame.iloc[[row]])), whole[[row]])

    shuffled = data.draw(st.permutations(list(frame.columns)))
    np.testing.assert_array_equal(dense(encoder.transform(frame[shuffled])), whole)

    in_polars = pl.DataFrame(columns, strict=False)
    for other in (in_polars, in_polars.to_arrow()):
        np.testing.assert_array_equal(dense(encoder.transform(other)), whole)
        again = TableEncoder(missing=missing, text=text).fit(other)
        np.testing.assert_array_equal(dense(again.transform(other)), whole)
        assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


def test_pickle_and_global_output(frame):
    table = frame.assign(town=["one two", "two", "three"])
    encoder = TableEncoder(drop="sex", text="town").fit(table)
    same = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(dense(same.transform(table)), dense(encoder.transform(table)))
    with sklearn.config_context(transform_output="pandas"):
        framed = TableEncoder().fit_transform(frame.set_index(pd.Index([7, 8, 9])))
    assert framed.index.tolist() == [7, 8, 9]
    assert framed.columns.tolist() == ["age", "sex_m", "town_x", "town_y", "town_z"]
    pipeline = make_pipeline(TableEncoder(), StandardScaler()).set_output(transform="polars").fit(frame)
    assert pipeline.transform(frame).columns == framed.columns.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"drop": ["agee"]}, r"`drop` names 'agee', which is not a column of `X`; did you mean 'age'\?"),
        ({"drop": "oxen"}, "'oxen', which is not a column of `X`. Its columns are 'age'"),
        ({"text": "towns"}, r"`text` names 'towns', .* did you mean 'town'\?"),
        ({"text": "town", "drop": ["town"]}, "'town' is in `text` and in `drop`"),
    ],
)
def test_columns_that_are_not_there_or_chosen_twice(frame, parameters, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**parameters).fit(frame)


def test_tables_that_cannot_be_encoded_are_refused(frame):
    for X, message in (
        (frame[["age"]] * np.nan, "no column of `X` is left"),
        (sp.csr_array(np.eye(2)), "Sparse data was passed"),
        ([{"age": 30}], r"`X` is a list of dictionaries: use pandas\.DataFrame\(X\)"),
        (pl.DataFrame({"lists": [[1, 2], [3]]}), "column 'lists' is of type List"),
        (pd.DataFrame({"lists": [[1, 2], [3]]}), r"column 'lists' of `X` holds values of type list.*drop=\['lists'\]"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            TableEncoder().fit(X)
