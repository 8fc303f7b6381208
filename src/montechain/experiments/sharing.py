"""Work that several processes share by way of one store: each unit is done once, by one of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Sequence

from montechain.experiments.limits import Limits
from montechain.experiments.results import Unit
from montechain.experiments.store import CLAIMED, TAKEN, ResultStore

__all__ = ["WAIT_SECONDS", "in_turn"]

WAIT_SECONDS = 0.2
"""How long to wait before asking again whether another process has finished what it took."""


def in_turn(
    store: ResultStore | None, wanted: Sequence[tuple[Unit, list[str]]], limits: Limits | None
) -> Generator[tuple[int, str]]:
    """Yield the number of each unit, and whether it is claimed for us to do or finished already.

    Units that another process is at come later, when that has finished them or has ended. Close the iterator
    (`contextlib.closing`), so that all claims are given up if the work is ended early.

    Parameters
    ----------
    store : ResultStore or None
        Without one, all is ours to do.
    wanted : sequence of (Unit, list of str)
        Units, and the measures that each is wanted for.
    limits : Limits or None

    Examples
    --------
    >>> unit = Unit("music", "1234", "MCC", "{}", "{}", 0, 0)
    >>> list(in_turn(None, [(unit, ["jaccard"])], None))
    [(0, 'claimed')]
    """
    waiting = deque(enumerate(wanted))
    n_taken = 0
    try:
        while waiting:
            number, (unit, measures) = waiting.popleft()
            state = CLAIMED if store is None else store.claim(unit, measures, limits)
            if state == TAKEN:
                waiting.append((number, (unit, measures)))
                n_taken += 1
                if n_taken >= len(waiting):
                    time.sleep(WAIT_SECONDS)
                    n_taken = 0
                continue
            n_taken = 0
            yield number, state
    finally:
        if store is not None:
            store.release()
