"""Labels of one to four classes, and links to learn for them."""

import numpy as np

from montechain.links.base import LinkProblem

N_CLASSES = [2, 3, 2, 1, 4]
PROBLEMS = [
    LinkProblem(0, ()),
    LinkProblem(1, (0,)),
    LinkProblem(2, (1, 0, 3)),
    LinkProblem(4, (2, 1)),
    LinkProblem(0, (4, 2)),
    LinkProblem(3, (0,)),
]


def make_data():
    """Return inputs of different scales, one of them sparse, and codes in which every class occurs."""
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 30.0, 0.2, 1.0])
    X = rng.normal(size=(120, 4)) * scale + [0.0, 10.0, 0.0, 5.0]
    X[:, 2] = np.maximum(X[:, 2], 0.0)
    codes = np.zeros((120, 5), dtype=np.int32)
    for label, k in enumerate(N_CLASSES):
        codes[:, label] = (0.7 * X / scale @ rng.normal(size=(4, k)) + rng.gumbel(size=(120, k))).argmax(axis=1)
        codes[:k, label] = range(k)
    return X, codes
