"""ARFF files as data sets: inputs and labels kept apart, sparse files as numbers, and the traps of the real ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from montechain.datasets.reading import read_dataset
from montechain.errors import DataError

DENSE = """@relation 'songs: -C 2'
@attribute happy {0, 1}
@attribute key {minor, major}
@attribute tempo numeric
@attribute genre {rock, pop, jazz}
@attribute title string
@data
1, major, 140, pop, 'a b'
0, ?, ?, ?, ?
?, minor, 70, jazz, c
"""
SPARSE = """@relation 'words: -C 2'
@attribute sport {0, 1}
@attribute mood {glad, sad, calm}
@attribute ball {0, 1}
@attribute size {small, large}
@attribute length numeric
@attribute always {yes}
@data
{0 1, 2 1, 3 large, 4 2.5}
{1 calm}
{}
{0 1, 1 ?, 2 ?, 3 ?, 4 ?, 5 ?}
{0 ?, 1 ?}
"""


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="table.arff"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


class TestDense:
    def test_parts(self, write):
        data = read_dataset(write(DENSE, "songs.arff"), partial=True)
        assert data.name == "songs"
        assert data.label_names == ["happy", "key"]
        assert data.feature_names == list(data.X.columns) == ["tempo", "genre", "title"]
        assert data.classes == [[0, 1], ["minor", "major"]]
        assert str(data.Y["happy"].dtype) == "Int64"
        assert data.Y["happy"].isna().tolist() == [False, False, True]
        assert data.Y["key"].cat.categories.tolist() == ["minor", "major"]
        assert data.X["tempo"].dtype == np.float64
        assert data.X["genre"].cat.categories.tolist() == ["rock", "pop", "jazz"]
        assert data.X["title"].tolist()[::2] == ["a b", "c"]
        assert data.X.isna().sum().tolist() == [1, 1, 1]

    def test_text_and_nominal(self, write):
        path = write(DENSE.replace("1, major, 140", "1, major, 70.5") + "1, major, 100, pop, c\n")
        data = read_dataset(path, text=["title"], nominal=["tempo", "genre"])
        assert data.X["title"].dtype == "string"
        assert data.X["tempo"].cat.categories.tolist() == ["100", "70", "70.5"]
        assert data.X["tempo"].isna().tolist() == [False, True, False, False]
        assert data.X["genre"].cat.categories.tolist() == ["rock", "pop", "jazz"]  # as declared
        assert read_dataset(path, targets=["tempo"], nominal=["tempo"]).classes == [["100", "70", "70.5"]]
        assert read_dataset(path, targets=["title"]).classes == [["a b", "c"]]


class TestSparse:
    def test_columns_have_the_types_that_are_declared(self, write):
        path = write(SPARSE)
        for parameter in ("text", "nominal"):
            with pytest.raises(DataError, match="a sparse file holds numbers only, so `text` and"):
                read_dataset(path, **{parameter: ["length"]})
            assert read_dataset(path, **{parameter: ["width"]}, partial=True).Y.shape == (5, 2)

    def test_parts(self, write):
        data = read_dataset(write(SPARSE))
        assert isinstance(data.X, sp.csr_array)
        assert data.X.dtype == np.float64
        assert data.feature_names == ["ball", "size", "length", "always"]
        np.testing.assert_array_equal(data.X.toarray(), [[1, 1, 2.5, 0], [0] * 4, [0] * 4, [np.nan] * 4])
        assert data.classes == [[0, 1], ["glad", "sad", "calm"]]
        assert data.Y["sport"].tolist() == [1, 0, 0, 1]
        assert data.Y["mood"].tolist()[:3] == ["glad", "calm", "glad"]
        assert data.Y["mood"].isna().tolist() == [False, False, False, True]
        assert data.notes == ["1 of 5 rows were left out because all of their targets are missing."]

    def test_texts_and_inputs_with_many_values_must_be_dropped(self, write):
        path = write("@attribute id string\n@attribute y {0,1}\n@attribute x numeric\n@data\n{0 a, 1 1}\n{0 b, 2 3}\n")
        with pytest.raises(DataError, match=r"column 'id' is string, .*drop=\['id'\]"):
            read_dataset(path, targets=["y"])
        assert read_dataset(path, targets=["y"], drop=["id"]).X.toarray().tolist() == [[0], [3]]
        with pytest.raises(DataError, match="column 'id' is string"):
            read_dataset(path, targets=["id"])
        with pytest.raises(DataError, match="column 'mood' is nominal, with more than two values"):
            read_dataset(write(SPARSE), targets=["sport"])
        assert read_dataset(write(SPARSE), targets=[], partial=True).feature_names[1] == "mood"
        assert read_dataset(write(SPARSE), nominal=["mood"]).classes[1] == ["glad", "sad", "calm"]
