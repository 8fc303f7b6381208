"""The catalogue: names, folders, checksums; and the twelve data sets against what was counted in their files."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import pickle
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from montechain.datasets.catalogue import DATASETS, Figures, StoredFile, figures, list_datasets, load_dataset
from montechain.datasets.generators import make_chain_data
from montechain.datasets.reading import read_dataset
from montechain.datasets.selection import read_mulan_labels
from montechain.errors import DataError

# N, L, K, d as declared in the files, LC to three decimals.
COUNTED = {
    "solar_flare": (323, 3, (5, 5), 10, None),
    "bridges": (107, 5, (2, 6), 7, None),
    "thyroid": (9172, 7, (2, 5), 29, None),
    "music": (593, 6, (2, 2), 72, 1.868),
    "scene": (2407, 6, (2, 2), 294, 1.074),
    "yeast": (2417, 14, (2, 2), 103, 4.237),
    "genbase": (662, 27, (2, 2), 1185, 1.252),
    "medical": (978, 45, (2, 2), 1449, 1.245),
    "enron": (1702, 53, (2, 2), 1001, 3.378),
    "reuters": (6000, 103, (2, 2), 500, 1.462),
    "tmc2007": (28596, 22, (2, 2), 500, 2.158),
    "mediamill": (2000, 101, (2, 2), 120, 4.394),
}
# Rows and cardinality of the training part, then of the test part.
COUNTED_PARTS = {
    "music": (391, 1.813, 202, 1.975),
    "scene": (1211, 1.062, 1196, 1.086),
    "yeast": (1500, 4.228, 917, 4.252),
    "genbase": (463, 1.261, 199, 1.231),
    "medical": (333, 1.255, 645, 1.240),
    "enron": (1123, 3.386, 579, 3.363),
    "tmc2007": (21519, 2.226, 7077, 1.952),
    "mediamill": (1500, 4.437, 500, 4.264),
}
# As the paper prints them.
PRINTED = {
    "solar_flare": ("323", "3", "5", "10", "–"),
    "bridges": ("107", "5", "2–6", "7", "–"),
    "thyroid": ("9172", "7", "2–5", "28", "–"),
    "parkinsons": ("488", "5", "3", "58", "–"),
    "music": ("593", "6", "2", "72", "1.87"),
    "scene": ("2407", "6", "2", "294", "1.07"),
    "yeast": ("2417", "14", "2", "103", "4.24"),
    "genbase": ("661", "27", "2", "1185", "1.25"),
    "medical": ("978", "45", "2", "1449", "1.25"),
    "enron": ("1702", "53", "2", "1001", "3.38"),
    "reuters": ("6000", "103", "2", "500", "1.46"),
    "tmc2007": ("28596", "22", "2", "500", "2.16"),
    "mediamill": ("43907", "101", "2", "120", "4.38"),
}
ENTRIES = {entry.name: entry for entry in list_datasets("no such folder")}
FLARES = """@relation 'flares: -C 3'
@attribute c {0,1}
@attribute m {0,1}
@attribute x {0,1}
@attribute size numeric
@data
0,1,0,2.5
1,1,0,3.5
"""


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("MONTECHAIN_DATA", raising=False)


@pytest.fixture
def other_flares(tmp_path):
    """A folder with another file in the place of Solar Flare's."""
    (tmp_path / "solar_flare").mkdir()
    (tmp_path / "solar_flare" / "solar_flare.arff").write_text(FLARES, encoding="utf-8")
    return tmp_path


def test_names_and_the_papers_figures():
    assert list(DATASETS) == [*PRINTED, "digits"]
    assert {name: tuple(entry.paper.shown()) for name, entry in ENTRIES.items() if entry.paper} == PRINTED
    assert {name for name, entry in ENTRIES.items() if entry.has_split} == {*COUNTED_PARTS, "digits"}
    found = {name: entry.found for name, entry in ENTRIES.items() if entry.found and name != "digits"}
    assert found == {name: Figures(*given) for name, given in COUNTED.items()}
    assert all(entry.citation and entry.note for entry in ENTRIES.values())


def test_every_file_has_a_source_and_two_checksums():
    files = [file for entry in ENTRIES.values() for file in entry.files]
    assert len(files) == 35
    for file in files:
        assert file.path.split("/")[0] in DATASETS
        assert "(commit " in file.source
        assert len(file.sha256) == len(file.content_sha256) == 64
        assert (file.sha256 == file.content_sha256) == (not file.path.endswith(".gz"))


def test_listing_without_a_folder(no_folder):
    entries = list_datasets()
    assert [entry.name for entry in entries if entry.present] == ["digits"]
    states = {entry.name: entry.state for entry in entries}
    assert states["digits"] == "embedded"
    assert states["parkinsons"] == "not public"
    assert states["solar_flare"] == "absent: solar_flare/solar_flare.arff"
    assert states["scene"] == "absent: scene/scene-train.arff.gz and 2 more"
    assert entries[4].shown_figures() == ["–"] * 5 + list(PRINTED["music"])
    assert json.loads(json.dumps([entry.as_dict() for entry in entries]))[4]["paper"]["LC"] == 1.87


def test_listing_with_a_folder(other_flares, monkeypatch):
    monkeypatch.setenv("MONTECHAIN_DATA", str(other_flares))
    for entries in (list_datasets(), list_datasets(other_flares)):
        assert [entry.name for entry in entries if entry.present] == ["solar_flare", "digits"]
        assert entries[0].state == "present"
        assert entries[0].shown_figures() == list(PRINTED["solar_flare"]) * 2


def test_an_unknown_name(no_folder):
    with pytest.raises(ValueError, match=r"no data set 'Yaest'; did you mean 'yeast'\? By name there are solar_flare"):
        load_dataset("Yaest")
    with pytest.raises(ValueError, match=r"no data set 'zzzz'. By name"):
        load_dataset("zzzz")


def test_an_unset_or_absent_folder(no_folder, tmp_path, monkeypatch):
    message = (
        r"no data folder is named.*environment variable MONTECHAIN_DATA.*`data` .*--data.*one folder per data set.*"
        r"music/music.arff.gz \(or music/music.arff\) from tsoumakas/mulan .*data/multi-label/emotions/emotions.arff; "
        r".*music/music.xml"
    )
    with pytest.raises(DataError, match=message):
        load_dataset("music")
    absent = tmp_path / "nowhere"
    with pytest.raises(DataError, match=r"`data` names .*nowhere', and there is no such folder"):
        load_dataset("music", data=absent)
    monkeypatch.setenv("MONTECHAIN_DATA", str(absent))
    with pytest.raises(DataError, match=r"variable MONTECHAIN_DATA names .*nowhere', and there is no such folder"):
        load_dataset("music")


def test_an_absent_file(tmp_path):
    message = "data/multi-label/yeast/yeast-test.arff.* as yeast/yeast-test.arff.gz .or yeast/yeast-test.arff. in "
    with pytest.raises(DataError, match=message) as caught:
        load_dataset("yeast", data=tmp_path, part="test")
    assert caught.value.path == tmp_path / "yeast" / "yeast-test.arff.gz"


def test_another_file_is_refused_unless_it_is_wanted(other_flares):
    path = other_flares / "solar_flare" / "solar_flare.arff"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(
        DataError, match=f"the sha256 of its content is {found}, and 75e8af9c7cd7.* was expected.*`verify=False`"
    ) as c:
        load_dataset("solar_flare", data=other_flares)
    assert c.value.path == path
    dataset = load_dataset("solar_flare", data=other_flares, verify=False)
    assert dataset.Y.to_numpy().tolist() == [[0, 1, 0], [1, 1, 0]]
    assert dataset.name == "solar_flare"


@pytest.mark.parametrize("suffix", [".arff", ".arff.gz", ".arff.bz2"])
def test_how_a_file_is_packed_does_not_matter(suffix, tmp_path):
    content = FLARES.encode()
    packed = gzip.compress(content, mtime=1)
    file = StoredFile("a/a.arff.gz", "here", hashlib.sha256(packed).hexdigest(), hashlib.sha256(content).hexdigest())
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / f"a{suffix}"
    pack = {".arff": bytes, ".arff.gz": lambda text: gzip.compress(text, 1, mtime=2), ".arff.bz2": bz2.compress}[suffix]
    path.write_bytes(pack(content))
    assert path.read_bytes() != packed
    assert file.get(tmp_path, verify=True) == path
    path.write_bytes(pack(content + b"1,1,1,0\n"))
    with pytest.raises(DataError, match="is not the file in the catalogue"):
        file.get(tmp_path, verify=True)
    assert file.get(tmp_path, verify=False) == path


@pytest.mark.parametrize("suffix", [".arff.gz", ".arff.bz2"])
@pytest.mark.parametrize("damage", [slice(0, 20), slice(0, -4)])
def test_a_damaged_packed_file_is_refused(suffix, damage, tmp_path):
    (tmp_path / "a").mkdir()
    pack = gzip.compress if suffix.endswith("gz") else bz2.compress
    (tmp_path / "a" / f"a{suffix}").write_bytes(pack(FLARES.encode() * 50)[damage])
    with pytest.raises(DataError, match=r"damaged|not the file"):
        StoredFile("a/a.arff.gz", "here", "0" * 64, "1" * 64).get(tmp_path, verify=True)


def test_parkinsons_is_not_public(tmp_path):
    with pytest.raises(DataError, match=r"Parkinson's cannot be loaded: not public.*Borchani et al. 2012"):
        load_dataset("parkinsons", data=tmp_path)


def test_parts(tmp_path):
    with pytest.raises(
        ValueError, match=r"`part='training'` is not one of 'all', 'train', 'test'; did you mean 'train'"
    ):
        load_dataset("music", data=tmp_path, part="training")
    with pytest.raises(ValueError, match=r"'reuters' has no official training and test part.*music, scene"):
        load_dataset("reuters", data=tmp_path, part="train")
    digits = load_dataset("digits")
    for part in ("train", "test"):
        pd.testing.assert_frame_equal(load_dataset("digits", part=part).X, getattr(digits.split, part).X)


def test_figures_of_any_data_set():
    dataset = make_chain_data(50, 4, 3, random_state=0).dataset
    assert figures(dataset) == (50, 3, (2, 2), 4, dataset.Y.to_numpy().sum() / 50)
    assert figures(make_chain_data(50, 4, 2, [2, 4], random_state=0).dataset) == (50, 2, (2, 4), 4, None)


# From here on, the files themselves.


@pytest.fixture(scope="module")
def load(data_folder):
    """Return a loader that reads each part of each data set once."""

    @cache
    def load(name, part="all"):
        return load_dataset(name, data=data_folder, part=part)

    return load


def rows_of(dataset):
    """Return inputs and labels as one frame with numbered columns."""
    X = pd.DataFrame(dataset.X.toarray()) if sp.issparse(dataset.X) else dataset.X.reset_index(drop=True)
    table = pd.concat([X, dataset.Y.reset_index(drop=True)], axis=1)
    return table.set_axis(range(table.shape[1]), axis=1)


def sorted_rows(*datasets):
    return sorted(row.tobytes() for dataset in datasets for row in rows_of(dataset).to_numpy(dtype=np.float64))


@pytest.mark.real_data
@pytest.mark.parametrize("name", COUNTED)
def test_figures_of_the_files(name, load):
    dataset = load(name)
    found = figures(dataset)
    assert found[:4] == COUNTED[name][:4]
    assert found.LC is None if COUNTED[name][4] is None else round(found.LC, 3) == COUNTED[name][4]
    assert dataset.X.shape == (found.N, found.d)
    assert len(set(dataset.feature_names)) == found.d
    assert len(set(dataset.label_names)) == found.L
    assert dataset.name == name
    assert ENTRIES[name].citation in dataset.description


@pytest.mark.real_data
@pytest.mark.parametrize("name", COUNTED_PARTS)
def test_official_parts(name, load, data_folder):
    whole = load(name)
    for part, (n_rows, cardinality) in zip(("train", "test"), np.reshape(COUNTED_PARTS[name], (2, 2)), strict=True):
        dataset = load(name, part)
        found = figures(dataset)
        assert (found.N, round(found.LC, 3)) == (n_rows, cardinality)
        assert dataset.label_names == whole.label_names
        assert dataset.feature_names == whole.feature_names
        assert dataset.classes == whole.classes
        assert dataset.name == f"{name}-{part}"
        assert dataset.split is None
    if name != "tmc2007":  # read once is enough
        split = pickle.loads(pickle.dumps(whole)).split
        pd.testing.assert_frame_equal(split.train.Y, load(name, "train").Y)
        pd.testing.assert_frame_equal(split.test.Y, load(name, "test").Y)


@pytest.mark.real_data
def test_the_listing_knows_that_all_files_are_there(data_folder):
    states = {entry.name: entry.state for entry in list_datasets(data_folder)}
    assert states.pop("mediamill") == "present, reduced"
    assert states.pop("parkinsons") == "not public"
    assert states.pop("digits") == "embedded"
    assert set(states.values()) == {"present"}


@pytest.mark.real_data
def test_a_tampered_copy_is_refused(data_folder, tmp_path):
    shutil.copytree(data_folder / "music", tmp_path / "music")
    packed = tmp_path / "music" / "music.arff.gz"
    content = gzip.decompress(packed.read_bytes())
    packed.unlink()
    plain = tmp_path / "music" / "music.arff"
    plain.write_bytes(content)
    assert len(load_dataset("music", data=tmp_path).Y) == 593
    packed.write_bytes(gzip.compress(content, 1))
    assert len(load_dataset("music", data=tmp_path).Y) == 593
    packed.write_bytes(gzip.compress(content.replace(b"0.034741", b"0.034742", 1)))
    with pytest.raises(DataError, match=r"music.arff.gz: is not the file in the catalogue"):
        load_dataset("music", data=tmp_path)
    assert len(load_dataset("music", data=tmp_path, verify=False).Y) == 593
    packed.unlink()
    labels = tmp_path / "music" / "music.xml"
    labels.write_bytes(labels.read_bytes() + b"\n")
    with pytest.raises(DataError, match=r"music.xml: is not the file"):
        load_dataset("music", data=tmp_path)
    labels.unlink()
    with pytest.raises(DataError, match=r"music.xml: there is no such file. Store tsoumakas/mulan .*emotions.xml"):
        load_dataset("music", data=tmp_path)


@pytest.mark.real_data
def test_solar_flare(load):
    Y, X = load("solar_flare").Y, load("solar_flare").X
    assert load("solar_flare").label_names == ["c-class", "m-class", "x-class"]
    assert load("solar_flare").classes == [[0, 1, 2, 3, 4]] * 3
    assert [sorted(set(Y[name])) for name in Y] == [[0, 1, 2], [0, 1, 2, 4], [0, 1]]
    assert (Y == 0).sum().tolist() == [287, 291, 316]
    assert all(isinstance(kind, pd.CategoricalDtype) for kind in X.dtypes)
    assert sum(list(X[name].cat.categories) == ["1", "2"] for name in X) == 5
    assert not X.isna().any(axis=None)
    assert ((Y == 0).all(axis=1).mean()).round(2) == 0.82


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
def test_thyroid(load):
    dataset = load("thyroid")
    X, Y = dataset.X, dataset.Y
    assert [len(classes) for classes in dataset.classes] == [5, 5, 3, 2, 4, 4, 2]
    assert X.select_dtypes("number").columns.tolist() == ["age", "TSH", "T3", "TT4", "T4U", "FTI", "TBG"]
    assert sum(list(X[name].cat.categories) == ["f", "t"] for name in X.select_dtypes("category")) == 20
    assert list(X["sex"].cat.categories) == ["M", "F"]
    assert len(X["referral_source"].cat.categories) == 6
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "sex": 307, "TSH": 842, "T3": 2604, "TT4": 442, "T4U": 809, "FTI": 802, "TBG": 8823,
    }  # fmt: skip
    assert X["age"].max() == 65526
    assert not Y.isna().any(axis=None)
    negative = (Y == "NEG").mean()
    assert (negative.min().round(3), negative.max().round(3)) == (0.927, 0.996)
    assert (Y["class_hypothyroid"] == "E").sum() == 1


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["music", "tmc2007", "scene", "mediamill"])
def test_the_whole_is_the_training_rows_then_the_test_rows(name, load):
    whole, train, test = load(name), load(name, "train"), load(name, "test")
    joined = pd.concat([train.Y, test.Y], ignore_index=True)
    pd.testing.assert_frame_equal(whole.Y, joined)
    assert list(whole.Y.index) == list(range(len(joined)))
    if sp.issparse(whole.X):
        assert abs(whole.X - sp.vstack([train.X, test.X])).max() == 0
    else:
        pd.testing.assert_frame_equal(whole.X, pd.concat([train.X, test.X], ignore_index=True))


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["yeast", "medical", "enron"])
def test_the_whole_has_the_rows_of_both_parts_in_another_order(name, load):
    whole, train, test = load(name), load(name, "train"), load(name, "test")
    assert sorted_rows(whole) == sorted_rows(train, test)
    joined = pd.concat([train.Y, test.Y], ignore_index=True)
    assert (whole.Y.to_numpy() != joined.to_numpy()).any()


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "count"), [("scene", 7), ("medical", 9), ("enron", 27), ("mediamill", 0)])
def test_duplicates(name, count, load):
    assert rows_of(load(name)).duplicated().sum() == count


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "n_labels"), [("scene", 6), ("yeast", 14), ("enron", 53)])
def test_the_files_of_meka_hold_the_same_rows(name, n_labels, load, data_folder):
    meka = read_dataset(data_folder / name / f"{name}-meka.arff.gz", targets=n_labels)
    if name == "enron":
        assert sorted_rows(meka) == sorted_rows(load(name))
        assert meka.label_names == load(name).label_names
        return
    joined = pd.concat([rows_of(load(name, "train")), rows_of(load(name, "test"))], ignore_index=True)
    np.testing.assert_allclose(rows_of(meka).to_numpy(dtype=float), joined.to_numpy(dtype=float))


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


@pytest.mark.real_data
def test_genbase(load):
    dataset = load("genbase")
    assert "protein" not in dataset.feature_names
    assert all(list(dataset.X[name].cat.categories) == ["YES", "NO"] for name in dataset.X)
    assert (dataset.X.nunique() == 1).sum() == 1073
    assert len(dataset.X.drop_duplicates()) == 206


@pytest.mark.real_data
def test_genbase_proteins_of_the_parts(data_folder):
    proteins = [
        set(read_dataset(data_folder / "genbase" / f"genbase{part}.arff.gz", targets=-27).X["protein"])
        for part in ("", "-train", "-test")
    ]
    whole, train, test = proteins
    assert len(whole) == 662
    assert train & test == {"Q9XEL8"}
    assert whole - train - test == {"O88658"}
    assert len(train | test) == 661


@pytest.mark.real_data
def test_labels_that_do_not_occur_in_training(load):
    assert {name: int((load(name, "train").Y.sum() == 0).sum()) for name in ("medical", "enron", "mediamill")} == {
        "medical": 7, "enron": 1, "mediamill": 10,
    }  # fmt: skip
    assert load("medical").label_names[-1] == "Class-44-786_07"  # the last columns, whatever its relation says
    assert load("medical").feature_names[0] == "-"


@pytest.mark.real_data
def test_reuters(load):
    dataset = load("reuters")
    counts = dataset.Y.sum()
    absent = {"CCAT.C18.C18", "ECAT.E13.E13", "MCAT.MCAT", "MCAT.M14.M143"}
    assert set(counts.index[counts == 0]) == absent
    assert (np.diff(dataset.X.indptr) == 0).sum() == 117
    assert dataset.split is None


@pytest.mark.real_data
def test_mediamill_says_that_it_is_reduced(load):
    dataset = load("mediamill")
    assert "reduced set of 2000 rows" in dataset.description
    assert (dataset.Y.sum() == 0).sum() == 5
    assert (dataset.Y.sum(axis=1) == 0).sum() == 75
