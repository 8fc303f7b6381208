"""The file itself: its manifest, damage, other kinds of files, and writing in one step."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
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
from montechain import ChainClassifier
from montechain.errors import ModelFileError, OutputError
from montechain.persistence import FORMAT, describe, load, save
from tests.saved_models import CHAIN, POPULATION, Opened, data, entries_of, fitted, packed, saved, write, zipped


def test_the_manifest_tells_what_the_file_is(tmp_path):
    path = tmp_path / "model.mchain"
    about = {"source": "müsic.arff", "rows": 593, "targets": {"a": [0, 1]}, "none": None}
    save(fitted(CHAIN), path, about=about)
    facts = describe(path)
    assert facts["format"] == FORMAT
    assert facts["class"] == "montechain.estimators.chain.ChainClassifier"
    assert facts["about"] == about
    assert facts["untrusted"] == []
    assert facts["versions"]["montechain"] == montechain.__version__
    assert set(facts["versions"]) == {"python", "montechain", "numpy", "scipy", "scikit-learn", "skops"}
    assert len(facts["sha256"]) == 64
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["manifest.json", "structure.json", "arrays.bin"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


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
    manifest = json.loads(entries_of(saved(CHAIN))["manifest.json"])
    versions = {**manifest["versions"], **changes.pop("versions", {})}
    return packed(entries_of(saved(CHAIN)), versions=versions, **changes)


def test_an_older_montechain_of_the_same_format_is_read(tmp_path):
    content = with_manifest(versions={"montechain": "0.0.1"}, something="of a later version")
    path = write(tmp_path / "old.mchain", content)
    np.testing.assert_array_equal(load(path).predict(data()[0]), fitted(CHAIN).predict(data()[0]))
    # If such a file cannot be rebuilt, the versions are part of the explanation.
    broken = Opened(content).replace(None, "chain_", "order").content()
    with pytest.raises(ModelFileError, match=r"It was saved with montechain 0\.0\.1 \(here "):
        load(write(path, broken))


@pytest.mark.parametrize(
    ("number", "version", "advice"),
    [(FORMAT + 1, "9.1", "Upgrade it: pip install"), (1, "0.1.0", "Fit the model again and save it")],
)
def test_another_format_is_refused(number, version, advice, tmp_path):
    path = write(tmp_path / "other.mchain", with_manifest(format=number, versions={"montechain": version}))
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=rf"saved by montechain {version} in format {number}.*{advice}"):
            read(path)


def test_a_file_of_version_0_1_0_says_to_fit_again(tmp_path):
    manifest = {
        "format": 1,
        "class": "montechain.estimators.chain.ChainClassifier",
        "versions": {"python": "3.11.7", "montechain": "0.1.0", "skops": "0.16.0"},
        "payload": {"name": "model.skops", "size": 3, "sha256": "0" * 64},
        "untrusted": [],
        "about": {},
    }
    content = zipped({"manifest.json": json.dumps(manifest).encode(), "model.skops": b"old"})
    with pytest.raises(ModelFileError, match=r"saved by montechain 0\.1\.0.*Fit the model again"):
        load(write(tmp_path / "old.mchain", content))


def test_another_scikit_learn_is_warned_about(tmp_path):
    entries = entries_of(saved(ChainClassifier(GaussianNB())))
    older = entries["structure.json"].replace(f'"{sklearn.__version__}"'.encode(), b'"0.1"')
    with pytest.warns(InconsistentVersionWarning):
        load(write(tmp_path / "old.mchain", packed({**entries, "structure.json": older})))


@pytest.mark.parametrize("way", [*range(6), "gzip", "zlib", "bz2", "lzma", "xz"])
def test_pickles_are_not_opened(way, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "model.mchain"
    if isinstance(way, int):
        path.write_bytes(pickle.dumps([Trap()], protocol=way))
    else:
        joblib.dump(fitted(CHAIN), path, compress=way)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=r"is not a model.*A pickle.* is not opened, because it can run any"):
            read(path)
    assert not (tmp_path / "sprung").exists()


def test_other_kinds_of_files_are_named(tmp_path):
    def refused(content: bytes, message: str):
        for read in (load, describe):
            with pytest.raises(ModelFileError, match=message):
                read(write(tmp_path / "model.mchain", content))

    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    refused(b"", "is not a model")
    refused(b"@relation music", "is not a model. Give a file written by")
    refused(buffer.getvalue(), "is not a model but is a zip file")
    refused(skops.io.dumps(fitted(CHAIN)), r"written by skops.*skops\.io\.load")
    refused(b"PK\x03\x04 and nothing else", "cannot be read .* damaged")
    refused(saved(CHAIN)[:-10], "cannot be read .* damaged")
    refused(saved(CHAIN)[: len(saved(CHAIN)) // 2], "cannot be read .* damaged")


def test_a_stream_that_cannot_be_searched_is_refused():
    reading, writing = os.pipe()
    try:
        os.write(writing, saved(CHAIN)[:1000])
        os.close(writing)
        with pytest.raises(ModelFileError, match="cannot be read"):
            load(f"/dev/fd/{reading}")
    finally:
        os.close(reading)


def test_damage_is_found(tmp_path):
    path = tmp_path / "model.mchain"
    entries = entries_of(saved(CHAIN))
    for name in ("structure.json", "arrays.bin"):
        flipped = bytearray(entries[name])
        flipped[len(flipped) // 2] ^= 1
        for other in (bytes(flipped), entries[name] + b"x", entries[name][:-1]):
            with pytest.raises(ModelFileError, match="checksum is wrong: it is damaged or was manipulated"):
                load(write(path, zipped({**entries, name: other})))
        with pytest.raises(ModelFileError, match="does not hold the entries of a model file"):
            load(write(path, zipped({key: value for key, value in entries.items() if key != name})))
    with pytest.raises(ModelFileError, match="does not hold the entries of a model file"):
        load(write(path, zipped({**entries, "extra.txt": b"x"})))
    for manifest in (b"[]", b"{}", b'{"format": "2"}', b'{"format": true}', b'{"format": 2}', b"\xff", b"[" * 100_000):
        with pytest.raises(ModelFileError, match=r"manifest|cannot be read"):
            describe(write(path, zipped({**entries, "manifest.json": manifest})))


# -- writing ---------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = write(tmp_path / "model.mchain", saved(CHAIN))
    model = fitted(POPULATION)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"model\.mchain cannot be written: File too large"):
            save(model, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == saved(CHAIN)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mchain"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_device():
    with pytest.raises(OutputError, match="No space left"):
        save(fitted(CHAIN), "/dev/full")


def test_ctrl_c_at_any_moment(tmp_path):
    path = tmp_path / "model.mchain"
    path.write_bytes(saved(CHAIN))
    code = """
import signal
import sys
from montechain.persistence import load, save
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
model = load(sys.argv[1])
print("ready", flush=True)
while True:
    save(model, sys.argv[1])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        finally:
            process.kill()
    assert load(path).predict(data()[0]).shape == (60, 3)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mchain"]
