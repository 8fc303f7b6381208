"""Expected losses of sets of relevant labels: the least Jaccard loss among some candidates."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.ties import TIE


@njit
def least_jaccard(candidates, labels, weights, negative):
    """Return the first candidate of least expected Jaccard loss over weighted label vectors, and that loss.

    Good candidates should come first, as should heavy vectors: a candidate is given up as soon as some of the vectors
    cost as much as the best one found. `negative`, int64, is the code of the class of each label that is not relevant,
    -1 if there is none.
    """
    best, least = 0, np.inf
    for c in range(len(candidates)):
        loss = 0.0
        for v in range(len(labels)):
            shared = union = 0
            for j in range(len(negative)):
                is_hit = labels[v, j] == candidates[c, j]
                if not is_hit or labels[v, j] != negative[j]:
                    shared += is_hit
                    # A label with two different relevant classes counts twice.
                    union += 1 + (not is_hit and labels[v, j] != negative[j] and candidates[c, j] != negative[j])
            if union > 0:
                loss += weights[v] * (1.0 - shared / union)
                if loss >= least - TIE:
                    break
        if loss < least - TIE:
            best, least = c, loss
    return best, least
