"""The typing pass: numbers, dates, words, stray cells, and the types of Excel files and data frames."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from montechain.datasets.reading import read_dataset
from montechain.datasets.tables import read_table
from montechain.errors import DataError


def write(folder: Path, content: str) -> Path:
    path = folder / "songs.csv"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "2"], "int64"),
        (["1", "?"], "Int64"),
        (["1", "2.0"], "float64"),
        (["1", "1e3"], "float64"),
        (["-0.5", "+.5"], "float64"),
        (["inf", "red"], "category"),
        (["?", ""], "float64"),
        (["true", "FALSE"], "bool"),
        (["True", "?"], "boolean"),
        (["007", "12"], "category"),
        (["-01", "1.5"], "category"),
        (["0", "10"], "int64"),
        (["0.5", "00.5"], "category"),
        (["9223372036854775807", "-9223372036854775808"], "int64"),
        (["9223372036854775808", "1"], "category"),
        (["12345678901234567890", "1.5"], "category"),
        (["1" * 5000, "1"], "category"),
        (["1_000", "2"], "category"),
        (["١", "2"], "category"),
        (["0x1p3", "2"], "category"),
        (["1e", "2"], "category"),
        (["--1", "2"], "category"),
        (["nano", "2"], "category"),
        (["tiny", "2"], "category"),
        (["2024-05-01", "2024-05-02"], "datetime64[us]"),
        (["true", "1"], "category"),
        (["yes", "no"], "category"),
    ],
)
def test_types_of_columns(cells, dtype, tmp_path):
    for order in (cells, cells[::-1]):
        column = read_table(write(tmp_path, "a,b\n" + "".join(f"{cell},x\n" for cell in order)))["a"]
        assert str(column.dtype) == dtype
        if dtype == "category":
            assert column.tolist() == order  # as it is written


@pytest.mark.parametrize("column", [["1,234", "5"], ["1,5", "2.5"], ["?", "12,345,678"], ["-1,234.5", "1"]])
def test_commas_in_numbers_are_asked_about(column, tmp_path):
    path = write(tmp_path, "a;price\n" + "".join(f"x;{cell}\n" for cell in column))
    first = 2 + next(row for row, cell in enumerate(column) if "," in cell)
    with pytest.raises(
        DataError, match=r'thousands="," or decimal="," .*--thousands , or --decimal ,.* nominal=\[\'price\'\]'
    ) as refusal:
        read_table(path, delimiter=";")
    assert refusal.value.line == first
    assert read_table(path, delimiter=";", nominal=["price"])["price"].dropna().tolist() == [
        cell for cell in column if cell != "?"
    ]
    assert read_table(path, delimiter=";", text=["price"])["price"].dtype == "string"


def test_number_formats(tmp_path):
    path = write(tmp_path, "a;b;c\n1.234,5;1,5;1.5\n12;-2,25e1;2\n1.234.567;0,5;3\n")
    table = read_table(path, decimal=",", thousands=".")
    assert table["a"].tolist() == [1234.5, 12, 1234567]
    assert table["b"].tolist() == [1.5, -22.5, 0.5]
    assert table["c"].tolist() == ["1.5", "2", "3"]  # no group of three digits: not a number here
    path = write(tmp_path, "a;b\n1,234;12,34\n999;1\n")
    table = read_table(path, delimiter=";", thousands=",")
    assert table["a"].tolist() == [1234, 999]
    assert table["b"].tolist() == ["12,34", "1"]
    german = write(tmp_path, "a;b\n155,21;x\n1.234,56;y\n")
    for options in ({}, {"decimal": ","}):  # never words in silence
        with pytest.raises(DataError, match="numbers with a comma"):
            read_table(german, **options)
    assert read_table(german, decimal=",", thousands=".")["a"].tolist() == [155.21, 1234.56]
    for options, message in [
        ({"decimal": ""}, "`decimal=''` must be one sign"),
        ({"thousands": "12"}, "`thousands='12'` must be one sign"),
        ({"decimal": ",", "thousands": ","}, "they must differ"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_table(path, **options)


def column(tmp_path, cells, **options):
    """The column 'weight' of a file with these cells, and the notes about it."""
    rows = "".join(f"{cell},{'ab'[row % 2]}\n" for row, cell in enumerate(cells))
    table = read_table(write(tmp_path, f"weight,colour\n{rows}"), **options)
    return table["weight"], [note for note in table.attrs["notes"] if "weight" in note]


MANY_NUMBERS = [str(3 * row % 50) for row in range(341)]


class TestStrays:
    """Single words among numbers or dates."""

    def test_a_word_among_numbers_is_missing_and_named(self, tmp_path):
        found, notes = column(tmp_path, [*MANY_NUMBERS[:5], "heavy", *MANY_NUMBERS[5:]])
        assert found.dtype == "Int64"
        assert np.flatnonzero(found.isna()).tolist() == [5]
        assert notes == [
            "column 'weight': 341 of 342 values are numbers; line 7 holds 'heavy', which is treated as missing."
        ]

    def test_it_is_an_error_if_asked_for(self, tmp_path):
        with pytest.raises(
            DataError, match=r"line 7: column 'weight': 341 of 342 values are numbers; this one .*'heavy'"
        ):
            column(tmp_path, [*MANY_NUMBERS[:5], "heavy", *MANY_NUMBERS[5:]], stray="error")
        with pytest.raises(ValueError, match="`stray='no'` must be 'missing' or 'error'"):
            column(tmp_path, ["1"], stray="no")

    def test_lines_are_those_of_the_file(self, tmp_path):
        rows = "".join(f"{row % 7},x\n" for row in range(60))
        content = f'\n"wei\nght",colour\n\n1,"two\nlines"\n  \n2,x\nheavy,y\n{rows}light,z\n'
        table = read_table(write(tmp_path, content))
        note = "column 'wei\\nght': 62 of 64 values are numbers; line 9 holds 'heavy', and 1 more like it, which are"
        assert table.attrs["notes"][0].startswith(note)
        with pytest.raises(DataError) as refusal:
            read_table(write(tmp_path, content.replace("heavy", "3")), stray="error")
        assert refusal.value.line == 70

    @pytest.mark.parametrize(
        ("cells", "kind", "note"),
        [
            (
                [*MANY_NUMBERS[:90], *["light"] * 10],
                "category",
                "90 of 100 values are numbers; line 92 holds 'light'.*words",
            ),
            (["1", "2", "3", "4+"] * 10, "category", None),  # ratings, which are words
            (["1", "x"], "category", None),
            ([*MANY_NUMBERS, "007"], "category", None),  # a code
            ([*MANY_NUMBERS, "-"], "Int64", "holds '-', which is treated as missing"),
            ([*MANY_NUMBERS, "1.5", "?", "heavy"], "float64", "342 of 343 values are numbers; line 345 holds 'heavy'"),
            ([f"2024-05-{day:02}" for day in range(1, 31)] + ["soon"], "datetime64[us]", "30 of 31 values are dates"),
        ],
    )
    def test_how_many_are_too_many(self, cells, kind, note, tmp_path):
        found, notes = column(tmp_path, cells)
        assert str(found.dtype) == kind
        assert (len(notes) == 1 and re.search(note, notes[0])) if note else not notes

    def test_columns_that_are_known_to_be_numbers(self, tmp_path):
        with pytest.raises(
            DataError, match="line 3: column 'weight': 1 of 2 values are numbers; this one holds 'heavy'"
        ):
            column(tmp_path, ["1", "heavy"], numeric=["weight"], stray="error")
        found, notes = column(tmp_path, ["007", "heavy"], numeric=["weight"])
        assert found.tolist() == [7, pd.NA]
        assert len(notes) == 1
        with pytest.raises(DataError, match="line 2: column 'weight' should hold dates, but holds 'soon'"):
            column(tmp_path, ["soon"], dates=["weight"])
        found, _ = column(tmp_path, ["01/02/2024"], dates={"weight": "%d/%m/%Y"})
        assert found[0] == pd.Timestamp(2024, 2, 1)
        with pytest.raises(DataError, match="line 3"):
            column(tmp_path, ["01/02/2024", "20240501"], dates={"weight": "%d/%m/%Y"}, stray="error")

    def test_words_in_a_frame_and_in_a_target(self, tmp_path):
        frame = pd.DataFrame(
            {"weight": [*range(0, 60, 2), "heavy"], "grade": ["1", "2", "3"] * 10 + ["A"]}, dtype=object
        )
        found = read_table(frame)
        assert found["weight"].dtype == "Int64"
        assert "row 31 holds 'heavy'" in found.attrs["notes"][0]
        frame.to_csv(tmp_path / "grades.csv", index=False)
        data = read_dataset(tmp_path / "grades.csv", targets=["grade"])
        assert data.classes == [["1", "2", "3", "A"]]  # a rare class is a class
        assert any("line 32 holds 'heavy'" in note for note in data.notes)


class TestDates:
    @pytest.mark.parametrize(
        ("cells", "format", "first"),
        [
            (["2024-05-31", "2024-06-01"], "%Y-%m-%d", "2024-05-31"),
            (["2024-05-31 12:30", "2024-06-01 00:00"], "%Y-%m-%d %H:%M", "2024-05-31 12:30"),
            (["2024-05-31T12:30:05", ""], "%Y-%m-%dT%H:%M:%S", "2024-05-31 12:30:05"),
            (["2024-05-31T12:30:05.25", "2024-05-31T12:30:06.5"], "%Y-%m-%dT%H:%M:%S.%f", "2024-05-31 12:30:05.25"),
            (["2024-05-31T12:30:05+02:00", "2024-05-31T12:30:05Z"], "%Y-%m-%dT%H:%M:%S%z", "2024-05-31 10:30:05+00:00"),
            (["2024/05/31", "2024/06/01"], "%Y/%m/%d", "2024-05-31"),
            (["01.02.2024", "02.03.2024"], "%d.%m.%Y", "2024-02-01"),
            (["05/31/2024", "06/01/2024"], "%m/%d/%Y", "2024-05-31"),
            (["31/05/2024", "01/06/2024"], "%d/%m/%Y", "2024-05-31"),
            (["31-05-2024", "01-06-2024"], "%d-%m-%Y", "2024-05-31"),
            (["31 May 2024", "1 Jun 2024"], "%d %b %Y", "2024-05-31"),
            (["31-May-2024", "01-Jun-2024"], "%d-%b-%Y", "2024-05-31"),
            (['"June 1, 2024"', '"July 12, 2024"'], "%B %d, %Y", "2024-06-01"),
        ],
    )
    def test_formats(self, cells, format, first, tmp_path):
        found, notes = column(tmp_path, cells)
        assert found[0] == pd.Timestamp(first)
        assert found.isna().tolist() == [not cell for cell in cells]
        assert len(notes) == 1
        assert notes[0].startswith("column 'weight' holds dates, such as ")
        assert notes[0].endswith(f"({format}).")

    @pytest.mark.parametrize("cells", [["01/02/2024", "03/04/2024"], ["1-2-2024", "3-4-2024"]])
    def test_day_or_month_first(self, cells, tmp_path):
        found, notes = column(tmp_path, cells)
        assert found.tolist() == cells
        assert "with the day or the month first" in notes[0]

    @pytest.mark.parametrize(
        "cells", [["1.2.3", "1.2.4"], ["2024-13-01", "2024-05-01"], ["May 2024", "June 2024"], ["x", "y"]]
    )
    def test_what_is_no_date(self, cells, tmp_path):
        found, notes = column(tmp_path, cells)
        assert found.tolist() == cells
        assert not notes


def test_codes_are_found_after_any_delimiter(tmp_path):
    for delimiter in ",;|\t":
        for cell in ("007", "-01", '"00501"', " 012"):
            path = write(tmp_path, f"name{delimiter}code\nx{delimiter}{cell}\ny{delimiter}12\n")
            assert read_table(path)["code"].tolist() == [cell.strip(' "'), "12"]


class TestExcel:
    FRAME = pd.DataFrame(
        {
            "id": ["007", "008", "009"],
            "size": [1, None, 3],
            "price": [2.5, 3.0, None],
            "live": [True, False, True],
            "day": pd.to_datetime(["2024-05-31", None, "2024-06-01"]),
            "mood": ["calm", "?", "happy"],
        }
    )

    def test_types(self, tmp_path):
        with pd.ExcelWriter(tmp_path / "songs.xlsx") as writer:
            self.FRAME.to_excel(writer, sheet_name="songs", index=False, startrow=2, startcol=1)
            self.FRAME.to_excel(writer, sheet_name="more", index=False)
        found = read_table(tmp_path / "songs.xlsx")
        types = "category Int64 float64 bool datetime64[us] category"
        assert [str(dtype) for dtype in found.dtypes] == types.split()
        assert found["id"].tolist() == ["007", "008", "009"]
        assert found["day"].tolist()[0] == pd.Timestamp(2024, 5, 31)
        assert found["mood"].isna().tolist() == [False, True, False]
        assert found.attrs["notes"] == ["only the first of 2 sheets is read, 'songs'."]
        data = read_dataset(tmp_path / "songs.xlsx", targets=["mood", "live"], drop=["id"])
        assert (data.name, data.classes) == ("songs", [[False, True], ["calm", "happy"]])

    def test_strays_and_their_lines(self, tmp_path):
        frame = pd.DataFrame({"weight": [*range(0, 60, 2)], "colour": ["a", "b"] * 15}).astype(object)
        frame.loc[4, "weight"] = "heavy"
        frame.to_excel(tmp_path / "a.xlsx", index=False)
        assert "29 of 30 values are numbers; line 6 holds 'heavy'" in read_table(tmp_path / "a.xlsx").attrs["notes"][0]
        with pytest.raises(DataError, match=r"a\.xlsx, line 6: "):
            read_table(tmp_path / "a.xlsx", stray="error")

    def test_what_is_no_table(self, tmp_path, monkeypatch):
        path = tmp_path / "a.xlsx"
        for frame, message in [
            (pd.DataFrame(), "the first sheet is empty"),
            (pd.DataFrame(columns=["a", "b"]), "a header line and no rows"),
            (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the column 'a' occurs more than once"),
            (pd.DataFrame([[1, 2]], columns=[0.5, "b"]), "the first line looks like data"),
        ]:
            frame.to_excel(path, index=False)
            with pytest.raises(DataError, match=message):
                read_table(path)
        self.FRAME.to_excel(path, index=False)
        monkeypatch.setattr("montechain.datasets.tables.LARGEST_WORKBOOK", 1000)
        with pytest.raises(DataError, match="too large when unpacked"):
            read_table(path)
        with pytest.raises(
            DataError, match=r"a\.xls: the suffix '\.xls' is not a known format. Save the workbook as \.xlsx"
        ):
            read_table(tmp_path / "a.xls")


def test_the_index_of_a_stored_frame_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["p", "q"], name="key"))
    frame.to_parquet(tmp_path / "a.parquet")
    assert list(read_table(tmp_path / "a.parquet").columns) == ["a"]


def test_types_of_frames():
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype=np.uint8),
            "large": np.array([1, 2**64 - 1], dtype=np.uint64),
            "single": np.array([0.5, np.nan], dtype=np.float32),
            "day": pd.to_datetime(["2024-05-01", None]),
            "time": pd.to_datetime(["2024-05-01 12:30", "2024-05-02 00:00"]),
            "declared": pd.Categorical(["b", "?"], categories=["c", "b", "?"]),
            "digits": ["1", "2"],
            "mixed": [1, "a"],
            "sparse": pd.arrays.SparseArray([0.0, 1.5]),
            "nothing": [None, None],
        },
        index=[5, 5],
    )
    before = frame.copy(deep=True)
    found = read_table(frame)
    assert found["small"].dtype == np.int64
    assert found["large"].tolist() == [1, 2**64 - 1]
    assert found["single"].dtype == np.float64
    pd.testing.assert_series_equal(found["day"], frame["day"].reset_index(drop=True))
    pd.testing.assert_series_equal(found["time"], frame["time"].reset_index(drop=True))
    assert read_table(frame, nominal=["day"])["day"].tolist()[0] == "2024-05-01"
    assert read_table(frame, text=["time"])["time"].tolist() == ["2024-05-01T12:30:00", "2024-05-02"]
    assert found["declared"].cat.categories.tolist() == ["c", "b"]
    assert found["declared"].isna().tolist() == [False, True]
    assert found["digits"].tolist() == ["1", "2"]
    assert found["mixed"].tolist() == ["1", "a"]
    assert found["sparse"].tolist() == [0, 1.5]
    assert found["nothing"].isna().all()
    assert found.index.tolist() == [0, 1]
    pd.testing.assert_frame_equal(frame, before)


def test_declared_values_of_other_libraries():
    values = pl.DataFrame({"a": pl.Series(["y", None], dtype=pl.Enum(["z", "y"]))})
    assert read_table(values)["a"].cat.categories.tolist() == ["z", "y"]
    values = pl.DataFrame({"a": pl.Series(["y", "b"], dtype=pl.Categorical)})
    assert read_table(values)["a"].cat.categories.tolist() == ["b", "y"]
    values = pa.table({"a": pa.DictionaryArray.from_arrays([1, None], ["z", "y"])})
    assert read_table(values)["a"].cat.categories.tolist() == ["z", "y"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the column 'a' occurs more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "the column '1' occurs more than once"),
        (pd.DataFrame({"a": []}), "the table has no rows"),
        (pd.DataFrame(index=[1, 2]), "the table has no columns"),
        (pd.DataFrame({"a": [[1], [2]]}), r"column 'a' is of type list.*drop=\['a'\]"),
        (pl.DataFrame({"a": [[1], [2]]}), r"column 'a' is of type list.*drop=\['a'\]"),
        (pa.table({"a": pa.array([2**62], pa.timestamp("us"))}), r"column 'a' holds what cannot be read: \w+"),
        (pd.DataFrame({"a": [1.5, np.inf]}), r"column 'a' is infinite in row 2.*drop=\['a'\]"),
        (pl.DataFrame({"a": [-np.inf, 1.5]}), r"column 'a' is infinite in row 1"),
        (pd.DataFrame({"a": [1, np.inf, "x"][:2]}, dtype=object), r"column 'a' is infinite in row 2"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), r"column 'a' is of type timedelta64.*drop=\['a'\]"),
    ],
)
def test_frames_that_are_no_tables(frame, message):
    with pytest.raises(DataError, match=message):
        read_table(frame)
