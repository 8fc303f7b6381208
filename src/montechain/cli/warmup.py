"""``montechain warmup``: compile every kernel once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import montechain as mc
from montechain.cli import output

__all__ = ["warmup"]


def warmup() -> None:
    """Compile everything now, so that no later command has to wait.

    Run it once when you build an image or set up a machine. What is compiled already is not compiled again.
    """
    import numpy as np
    import scipy.sparse as sp

    from montechain._compilation import watch_compilation

    X = np.random.default_rng(0).normal(size=(40, 4))
    binary = (X[:, :3] > 0).astype(int)
    tables = [(X, binary), (X, binary + (X[:, 1:] > 0.5)), (sp.csr_array(X), binary)]
    models = list(_models())
    started = time.perf_counter()
    with watch_compilation() as compilation, output.progress("compiling", len(models) * len(tables)) as advance:
        for model in models:
            for inputs, targets in tables:
                _use(model, inputs, targets)
                advance(1)
    seconds = time.perf_counter() - started
    output.print_line(f"Ready after {seconds:.0f} s, of which {compilation.seconds:.0f} s went into compiling.")


def _models() -> Iterator[Any]:
    """Yield models that together use every kernel."""
    from montechain.inference import STRATEGIES

    yield from (mc.make_method(name, random_state=0) for name in mc.METHODS)
    yield mc.ChainClassifier(mc.SVMLink(), random_state=0)
    yield mc.ChainPopulationClassifier(n_chains=2, random_state=0)
    for inference in STRATEGIES:
        for loss in (mc.ExactMatch(), mc.Hamming(), mc.F1(negative=0), mc.Jaccard(negative=0)):
            yield mc.ChainClassifier(inference=inference, loss=loss, random_state=0)


def _use(model: Any, X: Any, Y: Any) -> None:
    """Fit a model and ask it everything that it can answer."""
    given = Y.astype(float)
    given[:, 1:] = float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
        for known in ({}, {"given": given}):
            for query in ("decide", "predict", "predict_proba", "predict_top_k", "sample"):
                if hasattr(model, query):
                    getattr(model, query)(X[:5], **{name: table[:5] for name, table in known.items()})
        if hasattr(model, "log_joint"):
            model.log_joint(X, Y)
