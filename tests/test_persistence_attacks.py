"""Files made to run something, or to fill memory or time: each is refused, and nothing happens."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import sys
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io

from montechain import ChainClassifier
from montechain.errors import ModelFileError
from montechain.persistence import describe, load, save
from tests.saved_models import CHAIN, Opened, data, entries_of, packed, refuse, saved, write, zipped

COMMAND = "touch canary"
LOSS = "sklearn.linear_model._sgd_fast.Hinge"


@pytest.fixture(autouse=True)
def no_canary(tmp_path, monkeypatch):
    """Fail if an attack creates a file in the current folder."""
    folder = tmp_path / "current"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield
    assert list(folder.iterdir()) == [], "something was run"


def names(*kinds: str) -> list[tuple[str, str]]:
    bad = [
        "os.system", "posix.system", "builtins.eval", "builtins.exec", "subprocess.Popen",
        "tempfile.TemporaryDirectory", "montechain.persistence.save", "montechain._frames.from_words",
        "montechain.persistence.objects._Decoder",
        "montechain.chain", "montechain.chain.Chain.__init__", "montechain.chain.ChainBase", "montechain.__main__.main",
        "montechain.chain.__builtins__", "sklearn.tests.test_base.MyEstimator", "sklearn.datasets.dump_svmlight_file",
        "sklearn.neighbors._kd_tree.KDTree", "sklearn.utils._joblib.Parallel", "numpy.load", "numpy.fromfile",
        "numpy.lib.npyio.load", "functools.partial", "operator.methodcaller", "..os.system", "os", "",
    ]  # fmt: skip
    return [(kind, name) for kind in kinds for name in bad]


ATTACKS: dict[str, Any] = {
    **{f"{kind} {name}": (kind, name, *([[]] if kind != "name" else [])) for kind, name in names("name", "object")},
    **{f"{kind} {name}": (kind, name, [["a", COMMAND]]) for kind, name in names("object", "dict")},
    **{f"{kind} {name}": (kind, name, [COMMAND], []) for kind, name in names("compiled")},
    **{f"{kind} {name}": (kind, name, []) for kind, name in names("skops")},
    "own class by name": ("name", "montechain.chain.Chain"),
    "own class as a dictionary": ("dict", "montechain.chain.Chain", []),
    "object that is a dictionary": ("object", "sklearn.utils._bunch.Bunch", []),
    "name that is no text": ("name", 5),
    "class that is no text": ("object", ["os.system"], []),
    "sequence": ("sequence", "eval", [COMMAND]),
    "sequence of an own class": ("sequence", "Chain", []),
    "loss with a state": ("compiled", LOSS, [1.0], [2.0]),
    "loss of text": ("compiled", LOSS, [COMMAND], []),
    "loss with too many numbers": ("compiled", LOSS, [1.0, 2.0, 3.0], []),
    "function beside losses": ("compiled", "sklearn.linear_model._sgd_fast._plain_sgd64", [1.0], []),
    "tree without parts": ("compiled", "sklearn.tree._tree.Tree", [], []),
    "generator of another kind": ("random", "Generator", [0]),
    "unknown kind": ("eval", COMMAND),
    "kind that is a method": ("_children", [COMMAND]),
    "kind that is special": ("__init__", []),
    "no content": ("sequence",),
    "too much content": ("sequence", "list", [], []),
    "attribute without a name": ("object", "sklearn.pipeline.Pipeline", [[1, 2]]),
    "attribute of three": ("object", "sklearn.pipeline.Pipeline", [["a", 1, 2]]),
    "part that is a dictionary": ("sequence", "list", [{"name": "os.system"}]),
    "reference to itself": ("sequence", "list", [[10**9]]),
    "reference backwards": ("sequence", "list", [[-1]]),
    "reference by truth": ("sequence", "list", [[True]]),
    "reference by fraction": ("sequence", "list", [[0.0]]),
    "reference by text": ("sequence", "list", [["0"]]),
    "two references": ("sequence", "list", [[0, 0]]),
    "no reference": ("sequence", "list", [[]]),
    "slice of four": ("slice", [1, 2, 3, 4]),
    "objects of another shape": ("objects", [10**9], [1]),
    "objects of no shape": ("objects", "x", [1]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_run(name, tmp_path):
    """Wherever the attack stands: as an attribute, as the model itself, or in something that nobody uses."""
    for place in ("loss", "root", "unused"):
        model = Opened(saved(CHAIN))
        if place == "unused":
            model.nodes.insert(0, {ATTACKS[name][0]: list(ATTACKS[name][1:])})
            refuse(model.content(), tmp_path)
            continue
        evil = model.add(*ATTACKS[name])
        refuse((model.replace(evil, "loss") if place == "loss" else model).content(), tmp_path)


def test_a_skops_part_needs_trust_even_if_skops_trusts_it(tmp_path):
    from sklearn.linear_model import LogisticRegression

    for harmless in (LogisticRegression(), np.ma.masked_array([1.0], [True])):
        model = Opened(saved(CHAIN))
        kind = f"{type(harmless).__module__}.{type(harmless).__name__}"
        model.entries["object-0.skops"] = skops.io.dumps(harmless)
        content = model.replace(model.add("skops", kind, []), "loss").content()
        refuse(content, tmp_path, f"not trusted: {kind}")
        assert type(load(tmp_path / "attack.mchain", trusted=[kind]).loss) is type(harmless)
        other = Opened(content)
        other.nodes = json.loads(json.dumps(other.nodes).replace(kind, "a.B"))
        path = write(tmp_path / "other", other.content())
        with pytest.raises(ModelFileError, match=r"there is no a\.B"):
            load(path, trusted=[kind, "a.B"])


class Trap:
    def __reduce__(self):
        return os.system, (COMMAND,)


@pytest.mark.parametrize("evil", [b"", b"PK\x03\x04", pickle.dumps(Trap()), zipped({"schema.json": b"{}"})])
def test_skops_files_that_are_none(evil, tmp_path):
    model = Opened(saved(CHAIN))
    model.entries["object-0.skops"] = evil
    refuse(model.content(), tmp_path, "not as many parts written by skops")
    refuse(model.replace(model.add("skops", "a.B", ["c.D"]), "loss").content(), tmp_path, r"not trusted: a\.B, c\.D")
    with pytest.raises(ModelFileError, match="cannot be rebuilt"):
        load(tmp_path / "attack.mchain", trusted=["a.B", "c.D"])


@pytest.mark.parametrize(
    ("descr", "shape", "raw"),
    [
        ("|O", [1], pickle.dumps(Trap())), ("O", [1], b"x" * 8), ("<f8", [10**15], b""), ("<f8", [2**40, 2**40], b""),
        ("<f8", [-1], b"x" * 8), ("<f8", [-1, -1], b"x" * 8), ("<f8", [1.0], b"x" * 8), ("<f8", [True], b"x" * 8),
        ("<f8", [3], b"x" * 23), ("<f8", [3], b"x" * 25), ("<f8", 1, b"x" * 8), ("<U0", [10**12], b""),
        ("|V0", [10**12], b""), ("|V8", [1], b"x" * 8), ([["a", "|O"]], [1], b"x" * 8), ("(9,)f8", [1], b"x" * 72),
        ([["a", "<f8", [10**6]]], [1], b"x" * 8), ([["", "|V8"]], [1], b"x" * 8),
        ([["a", [["b", "<f8"]]]], [1], b"x" * 8),
        ("f8,f8", [1], b"x" * 16), ("|b1", [2], b"\1\2"), ("<U1", [1], b"\xff" * 4), (">U1", [1], b"\xff" * 4),
        ("<f99999999999", [1], b"x"), ("__import__('os').system('touch canary')", [1], b"x"), (None, [1], b""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["array", "scalar"])
def test_arrays_are_arrays(kind, descr, shape, raw, tmp_path):
    model = Opened(saved(CHAIN))
    content = entries_of(model.replace(model.add(kind, descr, shape, False), "loss").content())
    refuse(packed({**content, "arrays.bin": content["arrays.bin"] + raw}), tmp_path)


@pytest.mark.parametrize(
    ("kind", "shape", "change"),
    [
        ("csr_array", [3, 3], {1: [0, 10**6, 2]}),
        ("csr_array", [3, 3], {1: [0, -5, 2]}),
        ("csr_array", [3, 3], {2: [0, 1, 2, 10**6]}),
        ("csr_array", [3, 3], {2: [0, 3, 1, 3]}),
        ("csr_array", [3, 3], {0: [1.0]}),
        ("csr_array", [10**9, 10**9], {}),
        ("csr_matrix", [3], {}),
        ("csc_array", [3, 1], {}),
        ("coo_array", [3, 3], {1: [0, 1, 9], 2: [0, 1, 2]}),
        ("coo_array", [3, 3], {1: [0, 1, -1], 2: [0, 1, 2]}),
        ("coo_array", [3, 3], {}),
        ("dok_array", [3, 3], {}),
        ("bsr_array", [3, 3], {}),
        ("load_npz", [3, 3], {}),
    ],
)
def test_sparse_matrices_are_sparse_matrices(kind, shape, change, tmp_path):
    def with_sparse(kind, shape, change):
        model = Opened(saved(CHAIN))
        parts = []
        for place, values in enumerate(([1.0, 2.0, 3.0], [0, 1, 2], [0, 1, 2, 3])):
            parts.append(model.add("array"))
            model.arrays[parts[-1][0]] = np.array(change.get(place, values), dtype=np.int32 if place else np.float64)
        return model.attach(model.add("sparse", kind, shape, parts)).content()

    assert load(write(tmp_path / "good", with_sparse("csr_array", [3, 3], {}))).extra.shape == (3, 3)
    refuse(with_sparse(kind, shape, change), tmp_path)


def test_no_module_is_imported_by_name(tmp_path, monkeypatch):
    (tmp_path / "evil_frames.py").write_text("open('canary', 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    X, Y = data()
    save(ChainClassifier(order=None).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"])), tmp_path / "model.mchain")
    content = (tmp_path / "model.mchain").read_bytes()
    attack = Opened(content).replace("evil_frames", "codec_", "library").content()
    refuse(attack, tmp_path, "'evil_frames' is not a supported data frame library")
    model = Opened(content)
    refuse(model.replace(model.add("object", "evil_frames.Evil", []), "loss").content(), tmp_path, "may not name")
    assert "evil_frames" not in sys.modules
    model = Opened(content).replace("polars", "codec_", "library")
    model.replace("scan_csv", "codec_", "dtypes", 0, 0)
    refuse(model.content(), tmp_path, "'scan_csv' is not a type of polars")


# -- filling memory or time ------------------------------------------------------------------------------


DEEP = [b"[" * 10**6, b'{"a":' * 10**5, b"9" * 10**6, b"\xff", b"{}"]


@pytest.mark.parametrize("structure", [*DEEP, b"", b"5", b"null", b"[]", b"[5]", b"[{}]"])
def test_structures_that_are_none(structure, tmp_path):
    entries = entries_of(saved(CHAIN))
    refuse(packed({**entries, "structure.json": structure}), tmp_path)
    if structure in DEEP:
        text = json.dumps(Opened(saved(CHAIN)).replace("HERE", "loss").nodes).encode().replace(b'"HERE"', structure)
        refuse(packed({**entries, "structure.json": text}), tmp_path)


def test_deep_and_shared_parts_are_built_once_each(tmp_path):
    """A hundred thousand nested lists, each of which holds the one before it twice, take no time and no stack."""
    model = Opened(saved(CHAIN))
    part: Any = 1
    for _ in range(100_000):
        part = model.add("sequence", "list", [part, part])
    same = load(write(tmp_path / "deep.mchain", model.attach(part).content()))
    assert same.extra[0] is same.extra[1]


def raw_zip(*entries: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_containers_are_plain(tmp_path):
    entries = entries_of(saved(CHAIN))
    good = list(entries.items())
    for name in entries:
        refuse(raw_zip(*good, (name, b"other")), tmp_path, "twice")
    for name in ("../evil", "/etc/evil", "a/b", "..\\evil", ".hidden", "object-1.skops", "object-0.skops/x"):
        refuse(raw_zip(*good, (name, b"x")), tmp_path, "does not hold the entries of a model file")
    refuse(raw_zip(*good, compression=zipfile.ZIP_DEFLATED), tmp_path, "compressed or encrypted")
    bomb = raw_zip(*good[:2], ("arrays.bin", bytes(10**7)), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 40_000
    for read in (load, describe):
        with pytest.raises(ModelFileError, match="compressed or encrypted"):
            read(write(tmp_path / "bomb.mchain", bomb))
    # The sizes in the directory at the end are the attacker's, too.
    content = bytearray(raw_zip(*good))
    start = content.rindex(b"PK\x01\x02")
    content[start + 20 : start + 28] = struct.pack("<II", 2**31, 2**31)
    refuse(bytes(content), tmp_path, "too large")
    content = bytearray(raw_zip(*good))
    content[start + 8] |= 1
    refuse(bytes(content), tmp_path, "compressed or encrypted")


def test_overlapping_entries_cannot_multiply(tmp_path):
    """Many entries of the directory that all point to the same bytes."""
    content = saved(CHAIN)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.start_dir
    end_record = content.rindex(b"PK\x05\x06")
    directory, end = content[start:end_record], content[end_record:]
    largest = max(directory.split(b"PK\x01\x02")[1:], key=lambda entry: struct.unpack("<I", entry[16:20])[0])
    n_copies = 200
    copies = b""
    for i in range(n_copies):
        name = f"object-{i}.skops".encode()
        copies += b"PK\x01\x02" + largest[:24] + struct.pack("<H", len(name)) + largest[26:42] + name
    count = struct.unpack("<H", end[10:12])[0] + n_copies
    tail = end[:8] + struct.pack("<HHII", count, count, len(directory) + len(copies), start) + end[20:]
    refuse(content[:start] + directory + copies + tail, tmp_path, "too large")
