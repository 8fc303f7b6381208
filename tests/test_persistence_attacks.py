"""Files with a right checksum that were made to run something, to crash compiled code, or to fill memory or time.

Each is refused with an error, and nothing happens.
"""

import os
import pickle
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.linear_model import LogisticRegression

from montechain import ChainClassifier, MajorityClassifier
from montechain.errors import ModelFileError
from montechain.persistence import load, save
from tests.saved_models import (
    CHAIN,
    FOREST,
    FORESTS,
    HISTOGRAMS,
    NETWORK,
    POPULATION,
    POWERSET,
    TREES,
    Opened,
    data,
    fitted,
    packed,
    refuse,
    saved,
    unpacked,
    write,
)

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


NAMES = [
    "os.system", "posix.system", "builtins.eval", "builtins.exec", "subprocess.Popen", "tempfile.TemporaryDirectory",
    "montechain.persistence.save", "montechain._frames.from_words", "montechain.persistence._Decoder",
    "montechain.chain", "montechain.chain.Chain.__init__", "montechain.chain.ChainBase", "montechain.__main__.main",
    "montechain.chain.__builtins__", "sklearn.tests.test_base.MyEstimator", "sklearn.datasets.dump_svmlight_file",
    "sklearn.neighbors._kd_tree.KDTree", "sklearn.svm._classes.SVC", "sklearn.utils._joblib.Parallel", "numpy.load",
    "numpy.fromfile", "numpy.lib.npyio.load", "functools.partial", "operator.methodcaller", "..os.system", "os", "",
]  # fmt: skip
ATTACKS: dict[str, Any] = {
    **{f"name {name}": ("name", name) for name in NAMES},
    **{f"object {name}": ("object", name, (0,)) for name in NAMES},
    **{f"compiled {name}": ("compiled", name, (0,)) for name in NAMES},
    **{f"skops {name}": ("skops", name, (0,)) for name in NAMES},
    **{f"kind {name}": (name, COMMAND) for name in NAMES},
    "own class by name": ("name", "montechain.chain.Chain"),
    "name that is not a string": ("name", 5),
    "class that is not a string": ("object", None, (0,)),
    "loss with a state": ("compiled", LOSS, (1,), 2.0),
    "loss of text": ("compiled", LOSS, (2,)),
    "loss with too many numbers": ("compiled", LOSS, (3,)),
    "function beside losses": ("compiled", "sklearn.linear_model._sgd_fast._plain_sgd64", (1,)),
    "tree without parts": ("compiled", "sklearn.tree._tree.Tree", (1,)),
    "generator of another kind": ("random", "system"),
    "kind that is special": ("__init__", []),
    "kind that is a list": (["list"], 1),
    "attribute without a name": ("object", "sklearn.pipeline.Pipeline", (4,)),
    "state that is text": ("object", "sklearn.pipeline.Pipeline", COMMAND),
    "part that is a dictionary": ("list", {"name": "os.system"}),
    "reference forwards": ("list", [10**9]),
    "reference backwards": ("list", [-1]),
    "reference by truth": ("list", [True]),
    "reference by fraction": ("list", [0.0]),
    "reference by text": ("list", ["0"]),
    "two references": ("list", [0, 0]),
    "no reference": ("list", []),
    "key without a value": ("dict", "a"),
    "key that is a tuple": ("dict", (1,), 1),
    "slice of four": ("slice", 1, 2, 3, 4),
    "objects of another shape": ("objects", (3,), 1),
    "objects of no shape": ("objects", "x", 1),
    "record of text": ("record", True, (0,)),
    "type of objects in records": ("dtype", "V8,O"),
}  # fmt: skip
BEFORE = [["dict", "a", COMMAND], ["tuple", 1.0], ["tuple", COMMAND], ["tuple", 1.0, 2.0, 3.0], ["dict", 1, 2]]
"""Parts that the attacks refer to by their number, as in ``(0,)``."""


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_run(name, tmp_path):
    """Try the attack as an attribute, as the model itself, and in a part that is never used."""
    for place in ("loss", "root", "unused"):
        model = Opened(saved(CHAIN))
        shift = len(model.parts)
        model.parts += BEFORE
        evil = model.add(*([shift + own[0]] if type(own) is tuple else own for own in ATTACKS[name]))
        if place == "loss":
            model.replace(evil, "loss")
        elif place == "unused":
            model.replace(model.add("list"), "loss")
        refuse(model.content(), tmp_path)


class Trap:
    def __reduce__(self):
        return os.system, (COMMAND,)


def with_skops(name: str, blob: bytes, untrusted: list[str]) -> bytes:
    model = Opened(saved(CHAIN))
    model.manifest["untrusted"] = untrusted
    block = model.add("array")
    model.arrays[block[0]] = np.frombuffer(blob, np.uint8)
    return model.replace(model.add("skops", name, block), "loss").content()


@pytest.mark.parametrize("harmless", [LogisticRegression(), np.ma.masked_array([1.0], [True])])
def test_a_skops_part_needs_trust_even_if_skops_trusts_it(harmless, tmp_path):
    kind, blob = f"{type(harmless).__module__}.{type(harmless).__name__}", skops.io.dumps(harmless)
    refuse(with_skops(kind, blob, [kind]), tmp_path, f"not trusted: {kind}")
    assert type(load(tmp_path / "attack.mchain", trusted=[kind]).loss) is type(harmless)
    refuse(with_skops(kind, blob, []), tmp_path, f"{kind} is not trusted")
    with pytest.raises(ModelFileError, match=r"it is not a a\.B"):
        load(write(tmp_path / "other", with_skops("a.B", blob, [])), trusted=[kind, "a.B"])


@pytest.mark.parametrize("evil", [b"", b"PK\x03\x04", pickle.dumps(Trap())])
def test_skops_parts_that_are_none(evil, tmp_path):
    path = write(tmp_path / "attack", with_skops("a.B", evil, ["a.B", "c.D"]))
    with pytest.raises(ModelFileError, match=r"not trusted: a\.B, c\.D"):
        load(path)
    with pytest.raises(ModelFileError, match="cannot be rebuilt"):
        load(path, trusted=["a.B", "c.D"])


def test_no_module_is_imported_by_name(tmp_path, monkeypatch):
    (tmp_path / "evil_frames.py").write_text("open('canary', 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    X, Y = data()
    save(ChainClassifier(order=None).fit(X, pd.DataFrame(Y, columns=["a", "b", "c"])), tmp_path / "model.mchain")
    content = (tmp_path / "model.mchain").read_bytes()
    attack = Opened(content).replace("evil_frames", "codec_", "library").content()
    refuse(attack, tmp_path, "'evil_frames' is not a supported data frame library")
    model = Opened(content)
    evil = model.add("object", "evil_frames.Evil", model.add("dict"))
    refuse(model.replace(evil, "loss").content(), tmp_path, "may not name")
    assert "evil_frames" not in sys.modules
    model = Opened(content).replace("polars", "codec_", "library")
    model.replace("scan_csv", "codec_", "dtypes", 0, 0)
    refuse(model.content(), tmp_path, "'scan_csv' is not a type of polars")


@pytest.mark.parametrize(
    ("descr", "shape", "raw"),
    [
        ("|O", [1], pickle.dumps(Trap())), ("O", [1], b"x" * 8), ("<f8", [10**15], b""), ("<f8", [2**40, 2**40], b""),
        ("<f8", [-1], b"x" * 8), ("<f8", [-1, -1], b"x" * 8), ("<f8", [1.0], b"x" * 8), ("<f8", [True], b"x" * 8),
        ("<f8", [3], b"x" * 23), ("<f8", [3], b"x" * 25), ("<f8", [None], b"x" * 8), ("<U0", [10**12], b""),
        ("|V0", [10**12], b""), ("|V8", [1], b"x" * 8), ("(9,)f8", [1], b"x" * 72), ("f8,f8", [1], b"x" * 16),
        ("|b1", [2], b"\1\2"), ("<U1", [1], b"\xff" * 4), (">U1", [1], b"\xff" * 4), ("<f99999999999", [1], b"x"),
        ("__import__('os').system('touch canary')", [1], b"x"), (None, [1], b""),
    ],
)  # fmt: skip
def test_arrays_are_arrays(descr, shape, raw, tmp_path):
    model = Opened(saved(CHAIN))
    refuse(model.replace(model.add("array", descr, "C", *shape), "loss").content(raw), tmp_path)


def with_arrays(kind: str, arrays: list[Any], *more: Any) -> bytes:
    """Return a chain with an attribute made of arrays."""
    model = Opened(saved(CHAIN))
    references = []
    for values in arrays:
        references.append(model.add("array"))
        model.arrays[references[-1][0]] = np.asarray(values)
    if kind == "csr":
        return model.attach(model.add("csr", True, *references, model.add("tuple", *more))).content()
    fields = model.add("dict", *(part for i, own in enumerate(references) for part in (f"f{i}", own)), *more)
    return model.attach(model.add("record", False, fields)).content()


@pytest.mark.parametrize(
    ("shape", "change"),
    [
        ([3, 3], {1: [0, 10**6, 2]}), ([3, 3], {1: [0, -5, 2]}), ([3, 3], {2: [0, 1, 2, 10**6]}),
        ([3, 3], {2: [0, 3, 1, 3]}), ([3, 3], {0: [1.0]}), ([10**9, 10**9], {}), ([3], {}), ([3, 1], {}),
        ([3, "x"], {}), ([3, -3], {}), ([3, 3], {2: [0, 1, 2, -1]}),
    ],
)  # fmt: skip
def test_sparse_matrices_are_sparse_matrices(shape, change, tmp_path):
    parts = [np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2], np.int32), np.array([0, 1, 2, 3], np.int32)]
    assert load(write(tmp_path / "good", with_arrays("csr", parts, 3, 3))).extra.shape == (3, 3)
    changed = [np.array(change.get(place, own), own.dtype) for place, own in enumerate(parts)]
    refuse(with_arrays("csr", changed, *shape), tmp_path)


def test_records_are_no_larger_than_the_file(tmp_path):
    parts = [np.arange(3), np.arange(3.0)]
    assert load(write(tmp_path / "good", with_arrays("record", parts))).extra["f1"].tolist() == [0.0, 1.0, 2.0]
    refuse(with_arrays("record", [np.arange(3), np.arange(4)]), tmp_path, "cannot be rebuilt")
    repeated = Opened(with_arrays("record", parts))
    refuse(repeated.replace([repeated.find("extra", "f0")], "extra", "f1").content(), tmp_path, "repeat each other")


DEEP = [b"[" * 10**6, b'{"a":' * 10**5, b"9" * 10**6, b"\xff", b"{}"]


@pytest.mark.parametrize("parts", [*DEEP, b"", b"5", b"null", b"[]", b"[5]", b"[{}]", b"[[]]"])
def test_parts_that_are_not_parts(parts, tmp_path):
    manifest, good, arrays = unpacked(saved(CHAIN))
    refuse(packed(manifest, parts, arrays), tmp_path)
    if parts in DEEP:
        refuse(packed(manifest, good.replace(b'"exact_match"', parts), arrays), tmp_path)


@pytest.mark.parametrize("kind", ["list", "tuple", "objects"])
def test_parts_cannot_multiply(kind, tmp_path):
    """Nested lists, each of which holds the one before it twice, would fill the memory as an array."""
    model = Opened(saved(CHAIN))
    part: Any = 1
    for _ in range(40):
        part = model.add(kind, *([model.add("tuple", 2)] if kind == "objects" else []), part, part)
    refuse(model.attach(part).content(), tmp_path, "repeated too often")


X = data()[0]
LINK = ("chain_", "links", 1)
FIRST = ("chain_", "links", 0, "estimator")
"""The classifier in the first link of a chain."""


def put(place: Any, value: Any):
    def change(array):
        array[place] = value

    return change


def shorter(array):
    return array[:-1]


def reverse(array):
    return array[::-1].copy()


NODES = (*FIRST, "_predictors", 0, 0, "nodes")
ARRAYS: list[tuple[Any, tuple[Any, ...], list[Any]]] = [
    (CHAIN, ("order_",), [put(0, 5), reverse]),
    (CHAIN, (*LINK, "coef"), [put((0, 0), np.nan), put((0, 0), np.inf), lambda a: a[:, :-1]]),
    (CHAIN, (*LINK, "coef"), [lambda a: a.astype(np.float32), np.ravel, shorter]),
    (CHAIN, (*LINK, "intercept"), [shorter, put(0, np.nan)]),
    (CHAIN, (*LINK, "parent_effects"), [shorter, put(0, -np.inf), np.ravel]),
    (CHAIN, ("codec_", "classes", 0), [lambda a: np.arange(9), lambda a: a[:, None], lambda a: a[:0]]),
    (CHAIN, ("codec_", "classes", 1), [lambda a: a[:2]]),
    (POPULATION, ("orders_",), [put((0, 0), 7)]),
    (POPULATION, ("weights_",), [put(0, -1.0), put(0, np.nan), lambda a: np.append(a, 0.1)]),
    (POPULATION, ("chains_", 0, "links", 0, "coef"), [put((0, 0), np.nan)]),
    (POPULATION, ("codec_", "classes", 0), [lambda a: np.arange(9)]),
    (POWERSET, ("model_", "vectors"), [put((0, 0), 9), put((0, 0), -1), shorter, lambda a: a.astype(float)]),
    (POWERSET, ("model_", "counts"), [shorter]),
    (POWERSET, ("model_", "link", "coef"), [lambda a: a[:, :-1], put((0, 0), np.nan)]),
    (POWERSET, ("model_", "link", "intercept"), [lambda a: a[:, None]]),
    (MajorityClassifier(), ("model_", "vectors"), [put((0, 0), 9)]),
    (NETWORK, ("network_", "links", 0, "coef"), [lambda a: a[:, :-1]]),
    (NETWORK, ("codec_", "classes", 0), [lambda a: np.arange(9)]),
    (FOREST, ("model_", "vectors"), [put((0, 0), 9)]),
    (FOREST, ("model_", "forest", "first_node"), [put(1, 10**6), shorter]),
    (FOREST, ("model_", "forest", "feature"), [put(0, 10**6)]),
    (HISTOGRAMS, (*NODES, "left"), [put(0, 10**6), shorter]),
    (HISTOGRAMS, (*NODES, "right"), [put(0, 0)]),
    (HISTOGRAMS, (*NODES, "feature_idx"), [put(0, 10**6), put(0, -1)]),
    (HISTOGRAMS, (*NODES, "is_categorical"), [put(0, 1)]),
    (HISTOGRAMS, (*NODES, "is_leaf"), [put(-1, 0)]),
]


@pytest.mark.parametrize(
    ("model", "path", "change"), [(model, path, change) for model, path, changes in ARRAYS for change in changes]
)
def test_arrays_fit_together(model, path, change, tmp_path):
    refuse(Opened(saved(model)).change(change, *path).content(), tmp_path, "cannot be rebuilt")


VALUES: list[tuple[Any, tuple[Any, ...], list[Any]]] = [
    (CHAIN, ("chain_", "order", 0), [7, -1, "first", None]),
    (CHAIN, ("chain_", "parents", 2, 0), [2, 1, -1, 2**40, "first", 0.5]),
    (CHAIN, (*LINK, "n_classes"), [9, 0, 2**62, "two"]),
    (CHAIN, (*LINK, "parents_n_classes", 0), [5, 0, 2**62]),
    (POPULATION, ("chains_", 0, "order", 0), [7]),
    (POPULATION, ("chains_", 0, "links", 0, "n_classes"), [9]),
    (NETWORK, ("network_", "links", 0, "n_classes"), [9]),
    (NETWORK, ("network_", "links", 0, "parents_n_classes", 0), [5]),
]


@pytest.mark.parametrize(
    ("model", "path", "value"), [(model, path, value) for model, path, values in VALUES for value in values]
)
def test_values_fit_together(model, path, value, tmp_path):
    refuse(Opened(saved(model)).replace(value, *path).content(), tmp_path, "cannot be rebuilt")


@pytest.mark.parametrize("model", dict.fromkeys(model for model, _, _ in ARRAYS))
def test_a_file_that_is_taken_apart_and_not_changed_is_read(model, tmp_path):
    again = Opened(saved(model)).content()
    np.testing.assert_array_equal(load(write(tmp_path / "again", again)).predict(X), fitted(model).predict(X))


def test_sparse_rows_are_as_wide_as_the_coefficients(tmp_path):
    """The estimator accepts a million columns, but its links have coefficients for four."""
    model = load(write(tmp_path / "wide", Opened(saved(CHAIN)).replace(10**6, "n_features_in_").content()))
    wide = sp.csr_array(([1.0], ([0], [10**6 - 1])), shape=(1, 10**6))
    with pytest.raises(ValueError, match="X has 1000000 columns, but the links were learned from 4"):
        model.predict(wide)


@pytest.mark.parametrize("path", [("chain_",), ("codec_",), ("classes_",), ("order_",), LINK])
@pytest.mark.parametrize("other", [5, None, "list", "sklearn.linear_model._logistic.LogisticRegression", "chain"])
def test_parts_of_another_type(path, other, tmp_path):
    model = Opened(saved(CHAIN))
    nothing = model.add("dict")
    if other == "list":
        other = model.add("list")
    elif isinstance(other, str):
        other = model.add("object", "montechain.chain.Chain" if other == "chain" else other, nothing)
    refuse(model.replace(other, *path).content(), tmp_path, "cannot be rebuilt")


TREE_PATHS = {TREES: (*FIRST, "tree_"), FORESTS: (*FIRST, "estimators_", 1, "tree_")}


def with_tree(model: Any, place: Any, value: Any) -> Opened:
    """Return a file with another size, state or first node in a tree."""
    opened = Opened(saved(model))
    _, _, (arguments,), (state,) = opened.parts[opened.find(*TREE_PATHS[model])]
    own = opened.parts[state]
    fields = opened.parts[opened.parts[own[own.index("nodes") + 1][0]][2][0]]
    if isinstance(place, int):
        opened.parts[arguments][place + 1] = value
    elif place in own:
        own[own.index(place) + 1] = value
    else:
        opened.arrays[fields[fields.index(place) + 1][0]][0] = value
    return opened


@pytest.mark.parametrize("model", TREE_PATHS, ids=["tree", "forest"])
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("left_child", 10**6), ("left_child", 0), ("left_child", -2), ("left_child", -1), ("right_child", 0),
        ("right_child", -7), ("right_child", 2**40), ("feature", 10**9), ("feature", -3), (0, 10**6), (0, -1),
        (2, 10**9), (2, 0), (2, True), (1, 2), (1, None), ("node_count", 10**6), ("node_count", 0), ("nodes", 1),
        ("values", None), ("max_depth", "deep"),
    ],
)  # fmt: skip
def test_every_path_through_a_tree_ends(model, place, value, tmp_path):
    refuse(with_tree(model, place, value).content(), tmp_path, "cannot be rebuilt")


def test_trees_of_another_forest(tmp_path):
    """Every tree is sound, but uses features that the rows of the forest do not have."""
    opened = with_tree(FORESTS, 0, 500)
    opened.replace(500, *FIRST, "estimators_", 1, "n_features_in_")
    refuse(opened.content(), tmp_path, "expects other inputs")
