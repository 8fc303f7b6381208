"""The file itself: its manifest, damage, other kinds of files, and writing in one step."""

import io
import json
import os
import pickle
import signal
import time
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.naive_bayes import GaussianNB

import montechain
from command import Started
from montechain import ChainClassifier
from montechain.errors import ModelFileError
from montechain.persistence import FORMAT, MAGIC, describe, load, save
from tests.saved_models import CHAIN, Opened, data, fitted, packed, saved, unpacked, write


def refused(path: Path, content: bytes, message: str) -> None:
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=message):
            read(write(path, content))


def test_the_manifest_tells_what_the_file_is(tmp_path):
    path = tmp_path / "model.mchain"
    about = {"source": "müsic.arff\n", "rows": 593, "targets": {"a": [0, 1]}, "none": None}
    save(fitted(CHAIN), path, about=about)
    facts = describe(path)
    assert facts["format"] == FORMAT
    assert facts["class"] == "montechain.estimators.chain.ChainClassifier"
    assert facts["about"] == about
    assert facts["untrusted"] == []
    assert facts["versions"]["montechain"] == montechain.__version__
    assert set(facts["versions"]) == {"python", "montechain", "numpy", "scipy", "scikit-learn", "skops"}
    assert json.loads(path.read_bytes().splitlines()[1]) == facts


def test_a_large_chain_takes_little_more_than_its_numbers(tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((80, 40)) < 0.4).astype(int)
    X = rng.normal(size=(80, 500))
    model = ChainClassifier(random_state=0).fit(X, Y)
    save(model, tmp_path / "model.mchain")
    n_numbers = 40 * 500 + 40 + 2 * 40 * 39 // 2
    size = (tmp_path / "model.mchain").stat().st_size
    assert size < 8 * n_numbers + 50_000
    assert size < 1.1 * len(pickle.dumps(model)) + 40_000


def with_manifest(**changes) -> bytes:
    manifest, parts, arrays = unpacked(saved(CHAIN))
    versions = {**manifest["versions"], **changes.pop("versions", {})}
    return packed(manifest, parts, arrays, versions=versions, **changes)


def test_an_older_montechain_of_the_same_format_is_read(tmp_path):
    content = with_manifest(versions={"montechain": "0.0.1"}, something="of a later version")
    path = write(tmp_path / "old.mchain", content)
    np.testing.assert_array_equal(load(path).predict(data()[0]), fitted(CHAIN).predict(data()[0]))
    # If such a file cannot be rebuilt, the versions are part of the explanation.
    broken = Opened(content).replace(None, "chain_", "order").content()
    with pytest.raises(ModelFileError, match=r"cannot be rebuilt.* It was saved with montechain 0\.0\.1"):
        load(write(path, broken))


@pytest.mark.parametrize(
    ("number", "version", "advice"), [(FORMAT + 1, "9.1", "Upgrade it: pip install"), (1, "0.2", "Fit the model again")]
)
def test_another_format_is_refused(number, version, advice, tmp_path):
    content = with_manifest(format=number, versions={"montechain": version})
    refused(tmp_path / "other", content, rf"saved by montechain {version} in format {number}.*{advice}")


def test_another_scikit_learn_is_warned_about(tmp_path):
    manifest, parts, arrays = unpacked(saved(ChainClassifier(GaussianNB())))
    older = parts.replace(f'"{sklearn.__version__}"'.encode(), b'"0.1"')
    with pytest.warns(InconsistentVersionWarning):
        load(write(tmp_path / "old.mchain", packed(manifest, older, arrays)))


@pytest.mark.parametrize("way", [0, 2, 5, "gzip", "zlib", "bz2", "lzma", "xz"])
def test_pickles_are_not_opened(way, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "model.mchain"
    if isinstance(way, int):
        path.write_bytes(pickle.dumps([Trap()], protocol=way))
    else:
        joblib.dump(fitted(CHAIN), path, compress=way)
    refused(path, path.read_bytes(), r"is not a model.*A pickle is not opened, as it can run any code")
    assert not (tmp_path / "sprung").exists()


def test_other_files_and_damage_are_found(tmp_path):
    path, content = tmp_path / "model.mchain", saved(CHAIN)
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    short = [
        start[:size] for start in (content[: len(MAGIC) - 1], b"PK\x05\x06" + bytes(100)) for size in (0, 1, 3, 99)
    ]
    for other in (*short, b"@relation music", buffer.getvalue(), skops.io.dumps(GaussianNB()), content[1:]):
        refused(path, other, "is not a model. Give a file written by")
    headers = [b"", b"[]", b"{}", b'{"format": "2"}', b'{"format": true}', b'{"format": 2}', b"\xff", b"[" * 100_000]
    for header in (*headers, content[len(MAGIC) :][:50]):
        refused(path, MAGIC + header + b"\n" + content[-1000:], "cannot be read .*: it is damaged or was tampered with")
    for key, value in {"size": -1, "about": None, "untrusted": None, "versions": 3, "format": 2.0}.items():
        refused(path, packed(*unpacked(content), **{key: value}), "cannot be read")
    start = content.index(b"\n", len(MAGIC)) + 1
    flipped = [content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] for place in (start, -9)]
    for damaged in (*flipped, content + b"x", content[:-1], content[: start + 9]):
        with pytest.raises(ModelFileError, match="checksum is wrong: it is damaged or was tampered with"):
            load(write(path, damaged))
    for size in (0, 1, 10**12):
        with pytest.raises(ModelFileError, match="cannot be rebuilt"):
            load(write(path, packed(*unpacked(content), size=size)))


def test_a_file_that_unpacks_to_more_than_a_quarter_of_the_memory_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "bomb.mchain", packed({**unpacked(saved(CHAIN))[0]}, b"[]", bytes(10**7)))
    assert path.stat().st_size < 10**5
    monkeypatch.setenv("MONTECHAIN_MAX_MEMORY", "2e7")
    with pytest.raises(ModelFileError, match=r"unpacks to over 0.005 GB. MONTECHAIN_MAX_MEMORY sets another"):
        load(path)


def test_ctrl_c_at_any_moment(tmp_path):
    path = write(tmp_path / "model.mchain", saved(CHAIN))
    program = f"""
import signal
from montechain.persistence import load, save
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
model = load({str(path)!r})
print("ready", flush=True)
while True:
    save(model, {str(path)!r})
"""
    said = write(tmp_path / "said.txt", b"")
    process = Started(tmp_path, {"stdout": str(said), "stderr": os.devnull}, program=program)
    try:
        process.wait_until(said.read_text)
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == -signal.SIGINT
    finally:
        process.kill()
    said.unlink()
    assert load(path).predict(data()[0]).shape == (60, 3)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mchain"]


def test_a_file_of_version_0_1_0_says_to_fit_again(tmp_path):
    with zipfile.ZipFile(tmp_path / "old.mchain", "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": 1, "versions": {"montechain": "0.1.0"}}))
        archive.writestr("model.skops", b"old")
    content = (tmp_path / "old.mchain").read_bytes()
    refused(tmp_path / "old.mchain", content, r"saved by montechain 0\.1\.0. Fit the model again")
