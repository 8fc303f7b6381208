"""Single columns: identifiers, many different words, stray words, dates and outliers."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from montechain.preparation import TableEncoder
from tests.unscaled import unscaled


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([f"P{i}" for i in range(60)], "60 different values in 60 rows"),
        (pd.Categorical([f"P{i}" for i in range(60)]), "60 different values in 60 rows"),
        ([f"P{i // 2 if i < 4 else i}" for i in range(60)], "58 different values in 60 rows"),
        (np.arange(1, 61), "the row number"),
        (np.random.default_rng(0).permutation(60), "the row number"),
    ],
)
def test_identifiers_are_left_out_with_a_note(cells, why):
    X = pd.DataFrame({"protein": cells, "x": np.linspace(0, 1, 60)})
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x"]
    assert encoder.notes_ == [f"column 'protein' looks like an identifier ({why}) and is left out."]
    np.testing.assert_array_equal(encoder.transform(X[["x"]]), encoder.transform(X))
    dropped = TableEncoder(drop=["protein"]).fit(X)
    assert dropped.get_feature_names_out().tolist() == ["x"]
    assert dropped.notes_ == []


def test_what_columns_are_not():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "year": np.arange(1900, 1960),
            "income": rng.permutation(100_000)[:60],
            "length": rng.normal(size=60),
            # Not identifiers, not numbers, not dates:
            "remark": [f"a bridge of {i} spans" for i in range(60)],
            "zip": [*(f"0{i % 9:04}" for i in range(59)), "none"],
            "grade": ["1", "2", "3", "other"] * 15,
            "digits": ["1", "2", "3", "4"] * 15,
            "version": ["1.2.3", "1.10.0", "2.0.1"] * 20,
            "address": ["10.0.0.1", "10.0.0.2", "10.1.0.1"] * 20,
            "phone": ["555-12-1234", "555-13-4321", "555-14-9999"] * 20,
            "mixed": ["2024-01-31", "soon", "later"] * 20,
            "month": ["2024-13-45", "2024-01-31", "2024-02-30"] * 20,
        }
    )
    assert [column.kind for column in TableEncoder().fit(X).columns_] == ["number"] * 3 + ["nominal"] * 9


def test_many_different_words_become_a_bounded_number_of_columns():
    rng = np.random.default_rng(0)
    zip_codes = np.char.zfill(rng.integers(0, 2000, 3000).astype(str), 5)
    zip_codes[:40] = "00001"
    X = pd.DataFrame({"zip": zip_codes, "x": rng.normal(size=3000)})
    encoder = TableEncoder().fit(X)
    result = encoder.transform(X)
    assert result.shape == (3000, 1 + 100 + 30)
    assert encoder.columns_[0].kind == "words"
    names = encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(result[:, names.index("zip_00001")], zip_codes == "00001")
    np.testing.assert_allclose(encoder.transform(X.iloc[[7]]), result[[7]], rtol=1e-10, atol=1e-12)
    # Words that are spelled alike are near each other, those never met as well; a missing cell is in the middle.
    spelling = encoder.transform(pd.DataFrame({"zip": ["01234", "01235", "98760", None], "x": 0.0}))[:, 101:]
    assert np.linalg.norm(spelling[0] - spelling[1]) < np.linalg.norm(spelling[0] - spelling[2])
    np.testing.assert_array_equal(spelling[3], np.zeros(30))
    assert TableEncoder(max_categories=5).fit_transform(X).shape == (3000, 1 + 5 + 30)
    few = TableEncoder(max_categories=3)  # words of few letters have a spelling, too
    assert few.fit_transform(X.assign(zip=["a", "b", "c", "d"] * 750)).shape == (3000, 1 + 3 + 4)


@pytest.mark.parametrize(("strays", "dtype"), [(["heavy"], object), (["heavy", "n.a.", "?", "-", "x"], "str")])
def test_stray_words_among_numbers_are_missing_with_a_note(strays, dtype):
    numbers = np.random.default_rng(0).integers(2700, 6300, 342).astype(object)
    clean = pd.Series(numbers, dtype=float)
    rows = list(range(7, 7 + len(strays)))
    numbers[rows] = strays
    clean[rows] = np.nan
    X = pd.DataFrame({"mass": pd.Series(numbers, dtype=object).astype(dtype)})
    encoder = TableEncoder().fit(X)
    assert encoder.columns_[0].kind == "number"
    said = f"column 'mass': {342 - len(rows)} of 342 values are numbers; row 7 holds 'heavy'"
    assert encoder.notes_[0].startswith(said)
    assert all(f"row {row} holds" in encoder.notes_[0] for row in rows)
    expected = TableEncoder().fit(clean.to_frame("mass"))
    np.testing.assert_array_equal(encoder.fit_transform(X), expected.transform(clean.to_frame("mass")))
    with pytest.warns(UserWarning, match=r"but now row 7 holds 'heavy': .* Words in this column count as missing"):
        np.testing.assert_array_equal(expected.transform(X), encoder.transform(X))


@pytest.mark.parametrize(
    ("cell", "odd", "said"),
    [
        (str, "-", "'a': 54 of 60 values are numbers, but not '-', so each value is a category"),
        ("2024-01-{:02}".format, "soon", "'a': 54 of 60 values are dates, but not 'soon', so each value is a category"),
        ("a song about {} of the others".format, None, r"'a' holds running text, .* use text=\['a'\]"),
        ("house {}".format, None, ""),
    ],
)
def test_words_that_may_have_been_meant_as_something_else_get_a_note(cell, odd, said):
    cells = [odd if odd and n % 10 == 0 else cell(n % 28 + 1) for n in range(60)]
    notes = TableEncoder(max_categories=10).fit(pd.DataFrame({"a": cells})).notes_
    assert len(notes) == bool(said)
    assert all(re.search(said, note) for note in notes)


def test_few_outliers_are_clipped_at_both_ends():
    rng = np.random.default_rng(1)
    values = rng.permutation(np.concatenate([rng.normal(50, 10, 4000), [65526.0, 65511.0, -9e9]]))
    clipped = unscaled(TableEncoder().fit(values[:, None]), values[:, None]).ravel()
    ranked = np.sort(values)
    n_changed = int(0.001 * (len(values) - 1))
    np.testing.assert_allclose(clipped, np.clip(values, ranked[n_changed], ranked[-1 - n_changed]))
    assert (~np.isclose(clipped, values)).sum() == 2 * n_changed
    assert clipped.max() < 100
    small, strange = np.linspace(0, 1, 50)[:, None], np.array([[-5.0], [0.5], [9.0]])
    encoder = TableEncoder().fit(small)
    np.testing.assert_allclose(unscaled(encoder, small), small, atol=1e-12)
    np.testing.assert_allclose(unscaled(encoder, strange).ravel(), [0.0, 0.5, 1.0], atol=1e-12)


def test_rare_values_are_no_outliers():
    rare = np.zeros((5000, 4))
    rare[7, 0] = 1.0  # binary
    rare[[3, 9], 1] = [2.0, 3.0]  # counts, mostly zero
    rare[:, 2] = 1.0
    rare[11, 2] = 0.0  # binary, mostly one
    rare[:2000, 3] = np.linspace(1, 2, 2000)
    rare[0, 3] = 1e9  # mostly zero, but with an outlier among the rest
    clipped = unscaled(TableEncoder().fit(rare), rare)
    rare[0, 3] = 2.0
    np.testing.assert_allclose(clipped, rare, atol=1e-12)


def test_dates_of_every_kind():
    day = datetime.date(2024, 3, 31)
    noon = datetime.datetime(2024, 3, 31, 12)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    X = pd.DataFrame(
        {
            "date": [day, None],
            "moment": [noon, datetime.datetime(2024, 4, 1)],
            "zoned": pd.to_datetime([noon.replace(tzinfo=zone), noon.replace(tzinfo=zone)]),
            "span": [datetime.timedelta(hours=36), pd.NaT],
        }
    )
    n = (day - datetime.date(1970, 1, 1)).days
    expected = [[n, n + 0.5, n + 10 / 24, 1.5], [np.nan, n + 1, n + 10 / 24, np.nan]]
    encoder = TableEncoder(missing="keep").fit(X)
    days = [encoder.get_feature_names_out().tolist().index(name) for name in X]
    np.testing.assert_allclose(unscaled(encoder, X)[:, days], expected, rtol=1e-12)
    columns = {name: X[name].astype(object).where(X[name].notna(), None).tolist() for name in X}
    frame = pl.DataFrame({**columns, "span": [datetime.timedelta(hours=36), None]})
    frame = frame.with_columns(pl.col("zoned").dt.convert_time_zone("Europe/Paris"))
    of_polars = TableEncoder(missing="keep").fit_transform(frame)
    np.testing.assert_allclose(of_polars, encoder.transform(X), rtol=1e-12)
    written = X.assign(date=["2024-03-31", None], moment=["2024-03-31T12:00", "2024-04-01"])
    np.testing.assert_allclose(encoder.transform(written), encoder.transform(X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"column 'span' of `X` held numbers .* but now row 0 holds 'long'"):
        encoder.transform(X.assign(span=["long", None]))


def test_dates_have_calendar_features():
    moments = pd.date_range("2023-11-25", periods=400, freq="37h")
    X = pd.DataFrame(
        {"when": moments, "day": moments.normalize(), "yearly": pd.to_datetime(["2020-01-01", "2021-01-01"] * 200)}
    )
    encoder = TableEncoder().fit(X)
    result = pd.DataFrame(unscaled(encoder, X), columns=encoder.get_feature_names_out())
    shares = {
        "year": (moments.day_of_year - 1 + moments.hour / 24) / 366,
        "month": (moments.day - 1 + moments.hour / 24) / 31,
        "week": (moments.day_of_week + moments.hour / 24) / 7,
        "day": moments.hour / 24,
    }
    for cycle, share in shares.items():
        np.testing.assert_allclose(result[f"when_{cycle}_sin"], np.sin(2 * np.pi * share), atol=1e-9)
        np.testing.assert_allclose(result[f"when_{cycle}_cos"], np.cos(2 * np.pi * share), atol=1e-9)
    # What does not vary has no column.
    assert [name for name in result if name.startswith("day_day")] == []
    assert [name for name in result if name.startswith("yearly")] == ["yearly", "yearly_week_sin", "yearly_week_cos"]
    missing = X.astype(object)
    missing.iloc[0, 0] = None
    assert np.isfinite(encoder.transform(missing)).all()


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["2024-01-31", "2024-12-01"], "2024-01-31"),
        (["31/01/2024", "01/12/2024"], "2024-01-31"),
        (["01/12/2024", "31/01/2024"], "2024-12-01"),
        (["1/31/2024", "12/1/2024"], "2024-01-31"),
        (["31.1.2024", None, "1.12.2024"], "2024-01-31"),
        (["31 Jan 2024", "1 Dec 2024"], "2024-01-31"),
        (["January 31, 2024", "May 1, 2024"], "2024-01-31"),
    ],
)
def test_dates_written_as_strings(dates, first):
    X = pd.DataFrame({"when": dates})
    encoder = TableEncoder().fit(X)
    assert encoder.columns_[0].kind == "date"
    expected = (pd.Timestamp(first) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(unscaled(encoder, X)[0, 0], expected)
    np.testing.assert_allclose(unscaled(encoder, X.iloc[[0]])[0, 0], expected)


def test_stray_words_among_dates_are_missing_with_a_note():
    clean = pd.DataFrame({"when": [*pd.date_range("2024-01-05", periods=119).strftime("%d/%m/%Y"), None]})
    X = clean.fillna("?")
    encoder, expected = TableEncoder().fit(X), TableEncoder().fit(clean)
    assert encoder.notes_[0].startswith("column 'when': 119 of 120 values are dates; row 119 holds '?'. What is not")
    with pytest.warns(UserWarning, match=r"now row 119 holds '\?': give dates, .* count as missing"):
        np.testing.assert_array_equal(expected.transform(X), encoder.transform(X))


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        (["05/05/2024", "01/02/2024", None], True),
        (["1.2.2024 10:00", "3.4.2024 11:30"], True),
        (["01/02/2024", "01/31/2024"], False),
    ],
)
def test_dates_that_may_have_the_day_first_are_read_month_first_with_a_note(dates, said):
    encoder = TableEncoder().fit(pd.DataFrame({"when": dates}))
    message = r"'when' holds dates that are read month first.*to_datetime\(\.\.\., dayfirst=True"
    assert len(encoder.notes_) == said
    assert all(re.search(message, note) for note in encoder.notes_)


def test_text_is_tf_idf():
    remarks = ["steel arch bridge", "wooden bridge", None, "steel bridge of steel"]
    X = pd.DataFrame({"remarks": remarks, "x": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder(text=["remarks"]).fit(X)
    result = encoder.transform(X)
    assert sp.issparse(result)
    assert result.indices.dtype == result.indptr.dtype == np.int32
    oracle = TfidfVectorizer()
    expected = oracle.fit_transform([remark or "" for remark in remarks]).toarray()
    np.testing.assert_allclose(unscaled(encoder, X), np.column_stack([X["x"], expected]))
    assert encoder.get_feature_names_out().tolist() == ["x", *(f"remarks_{w}" for w in oracle.get_feature_names_out())]
