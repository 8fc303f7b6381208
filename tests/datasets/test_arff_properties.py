"""The ARFF reader on random tables: round trips, plain and odd rows, and what liac-arff writes."""

import math

import arff as liac
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.datasets.arff import read_arff
from montechain.errors import DataError
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


@settings(max_examples=100)
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


@settings(max_examples=100)
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
            is_nominal = attribute.kind == "nominal"
            expected = row.get(j, attribute.categories[0] if is_nominal else 0.0)
            if expected is None:
                assert math.isnan(value)
            elif is_nominal:
                assert attribute.categories[int(value)] == expected
            else:
                assert value == (expected if attribute.kind == "numeric" else float(j in row))


# Cells and whole rows, some of them wrong, which mean the same with and without a comment after them.
dense_pieces = st.sampled_from(
    [
        *["1", "-2.5", "?", "a", "b", "nan", "inf", "1_0", "1e999", "true", "007", "18446744073709551616", "NA", "é"],
        *("", " ", ",", ", ", "\t", "\x0b", "\x85", "\x1f"),
    ]
)
sparse_pieces = st.sampled_from(
    ["{", "}", "{}", "{0 1}", "{1 a}", "{0 2.5,1 b, 2 x}", "0 1", "1 a", ",", ", ", " ", "\t", "?", "1_0", "+1", "2 é"]
)
HEADER = "@attribute x numeric\n@attribute c {a, b, 1, é}\n@attribute t string\n@data\n"


@settings(max_examples=200)
@given(
    st.lists(dense_pieces, max_size=12).map("".join)
    | st.lists(st.tuples(*[dense_pieces] * 3).map(",".join), max_size=3).map("\n".join)
    | st.lists(sparse_pieces, max_size=10).map("".join)
)
def test_plain_rows_are_read_as_those_with_a_comment_are(tmp_path_factory, rows):
    """Rows in which nothing is odd are split in a quicker way than others, with the same outcome."""
    path = tmp_path_factory.mktemp("rows") / "table.arff"
    outcomes = []
    for text in (rows, "\n".join(f"{line} %" if line.strip(" \t") else line for line in rows.split("\n"))):
        path.write_bytes((HEADER + text).encode())
        try:
            table = read_arff(path)
            data = cells(table) if isinstance(table.data, pd.DataFrame) else table.data.toarray().tolist()
            outcomes.append((table.attributes, repr(data)))
        except DataError as error:
            outcomes.append(error.line)
    assert outcomes[0] == outcomes[1]


# liac-arff writes braces and "?" without quotes, and an empty text as "?"; it reads names without escapes.
liac_text = st.text(st.sampled_from("'\"\\%,@ \t\nab0é日;<"), min_size=1, max_size=6)
liac_attributes = st.lists(
    st.one_of(st.just("NUMERIC"), st.just("STRING"), st.lists(liac_text, min_size=1, max_size=3, unique=True)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=100)
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
