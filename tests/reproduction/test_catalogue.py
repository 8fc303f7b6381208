"""The catalogue: names, folders, checksums."""

import bz2
import gzip
import hashlib

import pytest

from montechain.errors import DataError
from reproduction.catalogue import DATASETS, Figures, StoredFile, list_datasets, load_dataset, print_datasets

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
    """Return a folder with a different file in place of Solar Flare's."""
    (tmp_path / "solar_flare").mkdir()
    (tmp_path / "solar_flare" / "solar_flare.arff").write_text(FLARES, encoding="utf-8")
    return tmp_path


def test_names_and_the_papers_figures():
    assert list(DATASETS) == [*list(COUNTED)[:3], "parkinsons", *list(COUNTED)[3:]]
    assert ENTRIES["bridges"].paper.shown() == ["107", "5", "2–6", "7", "–"]
    assert ENTRIES["yeast"].paper.shown() == ["2417", "14", "2", "103", "4.24"]
    assert {name for name, entry in ENTRIES.items() if entry.has_split} == {*COUNTED_PARTS}
    found = {name: entry.found for name, entry in ENTRIES.items() if entry.found}
    assert found == {name: Figures(*given) for name, given in COUNTED.items()}
    assert all(entry.citation and entry.note for entry in ENTRIES.values())


def test_every_file_has_a_source_and_a_checksum():
    files = [file for entry in ENTRIES.values() for file in entry.files]
    assert len(files) == 35
    for file in files:
        assert file.path.split("/")[0] in DATASETS
        assert "(commit " in file.source
        assert len(file.sha256) == 64


def test_listing_without_a_folder(no_folder):
    entries = list_datasets()
    assert not any(entry.present for entry in entries)
    states = {entry.name: entry.state for entry in entries}
    assert states["parkinsons"] == "not public"
    assert states["solar_flare"] == "absent: solar_flare/solar_flare.arff"
    assert states["scene"] == "absent: scene/scene-train.arff.gz and 2 more"


def test_listing_with_a_folder(other_flares, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("MONTECHAIN_DATA", str(other_flares))
    for entries in (list_datasets(), list_datasets(other_flares)):
        assert [entry.name for entry in entries if entry.present] == ["solar_flare"]
        assert entries[0].state == "present"
    print_datasets()
    printed = capsys.readouterr().out
    assert "solar_flare" in printed
    assert "absent: music/music.arff.gz" in printed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Yaest", r"data set 'Yaest' is not known; did you mean 'yeast'\? The names are solar_flare"),
        ("parkinsons", r"Parkinson's cannot be loaded: not public.*Borchani et al. 2012"),
        ("solar_flare", "data/solar_flare.arff.* as solar_flare/solar_flare.arff, compressed or not"),
    ],
)
def test_what_cannot_be_loaded(name, message, tmp_path):
    with pytest.raises(ValueError if name == "Yaest" else DataError, match=message) as caught:
        load_dataset(name, data=tmp_path)
    if name == "solar_flare":
        assert caught.value.path == tmp_path / "solar_flare" / "solar_flare.arff"


def test_an_unset_or_absent_folder(no_folder, tmp_path, monkeypatch):
    message = (
        r"no data folder is set.*environment variable MONTECHAIN_DATA.*--data.*one folder per data set.*"
        r"compressed or not.*music/music.arff.gz from tsoumakas/mulan .*data/multi-label/emotions/emotions.arff; "
        r".*music/music.xml"
    )
    with pytest.raises(DataError, match=message):
        load_dataset("music")
    monkeypatch.setenv("MONTECHAIN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"the folder .*nowhere' does not exist\. Set the environment variable"):
        load_dataset("music")


def test_another_file_is_refused_unless_it_is_wanted(other_flares):
    path = other_flares / "solar_flare" / "solar_flare.arff"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(
        DataError, match=f"the sha256 of its content is {found}, but 75e8af9c7cd7.* was expected.*`verify=False`"
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
    file = StoredFile("a/a.arff.gz", "here", hashlib.sha256(content).hexdigest())
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
