"""From a table to a data set: labels, inputs, text, and what is left out."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from montechain.datasets.reading import read_dataset
from montechain.datasets.tables import read_table
from montechain.preparation import TableEncoder


def songs() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [7, 8, 9, 10],
            "tempo": pd.array([120, None, 101, 90], dtype="Int64"),
            "live": pd.array([True, None, False, True], dtype="boolean"),
            "title": ["one", "two", None, "four"],
            "loud": pd.array([1, 0, None, None], dtype="Int64"),
            "mood": ["calm", None, "happy", None],
        }
    )


def test_the_parts_of_a_data_set():
    data = read_dataset(songs(), targets=["mood", "loud"], drop=["id"], text=["title"], name="songs")
    assert data.label_names == ["loud", "mood"]  # in the order of the table
    assert data.feature_names == ["tempo", "live", "title"]
    assert data.classes == [[0, 1], ["calm", "happy"]]
    assert data.name == "songs"
    assert data.notes == ["1 of 4 rows is left out: all of its labels are unknown."]
    assert data.Y["loud"].dtype == "Int64"
    assert data.Y["loud"].isna().tolist() == [False, False, True]
    np.testing.assert_array_equal(data.X["tempo"], [120, np.nan, 101])
    np.testing.assert_array_equal(data.X["live"], [1, np.nan, 0])
    assert data.X["live"].dtype == np.float64
    assert data.X["title"].dtype == "string"
    assert data.X.index.tolist() == data.Y.index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("targets", [["loud", "mood"], [4, 5], [-1, -2], -2])
def test_ways_to_name_targets(targets):
    assert read_dataset(songs(), targets=targets).label_names == ["loud", "mood"]
    assert read_dataset(songs(), targets=targets, drop=["id", 3]).feature_names == ["tempo", "live"]


def test_no_targets_and_partial_tables():
    data = read_dataset(songs(), targets=[])
    assert data.Y.shape == (4, 0)
    assert data.X.shape == (4, 6)
    frame = songs().drop(columns="mood").assign(loud=pd.array([None] * 4, dtype="Int64"))
    options = {"targets": ["loud", "mood"], "drop": ["id", "other"], "text": ["title", "more"]}
    data = read_dataset(frame, **options, partial=True)
    assert data.label_names == []  # nothing is known of the one that is there
    assert data.feature_names == ["tempo", "live", "title"]
    data = read_dataset(songs(), **options, partial=True)
    assert data.label_names == ["loud", "mood"]
    assert len(data.X) == len(data.Y) == 4  # also the row without labels


def test_columns_that_are_asked_for_wrongly():
    for options, message in [
        ({"targets": None}, r"does not say which of its columns are labels.*targets=\['loud', 'mood'\].*targets=-2"),
        ({"targets": ["modo"]}, "there is no column 'modo'; did you mean 'mood'"),
        ({"targets": -1, "drop": ["mood"]}, "`drop` names the column 'mood', which is one of the targets"),
        ({"targets": -1, "text": ["mood"]}, "`text` names the column 'mood', which is one of the targets"),
        ({"targets": -1, "drop": ["titel"]}, "`drop`: there is no column 'titel'; did you mean 'title'"),
        ({"targets": 6}, "no column is left as an input"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_dataset(songs(), **options)
    with pytest.raises(TypeError, match="`drop='id'` is a string"):
        read_dataset(songs(), targets=-1, drop="id")


def test_identifiers_are_remarked_upon_once_and_by_the_encoder():
    frame = pd.DataFrame({"key": [f"k{row}" for row in range(51)], "size": range(2, 53), "label": [0, 1, 0] * 17})
    data = read_dataset(frame, targets=-1)  # a warning would be an error here
    assert "'key' looks like an identifier (51 different values" in TableEncoder().fit(data.X).notes_[0]


def test_dates_are_dates_as_inputs_and_words_as_labels():
    days = pd.to_datetime(["1970-01-02T00:00", None, "1970-01-04T12:00"])
    frame = pd.DataFrame({"day": days, "zoned": days.tz_localize("UTC"), "label": [0, 1, 0]})
    data = read_dataset(frame, targets=["label"])
    numbers = TableEncoder(missing="keep", scale=None).set_output(transform="pandas").fit_transform(data.X)
    np.testing.assert_array_equal(numbers[["day", "zoned"]], [[1, 1], [np.nan, np.nan], [3.5, 3.5]])
    data = read_dataset(frame, targets=["day", "label"])
    assert data.classes == [["1970-01-02", "1970-01-04T12:00:00"], [0, 1]]
    assert data.Y["day"].isna().tolist() == [False, True, False]


DAY = datetime.date(2024, 5, 1)
MOMENT = datetime.datetime(2024, 5, 1, 12, 30, 0, 250)
ZONED = datetime.datetime(2024, 5, 1, 14, 30, 0, 250, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
DATES = {"day": [DAY, None], "moment": [MOMENT, None], "zoned": [ZONED, None]}


@pytest.mark.parametrize("library", ["polars", "pyarrow", "objects", "arrow in pandas", "parquet", "feather"])
def test_dates_of_every_library(library, tmp_path):
    table = pa.table(DATES)
    if library == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "dates.parquet")
    elif library == "feather":
        pyarrow.feather.write_feather(table, tmp_path / "dates.feather")
    source = {
        "polars": lambda: pl.DataFrame(DATES),
        "pyarrow": lambda: table,
        "objects": lambda: pd.DataFrame(DATES, dtype=object),
        "arrow in pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
    }.get(library, lambda: tmp_path / f"dates.{library}")()
    found = read_table(source)
    for name, zone in (("day", None), ("moment", None), ("zoned", "UTC")):
        assert pd.api.types.is_datetime64_any_dtype(found[name].dtype), name
        known = pd.Timestamp(DATES[name][0]) if zone is None else pd.Timestamp(ZONED)
        assert found[name][0] == known
        assert found[name].isna().tolist() == [False, True]
