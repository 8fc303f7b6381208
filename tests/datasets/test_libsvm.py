"""LIBSVM files with several labels a row."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from montechain.datasets.libsvm import read_libsvm
from montechain.errors import DataError


def write(folder: Path, content: str, name: str = "songs.svm") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


@given(data=st.data(), zero_based=st.booleans())
def test_what_scikit_learn_writes_is_read(data, zero_based, tmp_path_factory):
    n, d, n_labels = (data.draw(st.integers(1, most)) for most in (12, 6, 5))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = rng.integers(2, size=(n, n_labels))
    Y[0] = 1  # so that every label occurs
    X[0, 0], X[0, d - 1] = 1.5, 2.5  # and the width shows, and whether there is a first column
    path = tmp_path_factory.mktemp("libsvm") / "songs.svm"
    dump_svmlight_file(sp.csr_array(X), sp.csr_array(Y), str(path), multilabel=True, zero_based=zero_based)
    found = read_libsvm(path, zero_based=zero_based)
    # A line of scikit-learn's that is blank but for spaces is a row without labels and inputs; no reader can see it.
    seen = np.flatnonzero((Y.sum(axis=1) > 0) | X.any(axis=1))
    np.testing.assert_array_equal(found.Y, Y[seen])
    np.testing.assert_allclose(found.X.toarray(), X[seen], rtol=1e-14)
    assert found.label_names == [f"label_{number}" for number in range(n_labels)]
    assert found.feature_names == [f"feature_{number + (not zero_based)}" for number in range(d)]
    assert found.classes == [[0, 1]] * n_labels


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_packed_files_comments_and_empty_label_sets(pack, tmp_path):
    content = b"# songs\n\n3,1 1:0.5 3:2 # the first\n 2:1\r\n\t3:-1e-2\n3\n1 qid:4 2:nan\n"
    path = tmp_path / {bytes: "a.txt", gzip.compress: "a.txt.gz", bz2.compress: "a.txt.bz2"}[pack]
    path.write_bytes(pack(content))
    data = read_libsvm(path)
    assert data.name == "a"
    assert data.label_names == ["label_1", "label_3"]
    assert data.Y.to_numpy().tolist() == [[1, 1], [0, 0], [0, 0], [0, 1], [1, 0]]
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [0, 0, -0.01], [0, 0, 0], [0, np.nan, 0]])
    assert data.feature_names == ["feature_1", "feature_2", "feature_3"]


def test_counting_from_zero_or_one(tmp_path):
    from_one = write(tmp_path, "1 1:1\n2 2:1\n")
    assert read_libsvm(from_one).feature_names == ["feature_1", "feature_2"]
    data = read_libsvm(from_one, zero_based=True, n_features=4)
    assert data.feature_names == ["feature_0", "feature_1", "feature_2", "feature_3"]
    np.testing.assert_array_equal(data.X.toarray(), [[0, 1, 0, 0], [0, 0, 1, 0]])
    from_zero = write(tmp_path, "1 0:1\n2 2:1\n", "zero.svm")
    assert read_libsvm(from_zero).feature_names == ["feature_0", "feature_1", "feature_2"]
    with pytest.raises(DataError, match=r"zero.svm, line 1: .*Invalid index 0"):
        read_libsvm(from_zero, zero_based=False)
    with pytest.raises(DataError, match=r"n_features was set to 2, but input file contains 3 features"):
        read_libsvm(from_zero, n_features=2)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        *[
            (second, "is not of the form '1,3 5:0.2 9:1' .labels, then number:value, numbers rising.: ")
            for second in (
                *("1 2:1 1:1", "1 2:1 2:1", "1 -2:1", "1 99999999999:1", "1 2=1", "1 2:x", "1 2:1:3", "1, 3 2:1"),
                "red 2:1",
            )
        ],
        ("1 2:1_0", "the character '_' has no place in a LIBSVM file"),
        ("1 ٢:1", "the character '٢' has no place in a LIBSVM file"),
        ("1 2:1\0", r"the character '\\x00' has no place in a LIBSVM file"),
        ("1 2:1 5:inf", "the input with the number 5 is infinite: write nan"),
        ("1 5:-1e999 6:inf", "the input with the number 5 is infinite: write nan"),
        ("1.5 2:1", "1.5 is not the number of a label: these are whole numbers from 0 on"),
        ("-1 2:1", "-1 is not the number of a label"),
        ("nan 2:1", "nan is not the number of a label"),
        ("1e99 2:1", r"1e\+99 is not the number of a label"),
    ],
)
def test_lines_that_cannot_be_read(second, message, tmp_path):
    path = write(tmp_path, f"1 1:1\n{second}\n3 1:1\n")
    with pytest.raises(DataError, match=message) as refusal:
        read_libsvm(path)
    assert (refusal.value.path, refusal.value.line) == (path, 2)


def test_no_rows_or_no_labels(tmp_path):
    for content in ("", "# nothing\n"):
        with pytest.raises(DataError, match=r"songs.svm: the file has no rows"):
            read_libsvm(write(tmp_path, content))
    path = write(tmp_path, "1:1 2:1\n2:1\n")
    with pytest.raises(DataError, match="no row has a label"):
        read_libsvm(path)
    data = read_libsvm(path, partial=True, targets=[])
    assert (data.X.shape, data.Y.shape) == ((2, 2), (2, 0))


def test_a_label_that_no_row_has_is_known_to_be_absent(tmp_path):
    rows = ["1,7 1:1\n", "7 2:1\n", "2:1\n"]
    targets = ["label_7", "label_3", "label_12", "mood"]
    together = read_libsvm(write(tmp_path, "".join(rows)), targets=targets, partial=True)
    assert together.label_names == ["label_3", "label_7", "label_12"]
    assert together.Y.to_numpy().tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]
    for position, row in enumerate(rows):  # what is known of a row does not depend on the others
        alone = read_libsvm(write(tmp_path, row), targets=targets, partial=True)
        assert alone.Y.to_numpy().tolist() == together.Y.iloc[[position]].to_numpy().tolist()
    assert read_libsvm(write(tmp_path, "1 1:1\n"), targets="label_5", partial=True).Y["label_5"].tolist() == [0]
    assert read_libsvm(write(tmp_path, "1 1:1\n"), targets=-1, partial=True).label_names == ["label_1"]


def test_targets_and_drop(tmp_path):
    path = write(tmp_path, "1,3,7 1:1 2:2 3:3\n7 2:1\n")
    data = read_libsvm(path, targets=["label_7", "label_1"], drop=["feature_2"], name="tunes")
    assert data.name == "tunes"
    assert data.label_names == ["label_1", "label_7"]
    assert data.Y.to_numpy().tolist() == [[1, 1], [0, 1]]
    assert data.feature_names == ["feature_1", "feature_3"]
    assert data.X.toarray().tolist() == [[1, 3], [0, 0]]
    assert read_libsvm(path, targets=-1).label_names == ["label_7"]
    with pytest.raises(DataError, match=r"there is no column 'label_8'; did you mean 'label_"):
        read_libsvm(path, targets=["label_8"])
    with pytest.raises(DataError, match="`drop`: there is no column 'feature_9'"):
        read_libsvm(path, drop=["feature_9"])
