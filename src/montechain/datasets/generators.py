"""Data that need no file: facts about half-hidden digits, and labels drawn from a random chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from montechain._messages import check_positive_argument
from montechain.datasets.dataset import Dataset, Split

DIGIT_FACTS = {
    "parity": ("even odd", "0101010101"),
    "size": ("small medium large", "0000111222"),
    "prime": ("no yes", "0011010100"),
    "square": ("no yes", "1100100001"),
    "loops": ("0 1 2", "1000001021"),
    "strokes": ("straight curved mixed", "1021021012"),
}
"""The classes of each fact about a digit, and the position of the right one for the digits from 0 to 9."""


def load_digits_facts() -> Dataset:
    """Load six facts about each of scikit-learn's 1,797 handwritten digits, whose left half is hidden.

    The visible half often fits several digits, so the facts are uncertain, but not independently: only ten of the 144
    combinations belong to a digit. The images are those of Alpaydin and Kaynak (1998), the test part of "Optical
    Recognition of Handwritten Digits" (UCI Machine Learning Repository).

    Returns
    -------
    Dataset
        The inputs are pixels from 0 (blank) to 1 (ink). `split` has two random halves, always the same.

    Examples
    --------
    >>> from montechain import ChainClassifier
    >>> digits = load_digits_facts()
    >>> digits.X.shape, digits.label_names
    ((1797, 64), ['parity', 'size', 'prime', 'square', 'loops', 'strokes'])
    >>> train, test = digits.split
    >>> separate = ChainClassifier(parents="none", random_state=0).fit(train.X, train.Y)
    >>> together = ChainClassifier(random_state=0).fit(train.X, train.Y)
    >>> together.score(test.X, test.Y) > separate.score(test.X, test.Y) + 0.1
    True
    """
    images, digit = load_digits(return_X_y=True)
    images /= images.max()
    images.reshape(-1, 8, 8)[:, :, :4] = 0.0
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    classes, labels = [], {}
    for name, (words, positions) in DIGIT_FACTS.items():
        codes = np.array([*map(int, positions)])[digit]
        is_number = name == "loops"
        classes.append([int(word) if is_number else word for word in words.split()])
        labels[name] = codes if is_number else pd.Categorical.from_codes(codes, classes[-1])
    whole = Dataset(pd.DataFrame(images, columns=names), pd.DataFrame(labels), names, classes, name="digits")
    shuffled = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[1]).permutation(len(digit))
    return replace(whole, split=Split(*(whole.take(np.sort(half)) for half in np.array_split(shuffled, 2))))


MAX_PARENTS = 10
"""Maximum number of earlier labels that influence a label, so that they do not drown out the inputs."""
SCALE = 2.0
"""Standard deviation of the inputs' part of a score and, if `dependence` is one, of what an earlier label adds."""


def make_chain_data(
    n_rows: int = 1000,
    n_features: int = 20,
    n_labels: int = 6,
    n_classes: int | Sequence[int] = 2,
    *,
    dependence: float = 1.0,
    random_state: int | None = None,
) -> Dataset:
    """Generate standard normal inputs, and draw labels for them from a random chain.

    Every label follows a multinomial logistic model of the inputs and of at most ten labels before it, in a random
    order, so a chain of linear links can learn it.

    Parameters
    ----------
    n_rows, n_features, n_labels : int
    n_classes : int or sequence of n_labels ints, default=2
        Number of classes of every label, or one number per label.
    dependence : float, default=1.0
        How strongly labels influence each other; with 0 they are independent given the inputs.
    random_state : int, optional
        Seed; None gives different data at each call.

    Examples
    --------
    >>> data = make_chain_data(n_rows=500, n_labels=4, n_classes=[2, 3, 2, 2], random_state=0)
    >>> data.X.shape, data.classes
    ((500, 20), [[0, 1], [0, 1, 2], [0, 1], [0, 1]])
    """
    n_rows = check_positive_argument("n_rows", n_rows, "n_rows=1000")
    n_features = check_positive_argument("n_features", n_features, "n_features=20")
    n_labels = check_positive_argument("n_labels", n_labels, "n_labels=6")
    classes: list[Any] = [n_classes] * n_labels if isinstance(n_classes, Integral) else list(n_classes)  # type: ignore[arg-type]
    if len(classes) != n_labels or any(not isinstance(k, Integral) or k < 2 for k in classes):
        raise ValueError(f"`n_classes={n_classes!r}` must be at least 2 for each of {n_labels} labels: n_classes=2.")
    rng, of_inputs, of_labels = map(np.random.default_rng, np.random.SeedSequence(random_state).spawn(3))
    X = of_inputs.normal(size=(n_rows, n_features))
    noise = np.split(of_labels.gumbel(size=(n_rows, sum(classes))), np.cumsum(classes)[:-1], axis=1)
    Y = np.zeros((n_rows, n_labels), dtype=np.int64)
    order = rng.permutation(n_labels)
    for position, label in enumerate(order):
        scores = X @ rng.normal(scale=SCALE / np.sqrt(2 * n_features), size=(n_features, classes[label]))
        for parent in rng.permutation(order[:position])[:MAX_PARENTS]:
            effects = rng.normal(scale=SCALE / np.sqrt(2), size=(classes[parent], classes[label])) * dependence
            scores += (effects - effects.mean(axis=0))[Y[:, parent]]
        # The largest of scores with Gumbel noise is a draw from their softmax.
        Y[:, label] = np.argmax(scores + noise[label], axis=1)
    names = [f"x{feature}" for feature in range(n_features)]
    labels = pd.DataFrame(Y, columns=[f"label_{label}" for label in range(n_labels)])
    return Dataset(pd.DataFrame(X, columns=names), labels, names, [list(range(k)) for k in classes], name="generated")
