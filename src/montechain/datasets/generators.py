"""Bundled data: facts about half-hidden digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from montechain.datasets.dataset import Dataset, Split, label_table

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
    Recognition of Handwritten Digits" (UCI Machine Learning Repository). The inputs are pixels from 0 (blank) to 1
    (ink). `split` has two random halves, always the same.

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
    labels = {
        name: pd.Categorical.from_codes(np.array([*map(int, positions)])[digit], words.split())
        for name, (words, positions) in DIGIT_FACTS.items()
    }
    Y, classes = label_table(pd.DataFrame(labels))
    whole = Dataset(pd.DataFrame(images, columns=names), Y, names, classes, name="digits")
    shuffled = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[1]).permutation(len(digit))
    return replace(whole, split=Split(*(whole.take(np.sort(half)) for half in np.array_split(shuffled, 2))))
