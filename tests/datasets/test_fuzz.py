"""Thousands of damaged files of every format: each is read, or refused with an error that names the file."""

import bz2
import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from montechain.datasets import read_dataset
from montechain.datasets.arff import read_arff
from montechain.datasets.dataset import read_mulan_labels
from montechain.errors import DataError
from mutations import mutate

DENSE = b"""% songs
@relation 'songs: -C 2'
@attribute happy {0, 1}
@attribute 'key \\'s' {minor, major, '?'}
@attribute tempo numeric
@attribute title string
@attribute day date 'yyyy-MM-dd'
@data
1, major, 140.5, 'a b', 2020-01-01
0, ?, ?, ?, ?

% half of them
?, minor, -7e2, "c\\td", '2021-02-03'
1,'?',1e-3,caf\xc3\xa9,?
"""
PLAIN = (
    b"@relation numbers\n"
    + b"".join(b"@attribute x%d numeric\n" % j for j in range(4))
    + b"@attribute y {a,b}\n@data\n"
    + b"".join(b"%d,%d.5,-%d,?,%s\n" % (i, i, i, b"ab"[i % 2 : i % 2 + 1]) for i in range(12))
)
SPARSE = b"""@relation 'words: -C 2'
@attribute sport {0,1}
@attribute mood {glad,sad,calm}
@attribute ball {0,1}
@attribute length numeric
@attribute id string
@data
{0 1,2 1,3 2.5}
{1 calm, 3 -1e3}
{}
{0 ?, 1 'sad', 4 'a b'}
{2 1}
"""
LABELS = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="sport"><label name="ball"></label></label>
<!-- moods -->
<label name="mood &amp; tone"></label>
</labels>
"""
ROWS = [
    ("id", "size", "price", "colour", "note", "loud", "mood"),
    ("007", "1", "2.5", "red", "plain", "0", "calm"),
    ("008", "2", "-1e3", "green", 'a "quoted" word', "1", "happy"),
    ("012", "?", "", "red", "two\nlines", "?", "calm"),
    ("112", "4", "0.25", "NA", "naïve, and with a comma", "1", "None"),
    ("113", "5", "3", "blue", "tab\tand;more|signs", "0", "happy"),
    ("114", "12", "3.75", "blue", "end", "1", "sad"),
]
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
WRITERS: dict[str, Callable[[Path], Any]] = {
    "plain.parquet": lambda path: STORED.to_parquet(path, compression="none"),
    "lz4.parquet": lambda path: STORED.to_parquet(path, compression="lz4"),
    "plain.feather": lambda path: STORED.to_feather(path, compression="uncompressed"),
    "lz4.feather": lambda path: STORED.to_feather(path, compression="lz4"),
    "table.xlsx": lambda path: STORED.to_excel(path, index=False),
}
PACKERS = {"": bytes, ".gz": lambda data: gzip.compress(data, mtime=0), ".bz2": bz2.compress}


def delimited(delimiter: str, decimal: str = ".") -> bytes:
    def cell(text: str) -> str:
        if text.replace(".", "").isdigit():
            return text.replace(".", decimal)
        return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',;\t|\n"') else text

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in ROWS).encode()


def table(path: Path, **options: Any) -> Any:
    return read_dataset(path, targets=-2, decimal="," if "semicolon" in path.name else ".", **options)


def data_set(path: Path, **options: Any) -> Any:
    return read_dataset(path, drop=[-1], **options)


# The content, how it is read, and how many damaged files of each packing are tried.
FILES: dict[str, tuple[bytes, Callable[..., Any], int]] = {
    "dense.arff": (DENSE, read_arff, 800),
    "plain.arff": (PLAIN, read_arff, 800),
    "sparse.arff": (SPARSE, read_arff, 800),
    "dense-set.arff": (DENSE, data_set, 400),
    "sparse-set.arff": (SPARSE, data_set, 400),
    "labels.xml": (LABELS, read_mulan_labels, 1200),
    "comma.csv": (delimited(","), table, 180),
    "semicolon.csv": (delimited(";", ","), table, 180),
    "bar.data": (delimited("|"), table, 180),
    "tab.tsv": (delimited("\t"), table, 180),
}


def outcomes(read: Callable[..., Any], path: Path, contents: list[bytes], options: list[dict]) -> list[bool]:
    """Read each content; whether it was read. Anything but a `DataError` that names the file is a failure."""
    found = []
    for content, chosen in zip(contents, options, strict=True):
        path.write_bytes(content)
        refusal, result = None, None
        try:
            result = read(path, **chosen)
        except DataError as error:
            refusal = error
        if refusal is not None:
            assert str(refusal).startswith(str(path)), content
            assert refusal.path == path, content
            n_lines = 1 + content.count(b"\n") + content.count(b"\r")
            is_packed = path.suffix in (".gz", ".bz2")
            assert is_packed or refusal.line is None or 1 <= refusal.line <= n_lines, content
        elif hasattr(result, "Y"):
            assert len(result.Y) > 0, content
            assert result.X.shape == (len(result.Y), len(result.feature_names)), content
        found.append(refusal is None)
    return found


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("name", FILES)
def test_damaged_text_files_are_read_or_refused(name, packing, tmp_path):
    content, read, n_files = FILES[name]
    n_files = n_files if not packing else min(n_files, 180)
    rng = random.Random(f"{name}{packing}")
    pack = PACKERS[packing]
    path = tmp_path / f"{name}{packing}"
    assert outcomes(read, path, [pack(content)], [{}]) == [True]
    # A packed file is damaged before it is packed or, every third time, after.
    damaged = [
        mutate(pack(content), rng) if packing and turn % 3 == 0 else pack(mutate(content, rng))
        for turn in range(n_files)
    ]
    options = [{"header": rng.choice([None, None, True, False])} if read is table else {} for _ in damaged]
    share = sum(outcomes(read, path, damaged, options)) / n_files
    assert 0.02 < share < 0.95  # neither all fatal nor all harmless, or nothing is tested


@pytest.mark.parametrize("name", WRITERS)
def test_damaged_column_files_are_read_or_refused(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    stored = path.read_bytes()
    rng = random.Random(name)
    # A file that is cut or extended is detected at once; single wrong bytes get further.
    damaged = [
        mutate(stored, rng) if turn % 3 == 0 else with_wrong_bytes(stored, rng)
        for turn in range(60 if name.endswith("xlsx") else 180)
    ]
    options = {"text": ["note"]}
    assert outcomes(table, path, [stored], [options]) == [True]
    assert set(outcomes(table, path, damaged, [options] * len(damaged))) == {True, False}


def with_wrong_bytes(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] = rng.choice([0, 255, rng.randrange(256)])
    return bytes(changed)
