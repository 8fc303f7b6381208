"""Thousands of damaged and forged model files: each is read or refused; none crashes, hangs or runs anything.

The files are read by other processes, many by each: a crash of compiled code ends such a process, and is noticed.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from montechain import ChainClassifier
from mutations import mutate
from tests.attacked_models import (
    CHAIN,
    FOREST,
    HISTOGRAMS,
    MACHINES,
    NEIGHBOURS,
    NETWORK,
    POPULATION,
    POWERSET,
    TREES,
    saved,
)
from tests.saved_models import Node, edited, entries_of, read_array, with_payload, write_array, zipped

LIGHT = [CHAIN, POPULATION, POWERSET, NETWORK]
BOOSTING = ChainClassifier(GradientBoostingClassifier(n_estimators=1, max_depth=1), random_state=0)
HEAVY = [FOREST, *TREES.values(), BOOSTING, HISTOGRAMS, MACHINES, NEIGHBOURS]
"""Files of these are larger, so they hold one label only, and there are fewer of them."""
N_FILES, N_PAYLOADS, N_PLANS, N_ARRAYS = 1000, 200, 650, 650
SECONDS = 240
"""Whatever takes longer hangs."""

READER = """
import faulthandler, os, sys, traceback, warnings
from pathlib import Path
import numpy as np
faulthandler.enable()
warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
os.chdir(sys.argv[2])
from montechain.errors import ModelFileError
from montechain.persistence import load
X = np.random.default_rng(0).normal(size=(3, 4))
with np.load(folder / "files.npz") as files, open(folder / "answers.txt", "w") as answers:
    for name in sorted(files.files, key=int):
        print(name, end=" ", file=answers, flush=True)
        path = folder / "file.mchain"
        path.write_bytes(files[name].tobytes())
        try:
            model = load(path)
        except ModelFileError as error:
            answer = "refused" if str(path) in str(error) else f"no path in {error}"
        except Exception:
            answer = "raised " + repr(traceback.format_exc())
        else:
            try:
                model.predict(X)
                answer = "read"
            except (KeyboardInterrupt, SystemExit):
                answer = "ended"
            except Exception as error:
                answer = f"unusable {type(error).__name__}"
        print(answer, file=answers, flush=True)
"""

INTERESTING = [0, 1, -1, 2, 3, 255, 2**31 - 1, -(2**31), 2**32, 2**40, 2**63 - 1, 0.5, 1e308, -1e308]
VALUES = [
    "null", "true", "0", "-1", "2", "1e308", "NaN", '""', '"greedy"', '"none"', '"PCG64"', "[]", "{}", "[0, 1]",
    "99999", '"../x"', "9007199254740993",
]  # fmt: skip


def all_nodes(schema: Any) -> list[Node]:
    """Return every dictionary in a plan that is a node, wherever it stands."""
    found, waiting = [], [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                found.append(part)
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def forge_plan(rng: random.Random):
    """Return a change of one to three nodes of a plan: another value, another type, parts lost or exchanged."""

    def change(schema, files):
        for _ in range(rng.randint(1, 3)):
            nodes = all_nodes(schema)
            node, other = rng.choice(nodes), rng.choice(nodes)
            kind = rng.randrange(8)
            if kind <= 2:
                node = rng.choice([n for n in nodes if n["__loader__"] == "JsonNode"] or nodes)
                node["content"], node["__id__"] = rng.choice(VALUES), rng.randint(10**6, 10**9)
            elif kind == 3:
                node.update(json.loads(json.dumps(other)))
                for copied in all_nodes(node):
                    copied["__id__"] = rng.randint(10**6, 10**9)
            elif kind == 4:
                key = rng.choice(["__class__", "__module__", "__loader__", "__id__"])
                node[key] = other[key]
            elif kind == 5:
                node.pop(rng.choice(sorted(node)))
            elif kind == 6 and isinstance(node.get("content"), dict) and node["content"]:
                key = rng.choice(sorted(node["content"]))
                if rng.random() < 0.5:
                    del node["content"][key]
                else:
                    node["content"][key] = json.loads(json.dumps(rng.choice(nodes)))
            elif kind == 7 and isinstance(node.get("content"), list):
                rng.shuffle(node["content"])
                node["content"] = node["content"][: rng.randint(0, len(node["content"]))]

    return change


def forge_array(rng: random.Random):
    """Return a change of one to three arrays: numbers, lengths, types and shapes."""

    def change(schema, files):
        holders = [node for node in all_nodes(schema) if str(node.get("file", "")).endswith(".npy")]
        for _ in range(rng.randint(1, 3)):
            node = rng.choice(holders)
            array = read_array(files, node)
            kind = rng.randrange(6)
            if kind <= 2 and array.size:
                flat = array.reshape(-1).copy()
                places = [rng.randrange(len(flat)) for _ in range(rng.randint(1, 3))]
                for place in places:
                    _put(flat, place, rng)
                array = flat.reshape(array.shape)
            elif kind == 3 and array.ndim:
                array = array[: rng.randint(0, len(array))]
            elif kind == 4 and array.dtype.names is None and array.dtype.kind in "iuf":
                with np.errstate(all="ignore"):
                    array = array.astype(rng.choice([np.int8, np.int32, np.uint64, np.float32, np.float64]))
            elif kind == 5:
                array = rng.choice([np.concatenate([array.ravel()] * 2), array[..., None], array.T])
            write_array(files, node, array)

    return change


def _put(flat: np.ndarray, place: int, rng: random.Random) -> None:
    if flat.dtype.names is not None:
        field = rng.choice(flat.dtype.names)
        column = flat[field]
        _put(column, place, rng)
        return
    value = rng.choice(INTERESTING)
    if flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        flat[place] = min(max(int(min(max(value, -(2**63)), 2**63 - 1)), limits.min), limits.max)
    elif flat.dtype.kind == "f":
        with np.errstate(all="ignore"):
            flat[place] = rng.choice([value, float("nan"), float("inf")])
    elif flat.dtype.kind == "b":
        flat[place] = not flat[place]


def forge_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return a model file with damaged bytes in its payload, and the checksums of both made right."""
    files = entries_of(entries_of(content)["model.skops"])
    name = rng.choice(sorted(files))
    files[name] = mutate(files[name], rng)
    return with_payload(content, zipped(files))


def batches() -> dict[str, list[bytes]]:
    light = [saved(model) for model in LIGHT]
    heavy = [saved(model, 1) for model in HEAVY]
    rng = random.Random(20140101)
    n_turns = max(N_PAYLOADS, N_PLANS, N_ARRAYS) // 7 + 1
    # Four light ones, then three of the others, which take turns.
    turns = [content for k in range(n_turns) for content in light + [heavy[(3 * k + i) % len(heavy)] for i in range(3)]]
    return {
        "files": [mutate(light[i % len(light)], rng) for i in range(N_FILES)],
        "payloads": [forge_bytes(content, rng) for content in turns[:N_PAYLOADS]],
        "plans": [edited(content, forge_plan(rng)) for content in turns[:N_PLANS]],
        "arrays": [edited(content, forge_array(rng)) for content in turns[:N_ARRAYS]],
    }


def read_all(files: list[bytes], folder: Path) -> tuple[int, list[str], Path]:
    """Return how a process ended that read these files, its answer to each, and the folder that it worked in."""
    current = folder / "current"
    current.mkdir(parents=True)
    arrays = {str(i): np.frombuffer(content, dtype=np.uint8) for i, content in enumerate(files)}
    np.savez(folder / "files.npz", **arrays)
    # Threads of compiled code would wait for each other longer than they work.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READER, str(folder), str(current)]
    result = subprocess.run(command, env=environment, timeout=SECONDS, check=False)
    return result.returncode, (folder / "answers.txt").read_text().splitlines(), current


def test_damaged_and_forged_models(tmp_path):
    assert N_FILES + N_PAYLOADS + N_PLANS + N_ARRAYS >= 2500
    counts = {}
    everything = [(kind, content) for kind, contents in batches().items() for content in contents]
    status, answers, current = read_all([content for _, content in everything], tmp_path)
    assert status == 0, f"the reader died: {answers[-1:]}"
    assert len(answers) == len(everything)
    for (kind, _), answer in zip(everything, answers, strict=True):
        outcome = answer.split(" ")[1]
        assert outcome in ("read", "refused", "unusable"), answer
        counts.setdefault(kind, Counter())[outcome] += 1
    assert list(current.iterdir()) == [], "something was written"
    # If all or none were refused, the test would be looking at the wrong thing.
    assert counts["files"]["refused"] > 0.9 * N_FILES
    assert counts["plans"]["refused"] > 0.3 * N_PLANS
    assert counts["plans"]["read"] > 20
    assert counts["arrays"]["refused"] > 0.3 * N_ARRAYS
    assert counts["arrays"]["read"] > 20
    print(counts)


def test_the_files_are_the_same_each_time():
    rng = [random.Random(1), random.Random(1)]
    content = saved(CHAIN)
    for forge in (lambda r: edited(content, forge_plan(r)), lambda r: edited(content, forge_array(r))):
        one, two = (entries_of(forge(r)) for r in rng)
        assert one == two


def test_a_crash_would_be_noticed(tmp_path):
    """The reader of this test is ended by a signal when compiled code reads too far."""
    code = "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.returncode < 0


@pytest.mark.parametrize("size", [0, 1, 3, 21, 22, 23, 100])
def test_short_files(size, tmp_path):
    from montechain.errors import ModelFileError
    from montechain.persistence import describe, load

    path = tmp_path / "short.mchain"
    for start in (saved(CHAIN), b"PK\x05\x06" + bytes(100), struct.pack("<I", 0x04034B50) * 30):
        path.write_bytes(start[:size])
        for read in (load, describe):
            with pytest.raises(ModelFileError):
                read(path)
