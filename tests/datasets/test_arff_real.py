"""Every real ARFF file, cell by cell, against liac-arff."""

from __future__ import annotations

import gzip

import arff as liac
import pytest
import scipy.sparse as sp

from montechain.datasets.arff import read_arff
from montechain.datasets.catalogue import DATASETS
from tests.datasets.arff_text import cells

FOLDERS = [name for name in DATASETS if name not in ("parkinsons", "digits", "tmc2007")]


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
