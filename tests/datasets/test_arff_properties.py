"""The ARFF reader on random tables: round trips, its two ways of reading, and what liac-arff writes."""

from __future__ import annotations

import math

import arff as liac
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.datasets.arff import Attribute, DenseRows, SparseRows, read_arff
from montechain.datasets.arff_syntax import cursors
from tests.datasets.arff_text import cells, dense_rows, header, nasty_text, sparse_rows

numbers = st.floats(allow_nan=False, allow_infinity=False)
declared_values = st.lists(nasty_text, min_size=1, max_size=4, unique=True)
kinds = st.one_of(st.sampled_from(["numeric", "string", "date"]), declared_values)
attribute_lists = st.lists(
    st.tuples(nasty_text, kinds), min_size=1, max_size=5, unique_by=lambda attribute: attribute[0]
)


def values_of(kind):
    if kind == "numeric":
        return numbers
    return nasty_text if isinstance(kind, str) else st.sampled_from(kind)


@given(st.data(), attribute_lists, nasty_text)
def test_dense_round_trip(tmp_path_factory, data, attributes, relation):
    row = st.tuples(*[st.one_of(st.none(), values_of(kind)) for _, kind in attributes])
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    path = tmp_path_factory.mktemp("dense") / "table.arff"
    path.write_bytes(
        (header(attributes, relation) + dense_rows(rows, data.draw(st.sampled_from([",", ", ", "\t"])))).encode()
    )
    table = read_arff(path)
    assert table.relation == relation
    assert [a.name for a in table.attributes] == [name for name, _ in attributes]
    assert cells(table) == [list(row) for row in rows]


@given(st.data(), attribute_lists)
def test_sparse_round_trip(tmp_path_factory, data, attributes):
    cell = st.integers(0, len(attributes) - 1).flatmap(
        lambda j: st.tuples(st.just(j), st.one_of(st.none(), values_of(attributes[j][1])))
    )
    rows = data.draw(st.lists(st.lists(cell, max_size=6).map(dict), min_size=1, max_size=6))
    path = tmp_path_factory.mktemp("sparse") / "table.arff"
    path.write_bytes((header(attributes) + sparse_rows(rows)).encode())
    table = read_arff(path)
    found = table.data.toarray()
    for i, row in enumerate(rows):
        for j, attribute in enumerate(table.attributes):
            value = found[i, j]
            expected = row.get(j, 0.0 if attribute.kind == "numeric" else attribute.categories[0])
            if expected is None:
                assert math.isnan(value)
            else:
                assert (value if attribute.kind == "numeric" else attribute.categories[int(value)]) == expected


# Cells and whole rows, some of them wrong, that both ways of reading must understand alike.
dense_pieces = st.sampled_from(
    (
        *(
            "1",
            "-2.5",
            "?",
            "a",
            "b",
            "nan",
            "inf",
            "1_0",
            "1e999",
            "",
            " ",
            ",",
            ", ",
            "\t",
            "\n",
            "\n\n",
            "é",
            "\x0b",
        ),
        *("\x85", "\x1f", "true", "007", "18446744073709551616", "NA", '"', "\r"),
    )
)
sparse_pieces = st.sampled_from(
    (
        *("{", "}", "{}\n", "{0 1}\n", "{1 a}\n", "{0 2.5,1 b, 2 x}\n", "0 1", "1 a", ",", ", ", " ", "\t", "\n"),
        *("?", "1_0", "+1", "2 é"),
    )
)
ATTRIBUTES = [Attribute("x", "numeric"), Attribute("c", "nominal", ("a", "b", "1", "é")), Attribute("t", "string")]


@settings(max_examples=300)
@given(
    st.lists(dense_pieces, max_size=12).map("".join)
    | st.lists(st.tuples(*[dense_pieces] * 3).map(",".join), max_size=3).map("\n".join),
    st.integers(1, 3),
)
def test_fast_and_careful_agree_dense(block, width):
    fast, careful = DenseRows(ATTRIBUTES[:width]), DenseRows(ATTRIBUTES[:width])
    found = fast.read_fast(block + "\n")
    if found is not None:
        pd.testing.assert_frame_equal(found, careful.read_carefully(cursors(block, "f", 1)))


@settings(max_examples=300)
@given(st.lists(sparse_pieces, max_size=10).map("".join), st.integers(1, 3))
def test_fast_and_careful_agree_sparse(block, width):
    for attributes in (ATTRIBUTES[:width], ATTRIBUTES[1:], ATTRIBUTES[1:2]):
        fast, careful = SparseRows(attributes), SparseRows(attributes)
        found = fast.read_fast(block + "\n")
        if found is not None:
            expected = careful.read_carefully(cursors(block, "f", 1))
            assert fast.attributes == careful.attributes
            np.testing.assert_array_equal(found.toarray(), expected.toarray())


# liac-arff writes braces and "?" without quotes, and an empty text as "?"; it reads names without escapes.
liac_text = st.text(st.sampled_from("'\"\\%,@ \t\nab0é日;<"), min_size=1, max_size=6)
liac_attributes = st.lists(
    st.one_of(st.just("NUMERIC"), st.just("STRING"), st.lists(liac_text, min_size=1, max_size=3, unique=True)),
    min_size=1,
    max_size=4,
)


@given(st.data(), liac_attributes)
def test_reads_what_liac_arff_writes(tmp_path_factory, data, kinds):
    row = st.tuples(
        *[
            st.none() | (numbers if kind == "NUMERIC" else liac_text if kind == "STRING" else st.sampled_from(kind))
            for kind in kinds
        ]
    )
    rows = [list(r) for r in data.draw(st.lists(row, min_size=1, max_size=5))]
    text = liac.dumps({"relation": "r", "attributes": [(f"a{j}", k) for j, k in enumerate(kinds)], "data": rows})
    path = tmp_path_factory.mktemp("liac") / "table.arff"
    path.write_bytes(text.encode())
    assert cells(read_arff(path)) == rows


def test_plain_rows_are_read_the_fast_way():
    """The careful way takes a hundred times as long, and nothing else would tell."""
    dense = DenseRows([*ATTRIBUTES, Attribute("y", "nominal", ("0", "1"))])
    assert dense.read_fast("1.5,a,some,0\n?, b,?,1 \n\n-2e3,1,é,?\n").shape == (3, 4)
    assert SparseRows(ATTRIBUTES[:2]).read_fast("{0 1.5, 1 a}\n{}\n").shape == (2, 2)
