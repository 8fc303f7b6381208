"""The typing pass: numbers, words, dates, stray cells, and the types of Excel files and data frames."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from montechain import TableEncoder, read_dataset
from montechain.errors import DataError
from tests.datasets.test_tables import read_table, write


def column(tmp_path, cells, **options):
    """The column 'weight' of a file with these cells, and the notes about it."""
    rows = "".join(f"{cell},{'ab'[row % 2]}\n" for row, cell in enumerate(cells))
    data = read_dataset(write(tmp_path, f"weight,colour\n{rows}"), targets=[], **options)
    return data.X["weight"], [note for note in data.notes if "weight" in note]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "2"], "int64"),
        (["1", "?"], "float64"),
        (["1", "2.0"], "float64"),
        (["inf", "red"], "category"),
        (["?", ""], "float64"),
        (["true", "FALSE"], "bool"),
        (["True", "?"], "float64"),
        (["007", "12"], "category"),
        (["-01", "1.5"], "category"),
        (["922337203685477580", "-922337203685477580"], "int64"),
        (["12345678901234567890", "1"], "float64"),
        (["1" * 5000, "x"], "category"),
        (["1_000", "2"], "category"),
        (["١", "2"], "category"),
        (["2024-05-01", "2024-05-02"], "string"),
        (["May 2024", "June 2024"], "category"),
        (["true", "1"], "category"),
    ],
)
def test_types_of_columns(cells, dtype, tmp_path):
    for order in (cells, cells[::-1]):
        found, _ = column(tmp_path, order)
        assert str(found.dtype) == dtype
        if dtype in ("category", "string"):
            assert found.tolist() == order  # as it is written


@pytest.mark.parametrize("cells", [["1,234", "5"], ["1,5", "2.5"], ["?", "12,345,678"], ["-1,234.5", "1"]])
def test_commas_in_numbers_are_asked_about(cells, tmp_path):
    path = write(tmp_path, "a;price\n" + "".join(f"x;{cell}\n" for cell in cells))
    message = r'decimal=","\. If it separates thousands, .* nominal=\[\'price\'\]'
    with pytest.raises(DataError, match=message) as refusal:
        read_table(path, delimiter=";")
    assert refusal.value.line == 2 + next(row for row, cell in enumerate(cells) if "," in cell)
    as_written = [cell for cell in cells if cell != "?"]
    assert read_table(path, delimiter=";", nominal=["price"])["price"].dropna().tolist() == as_written
    assert read_table(path, delimiter=";", text=["price"])["price"].dtype == "string"


def test_numbers_that_a_model_needs_are_not_lost(tmp_path):
    for cells, decimal, message in (
        (["5", '"20,641.58"', "heavy"], ".", "line 3: column 'weight' holds numbers with a comma, such as '20,641.58'"),
        (["1.5", "2.5", "3"], ",", "line 2: column 'weight' held numbers .* 2 of its 3 cells are not numbers"),
    ):
        with pytest.raises(DataError, match=message):
            column(tmp_path, cells, decimal=decimal, numeric=["weight"], partial=True)


def test_decimal_commas(tmp_path):
    path = write(tmp_path, "b;c\n1,5;1.5\n-2,25e1;2\n0,5;3\n")
    table = read_table(path, decimal=",")
    assert table["b"].tolist() == [1.5, -22.5, 0.5]
    assert table["c"].tolist() == ["1.5", "2", "3"]  # not a number here
    (note,) = read_dataset(path, targets=["b"], nominal=["b"], decimal=",").notes
    assert note.startswith("column 'c' is read as words: it holds numbers with a point, such as '1.5'")

    german = write(tmp_path, "a;b\n155,21;x\n1.234,56;y\n")
    for options in ({}, {"decimal": ","}):  # never read as words without a note
        with pytest.raises(DataError, match="numbers with a comma"):
            read_table(german, **options)
    with pytest.raises(ValueError, match="`decimal=''` must be a point or a comma"):
        read_table(path, decimal="")


def test_units_beside_numbers(tmp_path):
    table = read_table(write(tmp_path, "a;b;c\n$1.50;12%;$7\n$20;3 %;7 EUR\n"))
    assert table["a"].tolist() == [1.5, 20.0]
    assert table["b"].tolist() == [12.0, 3.0]
    assert table["c"].tolist() == ["$7", "7 EUR"]
    labels = read_dataset(tmp_path / "songs.csv", targets=["b"]).Y["b"]
    assert labels.tolist() == ["12%", "3 %"]  # classes stay as they are written
    frame = pd.DataFrame({"a": ["$1.50", "$20"] * 30, "b": ["007", "12"] * 30})
    assert [column.kind for column in TableEncoder().fit(frame).columns_] == ["number", "nominal"]


MANY_NUMBERS = [str(3 * row % 50) for row in range(341)]


class TestStrays:
    """Single words among numbers."""

    def test_a_word_among_numbers_is_missing_and_named(self, tmp_path):
        cells = [*MANY_NUMBERS[:5], "heavy", *MANY_NUMBERS[5:]]
        found, notes = column(tmp_path, cells)
        assert found.dtype == np.float64
        assert np.flatnonzero(found.isna()).tolist() == [5]
        said = "column 'weight': 341 of 342 values are numbers; line 7 holds 'heavy'. What is not a number "
        said += "is treated as missing."
        assert notes == [said]

    def test_lines_are_those_of_the_file(self, tmp_path):
        rows = "".join(f"{row % 7},x\n" for row in range(60))
        content = f'\n"wei\nght",colour\n\n1,"two\nlines"\n  \n2,x\nheavy,y\n{rows}light,z\n'
        note = "column 'wei\\nght': 62 of 64 values are numbers; line 9 holds 'heavy', line 70 holds 'light'. "
        assert read_dataset(write(tmp_path, content), targets=[]).notes[0].startswith(note)

    @pytest.mark.parametrize(
        ("cells", "kind", "note"),
        [
            ([*MANY_NUMBERS[:90], *["light"] * 10], "category", None),
            (["1", "2", "3", "4+"] * 10, "category", None),  # ratings, which are words
            (["1", "x"], "category", None),
            ([*MANY_NUMBERS, "007"], "category", None),  # a code
            ([*MANY_NUMBERS, "-"], "float64", "holds '-'. What is not a number is treated as missing"),
            ([*MANY_NUMBERS, "1.5", "?", "heavy"], "float64", "342 of 343 values are numbers; line 345 holds 'heavy'"),
        ],
    )
    def test_how_many_are_too_many(self, cells, kind, note, tmp_path):
        found, notes = column(tmp_path, cells)
        assert str(found.dtype) == kind
        assert (len(notes) == 1 and re.search(note, notes[0])) if note else not notes

    def test_columns_that_are_known_to_be_numbers(self, tmp_path):
        found, notes = column(tmp_path, ["007", "heavy"], numeric=["weight"])
        np.testing.assert_array_equal(found, [7, np.nan])
        assert len(notes) == 1

    def test_in_a_target_a_rare_class_is_a_class(self, tmp_path):
        path = write(tmp_path, "x,grade\n" + "1,1\n2,2\n3,3\n" * 10 + "4,A\n")
        assert read_dataset(path, targets=["grade"]).classes == [["1", "2", "3", "A"]]


def test_dates_are_left_to_the_encoder_and_words_as_labels(tmp_path):
    path = write(tmp_path, "day,size,label\n31/12/2024,1,x\n01/02/2025,2,y\n,3,x\n")
    data = read_dataset(path, targets=["label"])
    assert data.notes == ["column 'day' looks like dates, such as '31/12/2024'."]
    encoder = TableEncoder().fit(data.X)
    assert (encoder.columns_[0].kind, encoder.columns_[0].format) == ("date", "%d/%m/%Y")
    assert read_dataset(path, targets=["label"], nominal=["day"]).X["day"].dtype == "category"
    assert read_dataset(path, targets=["day"], nominal=["day"]).classes == [["01/02/2025", "31/12/2024"]]


def test_codes_are_found_after_any_delimiter(tmp_path):
    for delimiter in ",;|\t":
        for cell in ("007", "-01", '"00501"', " 012"):
            path = write(tmp_path, f"name{delimiter}code\nx{delimiter}{cell}\ny{delimiter}12\n")
            assert read_table(path)["code"].tolist() == [cell.strip(' "'), "12"]


def test_cells_of_excel_files_keep_their_types(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["007", "008", "009"],
            "size": [1, None, 3],
            "live": [True, False, True],
            "day": pd.to_datetime(["2024-05-31", None, "2024-06-01"]),
            "mood": ["calm", "?", "happy"],
        }
    )
    frame.to_excel(tmp_path / "songs.xlsx", index=False)
    data = read_dataset(tmp_path / "songs.xlsx", targets=["mood", "live"])
    assert (data.name, data.classes) == ("songs", [[False, True], ["calm", "happy"]])
    assert data.X["id"].tolist() == ["007", "008", "009"]
    assert [data.X[name].dtype.kind for name in ("size", "day")] == ["f", "M"]
    assert list(read_table(tmp_path / "songs.xlsx", header=False).columns)[:2] == ["column_0", "column_1"]
    pd.DataFrame(columns=["a"]).to_excel(tmp_path / "empty.xlsx", index=False)
    with pytest.raises(DataError, match=r"empty\.xlsx: the table has no rows"):
        read_table(tmp_path / "empty.xlsx")


def test_frames_keep_their_types():
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype=np.uint8),
            "day": pd.to_datetime(["2024-05-01", None]),
            "declared": pd.Categorical(["b", None], categories=["c", "b", "?"]),
            "mixed": [1.0, "a"],
        },
        index=[5, 5],
    )
    pd.testing.assert_frame_equal(read_table(frame), frame.reset_index(drop=True))
    words = read_table(frame, nominal=["small", "mixed", "declared"], text=["day"])
    assert [words[name].tolist() for name in ("small", "mixed")] == [["1", "2"], ["1", "a"]]
    assert words["declared"].cat.categories.tolist() == ["c", "b", "?"]
    assert words["day"].dtype == "string"
    values = pl.DataFrame({"a": pl.Series(["y", None], dtype=pl.Enum(["z", "y"]))})
    assert read_table(values)["a"].cat.categories.tolist() == ["z", "y"]


@pytest.mark.parametrize("library", [pa.table, pl.DataFrame])
def test_large_whole_numbers_beside_missing_ones_stay_exact(library):
    cells = [2**53 + 1, None, 2**53 + 2, 2**53 + 1]
    data = read_dataset(library({"x": [1, 2, 3, 4], "y": cells}), targets=["y"])
    assert data.classes == [[2**53 + 1, 2**53 + 2]]
    assert data.Y["y"].tolist() == [cell for cell in cells if cell is not None]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the column 'a' occurs more than once"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), "the column '1' occurs more than once"),
        (pd.DataFrame({"a": []}), "the table has no rows"),
        (pd.DataFrame(index=[1, 2]), "the table has no columns"),
        (pl.DataFrame({"a": [[1], [2]]}), r"column 'a' .*List.*drop=\['a'\]"),
    ],
)
def test_frames_that_are_not_tables_are_refused(frame, message):
    with pytest.raises(DataError, match=message):
        read_table(frame)
