"""One function reads all data sets: it finds the format and calls the right reader."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from montechain.datasets.dataset import Dataset
from montechain.datasets.files import SUFFIXES, find_format
from montechain.datasets.reading import read_dataset
from montechain.errors import DataError
from montechain.preparation import TableEncoder
from tests.unscaled import unscaled

FRAME = pd.DataFrame(
    {
        "id": ["a1", "a2", "a3", "a4"],
        "tempo": [120.5, 98, np.nan, 101.25],
        "title": ["one", "two", "three", "four"],
        "loud": pd.array([1, 0, None, 1], dtype="Int64"),
        "mood": pd.Categorical(["calm", "happy", None, "calm"]),
    }
)
ARFF = """@relation songs
@attribute id {a1,a2,a3,a4}
@attribute tempo numeric
@attribute title {one,two,three,four}
@attribute loud {0,1}
@attribute mood {calm,happy}
@data
a1,120.5,one,1,calm
a2,98,two,0,happy
a3,?,three,?,?
a4,101.25,four,1,calm
"""


def write(folder: Path, ending: str) -> Path:
    path = folder / f"songs{ending}"
    if ending == ".parquet":
        FRAME.to_parquet(path)
    elif ending == ".feather":
        FRAME.to_feather(path)
    else:
        text = ARFF if "arff" in ending else FRAME.to_csv(index=False, sep="\t" if ".t" in ending else ",")
        pack = gzip.compress if ending.endswith("gz") else bz2.compress if ending.endswith("bz2") else bytes
        path.write_bytes(pack(text.encode()))
    return path


def check(data: Dataset) -> None:
    assert data.feature_names == ["tempo", "title"]
    assert data.label_names == ["loud", "mood"]
    assert data.classes == [[0, 1], ["calm", "happy"]]
    assert data.X["tempo"].tolist() == [120.5, 98, 101.25]
    assert data.X["title"].tolist() == ["one", "two", "four"]
    assert data.X["title"].dtype == "string"
    assert data.Y["loud"].tolist() == [1, 0, 1]
    assert data.Y["mood"].tolist() == ["calm", "happy", "calm"]
    assert data.notes == ["1 of 4 rows were left out because all of their targets are missing."]


ENDINGS = (
    *(".csv", ".CSV.GZ", ".csv.bz2", ".data", ".tsv", ".tab.gz", ".parquet", ".feather", ".arff", ".arff.gz"),
    ".arff.bz2",
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_same_data_from_every_format(ending, tmp_path):
    path = write(tmp_path, ending)
    for source in (path, str(path)):
        data = read_dataset(source, targets=["loud", "mood"], drop=["id"], text=["title"])
        check(data)
        assert data.name == "songs"


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)])
def test_the_same_data_from_frames(frame):
    for targets in (["mood", "loud"], [3, 4], [-1, -2], -2):  # labels are in the order of the table
        check(read_dataset(frame, targets=targets, drop=["id"], text=["title"]))
    assert read_dataset(frame, targets=-2, drop=["id", 2]).feature_names == ["tempo"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_sources_that_lack_some_targets(ending, tmp_path):
    path = write(tmp_path, ending)
    options = {"drop": ["id", "number"], "text": ["title", "remark"], "partial": True}
    data = read_dataset(path, targets=["loud", "genre"], **options)
    assert data.label_names == ["loud"]
    assert data.feature_names == ["tempo", "title", "mood"]
    assert data.X["title"].dtype == "string"
    assert data.Y["loud"].isna().tolist() == [False, False, True, False]
    nothing = read_dataset(path, targets=["genre"], **options)
    assert (nothing.Y.shape, nothing.X.shape) == ((4, 0), (4, 4))


def test_sparse_files_that_lack_some_targets(tmp_path):
    path = tmp_path / "words.arff"
    header = (
        "@relation w\n@attribute cat numeric\n@attribute dog numeric\n@attribute pets {0,1}\n@attribute view {a,b}\n"
    )
    path.write_text(header + "@data\n{0 1.5,2 1}\n{1 2,3 b}\n{}\n", encoding="utf-8")
    data = read_dataset(path, targets=["pets", "farm"], drop=["dog", "cow"], partial=True)
    assert data.label_names == ["pets"]
    assert data.feature_names == ["cat", "view"]
    assert data.Y["pets"].tolist() == [1, 0, 0]
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0], [0, 1], [0, 0]])


def test_a_format_that_the_name_does_not_tell(tmp_path):
    path = tmp_path / "songs.version1"
    path.write_bytes(write(tmp_path, ".csv").read_bytes())
    message = r"songs.version1: the suffix '.version1' is not a known format. Known suffixes: \.arff, .*format=\"csv\""
    with pytest.raises(DataError, match=message) as e:
        read_dataset(path, targets=-1)
    for suffixes in SUFFIXES.values():
        for suffix in suffixes:
            assert suffix in str(e.value)
    check(read_dataset(path, format="csv", targets=-2, drop=["id"], text=["title"]))
    with pytest.raises(ValueError, match=r"`format='cvs'` is unknown; did you mean 'csv'\?"):
        read_dataset(path, format="cvs", targets=-1)
    packed = tmp_path / "songs.gz"
    packed.touch()
    with pytest.raises(DataError, match="the name has no suffix that tells the format"):
        find_format(packed)


def test_files_that_are_not_there(tmp_path):
    write(tmp_path, ".csv")
    with pytest.raises(DataError, match=r"sogns.csv: there is no such file\.$") as refusal:
        read_dataset(tmp_path / "sogns.csv", targets=-1)
    assert refusal.value.path == tmp_path / "sogns.csv"
    for path in (tmp_path / "nowhere" / "songs.csv", "a\0b.arff"):
        with pytest.raises(DataError, match="there is no such file"):
            read_dataset(path, targets=-1)
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path / "folder.csv", tmp_path):
        with pytest.raises(DataError, match="is a folder, not a file"):
            read_dataset(folder, targets=-1)


def test_dates_of_a_frame_are_dates_as_inputs_and_words_as_labels():
    days = pd.to_datetime(["1970-01-02T00:00", None, "1970-01-04T12:00"])
    frame = pd.DataFrame({"day": days, "zoned": days.tz_localize("UTC"), "label": [0, 1, 0]})
    data = read_dataset(frame, targets=["label"])
    encoder = TableEncoder(missing="keep").fit(data.X)
    numbers = pd.DataFrame(unscaled(encoder, data.X), columns=encoder.get_feature_names_out())
    np.testing.assert_allclose(numbers[["day", "zoned"]], [[1, 1], [np.nan, np.nan], [3.5, 3.5]])
    with pytest.raises(DataError, match=r"target 'day' holds dates, such as '1970-01-02 00:00:00'.*nominal=\['day'\]"):
        read_dataset(frame, targets=["day", "label"])
    with pytest.raises(DataError, match="the target 'list' does not hold classes"):
        read_dataset(frame.assign(list=[[1], [2], [3]]), targets=["list"])
    data = read_dataset(frame, targets=["day", "label"], nominal=["day"])
    assert data.classes == [["1970-01-02 00:00:00", "1970-01-04 12:00:00"], [0, 1]]
    assert data.Y["day"].isna().tolist() == [False, True, False]


def test_wrong_arguments_name_the_parameter_and_the_file(tmp_path):
    path = write(tmp_path, ".csv")
    message = r"songs.csv: a table does not say which.*targets=\['loud', 'mood'\].*'id', 'tempo'"
    with pytest.raises(DataError, match=message):
        read_dataset(path)
    for options, complaint in [
        ({"targets": ["modo"]}, "column 'modo' not found; did you mean 'mood'"),
        ({"targets": -1, "drop": ["idd"]}, "`drop`: column 'idd' not found; did you mean 'id'"),
        ({"targets": -1, "text": ["titel"]}, "`text`: column 'titel' not found"),
        ({"targets": -1, "nominal": ["tmpo"]}, "`nominal`: column 'tmpo' not found"),
        ({"targets": 5}, "no column is left as an input"),
    ]:
        for ending in (".csv", ".arff"):
            with pytest.raises(DataError, match=complaint) as refusal:
                read_dataset(write(tmp_path, ending), **options)
            assert refusal.value.path == tmp_path / f"songs{ending}"
    for parameter in ("drop", "text"):
        with pytest.raises(ValueError, match=f"`{parameter}` names the column 'mood', which is one of the targets"):
            read_dataset(path, targets=-1, **{parameter: ["mood"]})
    for parameter in ("drop", "text", "nominal"):
        with pytest.raises(TypeError, match=f"`{parameter}='id'` is a string; give a list, as in {parameter}="):
            read_dataset(path, targets=-1, **{parameter: "id"})
    with pytest.raises(TypeError, match="`source` is a dict; it must be the path of a file or a data frame"):
        read_dataset({"a": [1]}, targets=-1)


def test_an_ambiguous_comma_does_not_matter_in_a_dropped_column(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("price;size;mood\n1,5;1;x\n2,5;2;y\n", encoding="utf-8")
    assert read_dataset(path, targets=-1, drop=["price"]).feature_names == ["size"]


def test_sparse_inputs_have_the_indices_that_scikit_learn_takes(tmp_path):
    path = tmp_path / "sparse.arff"
    header = "@relation r\n@attribute x numeric\n@attribute z numeric\n@attribute y {0,1}\n@data\n"
    path.write_text(header + "{0 1.5}\n{1 2, 2 1}\n")
    data = read_dataset(path, targets=["y"])
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.take([1]).X.indptr.dtype == data.X[:, [0]].indices.dtype == np.int32
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0], [0, 2]])


@pytest.mark.parametrize("packing", [gzip, bz2])
def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(packing, tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(packing.compress(b"a,b\n" + b"1,2\n" * 500_000))
    assert path.stat().st_size < 10_000
    monkeypatch.setenv("MONTECHAIN_MAX_MEMORY", "4e6")
    with pytest.raises(DataError, match=r"bomb.csv.gz: unpacks to more than 0.001 GB. Unpack and split it first"):
        read_dataset(path, targets=["b"])
