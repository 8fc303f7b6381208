"""Thousands of damaged ARFF and XML files: each is read, or refused with an error that names the file."""

from __future__ import annotations

import bz2
import gzip
import random

import pytest

from montechain.datasets.arff import read_arff
from montechain.datasets.reading import dataset_from_arff
from montechain.datasets.selection import read_mulan_labels
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
# These faults are of the whole file or of a column.
WITHOUT_LINE = (
    "the file is empty",
    "cut off",
    "damaged",
    "names no label",
    "the label",
    "the input",
    "the relation says -C",
    "nothing says which columns are labels",
    "no column is left",
)


def check(read, path, data):
    """Read the file; whether it was read. Anything but a `DataError` that names the file is a failure."""
    path.write_bytes(data)
    refusal = None
    try:
        read(path)
    except DataError as error:
        refusal = error
    if refusal is None:
        return True
    message = str(refusal)
    assert message.startswith(str(path)), message
    if refusal.line is None:
        assert any(words in message for words in WITHOUT_LINE), message
    else:
        assert refusal.line >= 1
    return False


def as_it_is(data):
    return data


@pytest.mark.parametrize(
    ("seed_file", "pack", "n_files"),
    [
        pytest.param(DENSE, as_it_is, 1200, id="dense"),
        pytest.param(PLAIN, as_it_is, 800, id="plain"),
        pytest.param(SPARSE, as_it_is, 1200, id="sparse"),
        pytest.param(SPARSE, gzip.compress, 200, id="sparse, then gzip"),
        pytest.param(DENSE, bz2.compress, 100, id="dense, then bzip2"),
    ],
)
def test_damaged_arff(tmp_path, seed_file, pack, n_files):
    rng = random.Random(f"{len(seed_file)} {pack.__name__}")
    path = tmp_path / "table.arff"
    assert check(read_arff, path, pack(seed_file))
    n_read = sum(check(read_arff, path, pack(mutate(seed_file, rng))) for _ in range(n_files))
    # The faults must be neither all fatal nor all harmless, or nothing is tested.
    assert 0.02 * n_files < n_read < 0.9 * n_files


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_damaged_packing(tmp_path, compress):
    rng = random.Random(compress.__module__)
    packed = compress(DENSE + b"1, major, 140.5, 'a b', 2020-01-01\n" * 200)
    path = tmp_path / "table.arff.packed"
    assert check(read_arff, path, packed)
    assert sum(check(read_arff, path, mutate(packed, rng)) for _ in range(300)) < 200


@pytest.mark.parametrize("seed_file", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_damaged_arff_as_data_set(tmp_path, seed_file):
    rng = random.Random(len(seed_file))
    path = tmp_path / "table.arff"

    def read(path):
        dataset_from_arff(path, drop=[-1])

    assert check(read, path, seed_file)
    n_read = sum(check(read, path, mutate(seed_file, rng)) for _ in range(400))
    assert n_read > 8


@pytest.mark.parametrize("part", range(3))
def test_damaged_label_lists(tmp_path, part):
    rng = random.Random(part)
    path = tmp_path / "labels.xml"
    assert check(read_mulan_labels, path, LABELS)
    n_read = sum(check(read_mulan_labels, path, mutate(LABELS, rng)) for _ in range(600))
    assert 12 < n_read < 540
