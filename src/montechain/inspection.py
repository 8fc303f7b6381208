"""What a fitted model has learned about its labels."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from montechain.estimators.checks import innermost
from montechain.targets import named_labels

ASIDE = ("n_jobs", "random_state", "verbose")
"""Parameters that are irrelevant to what was learned."""


def inspect_model(model: Any) -> dict[str, Any]:
    """Summarise a fitted model in values that JSON can hold.

    The model may be a `TableClassifier`, pipeline or search that ends with a classifier of montechain. The result has
    its ``model``; ``choices``, the parameters that are set; ``orders`` (each with its weight, the heaviest first),
    ``parents`` and ``leaderboard``.

    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    >>> inspect_model(ChainClassifier(order=[2, 0, 1]).fit(X, Y))["orders"]
    [{'weight': 1.0, 'order': ['label_2', 'label_0', 'label_1']}]
    """
    model = innermost(model)
    while hasattr(model, "classifier_") and hasattr(model, "encoder_"):  # a `TableClassifier`
        model = innermost(model.classifier_)
    check_is_fitted(model)
    n_labels = len(model.classes_) if isinstance(model.classes_, list) else 1
    names = [str(name) for name in named_labels(getattr(model, "target_names_", None), n_labels)]
    of_label = []
    orders: Any = zip(getattr(model, "weights_", ()), getattr(model, "orders_", ()), strict=False)
    if hasattr(model, "chain_"):
        order, orders = model.order_.tolist(), [(1.0, model.order_)]
        of_label = [(names[j], [names[k] for k in sorted(model.parents_[j], key=order.index)]) for j in order]
    choices = model.get_params(deep=False)
    if "estimator" in choices and choices["estimator"] is None:
        choices["estimator"] = "logistic"
    return {
        "model": type(model).__name__,
        "choices": {
            name: value if isinstance(value, str) else " ".join(repr(value).split())
            for name, value in choices.items()
            if name not in ASIDE and value is not None
        },
        "orders": [
            {"weight": float(weight), "order": [names[j] for j in order]}
            for weight, order in sorted(orders, key=lambda one: -one[0])
        ],
        "parents": dict(of_label),
        "leaderboard": getattr(model, "leaderboard_", []),
    }
