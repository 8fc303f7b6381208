"""Every name of scikit-learn that is private or that older versions lack, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from montechain._rows import take_rows

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "check_method_params", "check_sample_weight", "take_rows", "with_callbacks"]
