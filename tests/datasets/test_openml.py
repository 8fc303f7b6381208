"""OpenML through scikit-learn's cache, which the tests fill with recorded answers: no test reaches for the network."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets._openml

from montechain.datasets.reading import read_dataset
from montechain.errors import DataError

RECORDED = Path(__file__).parent / "openml"
API = "api/v1/json/data"


def put(home: Path, place: str, content: bytes) -> None:
    """Store an answer where `fetch_openml` looks for it."""
    path = home / "openml" / "openml.org" / f"{place}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content))


def put_data_set(home: Path, name: str, version: int, answers: dict[str, bytes]) -> None:
    description = json.loads(answers["description"])["data_set_description"]
    put(home, f"{API}/list/data_name/{name}/limit/2/status/active/", answers["list"])
    put(home, f"{API}/list/data_name/{name}/limit/2/data_version/{version}", answers["list"])
    put(home, f"{API}/{description['id']}", answers["description"])
    put(home, f"{API}/features/{description['id']}", answers["features"])
    put(home, f"{API}/qualities/{description['id']}", answers["qualities"])
    put(home, description["url"].removeprefix("https://www.openml.org/"), answers["data"])


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets._openml, "urlopen", refuse)
    monkeypatch.setattr(sklearn.datasets._openml.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def home(tmp_path) -> Path:
    """A cache with two invented data sets."""
    for name, version in (("songs", 2), ("words", 1)):
        answers = {path.stem: path.read_bytes() for path in (RECORDED / name).iterdir()}
        put_data_set(tmp_path, name, version, answers)
    return tmp_path


def test_kinds_missing_cells_and_identifiers(home):
    data = read_dataset("openml:songs/2", data_home=home)
    assert data.name == "songs"
    assert "https://www.openml.org/d/" in data.description
    assert data.feature_names == ["tempo", "key", "title", "year"]  # without the row identifier
    assert data.label_names == ["loud", "mood"]
    assert data.classes == [[0, 1], ["sad", "calm", "happy"]]
    assert data.Y["loud"].tolist() == [1, 0, 1, 0]
    assert data.Y["mood"].isna().tolist() == [False, True, False, False]
    assert data.X["key"].cat.categories.tolist() == ["minor", "major"]
    np.testing.assert_array_equal(data.X["year"], [1990, 1991, np.nan, 1990])
    assert data.X["year"].dtype == np.float64


def test_sparse(home):
    data = read_dataset("openml:words", data_home=home, targets=["pets", "view"])
    assert data.feature_names == ["cat", "tone=warm", "tone=cold", "dog"]
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0, 0, 0], [0, 1, 0, 2], [0] * 4, [1, 0, 1, 0.5], [0] * 4])
    assert data.classes == [[0, 1], ["none", "good", "bad"]]
    assert data.Y["pets"].tolist() == [1, 0, 0, 1, 0]
    assert data.Y["view"].tolist() == ["none", "none", "none", "bad", "none"]
    assert read_dataset("openml:words", data_home=home, targets=-2, drop=["tone"]).feature_names == ["cat", "dog"]


def test_what_is_asked_wrongly(home):
    with pytest.raises(
        DataError, match=r"openml:words: OpenML does not say which columns are labels.*targets=\['view'\]"
    ):
        read_dataset("openml:words", data_home=home)
    with pytest.raises(DataError, match="there is no column 'modo'; did you mean 'mood'"):
        read_dataset("openml:songs", data_home=home, targets=["modo"])
    with pytest.raises(DataError, match="a sparse file holds numbers, so there are no columns of `text`"):
        read_dataset("openml:words", data_home=home, targets=-2, text=["cat"])
    for address in ("openml:", "openml:songs/first", "openml:a b", "openml:songs/2/3"):
        with pytest.raises(ValueError, match='must be "openml:NAME" or "openml:NAME/VERSION"'):
            read_dataset(address, data_home=home)


def test_offline(home):
    message = rf"openml:iris: cannot be loaded from openml.org or the cache {home}: no network in tests.*download"
    with pytest.raises(DataError, match=message):
        read_dataset("openml:iris", data_home=home)


@pytest.mark.parametrize("damage", ["changed", "cut off", "no gzip"])
def test_a_damaged_cache(damage, home):
    path = next(home.glob("openml/openml.org/data/**/songs.arff.gz"))
    content = gzip.decompress(path.read_bytes())
    changes = {
        "changed": gzip.compress(content.replace(b"98", b"99")),
        "cut off": path.read_bytes()[:-20],
        "no gzip": content,
    }
    path.write_bytes(changes[damage])
    with pytest.raises(DataError, match=r"openml:songs: cannot be loaded from .* delete a damaged copy in the cache"):
        read_dataset("openml:songs", data_home=home)


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"no json", b'{"data_set_description": {"status": "active"}}'])
def test_an_answer_that_makes_no_sense(answer, home):
    put(home, f"{API}/101", answer)
    with pytest.raises(DataError, match="openml:songs: "):
        read_dataset("openml:songs", data_home=home)
