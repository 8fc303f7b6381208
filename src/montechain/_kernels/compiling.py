"""How kernels are compiled: when first called, once, and kept on disk where that is possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
import numpy as np

ZERO = np.int64(0)
"""First value of a counter in a kernel. With a plain 0, numba would compile the functions that get it once more."""


def njit(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function with numba, without the interpreter lock; keep the result on disk if the disk allows it.

    Takes the options of `numba.njit`. Functions that only other kernels call should set ``cache=False``: they are part
    of what is cached for those. Where no directory for the result can be written (a read-only container, no home
    directory), kernels still work, and one warning says what to do.
    """
    if function is None:
        return partial(njit, **options)
    options = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **options}
    try:
        kernel = numba.njit(**options)(function)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
        _warn_once()
        return numba.njit(**{**options, "cache": False})(function)
    stored = getattr(kernel, "_cache", None)  # None where compilation is disabled
    if options["cache"] and stored is not None:
        save = stored.save_overload

        def save_if_possible(*arguments: Any) -> None:
            try:
                save(*arguments)
            except OSError:
                _warn_once()

        stored.save_overload = save_if_possible
    return kernel


def inner(function: Callable | None = None, /, **options: Any) -> Any:
    """Compile a function that only kernels call, and that neither makes nor returns arrays.

    References to the arrays that it is given are not counted. In a loop over small steps, counting those of the arrays
    in a tuple, such as `Links`, takes several times as long as the steps themselves. Python cannot call the result,
    which spares a tenth of the compilation.
    """
    return njit(function, cache=False, _nrt=False, no_cpython_wrapper=True, **options)


@cache
def _warn_once() -> None:
    warnings.warn(
        "montechain cannot cache its compiled code, since numba found no writable directory, so every new process "
        "compiles again, for several seconds. Set the environment variable NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=4,
    )
