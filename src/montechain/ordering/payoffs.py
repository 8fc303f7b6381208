"""Payoffs, which say how good an order is: those of the paper, and any scorer.

The four payoffs are implemented as the paper prints them (Section 3.3), over the validation rows n and for the
predicted label vectors ŷ:

======================  =====================================  ==================
name                    value                                  for
======================  =====================================  ==================
``J_EM``                Σ_n p(ŷ | x)                           exact match
``J_EM_prod``           Σ_n log p(ŷ | x)                       exact match
``J_Ham``               Σ_n Σ_ℓ p(ŷ_ℓ | x)                     Hamming loss
``J_Ham_prod``          Σ_n log Σ_ℓ p(ŷ_ℓ | x)                 Hamming loss
======================  =====================================  ==================

The two products are kept as logarithms. The marginals are the true ones: the paper's footnote on p(ŷ_ℓ | x) does not
weigh each prefix by its probability. And its step from Σ log(1 - p) to Π p, by which the products are derived, is not
an identity: they are payoffs in their own right, not the multiplicative risk.

With ``on="truth"`` the true labels y replace ŷ. This is better where probabilities are not calibrated, because it
penalises an overconfident chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names

from montechain._messages import nearest
from montechain._rows import row_blocks, take_rows
from montechain.inference import Decision
from montechain.inference.enumeration import Effort, marginals
from montechain.joint import ChainModel
from montechain.losses import Loss
from montechain.metrics import SCORERS
from montechain.prefix_tree import PrefixTree
from montechain.targets import UNKNOWN, TargetCodec

RESIDUAL = 1e-3
"""Mass that may stay unexplored where marginals are enumerated."""
CHUNK_CELLS, MIN_CHUNK_ROWS = 2**21, 64
"""Approximate number of inputs or labels of the validation rows held at a time, and the fewest rows of such a chunk."""


@dataclass(frozen=True)
class Payoff:
    """A payoff, and what it is computed from.

    `function` takes the "joint" log p(y | x), of shape (n,), or the "marginals" p(y_ℓ | x), of shape (n, L) and NaN
    where a label is unknown, and returns the values of the rows, which are summed. If it takes an "estimator", it is a
    scorer. If `is_logarithm`, the paper's payoff is the exponential of this one.
    """

    name: str
    of: str
    function: Callable[..., Any]
    is_logarithm: bool = False


def _log_of_sum(label_proba: np.ndarray) -> np.ndarray:
    """Return log Σ_ℓ p(y_ℓ | x) of each row, zero where no label counts."""
    total = np.nansum(label_proba, axis=1)
    with np.errstate(divide="ignore"):
        return np.log(np.where(np.isnan(label_proba).all(axis=1), 1.0, total))


PAYOFFS: dict[str, Payoff] = {
    "J_EM": Payoff("J_EM", "joint", np.exp),
    "J_EM_prod": Payoff("J_EM_prod", "joint", np.asarray, is_logarithm=True),
    "J_Ham": Payoff("J_Ham", "marginals", lambda label_proba: np.nansum(label_proba, axis=1)),
    "J_Ham_prod": Payoff("J_Ham_prod", "marginals", _log_of_sum, is_logarithm=True),
}
"""The payoffs of the paper by name."""


def check_payoff(payoff: Any) -> Payoff:
    """Return a payoff: one of the paper's by name, or a scorer by name or as a function.

    Our scorers come before scikit-learn's of the same name: they support labels of several classes and unknown ones.
    """
    if callable(payoff):
        return Payoff(getattr(payoff, "__name__", type(payoff).__name__), "estimator", payoff)
    if isinstance(payoff, str) and payoff in PAYOFFS:
        return PAYOFFS[payoff]
    if isinstance(payoff, str) and (payoff in SCORERS or payoff in get_scorer_names()):
        return Payoff(payoff, "estimator", SCORERS.get(payoff) or get_scorer(payoff))
    hint = nearest(str(payoff).replace("-", "_"), [*PAYOFFS, *SCORERS, *get_scorer_names()])
    raise ValueError(
        f"`payoff={payoff!r}` is not known{hint or '.'} Allowed are {', '.join(map(repr, PAYOFFS))}, the names of "
        "scorers such as 'exact_match' or 'f1_micro', or a function scorer(estimator, X, Y)."
    )


def weighted_total(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the sum over the rows. A row of weight zero does not count even if its value is infinite."""
    return float(np.sum(values[weight > 0.0] * weight[weight > 0.0]))


class Candidate(ClassifierMixin, BaseEstimator):
    """The chain of a candidate order as a fitted classifier, which is what scorers are given."""

    def __init__(self, model: ChainModel, loss: Loss, codec: TargetCodec, seed: int):
        self.model = model
        self.loss = loss
        self.codec = codec
        self.seed = seed
        self.classes_ = codec.classes

    def decide(self, X: Any) -> Decision:
        """Return the predictions with what is proven about them."""
        decision = self._decide(X)
        return decision.with_labels(self.codec.decode(decision.labels))

    def predict(self, X: Any) -> np.ndarray:
        """Return label vectors in the user's classes."""
        return self.decide(X).labels

    def predict_proba(self, X: Any, *effort: Effort) -> list[np.ndarray]:
        """Return the marginal probabilities of each label."""
        found = marginals(PrefixTree(self.model.chain, X), *effort, rng=np.random.default_rng(self.seed))
        return found.in_order(self.model.positions).proba

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x), of the known labels where some are unknown."""
        return self._log_joint(X, self.codec.encode(Y, name="Y"))

    def proba_of(self, X: Any, codes: np.ndarray | None, wanted: set[str]) -> dict[str, np.ndarray]:
        """Return what payoffs are computed from: "joint" and "marginals", if they are in `wanted`.

        They are those of the true labels `codes` (-1 where one is unknown), or of the predicted ones if that is None.
        """
        parts = []
        for rows in row_blocks(X.shape[0], max(CHUNK_CELLS // max(X.shape[1], self.model.n_labels), MIN_CHUNK_ROWS)):
            block = take_rows(X, rows)
            if codes is None:
                decision = self._decide(block)
                labels, found = decision.labels, {"joint": decision.log_proba}
            else:
                labels = codes[rows]
                found = {"joint": self._log_joint(block, labels)} if "joint" in wanted else {}
            if "marginals" in wanted:
                proba = self.predict_proba(block, Effort(RESIDUAL))
                columns = [own[np.arange(len(own)), np.maximum(c, 0)] for own, c in zip(proba, labels.T, strict=True)]
                found["marginals"] = np.where(labels == UNKNOWN, np.nan, np.column_stack(columns))
            parts.append(found)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _decide(self, X: Any) -> Decision:
        return self.model.decide(X, loss=self.loss, rng=np.random.default_rng(self.seed))

    def _log_joint(self, X: Any, codes: np.ndarray) -> np.ndarray:
        return self.model.log_known(X, codes, rng=np.random.default_rng(self.seed))
