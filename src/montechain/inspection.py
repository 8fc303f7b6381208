"""What a fitted model has learned about its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from montechain.chain import Chain
from montechain.estimators.checks import learned_classifier
from montechain.targets import named_labels

__all__ = ["inspect_model"]

ASIDE = ("n_jobs", "random_state", "verbose")
"""Parameters that are irrelevant to what was learned."""


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
        ``parents`` and ``leaderboard``.

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
    n_labels = len(model.classes_) if isinstance(model.classes_, list) else 1
    names = [str(name) for name in named_labels(getattr(model, "target_names_", None), n_labels)]
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


def _chains(model: Any) -> Iterator[tuple[float, Chain]]:
    if hasattr(model, "chain_"):
        yield 1.0, model.chain_
    elif hasattr(model, "chains_"):
        yield from zip(model.weights_.tolist(), model.chains_, strict=True)
