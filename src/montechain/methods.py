"""The paper's methods by name: its table of methods, each a configured estimator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from montechain._messages import nearest
from montechain.estimators import (
    ChainClassifier,
    ChainPopulationClassifier,
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
)
from montechain.estimators.auto import AutoChainClassifier
from montechain.inference import Beam, BranchAndBound, EpsilonApproximate, Greedy, MonteCarlo, check_inference
from montechain.ordering import BeamOrder, OrderSearch, TemperedSwap
from montechain.ordering.proposals import check_proposal
from montechain.population import Algorithm4, check_combine

__all__ = ["BASELINES", "METHODS", "Method", "find_method", "make_method"]


@dataclass(frozen=True)
class Method:
    """A named method, ready to be copied and fitted.

    `parameters` are as the paper writes them, empty if there are none; `reference` says where the method was published;
    `estimator` is not fitted and shared: `make_method` returns a copy.

    >>> METHODS["MCC"].full_name, METHODS["MCC"].parameters
    ('Monte Carlo optimisation for CC', 'T_y = 100')
    """

    name: str
    full_name: str
    parameters: str
    reference: str
    estimator: Any


# Exhaustive() gives the same vector, where there are few enough; this proves it for a hundred labels, too.
EXACT = BranchAndBound(max_nodes=1_000_000)
# Algorithm 3 returns a vector that was drawn, for Hamming loss too.
DRAWN = MonteCarlo(n_samples=100, decision="best_sampled")
ALGORITHM_4 = Algorithm4(n_orders=50, n_samples=100)
SEARCH = OrderSearch("swap", n_iterations=50)
TEN_ORDERS = OrderSearch("swap", n_iterations=50, keep=10)
TEN_TEMPERED = OrderSearch(TemperedSwap(beta=0.03), n_iterations=50, keep=10)

# fmt: off
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in (
    Method("IC", "Independent Classifiers", "", "Tsoumakas and Katakis 2007",
           ChainClassifier(parents="none", inference=Greedy())),
    Method("LP", "Label Powerset", "", "Tsoumakas and Katakis 2007",
           LabelPowersetClassifier()),
    Method("CC", "Classifier Chains", "", "Read, Pfahringer, Holmes and Frank 2011",
           ChainClassifier(inference=Greedy())),
    Method("ECC", "Ensembles of Classifier Chains", "M = 10", "Read, Pfahringer, Holmes and Frank 2011",
           ChainPopulationClassifier(n_chains=10, bootstrap=True, combine="vote", inference=Greedy())),
    Method("PCC", "Probabilistic Classifier Chains", "", "Dembczyński, Cheng and Hüllermeier 2010",
           ChainClassifier(inference=EXACT)),
    Method("PCC-epsilon", "epsilon-approximate PCC", "epsilon = 0.25", "Dembczyński, Waegeman and Hüllermeier 2012",
           ChainClassifier(inference=EpsilonApproximate(0.25))),
    Method("PCC-Beam", "Beam Search PCC", "w^y = 5, w_s = 1", "Kumar, Vembu, Menon and Elkan 2013",
           ChainClassifier(order=BeamOrder(width=1), inference=Beam(width=5))),
    Method("BCC", "Bayesian Classifier Chains", "", "Zaragoza, Sucar, Morales, Bielza and Larrañaga 2011",
           ChainClassifier(parents="tree", inference=Greedy())),
    Method("CDN", "Conditional Dependency Networks", "T = 1000, T_c = 100", "Guo and Gu 2011",
           DependencyNetworkClassifier(n_iterations=1000, n_collected=100)),
    Method("RF-PCT", "Random Forest of Predictive Clustering Trees", "M = 100", "Kocev, Vens, Struyf and Džeroski 2007",
           ClusteringForestClassifier(n_estimators=100)),
    Method("MCC", "Monte Carlo optimisation for CC", "T_y = 100", "Algorithm 3",
           ChainClassifier(inference=DRAWN)),
    Method("MsCC", "Twice Monte Carlo optimisation for CC", "T_y = 100, T_s = 50", "Algorithms 1 and 3",
           ChainClassifier(order=SEARCH, inference=DRAWN)),
    Method("PMsCC", "Population MsCC", "T_y = 100, T_s = 50, M = 10", "Algorithms 2 and 4",
           ChainPopulationClassifier(order=TEN_ORDERS, combine=ALGORITHM_4, inference=DRAWN)),
    Method("PtMsCC", "Population MsCC, tempered", "T_y = 100, T_s = 50, M = 10, beta = 0.03", "Algorithms 2 and 4",
           ChainPopulationClassifier(order=TEN_TEMPERED, combine=ALGORITHM_4, inference=DRAWN)),
)})
"""The methods of Read, Martino and Luengo (2014): the twelve of its table, with the parameters given there, and LP and
BCC, which it discusses. An order is random where the paper calls it arbitrary; ``make_method("CC", order=None)`` takes
the labels as they stand. `docs/methods.md` says what we chose where the paper leaves a choice."""

BASELINES: Mapping[str, Method] = MappingProxyType({method.name: method for method in (
    Method("Majority", "The most common label vector", "", "",
           MajorityClassifier()),
    Method("Default", "ChainClassifier with its defaults: random order, exact", "", "",
           ChainClassifier()),
    Method("Auto", "AutoChainClassifier: a mixture that needs no tuning", "", "",
           AutoChainClassifier()),
    Method("Boosting", "Gradient-boosted trees for each target alone", "l2 = 1", "",
           ChainClassifier(HistGradientBoostingClassifier(l2_regularization=1.0), parents="none", inference=Greedy())),
    Method("Forest", "A random forest for each target alone", "300 trees", "",
           ChainClassifier(RandomForestClassifier(300), parents="none", inference=Greedy())),
    Method("LP-Forest", "Label powerset with a random forest", "300 trees", "",
           LabelPowersetClassifier(RandomForestClassifier(300))),
)})
"""What to compare methods with; not in the paper."""
# fmt: on

PARTS = {"inference": check_inference, "combine": check_combine, "order__proposal": check_proposal}
"""Parameters that may be a name, and what makes an object of it."""
SYNONYMS = {"br": "IC", "binaryrelevance": "IC"}
"""Other names in use, in the spelling of `_key`."""


def make_method(
    name: str | Method,
    estimator: Any = None,
    *,
    loss: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **changes: Any,
) -> Any:
    """Return a method of the paper as an estimator, not fitted.

    Parameters
    ----------
    name : str or Method
        A name of `METHODS` or `BASELINES`, in any spelling; or a method itself.
    estimator : None, "logistic", "svm", link or classifier, default=None
        The base classifier, as in `ChainClassifier`; "svm" is the paper's (`SVMLink`: inputs in [0, 1], C = 1, a
        logistic model on the scores). Ignored by methods without one (RF-PCT, Majority, Auto) and by those named after
        theirs (Boosting, Forest, LP-Forest).
    loss : str, Loss or callable, default=None
        What "best" means; None: exact match, but Hamming loss for CDN and RF-PCT, as published. Majority predicts
        the most common class of each label for "hamming", and the most common vector for all other losses.
    random_state : int, RandomState or None, default=None
    n_jobs : int, default=None
    **changes
        Other parameters of the estimator, such as ``order=None``, also nested ones, such as
        ``inference__n_samples=1000``.

    Examples
    --------
    >>> from montechain.methods import make_method
    >>> make_method("PCC-ε", random_state=0)
    ChainClassifier(inference=EpsilonApproximate(), random_state=0)
    >>> make_method("mcc", "svm", order=None, inference__n_samples=20)
    ChainClassifier(estimator='svm', inference=MonteCarlo(decision='best_sampled', n_samples=20), order=None)
    >>> make_method("PMCC")
    Traceback (most recent call last):
        ...
    ValueError: method 'PMCC' is not known; did you mean 'PMsCC'? Known methods: 'IC', 'LP', 'CC', ...
    """
    method = find_method(name)
    model = clone(method.estimator)
    known = model.get_params(deep=False)
    # Some methods do not have all of these.
    shared = {"estimator": estimator, "loss": loss, "random_state": random_state, "n_jobs": n_jobs}
    if known.get("estimator") is not None:  # the method is named after it
        shared["estimator"] = None
    model.set_params(**{key: value for key, value in shared.items() if value is not None and key in known})
    # A part is put in place before it is changed in turn.
    for key in sorted(changes, key=lambda key: key.count("__")):
        allowed, value = model.get_params(deep=True), changes[key]
        if key not in allowed:
            raise ValueError(
                f"{method.name} has no parameter `{key}`{nearest(key, allowed) or '.'} The "
                f"parameters of {type(model).__name__} are {', '.join(allowed)}."
            )
        is_name = key in PARTS and isinstance(value, str)
        model.set_params(**{key: PARTS[key](value) if is_name else value})
    return model


def find_method(name: str | Method) -> Method:
    """Return the method of a name of `METHODS` or `BASELINES`; a method is returned as it is.

    Upper or lower case, hyphens and "ε" do not matter.

    >>> find_method("pcc-ε").full_name
    'epsilon-approximate PCC'
    """
    if isinstance(name, Method):
        return name
    known = {**METHODS, **BASELINES}
    by_key = {**SYNONYMS, **{_key(own): own for own in known}}
    if not isinstance(name, str) or _key(name) not in by_key:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"method {name!r} is not known{nearest(str(name), known) or '.'} Known methods: {listed}.")
    return known[by_key[_key(name)]]


def _key(name: str) -> str:
    """Return the name reduced to lower-case letters and digits."""
    return re.sub("[^a-z0-9]", "", re.sub("[εϵ]", "epsilon", name.lower()))
