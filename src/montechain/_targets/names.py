"""What labels are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["default_label_names", "named_labels"]


def default_label_names(n_labels: int) -> list[str]:
    """Return the names of labels that have none.

    Examples
    --------
    >>> default_label_names(2)
    ['label_0', 'label_1']
    """
    return [f"label_{label}" for label in range(n_labels)]


def named_labels(names: Sequence[Any] | None, n_labels: int) -> list[Any]:
    """Return a name for each label: its own, or the default one if it has none.

    Examples
    --------
    >>> named_labels(["wind", None], 2)
    ['wind', 'label_1']
    """
    default = default_label_names(n_labels)
    if names is None:
        return default
    return [other if own is None else own for own, other in zip(names, default, strict=True)]
