"""Damaged tables and LIBSVM files are read, or refused with an error that names the file; nothing else happens."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from montechain.datasets.dataset import Dataset
from montechain.datasets.reading import read_dataset
from montechain.errors import DataError
from mutations import mutate

ROUNDS = 180

ROWS = [
    ("id", "size", "price", "colour", "note", "loud", "mood"),
    ("007", "1", "2.5", "red", "plain", "0", "calm"),
    ("008", "2", "-1e3", "green", 'a "quoted" word', "1", "happy"),
    ("012", "?", "", "red", "two\nlines", "?", "calm"),
    ("112", "4", "0.25", "NA", "naïve, and with a comma", "1", "None"),
    ("113", "5", "3", "blue", "tab\tand;more|signs", "0", "happy"),
    ("114", "12", "3.75", "blue", "end", "1", "sad"),
]


def delimited(delimiter: str, decimal: str = ".") -> bytes:
    def cell(text: str) -> str:
        if text.replace(".", "").isdigit():
            return text.replace(".", decimal)
        return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',;\t|\n"') else text

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in ROWS).encode()


LIBSVM = b"1,3 1:0.5 3:2 7:-1e-3\n 2:1 9:4.25\n3 1:1 # a comment\n2,3,5 4:1\n\n5 2:7 3:0.5 8:1\n"
REPOSITORY = b"4 10 6\n0,5 0:0.5 9:2\n 2:1 3:4.25\n5 1:1\n1,2,3 4:1 6:1\n"
FILES = {
    "comma.csv": delimited(","),
    "semicolon.csv": delimited(";", ","),
    "bar.data": delimited("|"),
    "tab.tsv": delimited("\t"),
    "labels.svm": LIBSVM,
    "repository.txt": REPOSITORY,
}
PACKERS = {"": bytes, ".gz": lambda data: gzip.compress(data, mtime=0), ".bz2": bz2.compress}


@pytest.mark.parametrize("name", FILES)
def test_what_is_damaged_below_is_read_as_it_is(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    if name.endswith((".svm", ".txt")):
        data = read_dataset(path)
        assert data.X.shape == ((5, 9) if name.endswith(".svm") else (4, 10))
        assert data.label_names[-1] == "label_5"
    else:
        data = read_dataset(path, targets=-2, decimal="," if "semi" in name else ".", text=["note"])
        assert data.X["note"].tolist() == [row[4] for row in ROWS[1:]]
        assert data.X["id"].tolist() == [row[0] for row in ROWS[1:]]
        assert data.X["price"].tolist()[:2] == [2.5, -1000]
        assert data.classes == [[0, 1], ["calm", "happy", "sad"]]


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused(name, packing, tmp_path):
    rng = random.Random(f"{name}{packing}")
    path = tmp_path / f"{name}{packing}"
    is_table = not name.startswith(("labels", "repository"))
    options = {"targets": -2, "decimal": "," if "semi" in name else "."} if is_table else {}
    n_read = n_refused = 0
    for turn in range(ROUNDS):
        # A packed file is damaged before it is packed or, every third time, after.
        if packing and turn % 3 == 0:
            content = mutate(PACKERS[packing](FILES[name]), rng)
        else:
            content = PACKERS[packing](mutate(FILES[name], rng))
        path.write_bytes(content)
        outcome = read_or_refuse(path, header=rng.choice([None, None, True, False]), **options)
        if isinstance(outcome, DataError):
            n_refused += 1
            assert str(path) in str(outcome), content
            assert outcome.path == path, content
            n_lines = 1 + content.count(b"\n") + content.count(b"\r")
            assert packing or outcome.line is None or 1 <= outcome.line <= n_lines, content
        else:
            n_read += 1
            assert len(outcome.Y) > 0, content
            assert outcome.X.shape == (len(outcome.Y), len(outcome.feature_names)), content
    assert n_read > ROUNDS / 20
    assert n_refused > ROUNDS / 20


STORED = pd.DataFrame(
    {
        "size": pd.array([1, 2, None, 4, 5, 12], dtype="Int64"),
        "price": [2.5, -1000, None, 0.25, 3, 3.75],
        "colour": pd.Categorical(["red", "green", "red", None, "blue", "blue"]),
        "note": [row[4] for row in ROWS[1:]],
        "bought": pd.to_datetime(["2024-05-01", None, "2024-05-03", "2024-05-04", "2024-05-05", "2024-05-06"]),
        "loud": [0, 1, 0, 1, 0, 1],
        "mood": ["calm", "happy", "calm", None, "happy", "sad"],
    }
)


@pytest.mark.parametrize(
    ("format", "compression"),
    [*[(format, compression) for format in ("parquet", "feather") for compression in ("none", "lz4")], ("xlsx", "zip")],
)
def test_damaged_column_files_are_read_or_refused(format, compression, tmp_path):
    path = tmp_path / f"table.{format}"
    if format == "parquet":
        STORED.to_parquet(path, compression=compression)
    elif format == "xlsx":
        STORED.to_excel(path, index=False)
    else:
        STORED.to_feather(path, compression="uncompressed" if compression == "none" else compression)
    options = {"targets": -2, "text": ["note"]}
    stored = path.read_bytes()
    assert read_dataset(path, **options).X.shape == (6, 5)
    rng = random.Random(f"{format}{compression}")
    outcomes = []
    for turn in range(ROUNDS if format != "xlsx" else ROUNDS // 3):
        # A file that is cut or grows is seen through at once; single wrong bytes get further.
        path.write_bytes(mutate(stored, rng) if turn % 3 == 0 else with_wrong_bytes(stored, rng))
        outcome = read_or_refuse(path, **options)
        outcomes.append(type(outcome))
        if isinstance(outcome, DataError):
            assert outcome.path == path, (turn, outcome)
        else:
            assert outcome.X.shape == (len(outcome.Y), len(outcome.feature_names)), turn
    assert {DataError, Dataset} == set(outcomes)


def with_wrong_bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] = rng.choice([0, 255, rng.randrange(256)])
    return bytes(changed)


def read_or_refuse(path: Path, **options: Any) -> Dataset | DataError:
    try:
        return read_dataset(path, **options)
    except DataError as error:
        return error
