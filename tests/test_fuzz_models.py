"""Thousands of damaged and forged model files: each is read or refused; none crashes, hangs or runs anything.

Another process reads the files: a crash of compiled code ends that process, and is noticed.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mutations import mutate
from tests.saved_models import CHAIN, HEAVY, LIGHT, Opened, packed, saved, unpacked

N_FILES, N_ENTRIES, N_PARTS, N_ARRAYS = 1000, 200, 650, 650
SECONDS = 240
"""Maximum seconds: anything slower counts as hanging."""

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
    None, True, 0, -1, 2, 1e308, float("nan"), "", "greedy", "none", "PCG64", [], {}, [0], [-1], [0, 1], 99999, "../x",
    2**53 + 1, "sklearn.tree._tree.Tree", "montechain.chain.Chain", "<f8", "<i8", "|b1", "array", "dict",
]  # fmt: skip


def forge_parts(content: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three parts changed: another value, another kind, content lost or exchanged."""
    manifest, parts, arrays = unpacked(content)
    parts = json.loads(parts)
    for _ in range(rng.choice((1, 1, 2, 3))):
        part, other = rng.choice(parts), rng.randrange(len(parts))
        kind = rng.randrange(5)
        if kind == 0:
            part[:] = parts[other]
        elif kind == 1 and part:
            part[0] = rng.choice([parts[other][:1], ["compiled"], ["dict"]])
            part[0] = part[0][0] if part[0] else "list"
        elif kind == 2 and part:
            rng.shuffle(part) if rng.random() < 0.5 else part.pop(rng.randrange(len(part)))
        elif part:
            part[rng.randrange(len(part))] = rng.choice([*VALUES, [other]])
    return packed(manifest, json.dumps(parts).encode(), arrays)


def forge_arrays(content: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three arrays changed: numbers, lengths, types and shapes."""
    model = Opened(content)
    for _ in range(rng.randint(1, 3)):
        place = rng.choice(sorted(model.arrays))
        array = model.arrays[place]
        kind = rng.randrange(6)
        if kind <= 2 and array.size:
            array = array.reshape(-1).copy()
            for _ in range(rng.randint(1, 3)):
                _put(array, rng.randrange(len(array)), rng)
            array = array.reshape(model.arrays[place].shape)
        elif kind == 3 and array.ndim:
            array = array[: rng.randint(0, len(array))]
        elif kind == 4 and array.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                array = array.astype(rng.choice([np.int8, np.int32, np.uint64, np.float32, np.float64]))
        elif kind == 5:
            array = rng.choice([np.concatenate([array.ravel()] * 2), array[..., None], array.T])
        model.arrays[place] = array
    return model.content()


def _put(flat: np.ndarray, place: int, rng: random.Random) -> None:
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
    """Return a model file with damaged bytes after its manifest, and the right checksum."""
    manifest, *blocks = unpacked(content)
    place = rng.randrange(2)
    blocks[place] = mutate(blocks[place], rng)
    return packed(manifest, *blocks)


def batches() -> dict[str, list[bytes]]:
    light = [saved(model) for model in LIGHT]
    heavy = [saved(model, 1) for model in HEAVY]  # one label only, and fewer of them
    rng = random.Random(20140101)
    n_turns = max(N_ENTRIES, N_PARTS, N_ARRAYS) // 7 + 1
    # Four light ones, then three of the others, which take turns.
    turns = [content for k in range(n_turns) for content in light + [heavy[(3 * k + i) % len(heavy)] for i in range(3)]]
    return {
        "files": [mutate(light[i % len(light)], rng) for i in range(N_FILES)],
        "entries": [forge_bytes(content, rng) for content in turns[:N_ENTRIES]],
        "parts": [forge_parts(content, rng) for content in turns[:N_PARTS]],
        "arrays": [forge_arrays(content, rng) for content in turns[:N_ARRAYS]],
    }


def read_all(files: list[bytes], folder: Path) -> tuple[int, list[str], Path]:
    """Return how a process ended that read these files, its answer to each, and the folder that it worked in."""
    current = folder / "current"
    current.mkdir(parents=True)
    arrays = {str(i): np.frombuffer(content, dtype=np.uint8) for i, content in enumerate(files)}
    np.savez(folder / "files.npz", **arrays)
    # Threads of compiled code would spend more time waiting than working.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", READER, str(folder), str(current)]
    result = subprocess.run(command, env=environment, timeout=SECONDS, check=False)
    return result.returncode, (folder / "answers.txt").read_text().splitlines(), current


@pytest.mark.slow
def test_damaged_and_forged_models(tmp_path):
    counts: dict[str, Counter[str]] = {}
    everything = [(kind, content) for kind, contents in batches().items() for content in contents]
    status, answers, current = read_all([content for _, content in everything], tmp_path)
    assert status == 0, f"the reader died: {answers[-1:]}"
    assert len(answers) == len(everything)
    for (kind, _), answer in zip(everything, answers, strict=True):
        outcome = answer.split(" ")[1]
        assert outcome in ("read", "refused", "unusable"), answer
        counts.setdefault(kind, Counter())[outcome] += 1
    assert list(current.iterdir()) == [], "something was written"
    print(counts)
    # If all or none were refused, the test would be looking at the wrong thing.
    assert counts["files"]["refused"] > 0.9 * N_FILES
    assert counts["parts"]["refused"] > 0.3 * N_PARTS
    assert counts["parts"]["read"] > 20
    assert counts["arrays"]["refused"] > 0.3 * N_ARRAYS
    assert counts["arrays"]["read"] > 20


def test_the_files_are_the_same_each_time():
    for forge in (forge_parts, forge_arrays):
        one, two = (forge(saved(CHAIN), random.Random(1)) for _ in range(2))
        assert one == two
