"""Label tables of every accepted kind become codes, and come back as they were."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.targets import TargetCodec, as_columns, factorise


def round_trip(Y, **options):
    codec, codes = TargetCodec.fit_encode(Y, **options)
    codec = pickle.loads(pickle.dumps(codec))
    np.testing.assert_array_equal(codec.encode(Y), codes)
    return codec.decode(codes)


@pytest.mark.parametrize(
    ("Y", "kind"),
    [
        (np.array([[0, 1], [1, 5]]), "i"),
        (np.array([[0, 1], [1, 5]], dtype=np.uint8), "u"),
        (np.array([[False, True], [True, True]]), "b"),
        (np.array([[0.0, 3.0], [1.0, -2.0]]), "f"),
        (np.array([["no", "yes"], ["yes", "perhaps"]]), "U"),
        (np.array([["no", 1], ["yes", 2]], dtype=object), "O"),
        (np.array([[1, 2**70], [3, 4]], dtype=object), "O"),
        (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[D]"), "M"),
        ([["red", 1, True], ["blue", 2, False]], "O"),
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


@settings(max_examples=100)
@given(
    st.lists(
        st.lists(st.one_of(st.integers(-5, 5), st.booleans(), st.text(max_size=3)), min_size=3, max_size=3), min_size=1
    )
)
def test_lists_of_any_mixture_come_back(rows):
    assert round_trip(rows).tolist() == rows


@settings(max_examples=100)
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
        [[0, pd.NaT], [1, 3], [np.float64("nan"), 2]],
        pd.DataFrame({"a": [0, 1, np.nan], "b": [np.nan, 3, 2]}),
        pd.DataFrame({"a": [0, 1, None], "b": [None, 3, 2]}, dtype="Int64"),
        pl.DataFrame({"a": [0, 1, None], "b": [None, 3, 2]}),
        pa.table({"a": [0, 1, None], "b": [None, 3, 2]}),
        np.ma.masked_values([[0, 9], [1, 3], [9, 2]], 9),
    ],
)
def test_every_kind_of_missing_value_is_unknown(Y):
    codec, codes = TargetCodec.fit_encode(Y)
    np.testing.assert_array_equal(codes, [[0, -1], [1, 1], [-1, 0]])
    assert [c.tolist() for c in codec.classes] == [[0, 1], [2, 3]]
    np.testing.assert_array_equal(codec.encode(Y), codes)


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
FRAMES = pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])


@FRAMES
def test_frames_come_back_with_names_types_and_index(frame):
    codec, codes = TargetCodec.fit_encode(frame)
    assert codec.is_frame
    assert set(codec.n_classes) == {2}
    result = pickle.loads(pickle.dumps(codec)).decode(codes, index=PANDAS.index if frame is PANDAS else None)
    if frame is PANDAS:
        pd.testing.assert_frame_equal(result, frame)
    else:
        assert result.equals(frame)
        assert result.schema == frame.schema


def test_two_pandas_columns_may_share_a_name():
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["y", "y"])
    result = round_trip(frame)
    assert list(result.columns) == ["y", "y"]
    assert result.to_numpy().tolist() == frame.to_numpy().tolist()


@pytest.mark.parametrize("series", [pd.Series(["a", "b", None], name="t"), pl.Series("t", ["a", "b", None])])
def test_a_series_is_one_dimensional(series):
    codec, codes = TargetCodec.fit_encode(series)
    assert codec.is_1d
    assert not codec.is_frame
    assert codec.names == ["t"]
    assert codes.tolist() == [[0], [1], [-1]]
    assert codec.decode(codes[:2]).tolist() == ["a", "b"]


def test_known_classes_give_the_codes():
    codec = TargetCodec([np.array([3, 1, 2]), np.array(["x", "y"])])
    assert codec.encode([[1.0, "y"], [None, "x"], [3, None]]).tolist() == [[1, 1], [-1, 0], [0, -1]]
    # Nothing known at all: the type of the column does not matter.
    assert codec.encode(np.full((2, 2), np.nan)).tolist() == [[-1, -1], [-1, -1]]
    # Values of other types are the same class if they are equal.
    assert TargetCodec([np.array([0, 1])]).encode(np.array([True, False])).ravel().tolist() == [1, 0]
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    assert TargetCodec([days]).encode(days[::-1].astype("datetime64[ns]")).ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("Y", "classes", "message"),
    [
        (np.array([[0], [7]]), [np.array([0, 1])], r"column 0 of Y holds 7, which is not one of its classes: \[0, 1\]"),
        ([["a"], ["q"]], [np.array(["a", "b"])], r"column 0 of Y holds 'q'.*\['a', 'b'\]"),
        (pd.DataFrame({"c": [5]}), [np.array([0, 1])], r"column 0 \('c'\) of Y holds 5"),
        (np.array([[0]]), [np.arange(2), np.arange(2)], "`Y` has 1 columns for 2 labels"),
        (np.array([99]), [np.arange(50)], r"\.\.\. \(50 in all\)"),
    ],
)
def test_unseen_classes_are_named(Y, classes, message):
    with pytest.raises(ValueError, match=message):
        TargetCodec(classes).encode(Y, name="Y")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (pd.DataFrame(index=[0, 1]), "no columns"),
        ([[1, 2], [3]], "rows differ in length"),
        ([[{"a"}, 1], [{"a", "b"}, 2]], "sets of tags, give sets"),
        ([[], []], "no columns"),
        ([["a", 0.25]], r"Unknown label type: continuous. column 1 of Y holds 0.25.*Bin"),
        (pd.DataFrame({"p": [0.5]}), r"continuous. column 0 \('p'\) of Y"),
        (pl.LazyFrame({"a": [1]}), r"pass Y.collect\(\)"),
    ],
)
def test_bad_targets_are_refused(Y, message):
    """Besides those that the table of bad input holds for every estimator."""
    with pytest.raises(ValueError, match=message):
        TargetCodec.fit_encode(as_columns(Y, name="Y"))


def test_an_unknown_code_is_decoded_only_among_several_vectors():
    codec = TargetCodec([np.arange(2)] * 2)
    with pytest.raises(ValueError, match="unknown code"):
        codec.decode(np.array([[0, -1]]))
    assert codec.decode_array(np.array([[[0, 1], [-1, -1]]])).tolist() == [[[0, 1], [None, None]]]


def test_columns_of_different_kinds_decode_to_objects():
    codes = np.array([[0, 1], [1, 0]])
    result = TargetCodec([np.array([0, 1]), np.array([False, True])]).decode(codes)
    assert result.tolist() == [[0, True], [1, False]]
    assert type(result[0, 1]) is bool
    assert TargetCodec([np.array([0, 1]), np.array([0.0, 1.0])]).decode(codes).dtype.kind == "f"
    # These two types have only floats in common, which cannot tell the largest numbers apart.
    wide = TargetCodec([np.array([0, 2**63 - 1]), np.array([0, 2**64 - 1], dtype=np.uint64)]).decode(codes)
    assert wide.tolist() == [[0, 2**64 - 1], [2**63 - 1, 0]]


def test_labels_given_by_name_in_any_order_or_by_position():
    codec, _ = TargetCodec.fit_encode(pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0, 1]}))
    assert codec.encode_given(pd.DataFrame({"c": [1, None], "a": [2, 1]})).tolist() == [[1, -1, 1], [0, -1, -1]]
    for frame in (
        pl.DataFrame({"b": ["y"]}),
        pa.table({"b": ["y"]}),
        pd.Series(["y"], name="b"),
        pl.Series("b", ["y"]),
    ):
        assert codec.encode_given(frame).tolist() == [[-1, 1, -1]]
    assert codec.encode_given([[2, None, 0]]).tolist() == [[1, -1, 0]]
    assert codec.encode_given(None) is None
    assert codec.encode_given(pd.DataFrame({"a": [None, None]})) is None
    assert codec.encode(pd.DataFrame({"c": [1], "b": ["x"], "a": [2]})).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1], "z": [1]}), "column 'z', which is not a target: the targets are \\['a', 'b'\\]"),
        (pd.DataFrame([[1, 1]], columns=["a", "a"]), "more than one column has this name"),
        ([[1]], "has 1 columns for 2 labels"),
        ([[1, 2], [1, 2], [1, 2]], "`X` has 1 rows but `given` has 3"),
    ],
)
def test_given_tables_that_do_not_fit_are_refused(table, message):
    codec, _ = TargetCodec.fit_encode(pd.DataFrame({"a": [1, 2], "b": [1, 2]}))
    with pytest.raises(ValueError, match=message):
        codec.encode_given(table, n_rows=1)


@pytest.mark.parametrize(
    "options",
    [
        {"classes": []},
        {"classes": [np.array([])]},
        {"classes": [[0, 1]]},
        {"classes": [np.arange(2)], "names": ["a", "b"]},
        {"classes": [np.arange(2)], "dtypes": []},
        {"classes": [np.arange(2)], "library": "os"},
    ],
)
def test_a_codec_whose_parts_do_not_fit_is_refused(options):
    with pytest.raises(ValueError, match=r"must be a list|not a supported data frame library"):
        TargetCodec(**options)
    with pytest.raises(ValueError, match=r"must be a list|not a supported data frame library"):
        TargetCodec.__new__(TargetCodec).__setstate__(options)  # as a pickle or a model file does
