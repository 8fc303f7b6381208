"""Files made to run something, or to fill memory or time: each is refused, and nothing happens."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from montechain import ChainClassifier
from montechain.errors import ModelFileError
from montechain.persistence import describe, load, save
from tests.attacked_models import CHAIN, TREES, arguments, dictionary, function, node, plain, refuse, saved, sequence
from tests.saved_models import attributes, data, edited, entries_of, with_payload, write, zipped


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """The name of a file that an attack would create, in a folder that is the current one."""
    folder = tmp_path / "current"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder / "canary"
    assert list(folder.iterdir()) == [], "something was run"


# -- running something ---------------------------------------------------------------------------------

COMMAND = "touch canary"
CODE = "open('canary', 'w')"
ATTACKS: dict[str, Any] = {
    "function": lambda: function("os.system"),
    "function by another name": lambda: function("posix.system"),
    "eval": lambda: function("builtins.eval"),
    "own function": lambda: function("montechain.persistence.model_files.save"),
    "own function that imports": lambda: function("montechain._targets.types.library"),
    "own class as a function": lambda: function("montechain.chain.Chain"),
    "type": lambda: node("TypeNode", "subprocess.Popen"),
    "own type": lambda: node("TypeNode", "montechain.chain.Chain"),
    "constructor": lambda: node("ConstructorFromReduceNode", "os.system", content=arguments(COMMAND)),
    "constructor eval": lambda: node("ConstructorFromReduceNode", "builtins.exec", content=arguments(CODE)),
    "constructor of a type": lambda: node(
        "ConstructorFromReduceNode", "subprocess.Popen", content=arguments(["touch", "canary"])
    ),
    "constructor of an own type": lambda: node(
        "ConstructorFromReduceNode", "montechain.losses.CallableLoss", content=arguments(1)
    ),
    "partial": lambda: node(
        "PartialNode",
        "functools.partial",
        content={
            "func": function("os.system"),
            "args": arguments(COMMAND),
            "kwds": dictionary({}),
            "namespace": plain(None),
        },
    ),
    "partial of what is trusted": lambda: node(
        "PartialNode",
        "functools.partial",
        content={"func": function("numpy.add"), "args": arguments(1), "kwds": dictionary({}), "namespace": plain(None)},
    ),
    "method of a trusted object": lambda: node(
        "MethodNode",
        "montechain.estimators.chain.ChainClassifier",
        content={
            "func": "fit",
            "obj": node("ObjectNode", "montechain.estimators.chain.ChainClassifier", content=dictionary({})),
        },
    ),
    "method of scikit-learn's": lambda: node(
        "MethodNode",
        "sklearn.pipeline.Pipeline",
        content={"func": "fit", "obj": node("ObjectNode", "sklearn.pipeline.Pipeline", content=dictionary({}))},
    ),
    "method by a longer name": lambda: node(
        "MethodNode",
        "builtins.dict",
        content={"func": "__class__.__base__.__subclasses__", "obj": dictionary({})},
    ),
    "methodcaller": lambda: node("OperatorFuncNode", "operator.methodcaller", attrs=arguments("system", COMMAND)),
    "attrgetter": lambda: node("OperatorFuncNode", "operator.attrgetter", attrs=arguments("__globals__")),
    "operator elsewhere": lambda: node("OperatorFuncNode", "os.system", attrs=arguments(COMMAND)),
    "tree that is none": lambda: node(
        "TreeNode", "os.system", content=dictionary({}), __reduce__={"args": arguments(COMMAND)}
    ),
    "loss that is none": lambda: node(
        "LossNode", "os.system", content=dictionary({}), __reduce__={"args": arguments(COMMAND)}
    ),
    "loss with a state": lambda: (
        node(
            "LossNode",
            "sklearn.linear_model._sgd_fast.Hinge",
            content=arguments(),
            __reduce__={"args": arguments(1.0)},
        )
        | {"content": arguments(1.0, 2.0)}
    ),
    "own type as a loss": lambda: node(
        "LossNode", "montechain.chain.Chain", content=dictionary({}), __reduce__={"args": arguments()}
    ),
    "list": lambda: sequence("ListNode", "os.system", plain(COMMAND)),
    "own type as a list": lambda: sequence("ListNode", "montechain.population.base.Population"),
    "set": lambda: sequence("SetNode", "builtins.exec", plain(CODE)),
    "tuple": lambda: sequence("TupleNode", "os.terminal_size", plain(1), plain(2)),
    "dictionary": lambda: dictionary({}, "tempfile.TemporaryDirectory"),
    "keys": lambda: dictionary({COMMAND: plain(1)}, kind="os.system"),
    "keys by functions": lambda: node(
        "DictNode",
        "builtins.dict",
        content={COMMAND: plain(1)},
        key_types=sequence("ListNode", "builtins.list", function("os.system")),
    ),
    "keys by trusted functions": lambda: node(
        "DictNode",
        "builtins.dict",
        content={COMMAND: plain(1)},
        key_types=sequence("ListNode", "builtins.list", function("numpy.add")),
    ),
    "default of a dictionary": lambda: node(
        "DefaultDictNode",
        "collections.defaultdict",
        content={"main": dictionary({}), "default_factory": function("os.getcwd")},
    ),
    "generator that is none": lambda: node("RandomStateNode", "builtins.exec", content=plain(CODE)),
    "generator by another name": lambda: node(
        "RandomGeneratorNode",
        "numpy.random._generator.Generator",
        content={"bit_generator": dictionary({"bit_generator": plain("seed")}), "seed_seq": dictionary({})},
    ),
    "generator that keeps a place": lambda: node(
        "RandomGeneratorNode",
        "numpy.random._generator.Generator",
        content={"bit_generator": dictionary({"bit_generator": plain("MT19937")}), "seed_seq": dictionary({})},
    ),
    "object": lambda: node("ObjectNode", "tempfile.TemporaryDirectory", content=dictionary({"name": plain("x")})),
    "function in a transformer": lambda: node(
        "ObjectNode",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        content=dictionary({"func": function("os.system")}),
    ),
    "names taken apart differently": lambda: {
        **node("ObjectNode", "montechain.chain.Chain", content=dictionary({})),
        "__module__": "montechain",
        "__class__": "chain.Chain",
    },
    "name of a module": lambda: node("ObjectNode", "montechain.chain", content=dictionary({})),
    "unknown way": lambda: node("EvalNode", "builtins.eval", content=CODE),
    "cached": lambda: node("CachedNode", "builtins.dict"),
    "way that is no text": lambda: node("ObjectNode", "a.b") | {"__loader__": ["ObjectNode"]},
    "type that is no text": lambda: node("ObjectNode", "a.b") | {"__class__": 5},
    "no number": lambda: node("JsonNode", "builtins.str", content="1") | {"__id__": None},
    "number that is no number": lambda: node("JsonNode", "builtins.str", content="1") | {"__id__": [1]},
    "value that is no text": lambda: node("JsonNode", "builtins.str", content=5),
    "no object": lambda: 5,
    "no content": lambda: node("ListNode", "builtins.list"),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("place", ["loss", "root", "keys of nothing"])
def test_nothing_is_run(name, place, canary, tmp_path):
    def attack(schema, files):
        evil = ATTACKS[name]()
        if place == "loss":
            attributes(schema)["loss"] = evil
        elif place == "root":
            return {**evil, "protocol": 2} if isinstance(evil, dict) else None
        else:
            attributes(schema)["unknown"] = sequence("ListNode", "builtins.list", dictionary({"a": evil}))
        return None

    if place == "root" and not isinstance(ATTACKS[name](), dict):
        return
    refuse(edited(saved(CHAIN), attack), tmp_path)


@pytest.mark.parametrize("protocol", [0, 1, -1, 3, 99, True, None, "2", 2.5])
def test_older_rules_are_not_used(protocol, canary, tmp_path):
    def attack(schema, files):
        # Of old, the type was audited that stood here, and the function built that stood in the content.
        content = {"module_path": "os", "function": "system"}
        attributes(schema)["loss"] = node("FunctionNode", "numpy.add", content=content)
        schema["protocol"] = protocol

    refuse(edited(saved(CHAIN), attack), tmp_path)


class Trap:
    def __reduce__(self):
        return os.system, (COMMAND,)


def pickled_array() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def archive_of_arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([Trap()], dtype=object))
    return buffer.getvalue()


def header(shape: tuple[int, ...], descr: Any = "<f8") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        pickled_array,
        archive_of_arrays,
        lambda: pickle.dumps(Trap()),
        lambda: b"",
        lambda: b"\x93NUMPY",
        lambda: b"\x93NUMPY\x03\x00" + struct.pack("<I", 2**31),
        lambda: header((10**15,)),
        lambda: header((2**40, 2**40)),
        lambda: header((-1,)) + b"x" * 8,
        lambda: header((10**12,), "<U0"),
        lambda: header((10**12,), "|V0"),
        lambda: header((1,), "|O") + pickle.dumps(Trap()),
        lambda: header((1,), [("a", "|O")]) + b"x" * 8,
        lambda: header((1,), [("a", "<f8", (10**6,))]) + b"x" * 8,
        lambda: header((3,)) + b"x" * 23,
        lambda: header((3,)) + b"x" * 25,
        lambda: b"\x93NUMPY\x01\x00\x40\x00" + b"{'descr': __import__('os').system('touch canary')}".ljust(64),
    ],
)
def test_arrays_are_arrays(content, canary, tmp_path):
    def attack(schema, files):
        links = attributes(attributes(schema)["chain_"])["links"]
        files[links["content"]["coef"]["file"]] = content()

    refuse(edited(saved(CHAIN), attack), tmp_path)


def test_sparse_matrices_are_sparse_matrices(canary, tmp_path):
    def with_sparse(content: bytes):
        def attack(schema, files):
            files["evil.npz"] = content
            attributes(schema)["unknown"] = node(
                "SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="evil.npz"
            )

        return edited(saved(CHAIN), attack)

    def sparse_file(compressed: bool = True, **changes: Any) -> bytes:
        matrix = sp.csr_array(np.eye(3))
        members = {
            "format": np.array(b"csr"), "shape": np.array([3, 3]), "data": matrix.data, "indices": matrix.indices,
            "indptr": matrix.indptr, **changes,
        }  # fmt: skip
        buffer = io.BytesIO()
        (np.savez_compressed if compressed else np.savez)(buffer, **members)
        return buffer.getvalue()

    assert load(write(tmp_path / "good.mchain", with_sparse(sparse_file()))).unknown.shape == (3, 3)
    refuse(with_sparse(sparse_file(indices=np.array([0, 10**6, 2]))), tmp_path)
    refuse(with_sparse(sparse_file(indices=np.array([0, -5, 2]))), tmp_path)
    refuse(with_sparse(sparse_file(indptr=np.array([0, 1, 2, 10**6]))), tmp_path)
    refuse(with_sparse(sparse_file(shape=np.array([10**9, 10**9]))), tmp_path)
    refuse(with_sparse(sparse_file(format=np.array(b"dok"))), tmp_path)
    refuse(with_sparse(sparse_file(format=np.array(b"bsr"))), tmp_path)
    refuse(with_sparse(sparse_file(data=np.array([Trap()] * 3, dtype=object))), tmp_path, "no model file holds")
    refuse(with_sparse(sparse_file(more=np.zeros(3))), tmp_path, "not what scipy writes")
    refuse(with_sparse(sparse_file(data=np.zeros(10**8, dtype=np.uint8))), tmp_path, "would unfold into")
    refuse(with_sparse(b"PK\x03\x04"), tmp_path, "cannot be read")
    refuse(with_sparse(pickle.dumps(Trap())), tmp_path, "cannot be read")


@pytest.mark.parametrize("names", [["0.npz"] * 5, [f"{number}.npz" for number in range(5)]])
def test_many_small_files_cannot_unfold_into_a_large_model(names, tmp_path):
    buffer = io.BytesIO()
    sp.save_npz(buffer, sp.csr_array((np.zeros(7 * 10**6), np.zeros(7 * 10**6, np.int8), [0, 7 * 10**6])))

    def attack(schema, files):
        files.update(dict.fromkeys(names, buffer.getvalue()))
        parts = [node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file=name) for name in names]
        attributes(schema)["unknown"] = sequence("ListNode", "builtins.list", *parts)

    assert len(buffer.getvalue()) < 10**6
    refuse(edited(saved(CHAIN), attack), tmp_path, "would unfold into more than 268435456 bytes")


def test_a_file_is_judged_for_every_use(canary, tmp_path):
    def attack(schema, files):
        files["evil.npz"] = pickle.dumps(Trap())
        attributes(schema)["unknown"] = sequence(
            "ListNode",
            "builtins.list",
            node("BytesNode", "builtins.bytes", file="evil.npz"),
            node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="evil.npz"),
        )

    refuse(edited(saved(CHAIN), attack), tmp_path, "the sparse matrix 'evil.npz' cannot be read")


def test_files_that_are_not_there_or_not_meant(canary, tmp_path):
    for name in ("missing.npy", "schema.json", "../../etc/passwd", "/etc/passwd", 5, None):

        def attack(schema, files, name=name):
            attributes(schema)["order_"]["file"] = name

        refuse(edited(saved(CHAIN), attack), tmp_path)


def test_no_module_is_imported_by_name(canary, tmp_path, monkeypatch):
    (tmp_path / "evil_frames.py").write_text("open('canary', 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    X, Y = data()
    model = ChainClassifier(order=None).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    save(model, tmp_path / "model.mchain")
    content = (tmp_path / "model.mchain").read_bytes()

    def other_library(schema, files):
        attributes(attributes(schema)["_target_format"])["namespace"] = plain("evil_frames")

    refuse(edited(content, other_library), tmp_path, "'evil_frames' is no library of frames")
    assert "evil_frames" not in sys.modules

    def other_type(schema, files):
        layout = attributes(attributes(schema)["_target_format"])
        layout["namespace"] = plain("polars")
        attributes(layout["dtypes"]["content"][0])["name"] = plain("scan_csv")

    strange = load(write(tmp_path / "model.mchain", edited(content, other_type)))
    with pytest.raises(ValueError, match="'scan_csv' is no type of polars"):
        strange.predict(X)


# -- filling memory or time ------------------------------------------------------------------------------


def test_a_plan_that_is_too_deep(tmp_path):
    def nested(depth: int):
        def attack(schema, files):
            evil = plain(1)
            for _ in range(depth):
                evil = sequence("ListNode", "builtins.list", evil)
            attributes(schema)["unknown"] = evil

        return attack

    assert load(write(tmp_path / "good.mchain", edited(saved(CHAIN), nested(50)))).unknown
    refuse(edited(saved(CHAIN), nested(200)), tmp_path, "nodes deep")
    entries = entries_of(saved(CHAIN))
    files = entries_of(entries["model.skops"])
    for deep in (b"[" * 10**6, b'{"a":' * 10**5):
        refuse(with_payload(saved(CHAIN), zipped({**files, "schema.json": deep})), tmp_path)
    deep_value = "[" * 10**5 + "]" * 10**5

    def long_value(schema, files):
        attributes(schema)["unknown"] = node("JsonNode", "builtins.str", content=deep_value)

    refuse(edited(saved(CHAIN), long_value), tmp_path)

    def long_number(schema, files):
        attributes(schema)["unknown"] = node("JsonNode", "builtins.str", content="9" * 10**6)

    refuse(edited(saved(CHAIN), long_number), tmp_path)


def test_few_nodes_cannot_stand_for_many(tmp_path):
    def doubled(schema, files):
        evil = plain(1)
        levels = [evil]
        for _ in range(60):
            before = {key: levels[-1][key] for key in ("__id__", "__loader__", "__module__", "__class__")}
            levels.append(sequence("ListNode", "builtins.list", {**before, "content": []}, {**before, "content": []}))
        attributes(schema)["unknown"] = sequence("ListNode", "builtins.list", *levels)

    refuse(edited(saved(CHAIN), doubled), tmp_path, "two different parts")

    def bare(schema, files):
        attributes(schema)["unknown"] = {"__id__": attributes(schema)["order"]["__id__"]}

    refuse(edited(saved(CHAIN), bare), tmp_path, "not known")


def test_a_plan_does_not_contain_itself(tmp_path):
    def ring(schema, files):
        within = node("ListNode", "builtins.list", content=[])
        attributes(schema)["unknown"] = {**within, "__id__": schema["__id__"]}

    refuse(edited(saved(CHAIN), ring), tmp_path, "contains itself")


def test_what_is_judged_is_what_is_built(tmp_path):
    """Two nodes of one number: skops builds the first, and a reader of the second would be deceived."""
    content = saved(TREES["tree"])

    def swap(schema, files):
        chain = attributes(attributes(schema)["chain_"])
        tree = attributes(attributes(chain["links"]["content"]["others"]["content"][0])["estimator"])["tree_"]
        n_outputs = tree["__reduce__"]["args"]["content"][2]
        attributes(schema)["estimator"] = {**plain(10**9), "__id__": 77_777_777}
        n_outputs["__id__"] = 77_777_777

    refuse(edited(content, swap), tmp_path, "two different parts")


def raw_zip(*entries: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_containers_are_plain(tmp_path):
    entries = entries_of(saved(CHAIN))
    manifest, payload = entries["manifest.json"], entries["model.skops"]
    good = ("manifest.json", manifest), ("model.skops", payload)
    refuse(raw_zip(*good, ("model.skops", b"other")), tmp_path, "twice")
    refuse(raw_zip(*good, ("manifest.json", manifest)), tmp_path, "twice")
    for name in ("../evil", "/etc/evil", "a/b", "..\\evil", ".hidden"):
        refuse(raw_zip(*good, (name, b"x")), tmp_path, "which no model file has")
    refuse(raw_zip(*good, compression=zipfile.ZIP_DEFLATED), tmp_path, "compressed or encrypted")
    bomb = raw_zip(("manifest.json", manifest), ("model.skops", bytes(10**7)), compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 20_000
    refuse(bomb, tmp_path, "compressed or encrypted")
    with pytest.raises(ModelFileError):
        describe(write(tmp_path / "bomb.mchain", bomb))

    # The sizes in the directory at the end are the attacker's, too.
    content = bytearray(raw_zip(*good))
    start = content.rindex(b"PK\x01\x02")
    content[start + 20 : start + 28] = struct.pack("<II", 2**31, 2**31)
    refuse(bytes(content), tmp_path)
    content = bytearray(raw_zip(*good))
    content[start + 8] |= 1
    refuse(bytes(content), tmp_path, "compressed or encrypted")

    files = entries_of(payload)
    inner = [(name, content) for name, content in files.items()]
    refuse(with_payload(saved(CHAIN), raw_zip(*inner, inner[0])), tmp_path, "twice")
    refuse(with_payload(saved(CHAIN), raw_zip(*inner, ("../x.npy", b""))), tmp_path, "which no model file has")
    refuse(with_payload(saved(CHAIN), raw_zip(*inner, compression=zipfile.ZIP_DEFLATED)), tmp_path, "compressed")
    refuse(with_payload(saved(CHAIN), raw_zip(*inner[1:])), tmp_path, "has no schema.json")
    refuse(with_payload(saved(CHAIN), b"no zip file"), tmp_path)
    refuse(with_payload(saved(CHAIN), pickle.dumps(Trap())), tmp_path)
    for schema in (b"", b"5", b"null", b"[]", b"{}", b"\xff"):
        refuse(with_payload(saved(CHAIN), zipped({**files, "schema.json": schema})), tmp_path)


def test_overlapping_entries_cannot_multiply(tmp_path):
    """Many entries of the directory that all point to the same bytes."""
    payload = entries_of(saved(CHAIN))["model.skops"]
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        start = archive.start_dir
    directory = payload[start : payload.rindex(b"PK\x05\x06")]
    end = payload[payload.rindex(b"PK\x05\x06") :]
    largest = max(directory.split(b"PK\x01\x02")[1:], key=lambda entry: struct.unpack("<I", entry[16:20])[0])
    n_copies = 200
    copies = b""
    for i in range(n_copies):
        name = f"copy{i}".encode()
        copies += b"PK\x01\x02" + largest[:24] + struct.pack("<H", len(name)) + largest[26:42] + name
    count = struct.unpack("<H", end[10:12])[0] + n_copies
    tail = end[:8] + struct.pack("<HHII", count, count, len(directory) + len(copies), start) + end[20:]
    refuse(with_payload(saved(CHAIN), payload[:start] + directory + copies + tail), tmp_path)
