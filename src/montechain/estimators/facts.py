"""What there is to say of a fitted estimator: orders, parents, choices. Notebooks and `inspect_model` show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from montechain.estimators.checks import innermost, is_table
from montechain.targets import named_labels

__all__ = ["Facts", "ShownOrder", "choices_of", "fitted_facts", "label_names_of"]

ASIDE = ("n_jobs", "random_state", "unknown", "verbose")
"""Parameters that say nothing about what was learned."""
ALL_BEFORE = "each label sees all labels before it"
ALL_OTHERS = "each label sees all others"
NO_OTHER = "no label sees another"


@dataclass(frozen=True)
class ShownOrder:
    """An order by the names of its labels, with its weight in a population and the payoff that a search gave it."""

    labels: list[str]
    weight: float | None = None
    payoff: float | None = None


@dataclass(frozen=True)
class Facts:
    """What there is to show.

    Attributes
    ----------
    title : str
    orders : list of ShownOrder
        The heaviest first.
    seen : str
        Which labels a link sees, in words.
    parents : list of pairs
        Each label with its parents, in the order of the chain; empty if there is no single chain.
    choices : list of pairs
        Name and value of parameters and of what was learned.
    search : str
        How the search of orders went; empty if there was none.
    inner : Facts, optional
        Those of the classifier within.
    """

    title: str
    orders: list[ShownOrder] = field(default_factory=list)
    seen: str = ""
    parents: list[tuple[str, list[str]]] = field(default_factory=list)
    choices: list[tuple[str, str]] = field(default_factory=list)
    search: str = ""
    inner: Facts | None = None

    @property
    def seen_says_all(self) -> bool:
        """Whether the parents need not be listed."""
        return self.seen in (ALL_BEFORE, ALL_OTHERS, NO_OTHER)


def fitted_facts(estimator: Any) -> Facts | None:
    """Return what there is to show of an estimator, None if it is not fitted or none of montechain's.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    >>> facts = fitted_facts(ChainClassifier(order=[2, 0, 1]).fit(X, Y))
    >>> facts.orders[0].labels, facts.seen
    (['label_2', 'label_0', 'label_1'], 'each label sees all labels before it')
    """
    estimator = innermost(estimator)
    if is_table(estimator):
        return _of_table(estimator)
    kinds = {
        "chain_": _of_chain,
        "chains_": _of_population,
        "network_": _of_network,
        "forest_": _of_forest,
        "frequencies_": _of_majority,
        "vector_counts_": _of_powerset,
    }
    if not any(base.__module__.startswith("montechain.") for base in type(estimator).__mro__):
        return None
    return next((of(estimator) for learned, of in kinds.items() if hasattr(estimator, learned)), None)


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
    return [(name, _text(value)) for name, value in parameters.items() if name not in ASIDE and value is not None]


def label_names_of(estimator: Any) -> list[Any]:
    """Return the names of the labels of a fitted classifier."""
    n_labels = len(estimator.classes_) if isinstance(estimator.classes_, list) else 1
    return named_labels(getattr(estimator, "target_names_", None), n_labels)


def _of_chain(estimator: Any) -> Facts:
    names = _texts(estimator)
    order = [int(label) for label in estimator.order_]
    payoffs = _payoffs(estimator)
    payoff = payoffs.get(tuple(order))
    return Facts(
        f"Fitted chain of {_counted(len(order), 'label')}",
        [ShownOrder([names[label] for label in order], payoff=payoff)],
        _seen(order, estimator.parents_),
        _parents(order, estimator.parents_, names),
        choices_of(estimator),
        _search(estimator, max(payoffs.values()) if payoff is None and payoffs else payoff),
    )


def _of_population(estimator: Any) -> Facts:
    names = _texts(estimator)
    payoffs = _payoffs(estimator)
    weighted = zip(estimator.orders_.tolist(), estimator.weights_.tolist(), strict=True)
    orders = [ShownOrder([names[j] for j in order], weight, payoffs.get(tuple(order))) for order, weight in weighted]
    orders.sort(key=lambda order: -(order.weight or 0.0))
    return Facts(
        f"Fitted population of {_counted(len(orders), 'chain')} of {_counted(len(names), 'label')}",
        orders,
        choices=choices_of(estimator),
        search=_search(estimator, max(payoffs.values(), default=None)),
    )


def _of_network(estimator: Any) -> Facts:
    title = f"Fitted dependency network of {_counted(len(_texts(estimator)), 'label')}"
    return Facts(title, seen=ALL_OTHERS, choices=choices_of(estimator))


def _of_forest(estimator: Any) -> Facts:
    trees = estimator.forest_.estimators_
    title = f"Fitted forest of {_counted(len(trees), 'tree')} for {_counted(len(_texts(estimator)), 'label')}"
    leaves = ("leaves", str(sum(int(tree.get_n_leaves()) for tree in trees)))
    return Facts(title, choices=[_vectors(estimator), leaves, *choices_of(estimator)])


def _of_powerset(estimator: Any) -> Facts:
    title = f"Fitted label powerset of {_counted(len(_texts(estimator)), 'label')}"
    return Facts(title, choices=[_vectors(estimator), *choices_of(estimator)])


def _of_majority(estimator: Any) -> Facts:
    names = _texts(estimator)
    if estimator.strategy == "vector":
        codes = estimator.model_.vectors[estimator.vector_counts_.argmax()]
    else:
        codes = [frequencies.argmax() for frequencies in estimator.frequencies_]
    classes = zip(names, estimator.codec_.classes, codes, strict=True)
    answer = ", ".join(f"{name} = {own[code]}" for name, own, code in classes)
    choices = [("always predicts", answer), _vectors(estimator), *choices_of(estimator)]
    return Facts(f"Fitted majority of {_counted(len(names), 'label')}", choices=choices)


def _of_table(estimator: Any) -> Facts:
    encoder, choices = estimator.encoder_, []
    if hasattr(encoder, "columns_"):
        kinds = Counter(column.kind for column in encoder.columns_)
        inputs = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        choices = [
            ("inputs", inputs),
            ("as numbers", f"{len(encoder.get_feature_names_out())} columns"),
            *(("note", note) for note in estimator.notes_),
        ]
    return Facts("Fitted to a table", choices=choices, inner=fitted_facts(estimator.classifier_))


def _texts(estimator: Any) -> list[str]:
    return [str(name) for name in label_names_of(estimator)]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _vectors(estimator: Any) -> tuple[str, str]:
    counts = estimator.vector_counts_
    share = 100.0 * counts.max() / counts.sum()
    return "vectors", f"{len(counts)} seen in training, the commonest in {share:.1f} % of the rows"


def _seen(order: Sequence[int], parents: Sequence[Iterable[int]]) -> str:
    """Return in words what the links see."""
    own = [set(parents[label]) for label in order]
    if all(seen == set(order[:k]) for k, seen in enumerate(own)):
        return ALL_BEFORE
    return f"each label sees at most {max(map(len, own))} of those before it" if any(own) else NO_OTHER


def _parents(
    order: Sequence[int], parents: Sequence[Iterable[int]], names: Sequence[str]
) -> list[tuple[str, list[str]]]:
    place = {label: k for k, label in enumerate(order)}
    return [(names[label], [names[j] for j in sorted(parents[label], key=place.__getitem__)]) for label in order]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(repr(value).split())


def _payoffs(estimator: Any) -> dict[tuple[int, ...], float]:
    """Return the payoff of each order that a search evaluated."""
    payoffs: dict[tuple[int, ...], float] = {}
    for row in getattr(estimator, "search_trace_", ()):
        for order, payoff in (("candidate", "candidate_payoff"), ("order", "payoff")):
            if order in row:
                payoffs[tuple(row[order])] = float(row[payoff])
    return payoffs


def _search(estimator: Any, reached: float | None) -> str:
    trace = getattr(estimator, "search_trace_", None)
    if not trace or reached is None:
        return ""
    name = getattr(estimator.order, "payoff", None)
    what = name if isinstance(name, str) else "payoff"
    steps = f"{len(trace)} steps of {type(estimator.order).__name__}"
    return f"{what} {reached:.6g} reached in {steps}, from {float(trace[0]['payoff']):.6g} at the first"
