"""Tables: what each format gives, and what is refused."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain.datasets import delimited
from montechain.datasets.delimited import sniff_delimiter
from montechain.datasets.table_dataset import table_dataset
from montechain.datasets.tables import MISSING_VALUES, read_table
from montechain.errors import DataError

# Cells that are nominal in any format: no number, truth value or mark, and without blanks at the ends.
WORDS = st.text(alphabet="abcß,;|\"\t\n '#%", min_size=1, max_size=8).map(lambda text: f"x{text}x")
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0),
    "truth": st.booleans(),
    "word": WORDS,
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Columns of one kind each, with None where a cell is unknown, and at least one that is known."""
    n = draw(st.integers(1, 8))
    table = {}
    for position, kind in enumerate(draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))):
        cells = draw(st.lists(KINDS[kind] | st.none(), min_size=n, max_size=n))
        cells[draw(st.integers(0, n - 1))] = draw(KINDS[kind])
        if kind == "real":
            cells[0] = 0.5 if cells[0] is None or cells[0].is_integer() else cells[0]  # else they would be whole
        table[f"{kind} {position}"] = cells
    return table


def expected(table: dict[str, list[Any]]) -> pd.DataFrame:
    """The frame that every format must give."""
    columns: dict[str, Any] = {}
    for name, cells in table.items():
        has_unknown = None in cells
        match name.split()[0]:
            case "whole":
                columns[name] = pd.array(cells, dtype="Int64") if has_unknown else np.array(cells, dtype=np.int64)
            case "real":
                columns[name] = np.array([np.nan if cell is None else cell for cell in cells])
            case "truth":
                columns[name] = pd.array(cells, dtype="boolean") if has_unknown else np.array(cells, dtype=bool)
            case "word":
                columns[name] = pd.Categorical(cells, categories=sorted({cell for cell in cells if cell is not None}))
    return pd.DataFrame(columns)


def delimited_text(table: dict[str, list[Any]], delimiter: str) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return stream.getvalue()


@given(table=tables(), delimiter=st.sampled_from(",;\t|"), packing=st.sampled_from(["", ".gz", ".bz2"]))
def test_delimited_files_are_read_back(table, delimiter, packing):
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packing]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("table.tsv" if delimiter == "\t" else "table.csv")
        path = path.with_name(path.name + packing)
        path.write_bytes(pack(delimited_text(table, delimiter).encode()))
        found = read_table(path, delimiter=delimiter)
    pd.testing.assert_frame_equal(found, expected(table), check_exact=True)


@given(table=tables(), cells_at_a_time=st.integers(1, 20))
def test_the_size_of_pieces_makes_no_difference(table, cells_at_a_time):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "CELLS_AT_A_TIME", cells_at_a_time)
        path = Path(folder) / "table.csv"
        path.write_text(delimited_text(table, ","), encoding="utf-8", newline="")
        found = read_table(path, delimiter=",")
    pd.testing.assert_frame_equal(found, expected(table), check_exact=True)


@given(table=tables(), format=st.sampled_from(["parquet", "feather"]), dictionary=st.booleans())
def test_column_files_are_read_back(table, format, dictionary):
    frame = expected(table) if dictionary else pd.DataFrame(expected(table).astype(object))
    content = pa.Table.from_pandas(frame) if dictionary else pa.table({name: pa.array(c) for name, c in table.items()})
    write = {"parquet": pyarrow.parquet.write_table, "feather": pyarrow.feather.write_feather}[format]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{format}"
        write(content, path)
        found = read_table(path)
    pd.testing.assert_frame_equal(found, expected(table), check_exact=True)


@given(table=tables(), library=st.sampled_from(["polars", "lazy", "pyarrow", "pandas", "objects"]))
def test_frames_are_read_back(table, library):
    frame = {
        "polars": pl.DataFrame,
        "lazy": pl.LazyFrame,
        "pyarrow": pa.table,
        "pandas": expected,
        "objects": lambda table: pd.DataFrame(table, dtype=object),
    }[library](table)
    pd.testing.assert_frame_equal(read_table(frame), expected(table), check_exact=True)


def write(folder: Path, content: str | bytes, name: str = "songs.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_unknown_cells(tmp_path):
    marks = ["", "?", *MISSING_VALUES]
    path = write(tmp_path, "a,b,c\n" + "".join(f"1,{mark}, {mark} \n" for mark in marks) + "2,3,x\n")
    table = read_table(path)
    assert table["a"].dtype == np.int64
    assert table["b"].dtype == "Int64"
    assert table["b"].isna().tolist() == [True] * len(marks) + [False]
    assert table["c"].cat.categories.tolist() == ["x"]
    assert table["c"].isna().sum() == len(marks)
    assert read_table(path, missing_values=["?"])["b"].isna().sum() == 3  # an empty cell is unknown in any case
    assert "None" in read_table(path, missing_values=["?"])["b"].cat.categories
    with pytest.raises(TypeError, match=r"`missing_values='\?'` is a string; give a list"):
        read_table(path, missing_values="?")


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
        (["2024-05-01", "2024-05-02"], "category"),
        (["true", "1"], "category"),
        (["yes", "no"], "category"),
    ],
)
@pytest.mark.parametrize("in_one_piece", [True, False])
def test_types_of_columns(cells, dtype, in_one_piece, tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CELLS_AT_A_TIME", 1000 if in_one_piece else 1)
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
    path = write(tmp_path, "a;b\n1,234;12,34\n999;1\n")
    for options, message in [
        ({"decimal": ""}, "`decimal=''` must be one sign"),
        ({"thousands": "12"}, "`thousands='12'` must be one sign"),
        ({"decimal": ",", "thousands": ","}, "they must differ"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_table(path, **options)


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\nhello, world\tone; two\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ('id,text\n1,"x;y;z"\n2,"p;q;r"\n', ","),
        ("id,text\n1,x;y\n2,p;q\n", ","),
        ("a,b;c,d;e\n1,2;3,4;5\n", ","),
        ("alone\n1\n2\n", ","),
        ("a;b\n1;2\n3\n4;5\n", ";"),
        ("", ","),
        ('"open', ","),
    ],
)
def test_the_delimiter_is_found(sample, delimiter):
    assert sniff_delimiter(sample) == delimiter


def test_what_stands_before_and_between_the_rows(tmp_path):
    content = "\ufeff\n\n a , b\r\n1, x\r\n\r\n   \r\n2,y\r\n\n"
    table = read_table(write(tmp_path, content))
    assert list(table.columns) == ["a", "b"]
    assert table["a"].tolist() == [1, 2]
    assert table["b"].tolist() == ["x", "y"]
    assert read_table(write(tmp_path, "a,b\r1,x\r2,y\r")).equals(table)
    assert read_table(write(tmp_path, 'a\n1\n""\n\n3\n'))["a"].isna().tolist() == [False, True, False]


def test_columns_without_a_name_are_numbered(tmp_path):
    path = write(tmp_path, ",b\n1,x\n2,y\n")  # as pandas writes its index
    assert list(read_table(path).columns) == ["column_0", "b"]
    table = read_table(path, header=False)
    assert list(table.columns) == ["column_0", "column_1"]
    assert table["column_1"].tolist() == ["b", "x", "y"]


def test_a_first_line_that_looks_like_data(tmp_path):
    for content in ("5.1,3.5,rose\n4.9,3,rose\n", "E1,?,x\nE2,3,y\n"):
        path = write(tmp_path, content)
        with pytest.raises(DataError, match=r"the first line looks like data.*header=False.*header=True") as refusal:
            read_table(path)
        assert refusal.value.line == 1
        assert len(read_table(path, header=False)) == 2
        assert len(read_table(path, header=True)) == 1
    assert list(read_table(write(tmp_path, "0,1,2\n5,6,7\n")).columns) == ["0", "1", "2"]  # as pandas names columns
    with pytest.raises(ValueError, match=r"`header='yes'` must be True, False or None"):
        read_table(path, header="yes")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "the file is empty"),
        ("\n \n", None, "the file is empty"),
        ("a,b\n", None, "a header line and no rows"),
        ("a,b\n1,2\n3\n", 3, "the row has 1 cell where there are 2 columns"),
        ('a,b\n"x\ny",2\n3,4,5\n', 4, "the row has 3 cells where there are 2 columns"),
        ("\n\na,b\n1,2,3\n", 4, "the row has 3 cells where there are 2 columns"),
        ("a,b,a\n1,2,3\n", 1, "the column 'a' occurs more than once.*header=False"),
        ('a,b\n1,2\n"3,4\n5,6\n', 3, "a quoted cell begins here and never ends"),
        ('a,b\n"1"x,2\n', 2, "a quoted cell goes on after its closing"),
        ("a,b\n1,2\n?,3\n-inf,2\n", 4, r"column 'a' holds '-inf', which is infinite .*drop=\['a'\]"),
        ("a,b\n1,2.5\n2,1e999\n3,inf\n", 3, "column 'b' holds '1e999', which is infinite or beyond the largest"),
        ("a,b\n1,2\n3,\0\n", 3, "there is a NUL byte.*utf-16"),
        ('a,b\n1,"' + "x" * 140_000 + '"\n', 2, "a cell has more than 131072 characters"),
    ],
)
def test_what_is_no_table(content, line, message, tmp_path):
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as refusal:
        read_table(path)
    assert (refusal.value.path, refusal.value.line) == (path, line)
    assert str(path) in str(refusal.value)


def test_encodings(tmp_path):
    path = write(tmp_path, "name,n\nMüller,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="encoding='latin-1'") as refusal:
        read_table(path)
    assert refusal.value.line == 2
    assert read_table(path, encoding="latin-1")["name"].tolist() == ["Müller"]
    path = write(tmp_path, "name,n\nMüller,1\n".encode("utf-16"))
    assert read_table(path, encoding="utf-16")["name"].tolist() == ["Müller"]
    with pytest.raises(DataError, match="encoding"):
        read_table(path)
    for encoding in ("klingon", "hex"):
        with pytest.raises(ValueError, match=f"`encoding='{encoding}'` is not a text encoding"):
            read_table(path, encoding=encoding)


@pytest.mark.parametrize("delimiter", ["", "ab", "\n", '"'])
def test_a_delimiter_that_is_none(delimiter, tmp_path):
    with pytest.raises(ValueError, match=r"must be one character, such as delimiter=';'"):
        read_table(write(tmp_path, "a,b\n1,2\n"), delimiter=delimiter)


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_column_files_that_are_none(format, tmp_path):
    path = write(tmp_path, "no such thing", f"a.{format}")
    with pytest.raises(DataError, match=rf"a.{format}: this is no {format.capitalize()} file"):
        read_table(path)
    with pytest.raises(DataError, match=r"b\.\w+: there is no such file\."):
        read_table(tmp_path / f"b.{format}")
    with pytest.raises(DataError, match="compressed inside; unpack this one"):
        read_table(tmp_path / f"a.{format}.gz")


def test_pyarrow_is_only_needed_for_column_files(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(tmp_path, "PAR1", "a.parquet")
    with pytest.raises(ImportError, match=r'Parquet files need pyarrow: pip install "montechain\[parquet\]"'):
        read_table(path)
    assert len(read_table(pl.DataFrame({"a": [1, None], "b": ["x", "y"]}))) == 2


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


DAY = datetime.date(2024, 5, 1)
MOMENT = datetime.datetime(2024, 5, 1, 12, 30, 0, 250)
ZONED = datetime.datetime(2024, 5, 1, 14, 30, 0, 250, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
DATES = {"day": [DAY, None], "moment": [MOMENT, None], "zoned": [ZONED, None]}


@pytest.mark.parametrize("library", ["polars", "pyarrow", "objects", "arrow in pandas", "parquet", "feather"])
def test_dates_of_every_library(library, tmp_path):
    table = pa.table(DATES)
    if library == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "dates.parquet")
    elif library == "feather":
        pyarrow.feather.write_feather(table, tmp_path / "dates.feather")
    source = {
        "polars": lambda: pl.DataFrame(DATES),
        "pyarrow": lambda: table,
        "objects": lambda: pd.DataFrame(DATES, dtype=object),
        "arrow in pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
    }.get(library, lambda: tmp_path / f"dates.{library}")()
    found = read_table(source)
    for name, zone in (("day", None), ("moment", None), ("zoned", "UTC")):
        assert pd.api.types.is_datetime64_any_dtype(found[name].dtype), name
        known = pd.Timestamp(DATES[name][0]) if zone is None else pd.Timestamp(ZONED)
        assert found[name][0] == known
        assert found[name].isna().tolist() == [False, True]


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


def test_what_is_no_source():
    with pytest.raises(TypeError, match="`source` is a list; it must be the path of a file or a data frame"):
        read_table([1, 2])
    with pytest.raises(TypeError, match=r"`text='note'` is a string; give a list of names, as in text=\['note'\]"):
        read_table(pd.DataFrame({"note": ["x"]}), text="note")


@pytest.mark.real_data
def test_bridges_with_and_without_a_header(data_folder):
    folder = data_folder / "bridges"
    first = read_table(folder / "bridges.data.version1", format="csv")
    second = read_table(folder / "bridges.data.version2", format="csv", header=False)
    names = [
        "IDENTIF",
        "RIVER",
        "LOCATION",
        "ERECTED",
        "PURPOSE",
        "LENGTH",
        "LANES",
        "CLEAR-G",
        "T-OR-D",
        "MATERIAL",
        "SPAN",
        "REL-L",
        "TYPE",
    ]
    assert list(first.columns) == names
    assert first.shape == second.shape == (108, 13)
    assert (first["ERECTED"].dtype, first["LENGTH"].dtype, first["LANES"].dtype) == (np.int64, "Int64", "Int64")
    unknown = {"LOCATION": 1, "LENGTH": 27, "LANES": 16, "CLEAR-G": 2, "T-OR-D": 6, "MATERIAL": 2, "SPAN": 16}
    assert first.isna().sum()[lambda count: count > 0].to_dict() == {**unknown, "REL-L": 5, "TYPE": 2}
    second.columns = names
    same = [name for name in names if name not in ("ERECTED", "LENGTH")]  # version 2 has them in classes
    pd.testing.assert_frame_equal(first[same], second[same])
    assert second["ERECTED"].cat.categories.tolist() == ["CRAFTS", "EMERGING", "MATURE", "MODERN"]
    with pytest.raises(DataError, match="header=False"):
        read_table(folder / "bridges.data.version2", format="csv")
    with pytest.raises(DataError, match=r"'.version2' tells no format.*format=\"csv\""):
        read_table(folder / "bridges.data.version2")
    data = table_dataset(first, targets=-5, drop=["IDENTIF"], name="bridges")
    assert data.label_names == names[-5:]
    assert data.X.shape == (108, 7)
    assert [len(classes) for classes in data.classes] == [2, 3, 3, 3, 7]  # with NIL, which one bridge has
