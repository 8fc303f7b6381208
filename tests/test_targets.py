"""Targets of every accepted kind become columns and codes, and come back as they were."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from montechain._targets import as_columns, decode, decode_frame, encode, factorise


def round_trip(Y, **options):
    table = as_columns(Y, **options)
    codes, classes = encode(table)
    return decode(codes, classes, table)


@pytest.mark.parametrize(
    ("Y", "kind"),
    [
        (np.array([[0, 1], [1, 5]]), "i"),
        (np.array([[0, 1], [1, 5]], dtype=np.uint8), "u"),
        (np.array([[False, True], [True, True]]), "b"),
        (np.array([[0.0, 3.0], [1.0, -2.0]]), "f"),
        (np.array([["no", "yes"], ["yes", "perhaps"]]), "U"),
        (np.array([["no", "yes"], ["yes", "perhaps"]], dtype=object), "U"),
        (np.array([["no", 1], ["yes", 2]], dtype=object), "O"),
        (np.array([[1, 2**70], [3, 4]], dtype=object), "O"),
        (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), "M"),
        ([["red", 1, True], ["blue", 2, False]], "O"),
        ([[1, 2], [3, 4]], "i"),
        (((1, 2), (3, 4)), "i"),
        ([np.array([1, 2]), np.array([3, 4])], "i"),
        (sp.csr_matrix([[0, 1], [1, 0]]), "i"),
        (sp.csc_array([[0.0, 1.0], [1.0, 0.0]]), "f"),
        (np.array([3, 1, 3]), "i"),
        (["b", "a"], "U"),
    ],
)
def test_arrays_come_back_as_they_were(Y, kind):
    result = round_trip(Y)
    expected = Y.toarray() if sp.issparse(Y) else np.array(Y, dtype=object)
    assert result.dtype.kind == kind
    assert result.shape == expected.shape
    assert (result == expected).all()


@given(
    st.lists(
        st.lists(st.one_of(st.integers(-5, 5), st.booleans(), st.text(max_size=3)), min_size=3, max_size=3), min_size=1
    )
)
def test_lists_of_any_mixture_come_back(rows):
    assert round_trip(rows).tolist() == rows


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from([np.int64, np.float64, np.int8]))
def test_factorise_agrees_with_numpy(values, dtype):
    values = (np.array(values) % 100 if dtype is np.int8 else np.array(values)).astype(dtype)
    classes, codes = factorise(values)
    expected_classes, expected_codes = np.unique(values, return_inverse=True)
    assert classes.dtype == values.dtype
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(codes, expected_codes)


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[0, np.nan], [1, 3], [np.nan, 2]]),
        [[0, None], [1, 3], [None, 2]],
        [[0, pd.NA], [1, 3], [float("nan"), 2]],
        [[0, pd.NaT], [1, 3], [np.float64("nan"), 2]],
        pd.DataFrame({"a": [0, 1, np.nan], "b": [np.nan, 3, 2]}),
        pd.DataFrame({"a": [0, 1, None], "b": [None, 3, 2]}, dtype="Int64"),
        pd.DataFrame({"a": [0, 1, None], "b": [pd.NA, 3, 2]}, dtype=object),
        pl.DataFrame({"a": [0, 1, None], "b": [None, 3, 2]}),
        pl.DataFrame({"a": [0.0, 1.0, None], "b": [float("nan"), 3, 2]}),
        pa.table({"a": [0, 1, None], "b": [None, 3, 2]}),
        np.ma.masked_values([[0, 9], [1, 3], [9, 2]], 9),
    ],
)
def test_every_kind_of_missing_value_is_unknown(Y):
    table = as_columns(Y)
    np.testing.assert_array_equal(table.known, [[True, False], [True, True], [False, True]])
    codes, classes = encode(table)
    np.testing.assert_array_equal(codes, [[0, -1], [1, 1], [-1, 0]])
    assert [c.tolist() for c in classes] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("Y", "unknown"),
    [
        (np.array([[0, -1], [-1, 1]]), -1),
        (np.array([[0, 255], [255, 1]], dtype=np.uint8), 255),
        (np.array([[0.0, -1.0], [np.nan, 1.0]]), -1),
        (np.array([["0", "?"], ["?", "1"]]), "?"),
        ([["0", "?"], ["?", 1]], "?"),
        (pd.DataFrame({"a": ["0", "?"], "b": ["?", "1"]}), "?"),
        (pl.DataFrame({"a": ["0", "?"], "b": [None, "1"]}), "?"),
        (sp.csr_array([[0, -1], [-1, 1]]), -1),
    ],
)
def test_a_value_can_mean_unknown(Y, unknown):
    np.testing.assert_array_equal(as_columns(Y, unknown=unknown).known, [[True, False], [False, True]])


def test_an_unknown_value_of_another_kind_matches_nothing():
    assert as_columns(np.array([[0, 1]]), unknown="?").known.all()
    assert as_columns(np.array([["0", "1"]]), unknown=0).known.all()
    assert as_columns([["0", 1]], unknown=0).known.all()


def test_continuous_unknown_marker_is_not_a_continuous_target():
    assert as_columns(np.array([[0.0], [0.5]]), unknown=0.5).known.tolist() == [[True], [False]]


PANDAS = pd.DataFrame(
    {
        "colour": pd.Categorical(["red", "blue", "red"], categories=["red", "green", "blue"], ordered=True),
        "size": pd.array([1, 2**60, 1], dtype="Int64"),
        "text": ["p", "q", "p"],
        "flag": [True, False, True],
        "small": np.array([1, 2, 1], dtype=np.int8),
    },
    index=[7, 3, 5],
)
POLARS = pl.DataFrame(
    {"colour": ["red", "blue", "red"], "kind": ["u", "v", "u"], "size": [1, 2, 1], "flag": [True, False, True]},
    schema_overrides={"colour": pl.Enum(["red", "green", "blue"]), "kind": pl.Categorical, "size": pl.Int8},
)


def test_a_pandas_frame_comes_back_with_names_types_and_index():
    table = as_columns(PANDAS)
    codes, classes = encode(table)
    layout = pickle.loads(pickle.dumps(table.format))
    assert layout.is_frame
    result = decode_frame(codes, classes, layout.names, layout.namespace, PANDAS.index, layout.dtypes)
    pd.testing.assert_frame_equal(result, PANDAS)
    without_types = decode_frame(codes, classes, layout.names, pd)
    assert without_types["colour"].tolist() == PANDAS["colour"].tolist()


def test_two_pandas_columns_may_share_a_name():
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["y", "y"])
    table = as_columns(frame)
    codes, classes = encode(table)
    result = decode_frame(codes, classes, table.names, table.namespace)
    assert list(result.columns) == ["y", "y"]
    assert result.to_numpy().tolist() == frame.to_numpy().tolist()


def test_a_polars_frame_comes_back():
    table = as_columns(POLARS)
    codes, classes = encode(table)
    layout = pickle.loads(pickle.dumps(table.format))
    result = decode_frame(codes, classes, layout.names, layout.namespace, dtypes=layout.dtypes)
    assert result.equals(POLARS)
    assert result.schema == POLARS.schema


def test_an_arrow_table_comes_back():
    frame = pa.table({"colour": ["red", "blue"], "size": pa.array([1, 2], type=pa.int8())})
    table = as_columns(frame)
    codes, classes = encode(table)
    assert decode_frame(codes, classes, table.names, table.namespace, dtypes=table.dtypes).equals(frame)


@pytest.mark.parametrize("series", [pd.Series(["a", "b", None], name="t"), pl.Series("t", ["a", "b", None])])
def test_a_series_is_one_dimensional(series):
    table = as_columns(series)
    assert table.is_1d
    assert not table.is_frame
    assert table.names == ["t"]
    assert encode(table)[0].tolist() == [[0], [1], [-1]]


def test_a_column_that_does_not_sort_is_sorted_by_type_and_text():
    _, classes = encode(as_columns([["b"], [3], ["a"], [10]]))
    assert classes[0].tolist() == [10, 3, "a", "b"]


def test_known_classes_give_the_codes():
    classes = [np.array([3, 1, 2]), np.array(["x", "y"])]
    codes, same = encode(as_columns([[1.0, "y"], [None, "x"], [3, None]]), classes)
    assert codes.tolist() == [[1, 1], [-1, 0], [0, -1]]
    assert same[0] is classes[0]
    # Nothing known at all: the type of the column does not matter.
    assert encode(as_columns(np.full((2, 2), np.nan)), classes)[0].tolist() == [[-1, -1], [-1, -1]]


def test_numbers_of_another_type_are_the_same_class():
    codes, _ = encode(as_columns(np.array([True, False])), [np.array([0, 1])])
    assert codes.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("Y", "classes", "message"),
    [
        (np.array([[0], [7]]), [np.array([0, 1])], r"column 0 of Y holds 7, which is not one of its classes: \[0, 1\]"),
        ([["a"], ["q"]], [np.array(["a", "b"])], r"column 0 of Y holds 'q'.*\['a', 'b'\]"),
        (np.array([["1"]]), [np.array([0, 1])], r"holds '1', which is not one of its classes: \[0, 1\]"),
        (pd.DataFrame({"c": [5]}), [np.array([0, 1])], r"column 0 \('c'\) of Y holds 5"),
        (np.array([[0]]), [np.arange(2), np.arange(2)], "Y has 1 columns, but there are 2 labels"),
        (np.array([99]), [np.arange(50)], r"\.\.\. \(50 in all\)"),
    ],
)
def test_unseen_classes_are_named(Y, classes, message):
    with pytest.raises(ValueError, match=message):
        encode(as_columns(Y), classes)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (None, "Expected array-like .* got None"),
        ("text", "must be an array of shape .* got str"),
        (5, "got int"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((2, 0)), "no columns"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
        ([[1, 2], [3]], "rows differ in length"),
        ([{"a"}, {"a", "b"}], "MultiLabelBinarizer"),
        (np.array([[0.0, 0.25], [1.0, 1.0]]), r"Unknown label type: continuous. column 1 of Y holds 0.25.*Bin"),
        ([["a", 0.25]], r"Unknown label type: continuous. column 1 of Y holds 0.25"),
        ([["a"], [0.25]], r"continuous. column 0 of Y holds 0.25"),
        (pd.DataFrame({"p": [0.5]}), r"continuous. column 0 \('p'\) of Y"),
        (np.array([[np.inf]]), "contains infinity"),
        (np.array([1 + 2j]), "Complex data not supported"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "structured array"),
        (pl.LazyFrame({"a": [1]}), r"pass Y.collect\(\)"),
    ],
)
def test_bad_targets_are_refused(Y, message):
    with pytest.raises(ValueError, match=message):
        as_columns(Y)


def test_a_column_that_is_all_unknown_is_refused():
    with pytest.raises(ValueError, match="column 1 of Y is all unknown"):
        encode(as_columns([[1, None], [2, None]]))


def test_an_unknown_code_is_not_decoded():
    with pytest.raises(ValueError, match="unknown code"):
        decode(np.array([[0, -1]]), [np.arange(2)] * 2)


def test_columns_of_different_kinds_decode_to_objects():
    codes = np.array([[0, 1], [1, 0]])
    result = decode(codes, [np.array([0, 1]), np.array([False, True])])
    assert result.tolist() == [[0, True], [1, False]]
    assert type(result[0, 1]) is bool
    assert decode(codes, [np.array([0, 1]), np.array([0.0, 1.0])]).dtype.kind == "f"
    # These two types have only floats in common, which cannot tell the largest numbers apart.
    wide = decode(codes, [np.array([0, 2**63 - 1]), np.array([0, 2**64 - 1], dtype=np.uint64)])
    assert wide.tolist() == [[0, 2**64 - 1], [2**63 - 1, 0]]
