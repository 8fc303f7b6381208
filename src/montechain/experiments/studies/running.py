"""Studies in one process: doing their work, and gathering what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from montechain.experiments.reproduction import Reproduction
from montechain.experiments.studies.base import Piece, Setting, Study

__all__ = ["all_pieces", "gather", "work"]


def all_pieces(studies: Sequence[Study], setting: Setting) -> list[Piece]:
    """Return the work of all studies, piece by piece."""
    return [piece for study in studies for piece in study.pieces(setting)]


def work(
    studies: Sequence[Study],
    setting: Setting,
    *,
    backwards: bool = False,
    on_done: Callable[[int, int], None] = lambda piece, n_steps: None,
) -> None:
    """Do the work of these studies as far as it is not done.

    Several processes may do this at the same time: they share the work.

    Parameters
    ----------
    studies : sequence of Study
    setting : Setting
    backwards : bool, default=False
        Whether to begin at the end, so that two processes meet only once, in the middle.
    on_done : callable, optional
        Told the number of a piece in `all_pieces`, and how many of its steps are done.
    """
    pieces = list(enumerate(all_pieces(studies, setting)))
    for number, piece in reversed(pieces) if backwards else pieces:
        piece.do(lambda n_steps, number=number: on_done(number, n_steps))  # type: ignore[misc]


def gather(studies: Sequence[Study], setting: Setting, about: dict[str, Any] | None = None) -> Reproduction:
    """Return what these studies have found by now, from the store alone."""
    findings = [study.collect(setting) for study in studies]
    return Reproduction(
        comparisons=[comparison for found in findings for comparison in found.comparisons],
        traces=[trace for found in findings for trace in found.traces],
        examples=[example for found in findings for example in found.examples],
        statistics={measure: tests for found in findings for measure, tests in found.statistics.items()},
        about=about or {},
    )
