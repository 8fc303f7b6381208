"""Which columns are labels, Mulan's label lists, and what becomes of label columns."""

import gzip
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from montechain.datasets.dataset import choose_targets, label_table, read_mulan_labels
from montechain.datasets.files import SUFFIXES, stem_and_suffix
from montechain.errors import DataError

COLUMNS = ["age", "mood", "pulse", "sleep", "diet"]
NAMESPACE = "http://mulan.sourceforge.net/labels"


def write_labels(path, names, namespace=NAMESPACE):
    root = ElementTree.Element("labels", {"xmlns": namespace} if namespace else {})
    for name in names:
        ElementTree.SubElement(root, "label", {"name": name})
    path.write_bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))
    return path


def resolve_targets(targets, names, relation="", path=None):
    """The positions of the labels."""
    return [names.index(name) for name in choose_targets(targets, names, relation=relation, path=path)]


class TestChooseTargets:
    @pytest.mark.parametrize(
        ("targets", "positions"),
        [
            (["sleep", "mood"], [1, 3]),
            (np.array(["diet", "age"]), [0, 4]),
            ("mood", [1]),
            (2, [0, 1]),
            (-2, [3, 4]),
            ([-1, 0], [0, 4]),
            (["mood", 4], [1, 4]),
        ],
    )
    def test_ways_to_say_it(self, targets, positions):
        assert resolve_targets(targets, COLUMNS) == positions

    @pytest.mark.parametrize(
        ("targets", "message"),
        [
            (["sleeep"], "column 'sleeep' not found; did you mean 'sleep'"),
            ("xyz", "column 'xyz' not found. Columns are 'age', 'mood'"),
            (0, "`targets=0`"),
            (-6, "last 6 columns, but there are 5"),
            ([5], "column 5 not found; columns are 0 to 4"),
            ([None], "column None not found"),
        ],
    )
    def test_wrong_values(self, targets, message):
        with pytest.raises(ValueError, match=message):
            resolve_targets(targets, COLUMNS)

    def test_label_list_gives_the_order_of_the_file(self, tmp_path):
        xml = write_labels(tmp_path / "any.xml", ["diet", "mood", "sleep"])
        assert resolve_targets(xml, COLUMNS) == [1, 3, 4]
        assert resolve_targets(str(xml), COLUMNS) == [1, 3, 4]
        with pytest.raises(DataError, match="no such file"):
            resolve_targets(tmp_path / "none.xml", COLUMNS)

        xml = write_labels(tmp_path / "any.xml", ["diet", "moood"])
        with pytest.raises(DataError, match=r"column 'moood' not found; did you mean 'mood'") as error:
            resolve_targets(xml, COLUMNS)
        assert error.value.path == xml

    @pytest.mark.parametrize("file", ["health.arff", "health.arff.gz", "health-train.arff", "health-TEST.arff.bz2"])
    def test_list_beside_the_file_wins_over_meka(self, tmp_path, file):
        write_labels(tmp_path / "health.xml", ["sleep", "mood"])
        assert resolve_targets(None, COLUMNS, path=tmp_path / file, relation="health: -C 3") == [1, 3]

    @pytest.mark.parametrize(
        ("relation", "positions"),
        [
            ("health: -C 2 -R", [0, 1]),
            ("health:-C 2", [0, 1]),
            ("-C -2", [3, 4]),
            ("h: -split-number 9 -C   3", [0, 1, 2]),
            ("h: -C 2 -I 0-filter_h: -C 3", [0, 1]),
        ],
    )
    def test_meka(self, tmp_path, relation, positions):
        assert resolve_targets(None, COLUMNS, relation=relation, path=tmp_path / "health.arff") == positions

    @pytest.mark.parametrize("relation", ["health: -C 0", "health: -C 6", "health: -C -9"])
    def test_meka_that_does_not_fit(self, relation):
        with pytest.raises(DataError, match=r"`targets=-?\d` means"):
            resolve_targets(None, COLUMNS, relation=relation)

    @pytest.mark.parametrize("relation", ["", "health -c 2", "health -CC 2", "x-C 2", "h: -C two", "h: -C 2x"])
    def test_nothing_tells(self, tmp_path, relation):
        with pytest.raises(DataError, match=r"health\.arff: neither an \.xml file .* targets=-2"):
            resolve_targets(None, COLUMNS, relation=relation, path=tmp_path / "health.arff")


def test_stem_and_suffix():
    assert stem_and_suffix("a/b/yeast-train.arff.gz") == ("yeast-train", ".arff")
    assert stem_and_suffix("table.v2.CSV.bz2") == ("table.v2", ".csv")
    assert stem_and_suffix("bridges.version1") == ("bridges.version1", ".version1")
    assert stem_and_suffix(".csv") == (".csv", "")
    for suffix in (suffix for endings in SUFFIXES.values() for suffix in endings):
        assert (
            stem_and_suffix(f"bridges{suffix}") == stem_and_suffix(f"bridges{suffix.upper()}.gz") == ("bridges", suffix)
        )


class TestMulanLabels:
    def test_prefixes_nesting_comments_and_texts(self, tmp_path):
        path = tmp_path / "l.xml"
        path.write_text(
            f'<?xml version="1.0"?><!-- labels --><m:labels xmlns:m="{NAMESPACE}"> text\n'
            '<m:label name="a"><m:label name="b"><m:label name="&amp;c"> </m:label></m:label></m:label>'
            '<m:label name="d" weight="2"/></m:labels>'
        )
        assert read_mulan_labels(path) == ["a", "b", "&c", "d"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
    def test_encodings(self, tmp_path, encoding):
        path = tmp_path / "l.xml"
        declared = "" if encoding.startswith("utf") else f'<?xml version="1.0" encoding="{encoding}"?>'
        path.write_bytes((declared + '<labels><label name="é"/></labels>').encode(encoding))
        assert read_mulan_labels(path) == ["é"]

    @pytest.mark.parametrize(
        ("text", "line", "message"),
        [
            ("", 1, "not well-formed"),
            ("<labels>\n<label name='a'>\n</labels>", 3, "not well-formed"),
            ("<labels></labels>", None, "not a Mulan label list"),
            ("<data/>", None, "not a Mulan label list"),
            ("<labels>\n<lable name='a'/></labels>", None, "not a Mulan label list"),
            ("<labels>\n<label/></labels>", None, "not a Mulan label list"),
            ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", None, "not a Mulan label list"),
            ("<?xml version='1.0' encoding='klingon'?><labels/>", None, "encoding"),
            ("<?xml version='1.0' encoding='utf-7'?><labels/>", None, "encoding"),
            ("<labels>\n<label name='&lol;'/></labels>", 2, "not well-formed"),
            ("\n<!DOCTYPE labels SYSTEM 'labels.dtd'><labels><label name='a'/></labels>", None, "document type"),
        ],
    )
    def test_refused(self, tmp_path, text, line, message):
        path = tmp_path / "l.xml"
        path.write_text(text)
        with pytest.raises(DataError, match=message) as error:
            read_mulan_labels(path)
        assert (error.value.path, error.value.line) == (path, line)

    def test_entities_are_neither_expanded_nor_read(self, tmp_path):
        path, secret = tmp_path / "l.xml", tmp_path / "secret.txt"
        secret.write_text("a secret")
        bomb = '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
        for declared, used in ((bomb, "&a11;"), (f"<!ENTITY s SYSTEM '{secret.as_uri()}'>", "&s;")):
            path.write_text(f"<!DOCTYPE labels [{declared}]><labels><label name='{used}'/></labels>")
            with pytest.raises(DataError, match="document type declaration") as error:
                read_mulan_labels(path)
            assert "a secret" not in str(error.value)

    def test_packed_bomb_and_depth(self, tmp_path):
        path = tmp_path / "l.xml"
        path.write_bytes(gzip.compress(b"<labels>" + b" " * (1 << 25)))
        with pytest.raises(DataError, match="too large"):
            read_mulan_labels(path)
        depth = 50000
        path.write_text(
            "<labels>" + "".join(f"<label name='{i}'>" for i in range(depth)) + "</label>" * depth + "</labels>"
        )
        assert len(read_mulan_labels(path)) == depth


ODD = 2**53 + 1  # no float is equal to it


def categorical(values, categories):
    return pd.Categorical(values, categories=categories)


class TestLabelTable:
    @pytest.mark.parametrize(
        ("column", "dtype", "classes", "values"),
        [
            ([0, 1, 1], "int64", [0, 1], [0, 1, 1]),
            ([ODD, 2**53, 0], "int64", [0, 2**53, ODD], [ODD, 2**53, 0]),
            (pd.array([ODD, None, 2**53], dtype="Int64"), "Int64", [2**53, ODD], [ODD, None, 2**53]),
            (categorical([ODD, 2**53, 1], [2**53, 1, ODD]), "int64", [1, 2**53, ODD], [ODD, 2**53, 1]),
            (np.array([2**63 - 1, 2**62, 0], dtype=np.uint64), "int64", [0, 2**62, 2**63 - 1], [2**63 - 1, 2**62, 0]),
            ([1.0, -1.0, 1.0], "int64", [-1, 1], [1, -1, 1]),
            ([1.0, None, 0.0], "Int64", [0, 1], [1, None, 0]),
            (["10", "9", None], "Int64", [9, 10], [10, 9, None]),
            (categorical(["1", "1", None], ["1", "0"]), "Int64", [0, 1], [1, 1, None]),
            (categorical([3, 5, 3], [5, 3, 7]), "int64", [3, 5, 7], [3, 5, 3]),
            (categorical([3.0, None, 3.0], [5.0, 3.0]), "Int64", [3, 5], [3, None, 3]),
            (["01", "1", "1"], "category", ["01", "1"], ["01", "1", "1"]),
            (["-0", "0", "0"], "category", ["-0", "0"], ["-0", "0", "0"]),
            (categorical(["NO", "YES", None], ["YES", "NO"]), "category", ["YES", "NO"], ["NO", "YES", None]),
            (pd.array([True, None, True], dtype="boolean"), "category", [True], [True, None, True]),
            (pd.array(["x", None, "y"], dtype="string"), "category", ["x", "y"], ["x", None, "y"]),
        ],
    )
    def test_kinds(self, column, dtype, classes, values):
        Y, found = label_table(pd.DataFrame({"label": column}))
        assert str(Y["label"].dtype) == dtype
        assert found == [classes]
        assert [type(value) for value in found[0]] == [type(value) for value in classes]
        cells = Y["label"].astype(object)
        assert cells.where(cells.notna(), None).tolist() == values
        if dtype == "category":
            assert Y["label"].cat.categories.tolist() == classes

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            ([0.5, 1.0], "'label' is continuous .it holds 0.5.*Bin it first.*leave it out"),
            ([np.inf, 1.0], "'label' is continuous"),
            ([2.0**53, 1.0], "'label' is continuous"),
            (np.array([2**63, 1], dtype=np.uint64), "'label' is continuous"),
            (categorical([0.5, 1.0], [0.5, 1.0]), "'label' is continuous"),
            ([np.nan, np.nan], "'label' has no known value"),
            (categorical([None, None], ["a"]), "'label' has no known value"),
        ],
    )
    def test_refused(self, column, message):
        with pytest.raises(DataError, match=message):
            label_table(pd.DataFrame({"label": column}))

    def test_measurements_in_whole_numbers_are_refused(self):
        with pytest.raises(DataError, match="continuous"):
            label_table(pd.DataFrame({"price": np.arange(200)}))
        assert len(label_table(pd.DataFrame({"many": np.arange(200).repeat(3)}))[1][0]) == 200
        assert len(label_table(pd.DataFrame({"few": np.arange(50)}))[1][0]) == 50
