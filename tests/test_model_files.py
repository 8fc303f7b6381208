"""The file: what it says of itself, how damage and other kinds of files are told, and that it is never half there."""

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
from montechain.persistence import describe, load, save
from montechain.persistence.model_files import FORMAT
from tests.attacked_models import CHAIN, POPULATION, fitted, saved
from tests.saved_models import data, edited, entries_of, write, zipped


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
    assert facts["payload"]["size"] == len(entries_of(path.read_bytes())["model.skops"])
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["manifest.json", "model.skops"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_the_same_model_gives_the_same_bytes_in_any_process(tmp_path):
    code = """
import sys
from montechain.persistence import load, save
save(load(sys.argv[1]), sys.argv[2])
"""
    path = write(tmp_path / "model.mchain", saved(POPULATION))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "1"}
    subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "again")], check=True, env=environment)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


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


def test_an_older_montechain_of_the_same_format_is_read(tmp_path):
    entries = entries_of(saved(CHAIN))
    manifest = json.loads(entries["manifest.json"])
    manifest["versions"]["montechain"] = "0.0.1"
    manifest["something of a later version"] = True
    path = write(tmp_path / "old.mchain", zipped({**entries, "manifest.json": json.dumps(manifest).encode()}))
    np.testing.assert_array_equal(load(path).predict(data()[0]), fitted(CHAIN).predict(data()[0]))
    # If such a file cannot be built, the versions are part of the explanation.
    broken = edited(path.read_bytes(), lambda schema, files: schema.update(content=None))
    with pytest.raises(ModelFileError, match=r"It was saved with montechain 0\.0\.1 \(here "):
        load(write(path, broken))


def test_a_newer_format_is_refused(tmp_path):
    entries = entries_of(saved(CHAIN))
    manifest = json.loads(entries["manifest.json"])
    manifest["format"], manifest["versions"]["montechain"] = FORMAT + 1, "9.1"
    path = write(tmp_path / "new.mchain", zipped({**entries, "manifest.json": json.dumps(manifest).encode()}))
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=rf"made by montechain 9\.1 with format {FORMAT + 1}.*upgrade"):
            read(path)


def test_another_scikit_learn_is_warned_about(tmp_path):
    def age(schema, files):
        return json.loads(json.dumps(schema).replace(f'\\"{sklearn.__version__}\\"', '\\"0.1\\"'))

    content = edited(saved(ChainClassifier(GaussianNB())), age)
    with pytest.warns(InconsistentVersionWarning):
        load(write(tmp_path / "old.mchain", content))


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_is_not_opened(protocol, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    content = pickle.dumps([Trap()], protocol=protocol)
    for read in (load, describe):
        with pytest.raises(ModelFileError, match=r"this is a pickle.*it was not opened.*joblib\.load"):
            read(write(tmp_path / "model.mchain", content))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("compress", [0, "gzip", "zlib", "bz2", "lzma", "xz"])
def test_a_file_of_joblib_is_not_opened(compress, tmp_path):
    joblib.dump(fitted(CHAIN), tmp_path / "model.mchain", compress=compress)
    with pytest.raises(ModelFileError, match=r"pickle, which can run any code when it is loaded; it was not opened"):
        load(tmp_path / "model.mchain")


def test_other_kinds_of_files_are_named(tmp_path):
    def refused(content: bytes, message: str):
        for read in (load, describe):
            with pytest.raises(ModelFileError, match=message):
                read(write(tmp_path / "model.mchain", content))

    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    refused(b"", "is empty")
    refused(b"@relation music", "does not begin as a .mchain file does")
    refused(buffer.getvalue(), "zip file of another kind")
    refused(skops.io.dumps(fitted(CHAIN)), r"file of skops.*skops\.io\.load")
    refused(b"PK\x03\x04 and nothing else", "damaged or cut off")
    refused(saved(CHAIN)[:-10], "damaged or cut off")
    refused(saved(CHAIN)[: len(saved(CHAIN)) // 2], "damaged or cut off")


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
    flipped = bytearray(entries["model.skops"])
    flipped[len(flipped) // 2] ^= 1
    with pytest.raises(ModelFileError, match="checksum is wrong: the file was tampered with or damaged"):
        load(write(path, zipped({**entries, "model.skops": bytes(flipped)})))
    with pytest.raises(ModelFileError, match="not as large as its manifest says"):
        load(write(path, zipped({**entries, "model.skops": entries["model.skops"] + b"x"})))
    for name, other in [
        ("extra", {**entries, "extra.txt": b"x"}),
        ("less", {"manifest.json": entries["manifest.json"]}),
    ]:
        with pytest.raises(ModelFileError, match="does not hold what a model file holds"):
            load(write(path.with_name(name), zipped(other)))
    for manifest in (b"[]", b"{}", b'{"format": "1"}', b'{"format": true}', b'{"format": 1}', b"\xff", b"[" * 100_000):
        with pytest.raises(ModelFileError, match=r"manifest|damaged"):
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_the_old_file(error, tmp_path, monkeypatch):
    path = tmp_path / "model.mchain"
    path.write_bytes(saved(CHAIN))
    original = zipfile.ZipFile.writestr

    def interrupted(self, info, content, *args, **options):
        if getattr(info, "filename", info) == "model.skops":
            raise error
        return original(self, info, content, *args, **options)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with pytest.raises(error):
        save(fitted(POPULATION), path)
    assert path.read_bytes() == saved(CHAIN)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.mchain"]


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
