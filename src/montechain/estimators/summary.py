"""Summarise a fitted model: orders, parents, choices. Notebooks and `inspect_model` show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from montechain.estimators.checks import innermost, is_table
from montechain.targets import named_labels

__all__ = ["ModelSummary", "choices_of", "label_names_of", "summarise_model"]

ASIDE = ("n_jobs", "random_state", "unknown", "verbose")
"""Parameters that say nothing about what was learned."""
ALL_BEFORE = "each label sees all labels before it"
NO_OTHER = "no label sees another"


@dataclass(frozen=True)
class ModelSummary:
    """A summary of a fitted model.

    Attributes
    ----------
    title : str
    choices : list of pairs
        Name and value of parameters and of what was learned.
    orders : list of pairs
        Each order by the names of its labels, after its weight; the heaviest first.
    parents : list of pairs
        Each label with its parents, in the order of the chain; empty if there is no single chain.
    seen : str
        Which labels a link sees, in words.
    search : str
        How the search of orders went; empty if there was none.
    inner : ModelSummary, optional
        That of the classifier within.
    """

    title: str
    choices: list[tuple[str, str]] = field(default_factory=list)
    orders: list[tuple[float, list[str]]] = field(default_factory=list)
    parents: list[tuple[str, list[str]]] = field(default_factory=list)
    seen: str = ""
    search: str = ""
    inner: ModelSummary | None = None


def summarise_model(estimator: Any) -> ModelSummary | None:
    """Return a summary of an estimator, None if it is not fitted or not one of montechain's.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    >>> summary = summarise_model(ChainClassifier(order=[2, 0, 1]).fit(X, Y))
    >>> summary.orders, summary.seen
    ([(1.0, ['label_2', 'label_0', 'label_1'])], 'each label sees all labels before it')
    """
    estimator = innermost(estimator)
    if is_table(estimator):
        return _of_table(estimator)
    ours = any(base.__module__.startswith("montechain.") for base in type(estimator).__mro__)
    if not ours or not hasattr(estimator, "classes_"):
        return None
    names = [str(name) for name in label_names_of(estimator)]
    labels = _counted(len(names), "label")
    choices = choices_of(estimator)
    if hasattr(estimator, "vector_counts_"):
        counts = estimator.vector_counts_
        share = f"the commonest in {100.0 * counts.max() / counts.sum():.1f} % of the rows"
        choices.insert(0, ("vectors", f"{len(counts)} seen in training, {share}"))
    if hasattr(estimator, "leaderboard_"):
        kept = [f"{row['model']} {row['weight']:.2f}" for row in estimator.leaderboard_ if 0.0 < row["weight"] < 1.0]
        choices.insert(0, ("weights", ", ".join(kept) or "all on one model"))
        return ModelSummary(f"Fitted mixture for {labels}", choices)
    if hasattr(estimator, "chain_"):
        order, parents = [int(label) for label in estimator.order_], estimator.parents_
        shown = [(names[j], [names[k] for k in sorted(parents[j], key=order.index)]) for j in order]
        orders = [(1.0, [names[j] for j in order])]
        title = f"Fitted chain of {labels}"
        return ModelSummary(title, choices, orders, shown, _seen(order, parents), _search(estimator))
    if hasattr(estimator, "chains_"):
        weighted = sorted(
            zip(estimator.weights_.tolist(), estimator.orders_.tolist(), strict=True), key=lambda w: -w[0]
        )
        orders = [(weight, [names[j] for j in order]) for weight, order in weighted]
        title = f"Fitted population of {_counted(len(orders), 'chain')} of {labels}"
        return ModelSummary(title, choices, orders, search=_search(estimator))
    if hasattr(estimator, "network_"):
        return ModelSummary(f"Fitted dependency network of {labels}", choices, seen="each label sees all others")
    if hasattr(estimator, "forest_"):
        trees = estimator.forest_.estimators_
        choices.insert(1, ("leaves", str(sum(int(tree.get_n_leaves()) for tree in trees))))
        return ModelSummary(f"Fitted forest of {_counted(len(trees), 'tree')} for {labels}", choices)
    if hasattr(estimator, "frequencies_"):
        if estimator.strategy == "vector":
            codes = estimator.model_.vectors[estimator.vector_counts_.argmax()]
        else:
            codes = [frequencies.argmax() for frequencies in estimator.frequencies_]
        classes = zip(names, estimator.codec_.classes, codes, strict=True)
        choices.insert(0, ("always predicts", ", ".join(f"{name} = {own[code]}" for name, own, code in classes)))
        return ModelSummary(f"Fitted majority of {labels}", choices)
    return ModelSummary(f"Fitted label powerset of {labels}", choices) if hasattr(estimator, "vector_counts_") else None


def choices_of(estimator: Any) -> list[tuple[str, str]]:
    """Return the parameters of a classifier that are set, each with its value in words.

    Examples
    --------
    >>> from montechain import LabelPowersetClassifier
    >>> choices_of(LabelPowersetClassifier("svm"))
    [('estimator', 'svm'), ('loss', 'exact_match'), ('min_count', '1')]
    """
    parameters = estimator.get_params(deep=False)
    if "estimator" in parameters and parameters["estimator"] is None:
        parameters["estimator"] = "logistic"
    told = {name: value for name, value in parameters.items() if name not in ASIDE and value is not None}
    return [(name, value if isinstance(value, str) else " ".join(repr(value).split())) for name, value in told.items()]


def label_names_of(estimator: Any) -> list[Any]:
    """Return the names of the labels of a fitted classifier."""
    n_labels = len(estimator.classes_) if isinstance(estimator.classes_, list) else 1
    return named_labels(getattr(estimator, "target_names_", None), n_labels)


def _of_table(estimator: Any) -> ModelSummary:
    encoder, choices = estimator.encoder_, []
    if hasattr(encoder, "columns_"):
        kinds = Counter(column.kind for column in encoder.columns_)
        choices = [
            ("inputs", ", ".join(f"{count} {kind}" for kind, count in kinds.items())),
            ("as numbers", f"{len(encoder.get_feature_names_out())} columns"),
            *(("note", note) for note in estimator.notes_),
        ]
    return ModelSummary("Fitted to a table", choices, inner=summarise_model(estimator.classifier_))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _seen(order: Sequence[int], parents: Sequence[Iterable[int]]) -> str:
    """Return in words what the links see."""
    own = [set(parents[label]) for label in order]
    if all(seen == set(order[:k]) for k, seen in enumerate(own)):
        return ALL_BEFORE
    return f"each label sees at most {max(map(len, own))} of those before it" if any(own) else NO_OTHER


def _search(estimator: Any) -> str:
    """Return in words how far a search for orders came."""
    trace = getattr(estimator, "search_trace_", None)
    if not trace:
        return ""
    name = getattr(estimator.order, "payoff", None)
    payoffs = [float(row["payoff"]) for row in trace]
    steps = f"{len(trace)} steps of {type(estimator.order).__name__}"
    what = name if isinstance(name, str) else "payoff"
    return f"{what} {max(payoffs):.6g} reached in {steps}, from {payoffs[0]:.6g} at the first"
