"""The ARFF reader: every rule of the format, and what it refuses."""

import bz2
import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from montechain.datasets.arff import Attribute, read_arff
from montechain.errors import DataError
from tests.datasets.arff_text import cells

NUMERIC = "@relation r\n@attribute x numeric\n@attribute y numeric\n@data\n"
SPARSE = "@attribute x numeric\n@attribute c {red, blue, tan}\n@attribute b {0,1}\n@data\n"
MIXED = "@relation r\n@attribute x numeric\n@attribute c {red, blue}\n@attribute t string\n@data\n"


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        path = tmp_path / "table.arff"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_arff(path, **options)

    return read_text


class TestHeader:
    def test_kinds_in_any_case(self, read):
        table = read(
            "% a comment\n\n  @RELATION 'my data'  % another\n@Attribute\tx\tREAL\n@attribute y Integer\n"
            "@attribute z NUMERIC % measured\n@attribute s String\n@attribute d date 'yyyy-MM-dd'\n@attribute e DATE\n"
            "@attribute c {a, 'b c' ,\"d,e\"}\n@DATA % rows\n1,2,3,text,2020-01-01,'2020-01-01T00:00:00','b c'\n"
        )
        assert table.relation == "my data"
        assert [(a.name, a.kind) for a in table.attributes] == [
            ("x", "numeric"),
            ("y", "numeric"),
            ("z", "numeric"),
            ("s", "string"),
            ("d", "date"),
            ("e", "date"),
            ("c", "nominal"),
        ]
        assert table.attributes[-1].categories == ("a", "b c", "d,e")
        assert cells(table) == [[1.0, 2.0, 3.0, "text", "2020-01-01", "2020-01-01T00:00:00", "b c"]]

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ('@attribute "a\'b" numeric', Attribute("a'b", "numeric")),
            (r"@attribute 'a\'b\\c\%\t\u00e9' numeric", Attribute("a'b\\c%\té", "numeric")),
            ("@attribute it's numeric", Attribute("it's", "numeric")),
            ("@attribute 50% numeric", Attribute("50%", "numeric")),
            ("@attribute '' numeric", Attribute("", "numeric")),
            ("@attribute \\n numeric [0, 1]", Attribute("\\n", "numeric")),
            ("@attribute c { a b }", Attribute("c", "nominal", ("a", "b"))),
            ("@attribute c {a\t,\tb}", Attribute("c", "nominal", ("a", "b"))),
            ("@attribute c {'?', ''}", Attribute("c", "nominal", ("?", ""))),
            ("@attribute c {<=5, >5, 50%}", Attribute("c", "nominal", ("<=5", ">5", "50%"))),
            (r"@attribute c {'\'', '\\', '}'}", Attribute("c", "nominal", ("'", "\\", "}"))),
            ("@relation two words", "two words"),
            ("@relation 'songs: -C 6 -R'", "songs: -C 6 -R"),
            ("@relation", ""),
        ],
    )
    def test_names_declared_values_and_relations(self, read, line, expected):
        if isinstance(expected, str):
            assert read(f"{line}\n@attribute x numeric\n@data\n1\n").relation == expected
        else:
            table = read(f"{line}\n@data\n?\n")
            assert table.attributes == [expected]
            assert table.data.isna().all(axis=None)


class TestDense:
    @pytest.mark.parametrize(
        "rows",
        [
            "1.5,blue,one\n-2e3,red,two\n",
            "1.5, blue, one\n  -2e3 ,red\t,\ttwo  \n",
            "1.5\tblue\tone\n-2e3\tred\ttwo\n",
            "1.5 blue one\n-2e3 red two\n",
            "\n% a comment\n1.5,blue,one % and here\n\n-2e3,'red',\"two\"",
            "1.5,blue,one\r\n-2e3,red,two\r\n",
            "1.5,blue,one\r-2e3,red,two\r",
        ],
    )
    def test_one_table_in_many_spellings(self, read, rows):
        table = read(MIXED + rows)
        assert cells(table) == [[1.5, "blue", "one"], [-2000.0, "red", "two"]]
        assert table.data["x"].dtype == np.float64
        assert table.data["c"].cat.categories.tolist() == ["red", "blue"]
        assert table.data["t"].dtype == pd.Series(["a"], dtype="str").dtype

    def test_numbers(self, read):
        for text in ("+1", "-1.", ".5", "1E-5", "1e+05", "00012", "1" * 300, "5e-324"):
            assert cells(read(NUMERIC + f"{text},'{text}'\n")) == [[float(text)] * 2]
        assert read(NUMERIC + "nan,-NaN\n'nan',-NaN\n").data.isna().all(axis=None)

    def test_a_quote_within_a_word_is_an_apostrophe(self, read):
        assert cells(read(MIXED + "1,red,it's\n")) == [[1.0, "red", "it's"]]

    def test_undeclared_value(self, read):
        with pytest.raises(DataError, match=r"line 7: 'bleu' is not a declared value of 'c'; did you mean"):
            read(MIXED + "1,red,a\n1,bleu,a\n")
        with pytest.raises(DataError, match=r"line 6: '' is not a declared value"):
            read(MIXED + "1,'',a\n")
        assert cells(read("@attribute c {'', a}\n@data\n''\na\n")) == [[""], ["a"]]


class TestSparse:
    @pytest.mark.parametrize(
        "rows",
        [
            "{0 1.5,1 blue}\n{}\n{1 tan,2 1}\n",
            "{0 1.5, 1 blue}\n{ }\n{ 1\ttan , 2 1 }  \n",
            "% a comment\n{0 1.5,1 'blue'}\n\n{}\n{1 tan,2 1} % another",
            "{0 1.5,1 blue, 2 0}\r\n{0 0, 1 red}\r\n{1 tan,2 1}\r\n",
        ],
    )
    def test_one_table_in_many_spellings(self, read, rows):
        table = read(SPARSE + rows)
        assert isinstance(table.data, sp.csr_array)
        assert table.data.toarray().tolist() == [[1.5, 1, 0], [0, 0, 0], [0, 2, 1]]
        assert table.data.nnz == 4
        assert table.data.has_sorted_indices

    def test_memory_follows_the_non_zeros(self, read):
        names = "".join(f"@attribute a{i} numeric\n" for i in range(20000))
        table = read(names + "@data\n" + "{19999 1}\n" * 5000)  # a dense table would take 800 MB
        assert table.data.shape == (5000, 20000)
        assert table.data.nnz == 5000


WRONG = ("", "x", "x numeric y", "x {a,b", "x {a,b} c", "x {a,,b}", "x {}", "x {'a'b}", "'x numeric", "a,b real")


HEADERS = [
    ("", None, "empty"),
    ("@relation r\n@attribute x numeric\n", None, "without a line @data"),
    ("@relation r\n@data\n1\n", 2, "without an @attribute"),
    ("@relation r\n@relation s\n", 2, "second @relation"),
    ("@relation 'r\n", 1, "not closed"),
    ("@atribute x numeric\n", 1, "'@atribute' is not @relation"),
    ("x,y\n1,2\n", 1, "'x,y' is not @relation"),
    ("@attribute x numeric\n\n@attribute x numeric\n", 3, "'x' is declared twice"),
    ("@attribute x numerik\n", 1, "unknown type 'numerik'"),
    ("@attribute x relational\n", 1, "relational"),
    ("@attribute x numeric {0.5}\n", 1, "'{0.5}' follows the type.*Weights and relational"),
    *[(f"@attribute {wrong}\n", 1, "@attribute name type.*Quote names and values") for wrong in WRONG],
    ("@attribute x {a,a}\n", 1, "twice"),
    ("@attribute x numeric\n@data 1,2\n", 2, "after @data"),
    ("@attribute x numeric\n@data\n\n% none\n \n", 2, "no rows follow"),
]
UNREADABLE = ("1,'2',", "1,'2", "1,'2'3", "1,2,{5}", "1}2", "{0 1}", "1,%2")
DENSE_ROWS = [
    ("1", "has 1 cells, but there are 2"),
    ("New York,2", "3 cells.*Quote"),
    ("1,,2", "cell 2 is empty"),
    ("1,", "cell 2 is empty"),
    (",1", "cell 1 is empty"),
    ("1,x", "'x' is not a finite number.*'y'"),
    ("1,1_000", "'1_000' is not a finite number"),
    ("1,١", "is not a finite number"),
    ("1,0x1p3", "is not a finite number"),
    ("1,1\x0b", "is not a finite number"),
    ("1,-Infinity", "'-Infinity' is not a finite number"),
    ("1,1e999", "'1e999' is not a finite number"),
    ("1," + "1" * 5000, "is not a finite number"),
    *[(row, "the row cannot be read: close quotes, .*weights are not supported") for row in UNREADABLE],
]
INDICES = ("{3 1}", "{" + "9" * 5000 + " 1}", "{-1 1}", "{1_0 1}", "{'1' blue}", "{٠ 1}")
MALFORMED = (
    *("{0 1 2 1}", "{0 1, 2}", "{0}", "{0 1,}", "{,0 1}", "{0,1}", "{0 1", "{", "{0 1}, {5}", "{0 1} {5}", "{0 1} x"),
    *("1,red,0", "{{0 1}}"),
)
SPARSE_ROWS = [
    *[(row, "is not the index of an attribute") for row in INDICES],
    *[(row, r"is not of the form \{index value, …\}; weights of rows are not supported") for row in MALFORMED],
    ("{2 1, 0 1}", "the indices of a row must increase"),
    ("{0 1, 0 1}", "the indices of a row must increase"),
    ("{1 green}", "'green' is not a declared value of 'c'"),
    ("{0 one}", "'one' is not a finite number"),
    ("{0 '1}", "is not of the form"),
]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        *HEADERS,
        *((f"{NUMERIC}1,2\n{row}\n3,4\n", 6, message) for row, message in DENSE_ROWS),
        *((f"{SPARSE}{{0 1}}\n{{2 1}}\n{row}\n{{}}\n", 7, message) for row, message in SPARSE_ROWS),
    ],
)
def test_refused(read, tmp_path, text, line, message):
    with pytest.raises(DataError, match=message) as error:
        read(text)
    assert error.value.line == line
    assert str(tmp_path / "table.arff") in str(error.value)


class TestBytes:
    def test_compressed_by_content_not_name(self, read):
        expected = cells(read(NUMERIC + "1,2\n"))
        assert cells(read(gzip.compress((NUMERIC + "1,2\n").encode()))) == expected
        assert cells(read(bz2.compress((NUMERIC + "1,2\n").encode()))) == expected

    @pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
    def test_cut_off_or_damaged(self, read, compress):
        rng = np.random.default_rng(0)
        rows = "".join(f"{a},{b}\n" for a, b in rng.integers(10**9, size=(2000, 2)))
        packed = compress((NUMERIC + rows).encode())
        with pytest.raises(DataError, match="cut off"):
            read(packed[: len(packed) // 2])
        damaged = bytearray(packed)
        damaged[len(packed) // 2] ^= 0xFF
        with pytest.raises(DataError, match=r"damaged|line \d+"):
            read(bytes(damaged))

    def test_open_quotes_and_long_digits_take_no_time(self, read):
        # Each of these is the worst case of a backtracking regular expression.
        for row in ("'" + "\\'" * 10**5, "'" + "a" * 10**6, "1" * 10**6 + "x", "1,2" + " " * 10**6 + "3,", "{" * 10**5):
            with pytest.raises(DataError):
                read(NUMERIC + row + "\n")
        for values in ("'a'," * 10**5, "{'" + "a,'" * 10**5, "{" + "a " * 10**5):
            with pytest.raises(DataError):
                read(f"@attribute x {values}\n@data\n1\n")
