"""What a fitted model has learned about its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from montechain.chain import Chain
from montechain.estimators.checks import learned_classifier
from montechain.links.linear import FittedLinearLink
from montechain.targets import named_labels, plain

__all__ = ["inspect_model", "label_dependencies"]

ASIDE = ("n_jobs", "random_state", "verbose")
"""Parameters that are irrelevant to what was learned."""


def label_dependencies(model: Any) -> list[dict[str, Any]]:
    """Return the strongest dependencies between labels in a model's chains, strongest first.

    For each link and each of its parents, the class of the parent and the class of the label are taken for which the
    log-odds differ most between this class of the parent and the mean of its others. In a population, effects are
    averaged with the chains' weights. Links that are not label-linear have no such effects, and are left out.
    Each dependency is a dict with ``parent``, ``parent_class``, ``label``, ``label_class``, ``log_odds`` and
    ``odds_ratio``.

    Parameters
    ----------
    model : fitted ChainClassifier or ChainPopulationClassifier
        Also within a `TableClassifier`, a pipeline or a search. Other models have no chains, and so no dependencies.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain import ChainClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, wet = rng.normal(size=(200, 2)), rng.random(200) < 0.5
    >>> Y = np.column_stack([np.where(wet, "rain", "sun"), np.where(wet ^ (rng.random(200) < 0.1), "boots", "shoes")])
    >>> model = ChainClassifier(order=[0, 1]).fit(X, Y)
    >>> strongest = label_dependencies(model)[0]
    >>> strongest["parent_class"], strongest["label_class"], strongest["log_odds"] > 2
    ('sun', 'shoes', True)
    """
    model = learned_classifier(model)
    check_is_fitted(model)
    effects: dict[tuple[int, int], np.ndarray] = {}
    for weight, chain in _chains(model):
        for parent, label, effect in _effects(chain):
            effects[parent, label] = effects.get((parent, label), 0.0) + weight * effect
    names, classes = _label_names(model), model.classes_ if isinstance(model.classes_, list) else [model.classes_]
    found = []
    for (parent, label), effect in effects.items():
        a, b = (int(place) for place in np.unravel_index(np.argmax(np.abs(effect)), effect.shape))
        if len(classes[parent]) == 2 and len(classes[label]) == 2:
            a = b = 1  # all four cells are equivalent: report the second classes, such as "yes"
        one = {"parent": names[parent], "parent_class": classes[parent][a], "label": names[label]}
        one |= {"label_class": classes[label][b], "log_odds": effect[a, b], "odds_ratio": np.exp(effect[a, b])}
        found.append({key: plain(value) for key, value in one.items()})
    return sorted(found, key=lambda one: -abs(one["log_odds"]))


def inspect_model(model: Any) -> dict[str, Any]:
    """Return what a model is, as values that JSON can hold.

    Parameters
    ----------
    model : fitted classifier of montechain
        Or a `TableClassifier`, a pipeline or a search with one at its end: what is within is looked at.

    Returns
    -------
    dict
        With ``model``; ``choices``, the parameters that are set; ``orders`` (each with its weight, the heaviest first),
        ``parents``, ``dependencies`` and ``leaderboard``.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    >>> inspect_model(ChainClassifier(order=[2, 0, 1]).fit(X, Y))["orders"]
    [{'weight': 1.0, 'order': ['label_2', 'label_0', 'label_1']}]
    """
    model = learned_classifier(model)
    check_is_fitted(model)
    names = [str(name) for name in _label_names(model)]
    of_label = []
    if hasattr(model, "chain_"):
        order = model.order_.tolist()
        of_label = [(names[j], [names[k] for k in sorted(model.parents_[j], key=order.index)]) for j in order]
    return {
        "model": type(model).__name__,
        "choices": _choices(model),
        "orders": [
            {"weight": weight, "order": [names[j] for j in chain.order]}
            for weight, chain in sorted(_chains(model), key=lambda one: -one[0])
        ],
        "parents": dict(of_label),
        "dependencies": label_dependencies(model),
        "leaderboard": getattr(model, "leaderboard_", []),
    }


def _choices(model: Any) -> dict[str, str]:
    """Return the parameters that are set, as text."""
    parameters = model.get_params(deep=False)
    if "estimator" in parameters and parameters["estimator"] is None:
        parameters["estimator"] = "logistic"
    return {
        name: value if isinstance(value, str) else " ".join(repr(value).split())
        for name, value in parameters.items()
        if name not in ASIDE and value is not None
    }


def _label_names(model: Any) -> list[Any]:
    n_labels = len(model.classes_) if isinstance(model.classes_, list) else 1
    return named_labels(getattr(model, "target_names_", None), n_labels)


def _chains(model: Any) -> Iterator[tuple[float, Chain]]:
    if hasattr(model, "chain_"):
        yield 1.0, model.chain_
    elif hasattr(model, "chains_"):
        yield from zip(model.weights_.tolist(), model.chains_, strict=True)


def _effects(chain: Chain) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (parent, label, log-odds of shape (classes of the parent, classes of the label))."""
    for position, link in enumerate(chain.links):
        if not isinstance(link, FittedLinearLink) or link.n_classes < 2:
            continue
        for parent, scores in zip(chain.parents[position], link.parent_effects, strict=True):
            if len(scores) < 2:
                continue
            of_classes = _log_odds(scores, link.n_classes)
            others = (of_classes.sum(axis=0) - of_classes) / (len(scores) - 1)
            yield chain.order[parent], chain.order[position], of_classes - others


def _log_odds(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return what the scores of a link mean for the log-odds of each class against the others."""
    if scores.shape[1] == 1:
        return np.column_stack([-scores[:, 0], scores[:, 0]])
    # Against the mean of the other classes' scores.
    return (scores - scores.mean(axis=1, keepdims=True)) * n_classes / (n_classes - 1)
