"""Real tables with missing cells, outliers, declared categories and identifiers become numbers."""

import numpy as np
import pandas as pd
import pytest

from montechain.datasets.reading import read_dataset
from montechain.preparation import TableEncoder
from tests.unscaled import unscaled


@pytest.mark.real_data
def test_bridges(data_folder):
    X = read_dataset(data_folder / "bridges" / "bridges.arff", targets=-5).X
    encoder = TableEncoder(drop=["IDENTIF"]).fit(X)
    result = encoder.transform(X)
    assert not np.isnan(result).any()
    kinds = {column.name: column.kind for column in encoder.columns_}
    assert [kinds[name] for name in ("IDENTIF", "RIVER", "ERECTED", "LENGTH", "CLEAR-G")] == [
        "dropped", "nominal", "number", "number", "nominal",
    ]  # fmt: skip
    names = encoder.get_feature_names_out().tolist()
    assert sum(name.startswith("LOCATION_") for name in names) == 54
    assert sum(name.startswith("CLEAR-G") for name in names) == 1
    length = X["LENGTH"].astype(float)
    filled = length.fillna(length.median())
    np.testing.assert_allclose(
        result[:, names.index("LENGTH")], (filled - filled.mean()) / filled.std(ddof=0), atol=1e-12
    )


@pytest.mark.real_data
def test_thyroid(data_folder):
    X = read_dataset(data_folder / "thyroid" / "thyroid.arff.gz").X
    assert X.shape == (9172, 29)
    assert X["age"].max() == 65526
    encoder = TableEncoder().fit(X)
    result = pd.DataFrame(unscaled(encoder, X), columns=encoder.get_feature_names_out())
    assert not result.isna().any().any()
    assert 90 <= result["age"].max() <= 110
    assert (~np.isclose(result["age"], X["age"])).sum() <= 18
    assert result.shape[1] == 7 + 20 + 1 + 6
    pd.testing.assert_series_equal(result["sex_M"], (X["sex"] == "M").astype(float), check_names=False)
    kept = TableEncoder(missing="keep").set_output(transform="pandas").fit_transform(X)
    assert kept["TBG"].isna().sum() == 8823
    assert kept["sex_M"].isna().sum() == 307


@pytest.mark.real_data
def test_genbase(data_folder):
    X = read_dataset(data_folder / "genbase" / "genbase.arff.gz").X
    result = TableEncoder(drop="protein").fit_transform(X)
    assert result.shape == (662, 1185)
    constant = result.min(axis=0) == result.max(axis=0)
    assert constant.sum() == 1073
    assert (result[:, constant] == 0).all()
