"""Whether the parts of a model that was built from a file belong together.

Compiled code trusts the sizes of what it is given. A file can be written so that its checksum is right and yet a
label has three classes here and two there; this is found out before the model is handed over. Chains and networks
check themselves when they are built; here are the parts that only fit together from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import BaseForest
from sklearn.utils.validation import check_is_fitted

from montechain._targets import TargetFormat
from montechain._targets.types import LIBRARIES
from montechain.chain import Chain
from montechain.dependency_network import DependencyNetwork
from montechain.estimators.base import TargetsClassifier
from montechain.links.linear import FittedLinearLink
from montechain.links.packing import pack_links, unpack_links
from montechain.persistence.foreign import FOREIGN_CHECKS, require
from montechain.population import Population

__all__ = ["check_structure"]


def check_structure(model: Any) -> None:
    """Raise a ValueError that says what does not fit together, if anything in the model does not."""
    if not isinstance(model, BaseEstimator):
        raise ValueError(f"it holds a {type(model).__name__}, which is no estimator")
    check_is_fitted(model)
    for part in _parts(model):
        for kind, check in CHECKS.items():
            if isinstance(part, kind):
                check(part)


def _parts(model: Any) -> Iterator[Any]:
    """Yield the model and everything it is made of, each once."""
    waiting, seen = [model], {}
    while waiting:
        part = waiting.pop()
        if isinstance(part, str | bytes | int | float | type(None) | type) or id(part) in seen:
            continue
        seen[id(part)] = part  # kept, so that no other part gets its number
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, Chain | DependencyNetwork):
            # Their label-linear links were checked when they were built.
            waiting += [link for link in part.links if not isinstance(link, FittedLinearLink)]
        elif isinstance(part, np.ndarray):
            waiting += part.ravel().tolist() if part.dtype == object else []
        else:
            waiting += vars(part).values() if hasattr(part, "__dict__") else []


def _check_targets(model: TargetsClassifier) -> None:
    if not hasattr(model, "classes_"):
        return
    layout: Any = getattr(model, "_target_format", None)
    require(isinstance(layout, TargetFormat), "a classifier does not say what its targets looked like")
    require(isinstance(model.classes_, np.ndarray if layout.is_1d else list), "the classes are no list of arrays")
    classes = model._classes
    require(
        classes and all(isinstance(c, np.ndarray) and c.ndim == 1 and len(c) for c in classes),
        "the classes of a label are no list",
    )
    n_classes = [len(c) for c in classes]
    for name, kind in LEARNED.items():
        if hasattr(model, name):
            require(isinstance(getattr(model, name), kind), f"{name} is not what it should be")
            _check_learned(model, name, getattr(model, name), n_classes)
    if hasattr(model, "vector_codes_"):
        _check_vectors(model, n_classes)
    for name in ("names", "dtypes"):
        given = getattr(layout, name)
        require(given is None or (isinstance(given, list) and len(given) == len(classes)), f"the {name} do not fit")
    require(layout.namespace is None or layout.namespace in LIBRARIES, f"{layout.namespace!r} is no library of frames")


def _check_learned(model: Any, name: str, learned: Any, n_classes: list[int]) -> None:
    by_label = list(learned.n_classes)
    if isinstance(learned, Chain):
        require(np.array_equal(model.order_, learned.order), "the order is not that of the chain")
        by_label = [by_label[k] for k in np.argsort(learned.order)]
    if isinstance(learned, Population):
        require(np.array_equal(model.orders_, learned.orders), "the orders are not those of the chains")
    require(by_label == n_classes, f"the labels have {n_classes} classes, but {name} has {by_label}")


def _check_vectors(model: Any, n_classes: list[int]) -> None:
    """Check the label vectors of classifiers that know those seen in training only."""
    codes, n_vectors = model.vector_codes_, len(model.vector_counts_)
    require(codes.shape == (n_vectors, len(n_classes)) and codes.dtype.kind == "i", "the label vectors do not fit")
    require((codes >= 0).all() and (codes < n_classes).all(), "a label vector holds a class that does not exist")
    require(model.vector_counts_.dtype == np.float64, "the label vectors are not counted by numbers")
    if hasattr(model, "link_"):
        require(model.link_.n_classes == n_vectors, "the link knows other label vectors")
    if hasattr(model, "forest_"):
        require(isinstance(model.forest_, BaseForest), "the forest is none")
        require(model.forest_.n_features_in_ == model.n_features_in_, "the forest has other features")
        ends = np.cumsum([0, *(tree.tree_.node_count for tree in model.forest_.estimators_)])
        require(np.array_equal(model.first_node_, ends), "the nodes are not those of the trees")
        require(model.leaf_vectors_.shape == (ends[-1], n_vectors), "the leaves are not those of the trees")


def _check_link(link: FittedLinearLink) -> None:
    anew: Any = unpack_links(pack_links([link]))[0]
    arrays, expected = ((one.coef, one.intercept, *one.parent_effects) for one in (link, anew))
    pairs = list(zip(arrays, expected, strict=True))
    require(all(one.shape == two.shape and one.dtype == two.dtype for one, two in pairs), "a link has another shape")
    weight = link.score_weight
    require(weight is None or weight.shape == link.intercept.shape, "the weights of pairs do not fit a link")


def _check_population(population: Population) -> None:
    require(all(isinstance(chain, Chain) for chain in population.chains), "a population holds what is no chain")
    anew = Population(population.chains, population.weights)
    require(population.n_classes == anew.n_classes, "the numbers of classes are not those of the chains")
    require(population.weights.shape == (anew.n_chains,), "there are not as many weights as chains")
    for name in ("orders", "positions"):
        given, true = getattr(population, name), getattr(anew, name)
        require(given.dtype == true.dtype and np.array_equal(given, true), f"the {name} are not those of the chains")


LEARNED: dict[str, type] = {"chain_": Chain, "population_": Population, "network_": DependencyNetwork}
"""Attributes of classifiers that hold what compiled code works with."""

CHECKS: dict[Any, Any] = {
    TargetsClassifier: _check_targets,
    Population: _check_population,
    FittedLinearLink: _check_link,
    **FOREIGN_CHECKS,
}
