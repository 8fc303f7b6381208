"""ARFF files as data sets: inputs and labels kept apart, sparse files as numbers, and the traps of the real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from montechain.datasets.arff import read_arff
from montechain.datasets.reading import dataset_from_arff
from montechain.errors import DataError
from tests.datasets.arff_text import header, sparse_rows

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
@attribute colour {red, blue, tan}
@attribute length numeric
@attribute always {yes}
@data
{0 1, 2 1, 3 large, 4 blue, 5 2.5}
{1 calm, 4 tan}
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
        data = dataset_from_arff(write(DENSE, "songs.arff"), partial=True)
        assert data.name == "songs"
        assert "songs.arff" in data.description
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

    def test_drop_and_name(self, write):
        data = dataset_from_arff(write(DENSE), drop=["title", -2], name="mine")
        assert data.feature_names == ["tempo"]
        assert data.name == "mine"

    def test_targets_in_any_order_stand_in_the_order_of_the_file(self, write):
        data = dataset_from_arff(write(DENSE), targets=["genre", "happy"])
        assert data.label_names == ["happy", "genre"]
        assert data.feature_names == ["key", "tempo", "title"]

    @pytest.mark.parametrize(
        ("options", "kind", "message"),
        [
            ({"drop": ["titel"]}, ValueError, "`drop`: there is no column 'titel'; did you mean 'title'"),
            ({"drop": ["happy"]}, ValueError, "`drop` names the column 'happy', which is one of the targets"),
            ({"targets": ["hapy"]}, ValueError, "did you mean 'happy'"),
            ({"targets": ["tempo"], "drop": [0, 1, 3, 4]}, DataError, "no column is left"),
            ({"targets": 5}, DataError, "no column is left"),
        ],
    )
    def test_refused(self, write, options, kind, message):
        with pytest.raises(kind, match=message):
            dataset_from_arff(write(DENSE), **options)

    def test_continuous_label(self, write):
        text = "@attribute x numeric\n@attribute y numeric\n@data\n1,0.5\n2,1\n"
        with pytest.raises(DataError, match=r"table\.arff: the label 'y' is continuous"):
            dataset_from_arff(write(text), targets=["y"])

    def test_text_label_has_the_classes_that_occur(self, write):
        data = dataset_from_arff(write(DENSE), targets=["title"])
        assert data.classes == [["a b", "c"]]

    def test_text_and_nominal(self, write):
        path = write(DENSE.replace("1, major, 140", "1, major, 70.5") + "1, major, 100, pop, c\n")
        data = dataset_from_arff(path, text=["title"], nominal=["tempo", "genre"])
        assert data.X["title"].dtype == "string"
        assert data.X["tempo"].cat.categories.tolist() == ["100", "70", "70.5"]
        assert data.X["tempo"].isna().tolist() == [False, True, False, False]
        assert data.X["genre"].cat.categories.tolist() == ["rock", "pop", "jazz"]  # as declared
        data = dataset_from_arff(path, nominal=["title"])
        assert data.X["title"].cat.categories.tolist() == ["a b", "c"]
        assert dataset_from_arff(path, targets=["tempo"], nominal=["tempo"]).classes == [["100", "70", "70.5"]]
        with pytest.raises(DataError, match="`nominal`: there is no column 'tmepo'; did you mean 'tempo'"):
            dataset_from_arff(path, nominal=["tmepo"])

    def test_partial(self, write):
        options = {"drop": ["genre", "x"], "text": ["title", "y"], "nominal": ["tempo", "z"], "partial": True}
        data = dataset_from_arff(write(DENSE), targets=["happy", "mood"], **options)
        assert data.label_names == ["happy"]
        assert data.feature_names == ["key", "tempo", "title"]
        assert [str(dtype) for dtype in data.X.dtypes] == ["category", "category", "string"]
        assert len(data.Y) == 3
        unknown = write(DENSE.replace("1, major", "?, major").replace("0, ?,", "?, ?,"))
        assert dataset_from_arff(unknown, partial=True).label_names == ["key"]
        assert dataset_from_arff(unknown, targets=["mood"], partial=True).Y.shape == (3, 0)


class TestSparse:
    def test_words_are_only_those_that_are_declared(self, write):
        path = write(SPARSE)
        assert dataset_from_arff(path, nominal=["size", "mood"]).feature_names[1] == "size=large"
        for parameter in ("text", "nominal"):
            with pytest.raises(
                DataError, match=f"a sparse file holds numbers, so there is no column for `{parameter}`"
            ):
                dataset_from_arff(path, **{parameter: ["length"]})
            assert dataset_from_arff(path, **{parameter: ["width"]}, partial=True).Y.shape == (5, 2)

    def test_parts(self, write):
        data = dataset_from_arff(write(SPARSE))
        assert isinstance(data.X, sp.csr_array)
        assert data.X.dtype == np.float64
        assert data.feature_names == ["ball", "size=large", "colour=blue", "colour=tan", "length"]
        np.testing.assert_array_equal(data.X.toarray(), [[1, 1, 1, 0, 2.5], [0, 0, 0, 1, 0], [0] * 5, [np.nan] * 5])
        assert data.classes == [[0, 1], ["glad", "sad", "calm"]]
        assert data.Y["sport"].tolist() == [1, 0, 0, 1]
        assert data.Y["mood"].tolist()[:3] == ["glad", "calm", "glad"]
        assert data.Y["mood"].isna().tolist() == [False, False, False, True]
        assert data.notes == ["1 of 5 rows is left out: all of its labels are unknown."]

    def test_the_first_declared_value_is_omitted_whatever_it_is(self, write):
        text = "@attribute y {YES, NO}\n@attribute x {1, 0}\n@attribute z {0, 1}\n@data\n{0 NO}\n{1 0}\n{2 1}\n"
        data = dataset_from_arff(write(text), targets=["y"])
        assert data.Y["y"].tolist() == ["NO", "YES", "YES"]
        assert data.classes == [["YES", "NO"]]
        assert data.feature_names == ["x=0", "z"]
        assert data.X.toarray().tolist() == [[0, 0], [1, 0], [0, 1]]

    def test_numeric_labels(self, write):
        text = "@attribute y numeric\n@attribute x numeric\n@data\n{0 1}\n{1 0.5}\n{0 ?}\n"
        data = dataset_from_arff(write(text), targets=1, partial=True)
        assert data.Y["y"].isna().tolist() == [False, False, True]
        assert data.classes == [[0, 1]]

    def test_inputs_that_cannot_vary(self, write):
        text = "@attribute x {only}\n@attribute y {0,1}\n@data\n{1 1}\n{}\n"
        with pytest.raises(DataError, match="no input has more than one declared value"):
            dataset_from_arff(write(text), targets=["y"])

    def test_texts_must_be_dropped(self, write):
        path = write("@attribute id string\n@attribute y {0,1}\n@attribute x numeric\n@data\n{0 a, 1 1}\n{0 b, 2 3}\n")
        with pytest.raises(DataError, match=r"the input 'id' is a string.*drop=\['id'\]"):
            dataset_from_arff(path, targets=["y"])
        assert dataset_from_arff(path, targets=["y"], drop=["id"]).X.toarray().tolist() == [[0], [3]]
        with pytest.raises(DataError, match="the label 'id' is a string in a sparse file"):
            dataset_from_arff(path, targets=["id"])

    @given(st.data())
    def test_against_a_dense_reading(self, tmp_path_factory, data):
        """The columns of a sparse file, cell by cell from the definition."""
        kinds = st.sampled_from(["numeric", ["0", "1"], ["a", "b"], ["a", "b", "c"], ["only"], ["0", "1", "2"]])
        drawn = ["numeric", *data.draw(st.lists(kinds, max_size=4))]
        attributes = [(f"x{j}", kind) for j, kind in enumerate(drawn)]
        attributes.append(("y", ["no", "yes"]))
        cell = st.integers(0, len(attributes) - 1).flatmap(
            lambda j: st.tuples(
                st.just(j),
                st.none()
                | (st.sampled_from([0.0, 1.5]) if attributes[j][1] == "numeric" else st.sampled_from(attributes[j][1])),
            )
        )
        rows = data.draw(st.lists(st.lists(cell, max_size=6).map(dict), min_size=1, max_size=5))
        rows.append({len(attributes) - 1: "yes"})
        path = tmp_path_factory.mktemp("sparse") / "t.arff"
        path.write_text(header(attributes) + sparse_rows(rows))
        found = dataset_from_arff(path, targets=["y"], partial=True)
        expected, names = [], []
        for j, (name, kind) in enumerate(attributes[:-1]):
            if kind == "numeric" or kind == ["0", "1"]:
                names.append(name)
                expected.append([np.nan if row.get(j, 0) is None else float(row.get(j, 0)) for row in rows])
                continue
            for value in kind[1:]:
                names.append(f"{name}={value}")
                expected.append([np.nan if row.get(j, 0) is None else float(row.get(j) == value) for row in rows])
        assert found.feature_names == names
        np.testing.assert_array_equal(found.X.toarray(), np.array(expected).T)
        labels = [row.get(len(attributes) - 1, "no") for row in rows]
        assert [None if pd.isna(v) else v for v in found.Y["y"]] == labels


# folder/file, options, rows, inputs, labels, label cardinality (None: not binary)
PUBLISHED = [
    ("solar_flare/solar_flare.arff", {}, 323, 10, 3, None),
    ("bridges/bridges.arff", {"targets": -5, "drop": ["IDENTIF"]}, 107, 7, 5, None),
    ("thyroid/thyroid.arff.gz", {}, 9172, 29, 7, None),
    ("music/music.arff.gz", {}, 593, 72, 6, 1.868),
    ("music/music-train.arff.gz", {}, 391, 72, 6, 1.813),
    ("music/music-test.arff.gz", {}, 202, 72, 6, 1.975),
    ("music/music-meka.arff.gz", {}, 592, 71, 6, 1.870),
    ("scene/scene-train.arff.gz", {}, 1211, 294, 6, 1.062),
    ("scene/scene-test.arff.gz", {}, 1196, 294, 6, 1.086),
    ("scene/scene-meka.arff.gz", {}, 2407, 294, 6, 1.074),
    ("yeast/yeast.arff.gz", {}, 2417, 103, 14, 4.237),
    ("yeast/yeast-train.arff.gz", {}, 1500, 103, 14, 4.228),
    ("yeast/yeast-test.arff.gz", {}, 917, 103, 14, 4.252),
    ("yeast/yeast-meka.arff.gz", {}, 2417, 103, 14, 4.237),
    ("genbase/genbase.arff.gz", {"drop": ["protein"]}, 662, 1185, 27, 1.252),
    ("genbase/genbase-train.arff.gz", {"drop": ["protein"]}, 463, 1185, 27, 1.261),
    ("genbase/genbase-test.arff.gz", {"drop": ["protein"]}, 199, 1185, 27, 1.231),
    ("medical/medical.arff.gz", {}, 978, 1449, 45, 1.245),
    ("medical/medical-train.arff", {}, 333, 1449, 45, 1.255),
    ("medical/medical-test.arff", {}, 645, 1449, 45, 1.240),
    ("enron/enron.arff.gz", {}, 1702, 1001, 53, 3.378),
    ("enron/enron-train.arff.gz", {}, 1123, 1001, 53, 3.386),
    ("enron/enron-test.arff.gz", {}, 579, 1001, 53, 3.363),
    ("enron/enron-meka.arff.gz", {}, 1702, 1001, 53, 3.378),
    ("reuters/reuters.arff.gz", {}, 6000, 500, 103, 1.462),
    ("tmc2007/tmc2007.arff.gz", {}, 28596, 500, 22, 2.158),
    ("tmc2007/tmc2007-train.arff.gz", {}, 21519, 500, 22, 2.226),
    ("tmc2007/tmc2007-test.arff.gz", {}, 7077, 500, 22, 1.952),
    ("mediamill/mediamill-reduced-train.arff.gz", {}, 1500, 120, 101, 4.437),
    ("mediamill/mediamill-reduced-test.arff.gz", {}, 500, 120, 101, 4.264),
]


@pytest.mark.real_data
class TestRealFiles:
    @pytest.mark.parametrize(("file", "options", "n", "d", "n_labels", "cardinality"), PUBLISHED)
    def test_figures(self, data_folder, file, options, n, d, n_labels, cardinality):
        data = dataset_from_arff(data_folder / file, **options)
        assert data.X.shape == (n, d)
        assert data.Y.shape == (n, n_labels)
        assert len(data.feature_names) == d
        assert not set(data.label_names) & set(data.feature_names)
        if cardinality is not None:
            assert data.classes == [[0, 1]] * n_labels
            assert round(float(data.Y.to_numpy().sum(axis=1).mean()), 3) == cardinality

    def test_false_option_of_medical(self, data_folder):
        path = data_folder / "medical" / "medical-train.arff"
        table = read_arff(path)
        assert "-C 45" in table.relation
        labels = dataset_from_arff(path).label_names
        assert labels == [a.name for a in table.attributes[-45:]]
        assert labels[0].startswith("Class-0")

    def test_labels_keep_the_order_of_the_file(self, data_folder):
        yeast = dataset_from_arff(data_folder / "yeast" / "yeast.arff.gz")
        assert yeast.label_names == [f"Class{k}" for k in range(1, 15)]
        mulan = dataset_from_arff(data_folder / "enron" / "enron.arff.gz")
        meka = dataset_from_arff(data_folder / "enron" / "enron-meka.arff.gz")
        assert mulan.label_names == meka.label_names

    def test_both_spellings_of_enron_hold_the_same_rows(self, data_folder):
        mulan = dataset_from_arff(data_folder / "enron" / "enron.arff.gz")
        meka = dataset_from_arff(data_folder / "enron" / "enron-meka.arff.gz")
        order = [meka.feature_names.index(name) for name in mulan.feature_names]
        rows = [
            sorted(map(tuple, np.hstack([X.toarray(), Y.to_numpy()]).astype(int).tolist()))
            for X, Y in ((mulan.X, mulan.Y), (meka.X[:, order], meka.Y))
        ]
        assert rows[0] == rows[1]

    def test_yes_is_declared_first_in_genbase(self, data_folder):
        data = dataset_from_arff(data_folder / "genbase" / "genbase.arff.gz", drop=["protein"])
        assert all(data.X[name].cat.categories.tolist() == ["YES", "NO"] for name in data.X)
        assert (data.X == "YES").to_numpy().mean() < 0.01
        assert (data.X.nunique() == 1).sum() == 1073

    def test_unknown_labels_of_bridges(self, data_folder):
        data = dataset_from_arff(data_folder / "bridges" / "bridges.arff", targets=-5, drop=["IDENTIF"])
        assert data.Y.isna().sum().to_dict() == {"T-OR-D": 5, "MATERIAL": 2, "SPAN": 15, "REL-L": 5, "TYPE": 2}
        assert data.Y.notna().all(axis=1).sum() == 89
        missing = data.X.isna().sum()
        assert missing[missing > 0].to_dict() == {"LOCATION": 1, "LENGTH": 26, "LANES": 15, "CLEAR-G": 2}
        assert [len(classes) for classes in data.classes] == [2, 3, 3, 3, 6]

    def test_declared_classes_that_do_not_occur(self, data_folder):
        data = dataset_from_arff(data_folder / "solar_flare" / "solar_flare.arff")
        assert data.classes == [[0, 1, 2, 3, 4]] * 3
        assert [sorted(data.Y[label].unique()) for label in data.Y] == [[0, 1, 2], [0, 1, 2, 4], [0, 1]]

    def test_thyroid(self, data_folder):
        data = dataset_from_arff(data_folder / "thyroid" / "thyroid.arff.gz")
        assert [len(classes) for classes in data.classes] == [5, 5, 3, 2, 4, 4, 2]
        assert data.X["age"].max() == 65526
        assert data.X["TBG"].isna().sum() == 8823
        assert data.X["sex"].isna().sum() == 307
        assert (data.X.dtypes == np.float64).sum() == 7

    def test_empty_rows_of_reuters_are_kept(self, data_folder):
        data = dataset_from_arff(data_folder / "reuters" / "reuters.arff.gz")
        assert (np.diff(data.X.indptr) == 0).sum() == 117
        assert (data.Y.sum() == 0).sum() == 4
