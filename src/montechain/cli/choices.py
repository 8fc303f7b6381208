"""Choices as they are typed: ``beam``, ``beam(width=10)``, ``search(n_iterations=100)``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from montechain._messages import nearest

__all__ = ["parse_choice", "parse_estimator", "parse_loss", "parse_order", "parse_parents", "parse_strategy"]


def parse_choice(text: str, allowed: Mapping[str, type], option: str) -> Any:
    """Return an instance of the class of this name, with the arguments in brackets.

    Arguments are literals: nothing is executed.

    >>> from montechain.inference import STRATEGIES
    >>> parse_choice("beam(width=3)", STRATEGIES, "--inference")
    Beam(width=3)
    >>> parse_choice("baem", STRATEGIES, "--inference")
    Traceback (most recent call last):
        ...
    ValueError: `--inference baem` is not known; did you mean 'beam'? Allowed are greedy, ..., for example 'greedy'.
    """
    name, arguments = _split(text, option)
    name = name.replace("-", "_")
    if name not in allowed:
        listed = ", ".join(allowed)
        raise ValueError(
            f"`{option} {text}` is not known{nearest(name, allowed) or '.'} Allowed are {listed}, "
            f"for example '{next(iter(allowed))}'."
        )
    kind = allowed[name]
    parameters = inspect.signature(kind).parameters
    for argument in arguments:
        if argument not in parameters:
            listed = ", ".join(parameters)
            raise ValueError(
                f"`{option} {text}`: {name} has no parameter {argument!r}{nearest(argument, parameters) or '.'} "
                f"It has {listed or 'none'}."
            )
    return kind(**arguments)


def parse_strategy(text: str) -> Any:
    """Return the inference strategy that is typed."""
    from montechain.inference import STRATEGIES

    return parse_choice(text, STRATEGIES, "--inference")


def parse_loss(text: str) -> Any:
    """Return the loss that is typed."""
    from montechain.losses import F1, ExactMatch, Hamming, Jaccard

    losses = {"exact_match": ExactMatch, "hamming": Hamming, "f1": F1, "jaccard": Jaccard}
    return parse_choice(text, losses, "--loss")


def parse_estimator(text: str) -> Any:
    """Return what learns the links."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    from montechain.links import LogisticLink, SVMLink

    learners = {
        "logistic": LogisticLink,
        "svm": SVMLink,
        "random_forest": RandomForestClassifier,
        "extra_trees": ExtraTreesClassifier,
    }
    return parse_choice(text, learners, "--estimator")


def parse_order(text: str, names: list[str]) -> Any:
    """Return the order that is typed: given, random, names with commas between them, or a search.

    >>> parse_order("loops,parity", ["parity", "loops"])
    ['loops', 'parity']
    """
    from montechain.cli.sources import split_names
    from montechain.ordering import AllOrders, BeamOrder, OrderSearch, SubsetOrder

    if text == "given":
        return None
    if text == "random":
        return text
    typed = split_names(text)
    if set(typed) <= set(names):
        return typed
    searches = {"search": OrderSearch, "all_orders": AllOrders, "subset_order": SubsetOrder, "beam_order": BeamOrder}
    try:
        return parse_choice(text, searches, "--order")
    except ValueError as error:
        if "(" in text or "," not in text:
            raise ValueError(f"{error} Or: given, random, or all targets with commas between them.") from None
        unknown = [name for name in typed if name not in names]
        raise ValueError(
            f"`--order {text}` names {unknown[0]!r}, which is not a target{nearest(unknown[0], names) or '.'} "
            f"The targets are {', '.join(names)}."
        ) from None


def parse_parents(text: str) -> Any:
    """Return which labels a link sees: a name, or a number as a number."""
    return int(text) if text.isdigit() else text


def _split(text: str, option: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of ``name(key=value, ...)``."""
    try:
        node = ast.parse(text.replace("-", "_") if "(" not in text else text, mode="eval").body
        if isinstance(node, ast.Name):
            return node.id, {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            return node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"`{option} {text}` cannot be read: write a name, or a name with arguments, as in beam(width=10).")
