"""Every real ARFF file, cell by cell, against liac-arff."""

from __future__ import annotations

import gzip

import arff as liac
import pytest
import scipy.sparse as sp

from montechain.datasets.arff import read_arff
from tests.datasets.arff_text import cells

FILES = [
    "bridges/bridges.arff",
    "enron/enron-meka.arff.gz",
    "enron/enron-test.arff.gz",
    "enron/enron-train.arff.gz",
    "enron/enron.arff.gz",
    "genbase/genbase-test.arff.gz",
    "genbase/genbase-train.arff.gz",
    "genbase/genbase.arff.gz",
    "mediamill/mediamill-reduced-test.arff.gz",
    "mediamill/mediamill-reduced-train.arff.gz",
    "medical/medical-test.arff",
    "medical/medical-train.arff",
    "medical/medical.arff.gz",
    "music/music-meka.arff.gz",
    "music/music-test.arff.gz",
    "music/music-train.arff.gz",
    "music/music.arff.gz",
    "reuters/reuters.arff.gz",
    "scene/scene-meka.arff.gz",
    "scene/scene-test.arff.gz",
    "scene/scene-train.arff.gz",
    "solar_flare/solar_flare.arff",
    "thyroid/thyroid.arff.gz",
    "tmc2007/tmc2007-test.arff.gz",
    pytest.param("tmc2007/tmc2007-train.arff.gz", marks=pytest.mark.slow),
    pytest.param("tmc2007/tmc2007.arff.gz", marks=pytest.mark.slow),
    "yeast/yeast-meka.arff.gz",
    "yeast/yeast-test.arff.gz",
    "yeast/yeast-train.arff.gz",
    "yeast/yeast.arff.gz",
]


@pytest.mark.real_data
@pytest.mark.parametrize("file", FILES)
def test_real_file_against_liac_arff(file, data_folder):
    path = data_folder / file
    table = read_arff(path)
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        sparse = isinstance(table.data, sp.csr_array)
        expected = liac.load(stream, return_type=liac.LOD if sparse else liac.DENSE)
    assert table.relation == expected["relation"]
    declared = [(a.name, list(a.categories) if a.categories else "NUMERIC") for a in table.attributes]
    assert declared == [(name, kind if isinstance(kind, list) else "NUMERIC") for name, kind in expected["attributes"]]
    if sparse:
        assert table.data.shape == (len(expected["data"]), len(declared))
        defaults = [0.0 if a.categories is None else a.categories[0] for a in table.attributes]
        for row, (start, stop) in zip(
            expected["data"], zip(table.data.indptr[:-1], table.data.indptr[1:], strict=True), strict=True
        ):
            found = {
                int(j): float(v) if declared[j][1] == "NUMERIC" else declared[j][1][int(v)]
                for j, v in zip(table.data.indices[start:stop], table.data.data[start:stop], strict=True)
            }
            assert found == {j: value for j, value in row.items() if value != defaults[j]}
    else:
        assert cells(table) == expected["data"]


@pytest.mark.real_data
def test_every_real_file_is_in_the_list(data_folder):
    listed = {file if isinstance(file, str) else file.values[0] for file in FILES}
    assert {str(path.relative_to(data_folder)) for path in data_folder.glob("*/*.arff*")} == listed
