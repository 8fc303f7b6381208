"""Feature maps learned from data, and a joint model over what they make of x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._savable import require, savable
from montechain.features import OutOfBagForestFeatures
from montechain.joint import JointModel
from montechain.population.pool import log_shares

__all__ = ["FeatureMaps", "MappedModel"]

LARGEST_DENSE = 3000
"""Number of columns up to which features of a dense X are dense."""


@savable
class FeatureMaps:
    """Fitted transformers side by side, each divided by a scale; the shares of label vectors in forests come last.

    Parameters
    ----------
    transformers : sequence of fitted transformers
    scales : sequence of float
    kept : int ndarray or None
        The label vectors whose shares are wanted, of those that the forests have seen.
    """

    def __init__(self, transformers: Sequence[Any], scales: Sequence[float], kept: np.ndarray | None):
        self.transformers = list(transformers)
        self.scales = [float(scale) for scale in scales]
        self.kept = kept

    def _check_loaded(self) -> None:
        require(len(self.transformers) == len(self.scales), "there is not one scale for each feature map")
        require(all(np.isfinite(scale) and scale > 0.0 for scale in self.scales), "a feature map has no scale")
        require(all(hasattr(own, "transform") for own in self.transformers), "a feature map is something else")

    def transform(self, X: Any) -> Any:
        """Return the features of some rows, dense or CSR."""
        blocks: list[Any] = []
        shares: list[Any] = []
        for transformer, scale in zip(self.transformers, self.scales, strict=True):
            if isinstance(transformer, OutOfBagForestFeatures):
                own = transformer.forest_.shares(X)
                blocks.append(transformer.of_shares(own) / scale)
                if self.kept is not None:
                    shares.append(log_shares(own[:, self.kept]))
            else:
                blocks.append(transformer.transform(X) / scale)
        return side_by_side(blocks + shares, dense=not sp.issparse(X))


def side_by_side(blocks: Sequence[Any], *, dense: bool) -> Any:
    """Return blocks of columns as one matrix: CSR, or dense if wanted and there are not too many columns."""
    if dense and sum(block.shape[1] for block in blocks) <= LARGEST_DENSE:
        parts = [block.toarray() if sp.issparse(block) else block for block in blocks]
        return np.ascontiguousarray(np.hstack(parts), dtype=np.float64)
    if any(sp.issparse(block) for block in blocks):
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], dtype=np.float64))
    return np.hstack(blocks)


@savable
class MappedModel(JointModel):
    """A joint model over features of x.

    Parameters
    ----------
    maps : FeatureMaps
    model : JointModel
        Over what the maps make of x.
    """

    def __init__(self, maps: FeatureMaps, model: JointModel):
        self.maps = maps
        self.model = model
        self.n_classes = model.n_classes

    def log_joint(self, X, Y):  # noqa: D102
        return self.model.log_joint(self.maps.transform(X), Y)

    def log_evidence(self, X, given, *, rng, residual=1e-6):  # noqa: D102
        return self.model.log_evidence(self.maps.transform(X), given, rng=rng, residual=residual)

    def most_probable(self, X, *, given=None, rng):  # noqa: D102
        return self.model.most_probable(self.maps.transform(X), given=given, rng=rng)

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        return self.model.decide(self.maps.transform(X), loss=loss, given=given, rng=rng)

    def top_k(self, X, k, *, given=None):  # noqa: D102
        return self.model.top_k(self.maps.transform(X), k, given=given)

    def marginals(self, X, *, given=None, rng, loss=None):  # noqa: D102
        return self.model.marginals(self.maps.transform(X), given=given, rng=rng, loss=loss)

    def distribution(self, X, *, given=None, rng, residual=None):  # noqa: D102
        return self.model.distribution(self.maps.transform(X), given=given, rng=rng, residual=residual)

    def draw(self, X, n_samples, *, rng):  # noqa: D102
        return self.model.draw(self.maps.transform(X), n_samples, rng=rng)

    def sample(self, X, n_samples, *, given=None, rng):  # noqa: D102
        return self.model.sample(self.maps.transform(X), n_samples, given=given, rng=rng)
