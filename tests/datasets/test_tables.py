"""Tables: what each format gives, and what is refused."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.datasets import delimited
from montechain.datasets.delimited import sniff_delimiter
from montechain.datasets.files import SUFFIXES
from montechain.datasets.reading import read_dataset
from montechain.datasets.selection import table_dataset
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


PIECES = [
    *(
        "1",
        "-2.5",
        "007",
        "?",
        "NA",
        "",
        " ",
        "  ",
        "a",
        "true",
        "FALSE",
        "inf",
        "1e999",
        "nan",
        "1_0",
        "+.5",
        "1e3",
        "0x1",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "12345678901234567890",
        "-9223372036854775809",
        "00.5",
        "-01",
        "1.0",
    ),
    *('"', '""', '"a,b"', '"a\nb"', '"1"', "'", "1,5", "2024-05-31", "31.12.2024", "é", "\xa0", "\r", "1 2", " x "),
]


@settings(max_examples=400)
@given(
    rows=st.integers(2, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from(PIECES), min_size=width, max_size=width).map(",".join) | st.sampled_from(PIECES),
            min_size=1,
            max_size=6,
        ).map(lambda rows: [",".join(f"c{j}" for j in range(width)), *rows])
    ),
    decimal=st.sampled_from(".,"),
)
def test_the_fast_and_the_careful_way_agree(rows, decimal):
    """What pandas reads in one go, Python's csv module and our own parsing of every cell read alike."""
    outcomes = []
    for ways in ("fast", "careful"):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if ways == "careful":
                patch.setattr(delimited._Source, "read_fast", lambda self, names, typer, as_written: None)
            path = Path(folder) / "table.csv"
            path.write_bytes("\n".join(rows).encode())
            try:
                outcomes.append(read_table(path, delimiter=",", decimal=decimal))
            except DataError as error:
                outcomes.append((error.line, str(error).removeprefix(str(path))))
    if isinstance(outcomes[0], tuple):
        assert outcomes[0] == outcomes[1]
    else:
        pd.testing.assert_frame_equal(*outcomes, check_exact=True)
        assert outcomes[0].attrs == outcomes[1].attrs


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
        (
            "a,b\n1,2.5\n2,1e999\n3,inf\n",
            3,
            "column 'b' holds '1e999', which is infinite or larger than the largest float",
        ),
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


@pytest.mark.parametrize("format", ["parquet", "feather", "excel"])
def test_column_files_that_are_none(format, tmp_path):
    suffix = SUFFIXES[format][0]
    path = write(tmp_path, "no such thing", f"a{suffix}")
    with pytest.raises(DataError, match=rf"a{suffix}: this is not a readable {format.capitalize()} file"):
        read_table(path)
    with pytest.raises(DataError, match=r"b\.\w+: there is no such file\."):
        read_table(tmp_path / f"b{suffix}")
    with pytest.raises(DataError, match="already compressed; unpack this one first"):
        read_table(tmp_path / f"a{suffix}.gz")


@pytest.mark.parametrize(
    ("file", "library", "extra"),
    [("a.parquet", "pyarrow", "parquet"), ("a.feather", "pyarrow", "parquet"), ("a.xlsx", "openpyxl", "excel")],
)
def test_libraries_are_only_needed_for_their_files(file, library, extra, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    path = write(tmp_path, "PAR1", file)
    with pytest.raises(ImportError, match=rf'files need {library}: pip install "montechain\[{extra}\]"'):
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
    with pytest.raises(DataError, match=r"'.version2' is not a known format.*format=\"csv\""):
        read_table(folder / "bridges.data.version2")
    data = table_dataset(first, targets=-5, drop=["IDENTIF"], name="bridges")
    assert data.label_names == names[-5:]
    assert data.X.shape == (108, 7)
    assert [len(classes) for classes in data.classes] == [2, 3, 3, 3, 7]  # with NIL, which one bridge has


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


def test_identifiers_and_rare_words_are_named(tmp_path):
    rows = range(1000)
    frame = pd.DataFrame(
        {
            "row": rows,
            "key": [f"k{row}" for row in rows],
            "zip": [f"z{row % 300}" for row in rows],
            "colour": [f"c{row % 9}" for row in rows],
            "size": [row * row % 997 for row in rows],
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert read_table(tmp_path / "a.csv").attrs["notes"] == [
        "column 'row' counts the rows. Leave it out with drop=['row'] if it is an identifier.",
        "column 'key' looks like an identifier: each of its 1000 values occurs once. Leave it out with drop=['key'], "
        "or name it as text with text=['key'].",
        "column 'zip' has 300 different words in 1000 rows.",
    ]
    assert read_dataset(tmp_path / "a.csv", targets=["colour"]).notes == []  # `TableEncoder` says it


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
        assert [str(dtype) for dtype in found.dtypes] == [
            *("category", "Int64", "float64", "bool", "datetime64[us]", "category")
        ]
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


def test_reading_costs_little_more_than_pandas(tmp_path):
    """The checks and the types of 100,000 rows; generous, since tests share their machine."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=50_000).round(6) for j in range(8)})
    frame = frame.assign(n=rng.integers(1000, size=50_000), colour=rng.choice(["red", "green", "blue"], 50_000))
    path = tmp_path / "large.csv"
    frame.to_csv(path, index=False)

    def seconds(read):
        times = []
        for _ in range(5):
            start = time.process_time()
            read(path)
            times.append(time.process_time() - start)
        return min(times)

    assert seconds(read_table) < 3 * seconds(pd.read_csv)
