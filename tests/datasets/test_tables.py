"""Tables: what each format gives, and what is refused."""

import bz2
import csv
import gzip
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.datasets.files import SUFFIXES
from montechain.datasets.reading import read_dataset
from montechain.datasets.tables import MISSING_VALUES, sniff_delimiter
from montechain.errors import DataError


def read_table(source, **options):
    return read_dataset(source, targets=[], **options).X


# Cells that are nominal in any format: no number, truth value or mark, and without blanks at the ends.
WORDS = st.text(alphabet="abcß,;|\"\t\n '#%", min_size=1, max_size=8).map(lambda text: f"x{text}x")
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "whole": st.integers(-(2**53), 2**53),
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
            cells[0] = 0.5 if cells[0] is None or cells[0].is_integer() else cells[0]  # or they would be integers
        table[f"{kind} {position}"] = cells
    return table


def expected(table: dict[str, list[Any]]) -> pd.DataFrame:
    """The frame that every format must give."""
    columns: dict[str, Any] = {}
    for name, cells in table.items():
        kind = name.split()[0]
        if kind == "word":
            columns[name] = pd.Categorical(cells, categories=sorted(set(cells) - {None}))
        else:
            complete = {"whole": np.int64, "real": np.float64, "truth": bool}[kind]
            columns[name] = np.array(cells, dtype=np.float64 if None in cells else complete)
    return pd.DataFrame(columns)


def delimited_text(table: dict[str, list[Any]], delimiter: str) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return stream.getvalue()


@settings(max_examples=100)
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
    *("1", "-2.5", "007", "?", "NA", "", " ", "  ", "a", "true", "FALSE", "inf", "1e999", "nan", "1_0", "+.5", "1e3"),
    *("9223372036854775807", "9223372036854775808", "12345678901234567890", "-9223372036854775809", "00.5", "-01"),
    *('"', '""', '"a,b"', '"x""y"', '"007"', '"-01"', '" 2"', '"a\nb"', '"1"', "'", "1,5", "2024-05-31", "31.12.2024"),
    *("é", "\xa0", "\r", "1 2", " x ", "0x1", "1.0"),
]


def unreadable(*arguments, **options):
    raise pd.errors.ParserError


@settings(max_examples=200)
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
def test_what_pandas_reads_is_what_the_csv_module_reads(rows, decimal):
    outcomes = []
    for only_words in (False, True):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if only_words:
                patch.setattr(pd, "read_csv", unreadable)
            path = Path(folder) / "table.csv"
            path.write_bytes("\n".join(rows).encode())
            try:
                outcomes.append(read_dataset(path, targets=[], delimiter=",", decimal=decimal))
            except DataError as error:
                outcomes.append((error.line, str(error).removeprefix(str(path))))
    if isinstance(outcomes[0], tuple):
        assert outcomes[0] == outcomes[1]
    else:
        pd.testing.assert_frame_equal(outcomes[0].X, outcomes[1].X, check_exact=True)
        assert outcomes[0].notes == outcomes[1].notes


@settings(max_examples=100)
@given(table=tables(), format=st.sampled_from(["parquet", "feather"]))
def test_column_files_are_frames(table, format):
    frame = expected(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{format}"
        getattr(frame, f"to_{format}")(path)
        found = read_table(path)
    pd.testing.assert_frame_equal(found, frame, check_exact=True)


def write(folder: Path, content: str | bytes, name: str = "songs.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_unknown_cells(tmp_path):
    marks = ["", "?", *MISSING_VALUES]
    path = write(tmp_path, "a,b,c\n" + "".join(f"1,{mark}, {mark} \n" for mark in marks) + "2,3,x\n")
    table = read_table(path)
    assert table["a"].dtype == np.int64
    assert table["b"].isna().tolist() == [True] * len(marks) + [False]
    assert table["c"].cat.categories.tolist() == ["x"]
    assert table["c"].isna().sum() == len(marks)
    assert read_table(path, missing_values=["?"])["b"].isna().sum() == 3  # an empty cell is unknown in any case
    assert "None" in read_table(path, missing_values=["?"])["b"].cat.categories
    with pytest.raises(TypeError, match=r"`missing_values='\?'` is a string; give a list"):
        read_table(path, missing_values="?")


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\nhello, world\tone; two\n", "\t"),
        ('id,text\n1,"x;y;z"\n2,"p;q;r"\n', ","),
        ("alone\n1\n2\n", ","),
        ("a;b\n1;2\n3\n4;5\n", ";"),
        ("", ","),
        ('"open', ","),
    ],
)
def test_the_delimiter_is_found(sample, delimiter):
    assert sniff_delimiter(sample)[0] == delimiter


def test_a_wrong_delimiter_is_refused_unless_the_table_may_have_one_column(tmp_path):
    path = write(tmp_path, "a,b\n1,x\n2,y\n")
    with pytest.raises(DataError, match="the first line has no ';', but the first lines can all be split by ',': use "):
        read_table(path, delimiter=";")
    path = write(tmp_path, "remarks, if any\nlate\ntoo late\n")
    assert list(read_table(path, delimiter=";")) == ["remarks, if any"]


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
    (_, note) = read_dataset(write(tmp_path, "2024-05-01,7,x\n2024-05-02,8,y\n"), targets=[]).notes[::-1]
    assert note.startswith("the first line, with '2024-05-01', is taken for the names of the columns. If")
    assert list(read_table(write(tmp_path, "0,1,2\n5,6,7\n")).columns) == ["0", "1", "2"]  # as pandas names columns
    for delimiter in ("ab", '"'):
        with pytest.raises(ValueError, match="must be one character, such as delimiter=';'"):
            read_table(path, delimiter=delimiter)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "the table is empty"),
        ("\n \n", None, "the table is empty"),
        ("a,b\n", None, "a header line and no rows"),
        ("a,b\n1,2\n3\n", 3, "the row has 1 cell where there are 2 columns"),
        ('\n\na,b\n"x\ny",2\n3,4,5\n', 6, "the row has 3 cells where there are 2 columns"),
        ("a,b,a\n1,2,3\n", 1, "the column 'a' occurs more than once.*header=False"),
        ('a,b\n1,2\n"3,4\n5,6\n', 3, "the row that begins here cannot be read: unexpected end of data"),
        ('a,b\n"1"x,2\n', 2, "cannot be read: ',' expected after"),
        ("a,b\n1,2\n3,\0\n", 3, "there is a NUL byte.*utf-16"),
        ('a,b\n\n1,"' + "x" * 140_000 + '"\n', 3, "larger than field limit"),
    ],
)
def test_text_that_is_not_a_table_is_refused(content, line, message, tmp_path):
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as refusal:
        read_table(path)
    assert (refusal.value.path, refusal.value.line) == (path, line)
    assert str(path) in str(refusal.value)


def test_encodings_other_than_utf_8_must_be_named(tmp_path):
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


@pytest.mark.parametrize("format", ["parquet", "feather", "excel"])
def test_files_that_are_not_of_the_format_that_they_name_are_refused(format, tmp_path):
    suffix = SUFFIXES[format][0]
    path = write(tmp_path, "no such thing", f"a{suffix}")
    with pytest.raises(DataError, match=rf"a{suffix}: this is not a readable {format.capitalize()} file"):
        read_table(path)


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
