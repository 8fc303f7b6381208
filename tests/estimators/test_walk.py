"""The walk of a call of `predict`, as CONTRIBUTING.md describes it."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import montechain as mc

PACKAGE = Path(mc.__file__).parent
ROOT = Path(__file__).parents[2]


def walk(call):
    """Return the functions of the package that a call passes through on its way to each kernel."""
    found = []

    def look(frame, event, argument):
        if event == "call" and Path(frame.f_code.co_filename).parent == PACKAGE / "_kernels":
            names = []
            while (frame := frame.f_back) is not None:
                file = Path(frame.f_code.co_filename)
                if file.is_relative_to(PACKAGE) and file.parent != PACKAGE / "_kernels":
                    names.insert(0, frame.f_code.co_name)
            found.append(names)

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("n_rows", [1, 1000])
def test_predict_passes_through_the_ten_functions_that_are_described(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + 50, 4))
    Y = (X[:, :3] > 0).astype(int)
    model = mc.ChainClassifier(random_state=0).fit(X[:50], Y[:50])
    model.predict(X[50:])  # keeps what the kernel is given with every call
    walks = walk(lambda: model.predict(X[50:]))
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A call of `predict`")[2]
    described = re.findall(r"^\d+\. `(?:\w+\.)?(\w+)`", text.partition("## Rules")[0], re.MULTILINE)
    assert max(walks, key=len) == described
    assert len(described) == 10
