"""Ctrl-C while something is being measured."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from montechain.experiments import evaluate
from montechain.experiments._interrupts import whole_or_interrupted
from montechain.experiments.store import ResultStore
from tests.experiments.cheap import Guess, small_dataset


class Swallowing(Guess):
    """Goes on after Ctrl-C, as a search of orders does; or fails, as compiled code does."""

    def __init__(self, random_state=None, how="goes on", armed=True):
        self.random_state = random_state
        self.how = how
        self.armed = armed

    def fit(self, X, y):
        self.strength = 1
        if self.armed:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(10_000):
                    pass
            except BaseException:
                if self.how == "fails":
                    raise SystemError("returned a result with an exception set") from None
        return super().fit(X, y)


@pytest.mark.parametrize("how", ["goes on", "fails"])
def test_what_was_interrupted_is_not_kept(how, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    path = tmp_path / "store"
    with pytest.raises(KeyboardInterrupt):
        evaluate(small_dataset(), {"a": Swallowing(how=how)}, folds=2, store=path, encoder="passthrough")
    assert signal.getsignal(signal.SIGINT) is before
    assert ResultStore(path).results() == []


def test_nothing_happens_otherwise():
    with whole_or_interrupted():
        kept = 1
    assert kept == 1
    with pytest.raises(ZeroDivisionError), whole_or_interrupted():
        1 / 0  # noqa: B018


def test_other_threads_are_left_alone():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with whole_or_interrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
