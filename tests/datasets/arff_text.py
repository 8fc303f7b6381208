"""ARFF for tests: write files in the plainest way, with quotes around anything unusual, and compare cells."""

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "%": "\\%", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

nasty_text = st.sampled_from(["?", ""]) | st.text(
    st.one_of(
        st.sampled_from("'\"\\%{},?@ \t\n\r\x00\x0b\x0c\x1c\x85\u2028é日0123456789ab_-."),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=8,
)


def quoted(text: str) -> str:
    return "'" + "".join(ESCAPES.get(character, character) for character in text) + "'"


def cell_text(value: Any) -> str:
    if value is None:
        return "?"
    return repr(value) if isinstance(value, float) else quoted(value)


def header(attributes: Iterable[tuple[str, Any]], relation: str = "r") -> str:
    """Attributes are (name, type), the type a word or a list of values."""
    lines = [f"@relation {quoted(relation)}"]
    for name, kind in attributes:
        declared = kind if isinstance(kind, str) else "{" + ",".join(map(quoted, kind)) + "}"
        lines.append(f"@attribute {quoted(name)} {declared}")
    return "\n".join([*lines, "@data", ""])


def dense_rows(rows: Iterable[Sequence[Any]], separator: str = ",") -> str:
    return "".join(separator.join(map(cell_text, row)) + "\n" for row in rows)


def sparse_rows(rows: Iterable[dict[int, Any]]) -> str:
    return "".join("{" + ", ".join(f"{j} {cell_text(row[j])}" for j in sorted(row)) + "}\n" for row in rows)


def cells(table):
    """The cells of a dense table as lists of Python values; None where they are missing."""
    frame = table.data.astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()
