"""Find the classifier inside pipelines, searches and tables."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from montechain._compat import BaseSearchCV

__all__ = ["innermost", "is_table", "learned_classifier"]


def innermost(model: Any) -> Any:
    """Return the classifier at the end of pipelines and searches; of a fitted search, the best one.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from montechain import ChainClassifier
    >>> innermost(make_pipeline(StandardScaler(), ChainClassifier()))
    ChainClassifier()
    """
    while isinstance(model, Pipeline | BaseSearchCV):
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        else:
            model = getattr(model, "best_estimator_", model.estimator)
    return model


def learned_classifier(model: Any) -> Any:
    """Return the classifier at the end of pipelines, searches and fitted tables.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier, TableClassifier
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=2, random_state=0)
    >>> learned_classifier(TableClassifier(ChainClassifier(order=None)).fit(X, Y))
    ChainClassifier(order=None)
    """
    model = innermost(model)
    while is_table(model):
        model = innermost(model.classifier_)
    return model


def is_table(model: Any) -> bool:
    """Return whether a model is a fitted `TableClassifier`, which imports this module."""
    return hasattr(model, "classifier_") and hasattr(model, "encoder_")
