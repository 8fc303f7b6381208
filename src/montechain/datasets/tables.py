"""Tables of text, and the frames of other files.

A CSV or TSV file is read as text, and each column goes once through the typing pass, which finds numbers, dates, words
or text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from montechain._columns import DATE, MOSTLY_NUMBERS, UNIT, describe_strays
from montechain.datasets.files import read_bytes, read_text, require_library
from montechain.errors import DataError

MISSING_VALUES = ("?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL")
"""Cells that mean "unknown", besides an empty one."""

NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
CODE = re.compile(r"[+-]?0\d", re.ASCII)
NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+)")
DATES_AS_LABELS = (
    "the target {name!r} holds dates, such as {word!r}. Targets are classes: turn the dates into months, say, or make "
    "each date a class with nominal=[{name!r}]."
)
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
DELIMITERS = (",", ";", "\t", "|")
NEWLINE, QUOTE, ZERO = b'\n"0'
LINE = re.compile(r"[^\n]*+\n|[^\n]++")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
EXACT_FLOATS: dict[str, Any] = {} if IS_EXACT else {"float_precision": "round_trip"}
"""Makes `pandas.read_csv` read numbers exactly; from 3.1 on it always does."""


@dataclass
class TextTable:
    """A CSV or TSV file: column names are read when it is opened, types when columns are read.

    `read_dataset` describes the parameters. `notes` say, in plain sentences, what was found in the columns.
    """

    path: Path
    delimiter: str | None
    header: bool | None
    encoding: str
    missing_values: Collection[str]
    decimal: str

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"`decimal={self.decimal!r}` must be a point or a comma, as in decimal=','.")
        text = self.text = read_text(self.path, self.encoding)
        self.notes: list[str] = []
        self.starts: np.ndarray | None = None
        if "\0" in text:
            message = 'there is a NUL byte: this is not a text file, or it has an encoding such as encoding="utf-16".'
            raise DataError(message, path=self.path, line=1 + text[: text.index("\0")].count("\n"))
        detected, agreement = sniff_delimiter(text[:SAMPLE_CHARACTERS])
        sign = detected if self.delimiter is None else self.delimiter
        if not (len(sign) == 1 and sign.isascii() and sign not in '"\r\n\0'):
            raise ValueError(f"`delimiter={sign!r}` must be one character, such as delimiter=';'.")
        self.sign = sign
        line, first = next(_records(text, sign, self.path), (None, []))
        if not first:
            raise DataError("the table is empty.", path=self.path)
        if len(first) == 1 and detected != sign and agreement == 1.0:
            message = f"the first line has no {sign!r}, but the first lines can all be split by {detected!r}"
            raise DataError(f"{message}: use delimiter={detected!r}.", path=self.path, line=line)
        self.names = [f"column_{position}" for position in range(len(first))]
        if self.header is not False:
            self._read_header([name.strip() for name in first], line)
        self.start = 0 if self.header is False else 1

    def _read_header(self, first: list[str], line: int | None) -> None:
        """Take the names of the columns from the first row, unless it looks like data."""
        without = "If the file has no header line, use header=False."
        values = [name for name in first if NUMBER.fullmatch(name) or DATE.match(name)]
        if self.header is None and len(values) > len(first) / 2 and first != [*map(str, range(len(first)))]:
            self.notes.append(f"the first line, with {values[0]!r}, is taken for the names of the columns. {without}")
        for position, name in enumerate(first):
            name = self.names[position] = name or self.names[position]
            is_odd = name in self.missing_values or (NUMBER.fullmatch(name) and not name.isdigit())
            if is_odd and self.header is None:
                message = f"the first line looks like data: {name!r} is an odd name for a column. {without}"
                raise DataError(f"{message} If it is a header, use header=True.", path=self.path, line=line)
            if name in self.names[:position]:
                raise DataError(f"the column {name!r} occurs more than once. {without}", path=self.path, line=line)

    @cached_property
    def records(self) -> list[tuple[int, list[str]]]:
        """The rows, each with the line it begins in."""
        return list(islice(_records(self.text, self.sign, self.path, len(self.names)), self.start, None))

    def read(self, wanted: list[str], kinds: dict[str, str], targets: Collection[str] = ()) -> pd.DataFrame:
        """Return some columns with their types; notes tell which words in `targets` count as missing by default.

        `kinds` says what is known about a column: "number"; "mostly number", as for a model that learned from numbers;
        "nominal"; "text"; "label", which has no stray cells; or "tags", which has no missing ones.
        """
        self.watched = targets if self.missing_values == MISSING_VALUES else ()
        cells: Any = self._by_pandas([name for name, kind in kinds.items() if kind in ("nominal", "text", "tags")])
        if cells is None or not len(cells):
            self.starts = None
            if not self.records:
                raise DataError("the table has a header line and no rows.", path=self.path)
            columns = zip(*(row for _, row in self.records), strict=True)
            cells = {name: pd.Series(column, dtype=object) for name, column in zip(self.names, columns, strict=True)}
        return pd.DataFrame({name: self._column(cells[name], name, kinds.get(name, "any")) for name in wanted})

    def _by_pandas(self, as_written: Collection[str]) -> pd.DataFrame | None:
        """Return the cells, with numbers where they are not to be kept as written, if nothing is odd about the text.

        This is quicker than Python's csv module.
        """
        self.starts = self._cell_starts()
        if self.starts is None or len(self.names) == 1 or any(map(NUMBER.fullmatch, self.missing_values)):
            return None
        with suppress(pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError, UnicodeError):
            signs, starts = np.frombuffer(self.data, np.uint8), self.starts
            before = np.isin(np.arange(256), [ord(sign) for sign in ' "+-' if sign != self.sign])
            while (is_before := before[signs[starts]]).any():
                starts = starts + is_before
            is_code = (signs[starts] == ZERO) & (signs.take(starts + 1, mode="clip") - ZERO < 10)  # such as 007
            frame = pd.read_csv(
                io.BytesIO(self.data),
                sep=self.sign,
                header=0 if self.start else None,
                names=self.names,
                dtype=dict.fromkeys([*as_written, *compress(self.names, is_code.any(axis=0))], str),
                skipinitialspace=self.sign != " ",
                keep_default_na=False,
                na_values={name: ["", *self.missing_values] if name not in self.watched else "" for name in self.names},
                decimal=self.decimal,
                low_memory=False,  # otherwise a column could get a different type in each chunk of a large file
                **EXACT_FLOATS,
            )
            return frame if len(frame) == len(self.starts) and isinstance(frame.index, pd.RangeIndex) else None
        return None

    def _cell_starts(self) -> np.ndarray | None:
        """Return where each cell begins in `data`; None unless every row has a cell for each column, in proper quotes.

        pandas would pad rows that are too short, and accept broken quotes.
        """
        self.data = b"\n" + self.text.rstrip("\n").encode() + b"\n"
        signs = np.frombuffer(self.data, np.uint8)
        is_end = (signs == ord(self.sign)) | (signs == NEWLINE)
        if b'"' in self.data:
            is_quote = signs == QUOTE
            is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).astype(bool)
            beside = is_end | is_quote
            opening, closing = (np.flatnonzero(is_quote & side) for side in (is_inside, ~is_inside))
            if is_inside[-1] or not (beside[opening - 1].all() and beside[closing + 1].all()):
                return None
            is_end &= ~is_inside
        ends = np.flatnonzero(is_end)
        width = len(self.names)
        if (len(ends) - 1) % width:
            return None
        is_last = (signs[ends[1:]] == NEWLINE).reshape(-1, width)
        regular = is_last[:, -1].all() and not is_last[:, :-1].any()
        return (ends[:-1] + 1).reshape(-1, width)[self.start :] if regular else None

    def _line(self, row: int) -> int:
        """Return the line that a row begins in."""
        return self.records[row][0] if self.starts is None else self.data.count(b"\n", 0, self.starts[row, 0])

    def _column(self, cells: pd.Series, name: str, kind: str) -> Any:
        """Return one column: integers, floats (NaN where missing), truth values, categories or strings."""
        if types.is_numeric_dtype(cells.dtype):
            return cells.to_numpy(np.float64 if cells.dtype == np.uint64 else None)
        codes, words = self._words(cells, name)
        if kind == "tags":
            return np.array([*words, ""], dtype=object)[codes]
        if kind not in ("text", "nominal"):
            if not words:
                return np.full(len(codes), np.nan)
            column = self._numbers(words, codes, name, kind)
            if column is not None:
                return column
            if BOOLEANS.keys() >= set(words):
                truths = pd.array([*map(BOOLEANS.__getitem__, words), None], dtype="boolean")[codes]
                if kind == "label" and truths.isna().any():
                    return truths
                return truths.to_numpy(np.float64 if truths.isna().any() else bool, na_value=np.nan)
            if all(map(DATE.match, words)):
                if kind == "label":
                    raise DataError(DATES_AS_LABELS.format(name=name, word=words[0]), path=self.path)
                self.notes.append(f"column {name!r} looks like dates, such as {words[0]!r}.")
                kind = "text"  # `TableEncoder` makes dates of it, always in the format of the training rows
        if kind == "text":
            return pd.array(np.array([*words, None], dtype=object)[codes], dtype="string")
        return pd.Categorical.from_codes(codes, categories=words).reorder_categories(sorted(words))

    def _words(self, cells: pd.Series, name: str) -> tuple[np.ndarray, list[str]]:
        """Return a code for each cell, -1 where it is missing, and the distinct words."""
        codes, found = pd.factorize(cells)
        words = [str(word).strip() for word in found.tolist()]  # pandas may have found truth values
        known = [None if not word or word in self.missing_values else word for word in words]
        if name in self.watched:
            for word in sorted({*words} & {*self.missing_values} - {"?"}):
                missing = f"target {name!r}: {np.sum(codes == words.index(word))} cells with {word!r} count as missing"
                self.notes.append(f"{missing}. If {word!r} is a class, name only the others: missing_values=['?'].")
        place, distinct = pd.factorize(np.array([*known, None], dtype=object))  # strings may now be equal
        return place[codes], distinct.tolist()

    def _numbers(self, words: list[str], codes: np.ndarray, name: str, kind: str) -> Any:
        """Return numbers if all cells but a few strays are such; None for a column of something else."""
        # Point and comma change places, so that 1.5 is not a number where 1,5 is one.
        plain = words if kind == "label" else [UNIT.sub("", word) for word in words]
        plain = plain if self.decimal == "." else [word.translate({44: ".", 46: ","}) for word in plain]
        is_number = np.array([NUMBER.fullmatch(word) is not None for word in plain])
        strays, n_known = np.flatnonzero(~np.append(is_number, True)[codes]), int((codes >= 0).sum())
        odd = [word for word, number in zip(words, is_number, strict=True) if not number]
        is_known, problem = kind.endswith("number"), ""
        with_comma = [word for word in odd if NUMBER_WITH_COMMA.fullmatch(word)]
        if with_comma and (is_known or with_comma == odd):
            problem = f"holds numbers with a comma, such as {with_comma[0]!r}. If it is the decimal mark, use "
            problem += 'decimal=",". If it separates thousands, remove it from the file.'
            problem += "" if is_known else f" To keep the cells as written, use nominal=[{name!r}]."
        elif kind == "mostly number" and len(strays) > max(1, n_known / 2):
            problem = f"held numbers when the model was fitted, but {len(strays)} of its {n_known} cells are not "
            problem += f"numbers with the decimal mark {self.decimal!r}, such as {odd[0]!r}: correct or empty them."
        if problem:
            line = self._line(int(np.argmax(codes == words.index([*with_comma, *odd][0]))))
            raise DataError(f"column {name!r} {problem}", path=self.path, line=line)
        if not is_known:
            if odd and self.decimal == "," and all(map(NUMBER.fullmatch, odd)):
                why = f"it holds numbers with a point, such as {odd[0]!r}, and the decimal mark is a comma"
                self.notes.append(f"column {name!r} is read as words: {why}.")
            is_code = any(CODE.match(word) for word, number in zip(plain, is_number, strict=True) if number)
            if is_code or len(strays) > (0 if kind == "label" else (1 - MOSTLY_NUMBERS) * n_known):
                return None
        if len(strays):
            held = [(f"line {self._line(row)}", words[codes[row]]) for row in strays.tolist()]
            self.notes.append(describe_strays(name, held, n_known))
        elif n_known == len(codes) and all(map(WHOLE.fullmatch, plain)):
            with suppress(OverflowError):  # more than 64 bits
                return np.array([*map(int, plain)], dtype=np.int64)[codes]
        values = [float(word) if number else np.nan for word, number in zip(plain, is_number, strict=True)]
        return np.array([*values, np.nan])[codes]


def read_frame(path: Path, format: str, header: bool | None, missing_values: Collection[str]) -> pd.DataFrame:
    """Return the frame of a Parquet or Feather file, or the first sheet of an Excel file."""
    read_bytes(path, 1)  # raises a helpful error if the file cannot be opened
    require_library(format)
    try:
        if format == "excel":
            options: dict[str, Any] = {"dtype": object, "keep_default_na": False, "na_values": ["", *missing_values]}
            frame = pd.read_excel(path, engine="openpyxl", header=None if header is False else 0, **options)
            frame = frame.infer_objects()  # and not what strings such as 007 look like
            return frame.add_prefix("column_") if header is False else frame
        from pyarrow import feather, parquet

        table = parquet.ParquetFile(path).read() if format == "parquet" else feather.read_table(path)
        table.validate(full=True)  # otherwise Arrow trusts the offsets and lengths in the file
        return table.to_pandas()
    except Exception as error:  # the libraries may raise anything on a damaged file
        raise DataError(f"this is not a readable {format.capitalize()} file: {error}", path=path) from error


def sniff_delimiter(sample: str) -> tuple[str, float]:
    """Return the delimiter among comma, semicolon, tab and bar that fits most lines, and their share.

    It fits a line that it splits into as many cells as the first one. Where none of them splits the first line, as in a
    table of one column, the result is the comma, and zero.
    """

    def agreement(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        with suppress(DataError):  # the sample may end inside a quoted cell
            widths.extend(len(row) for _, row in islice(_records(sample, delimiter, ""), SAMPLE_ROWS))
        if not widths or widths[0] == 1:
            return 0.0, 1
        return widths.count(widths[0]) / len(widths), widths[0]

    best = max(DELIMITERS, key=agreement)  # the first of equal ones
    return best, agreement(best)[0]


def _records(text: str, delimiter: str, path: str | Path, width: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line it begins in; an error unless all have `width` cells."""
    lines = (line[0] for line in LINE.finditer(text))
    line, reader = 1, csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
    try:
        for row in reader:
            is_blank = not row or (len(row) == 1 and not row[0].strip() and width != 1)
            if width and len(row) != width and not is_blank:
                message = f"the row has {len(row)} cell{'s' * (len(row) != 1)} where there are {width} columns; quote "
                message += "cells that contain the delimiter, and check that no cell is missing."
                raise DataError(message, path=path, line=line)
            if not is_blank:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"the row that begins here cannot be read: {error}. Check its quotes."
        raise DataError(message, path=path, line=line) from None
