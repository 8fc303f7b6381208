"""Parse choices as they are typed: ``beam``, ``beam(width=10)``, ``search(n_iterations=100)``."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import montechain as mc
from montechain._messages import nearest
from montechain.cli.tables import split_names

__all__ = ["parse_choice", "parse_order", "parse_parents"]


def allowed(option: str) -> dict[str, type]:
    """Return the classes that an option may name."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

    from montechain.inference import STRATEGIES

    return {
        "--inference": dict(STRATEGIES),
        "--loss": {"exact_match": mc.ExactMatch, "hamming": mc.Hamming, "f1": mc.F1, "jaccard": mc.Jaccard},
        "--estimator": {
            "logistic": mc.LogisticLink,
            "svm": mc.SVMLink,
            "random_forest": RandomForestClassifier,
            "extra_trees": ExtraTreesClassifier,
            "hist_gradient_boosting": HistGradientBoostingClassifier,
        },
        "--order": {
            "search": mc.OrderSearch,
            "all_orders": mc.AllOrders,
            "subset_order": mc.SubsetOrder,
            "beam_order": mc.BeamOrder,
        },
    }[option]


def parse_choice(text: str, option: str) -> Any:
    """Return an instance of the class that is named, with the arguments in brackets.

    Arguments are literals: nothing is executed.

    >>> parse_choice("beam(width=3)", "--inference")
    Beam(width=3)
    >>> parse_choice("haming", "--loss")
    Traceback (most recent call last):
        ...
    ValueError: `--loss haming` is not known; did you mean 'hamming'? Allowed: exact_match, hamming, f1, jaccard.
    """
    name, arguments = _split(text, option)
    kinds = allowed(option)
    if name not in kinds:
        raise ValueError(f"`{option} {text}` is not known{nearest(name, kinds) or '.'} Allowed: {', '.join(kinds)}.")
    parameters = inspect.signature(kinds[name]).parameters
    for argument in arguments:
        if argument not in parameters:
            raise ValueError(
                f"`{option} {text}`: {name} has no parameter {argument!r}{nearest(argument, parameters) or '.'} "
                f"Its parameters: {', '.join(parameters) or 'none'}."
            )
    return kinds[name](**arguments)


def parse_order(text: str, names: list[str]) -> Any:
    """Return an order of the targets: given, random, names joined by commas, or a search.

    >>> parse_order("loops,parity", ["parity", "loops"])
    ['loops', 'parity']
    """
    if text in ("given", "random"):
        return None if text == "given" else text
    typed = split_names(text)
    if set(typed) <= set(names):
        return typed
    if "," in text and "(" not in text:
        unknown = next(name for name in typed if name not in names)
        raise ValueError(
            f"`--order {text}` names {unknown!r}, which is not a target{nearest(unknown, names) or '.'} "
            f"The targets are {', '.join(names)}."
        )
    try:
        return parse_choice(text, "--order")
    except ValueError as error:
        raise ValueError(f"{error} Or: given, random, or all targets joined by commas.") from None


def parse_parents(text: str) -> Any:
    """Return which earlier targets a link sees: a name, or a number as a number."""
    return int(text) if text.isdigit() else text


def _split(text: str, option: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of ``name(key=value, ...)``; hyphens in a name count as underscores."""
    name, bracket, rest = text.partition("(")
    try:
        node = ast.parse(name.replace("-", "_") + bracket + rest, mode="eval").body
        if isinstance(node, ast.Name):
            return node.id, {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            return node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"`{option} {text}` cannot be read: write a name, or a name with arguments, as in beam(width=10).")
