"""Messages of the library in the words of the command line: ``drop=['id']`` becomes ``--drop id``."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

__all__ = ["in_options"]

SAME = "decimal delimiter drop encoding estimator format header inference loss nominal order parents stray targets text"
OPTIONS = {name: f"--{name}" for name in [*SAME.split(), "thousands"]}
OPTIONS |= {"folds": "--cv", "n_chains": "--chains", "n_jobs": "--jobs", "n_splits": "--cv", "random_state": "--seed"}
"""Parameters of the library, and the options that set them."""

NAMES = "|".join(OPTIONS)
ASSIGNMENT = re.compile(rf"(?<![\w(.])({NAMES})=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|-?\d+|True|False)")
EXAMPLE_CALL = re.compile(rf"\b[A-Z]\w+\((({NAMES})=[^(),]+)\)")
PARAMETER = re.compile(rf"`({NAMES})`")
ASIDE = re.compile(r" \(on the command line: [^)]*\)")


def in_options(message: str) -> str:
    """Return a message with parameters of Python written as options.

    >>> in_options("Leave it out with drop=['id'], or say header=False (on the command line: --no-header).")
    'Leave it out with --drop id, or say --no-header.'
    >>> in_options("`targets`: there is no column 'a b'. Try targets=-2, or targets=['a c', 'd'].")
    "`--targets`: there is no column 'a b'. Try --targets last:2, or --targets 'a c,d'."
    >>> in_options("`n_chains=0` must be positive, e.g. ChainPopulationClassifier(n_chains=10).")
    '`--chains 0` must be positive, e.g. --chains 10.'
    """
    message = EXAMPLE_CALL.sub(r"\1", ASIDE.sub("", message))
    message = ASSIGNMENT.sub(lambda match: _option(match[1], match[0], match[2]), message)
    return PARAMETER.sub(lambda match: f"`{OPTIONS[match[1]]}`", message)


def _option(name: str, written: str, literal: str) -> str:
    try:
        value: Any = ast.literal_eval(literal)
    except (SyntaxError, ValueError):  # such as drop=[...]
        return f"{OPTIONS[name]} {'A,B' if literal.startswith('[') else literal}"
    if name == "header":
        return "--header" if value else "--no-header"
    if name == "targets" and isinstance(value, int):
        return f"--targets {'last' if value < 0 else 'first'}:{abs(value)}"
    if isinstance(value, list):
        value = ",".join(f'"{one}"' if "," in str(one) else str(one) for one in value)
    return f"{OPTIONS[name]} {shlex.quote(str(value))}"
