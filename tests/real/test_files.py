"""The twelve public data sets: against what was counted in their files, and cell by cell against liac-arff."""

import gzip
from functools import cache, partial

import arff as liac
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from montechain.datasets.arff import read_arff
from montechain.datasets.dataset import read_mulan_labels
from montechain.datasets.reading import read_dataset
from reproduction.catalogue import DATASETS, list_datasets, load_dataset
from tests.datasets.arff_text import cells
from tests.reproduction.test_catalogue import COUNTED, COUNTED_PARTS

FOLDERS = [name for name in DATASETS if name not in ("parkinsons", "tmc2007")]


@pytest.mark.real_data
@pytest.mark.parametrize("folder", [*FOLDERS, pytest.param("tmc2007", marks=pytest.mark.slow)])
def test_real_files_against_liac_arff(folder, data_folder):
    paths = [*(data_folder / folder).glob("*.arff*")]
    assert paths
    for path in paths:
        check_file(path)


def check_file(path):
    table = read_arff(path)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        sparse = isinstance(table.data, sp.csr_array)
        expected = liac.load(stream, return_type=liac.LOD if sparse else liac.DENSE)
    assert table.relation == expected["relation"]
    declared = [(a.name, list(a.categories) if a.categories else "NUMERIC") for a in table.attributes]
    assert declared == [(name, kind if isinstance(kind, list) else "NUMERIC") for name, kind in expected["attributes"]]
    if not sparse:
        assert cells(table) == expected["data"]
        return
    assert table.data.shape == (len(expected["data"]), len(declared))
    defaults = [0.0 if a.categories is None else a.categories[0] for a in table.attributes]
    starts = table.data.indptr
    for row, start, stop in zip(expected["data"], starts[:-1], starts[1:], strict=True):
        found = {
            int(j): float(v) if declared[j][1] == "NUMERIC" else declared[j][1][int(v)]
            for j, v in zip(table.data.indices[start:stop], table.data.data[start:stop], strict=True)
        }
        assert found == {j: value for j, value in row.items() if value != defaults[j]}


@pytest.fixture(scope="module")
def load(data_folder):
    """Return a loader that reads each data set once."""
    return cache(partial(load_dataset, data=data_folder))


def cardinality(dataset):
    """Return the mean number of relevant labels; of two classes, the one that sorts last is the relevant one."""
    relevant = dataset.Y.eq([max(classes) for classes in dataset.classes])
    return round(float(relevant.to_numpy().sum(axis=1).mean()), 3)


@pytest.mark.real_data
@pytest.mark.parametrize("name", COUNTED)
def test_figures_of_the_files(name, load):
    dataset = load(name)
    n_rows, n_labels, n_classes, n_features, expected = COUNTED[name]
    assert dataset.X.shape == (n_rows, n_features)
    assert dataset.Y.shape == (n_rows, n_labels)
    counts = [len(classes) for classes in dataset.classes]
    assert (min(counts), max(counts)) == n_classes
    assert expected is None or cardinality(dataset) == expected
    assert len(set(dataset.feature_names)) == n_features
    assert len(set(dataset.label_names)) == n_labels
    assert dataset.name == name


@pytest.mark.real_data
@pytest.mark.parametrize("name", COUNTED_PARTS)
def test_official_parts(name, load):
    whole = load(name)
    for dataset, (n_rows, expected) in zip(whole.split, np.reshape(COUNTED_PARTS[name], (2, 2)), strict=True):
        assert (len(dataset.Y), cardinality(dataset)) == (n_rows, expected)
        assert dataset.label_names == whole.label_names
        assert dataset.feature_names == whole.feature_names
        assert dataset.classes == whole.classes
        assert dataset.split is None
    train, test = whole.split
    if name in ("music", "tmc2007", "scene", "mediamill"):  # the whole is the training rows, then the test rows
        pd.testing.assert_frame_equal(whole.Y, pd.concat([train.Y, test.Y], ignore_index=True))
        if sp.issparse(whole.X):
            assert abs(whole.X - sp.vstack([train.X, test.X])).max() == 0
        else:
            pd.testing.assert_frame_equal(whole.X, pd.concat([train.X, test.X], ignore_index=True))


@pytest.mark.real_data
def test_the_listing_knows_that_all_files_are_there(data_folder):
    states = {entry.name: entry.state for entry in list_datasets(data_folder)}
    assert states.pop("mediamill") == "present, reduced"
    assert states.pop("parkinsons") == "not public"
    assert set(states.values()) == {"present"}


@pytest.mark.real_data
def test_bridges(load):
    dataset = load("bridges")
    X, Y = dataset.X, dataset.Y
    assert dataset.label_names == ["T-OR-D", "MATERIAL", "SPAN", "REL-L", "TYPE"]
    assert [len(classes) for classes in dataset.classes] == [2, 3, 3, 3, 6]
    assert dataset.feature_names == ["RIVER", "LOCATION", "ERECTED", "PURPOSE", "LENGTH", "LANES", "CLEAR-G"]
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {"LOCATION": 1, "LENGTH": 26, "LANES": 15, "CLEAR-G": 2}
    assert Y.isna().sum().to_dict() == {"T-OR-D": 5, "MATERIAL": 2, "SPAN": 15, "REL-L": 5, "TYPE": 2}
    assert Y.notna().all(axis=1).sum() == 89
    assert (Y.notna().all(axis=1) & X.notna().all(axis=1)).sum() == 70
    n_categories = {name: len(X[name].cat.categories) for name in X.select_dtypes("category")}
    assert n_categories == {"RIVER": 4, "LOCATION": 54, "PURPOSE": 4, "CLEAR-G": 2}


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["yeast", "enron"])
def test_labels_stand_in_the_order_of_the_file_not_of_the_list(name, load, data_folder):
    listed = read_mulan_labels(data_folder / name / f"{name}.xml")
    meka = read_dataset(data_folder / name / f"{name}-meka.arff.gz")
    assert sorted(load(name).label_names) == sorted(listed)
    assert load(name).label_names != listed
    assert load(name).label_names == meka.label_names
    if name == "yeast":
        assert load(name).label_names == [f"Class{number}" for number in range(1, 15)]
