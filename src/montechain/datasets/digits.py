"""A bundled data set: facts about hand-written digits of which only a part is visible."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from montechain._messages import nearest
from montechain.datasets.dataset import Dataset, Split

__all__ = ["load_digits_facts"]

SIDE = 8
HALVES = {
    "left half": np.s_[:, : SIDE // 2],
    "right half": np.s_[:, SIDE // 2 :],
    "top half": np.s_[: SIDE // 2, :],
    "bottom half": np.s_[SIDE // 2 :, :],
}
HIDDEN = (*HALVES, "random half", "nothing")

# One entry for each digit from 0 to 9.
FACTS: dict[str, tuple[list[str] | list[int], list[str] | list[int]]] = {
    "parity": (["even", "odd"], ["even", "odd"] * 5),
    "size": (["small", "medium", "large"], ["small"] * 4 + ["medium"] * 3 + ["large"] * 3),
    "prime": (["no", "yes"], ["yes" if digit in (2, 3, 5, 7) else "no" for digit in range(10)]),
    "square": (["no", "yes"], ["yes" if digit in (0, 1, 4, 9) else "no" for digit in range(10)]),
    "loops": ([0, 1, 2], [1, 0, 0, 0, 0, 0, 1, 0, 2, 1]),
    "strokes": (
        ["straight", "curved", "mixed"],
        ["curved", "straight", "mixed", "curved", "straight", "mixed", "curved", "straight", "curved", "mixed"],
    ),
}


def load_digits_facts(*, hidden: str = "left half", random_state: int = 0) -> Dataset:
    """Load scikit-learn's 1,797 hand-written digits with six facts about each, and a part of each image hidden.

    The facts are the digit's parity, its size (small: up to 3, medium: up to 6), whether it is prime, whether it is a
    square, how many loops it is drawn with, and whether its strokes are straight, curved or both. The visible part of
    an image often fits several digits, so the facts are uncertain, but not independently: only ten of the 144
    combinations belong to a digit.

    Parameters
    ----------
    hidden : str, default="left half"
        Which pixels are blank: "left half", "right half", "top half", "bottom half", "random half" (a random one of the
        four for each image) or "nothing".
    random_state : int, default=0
        Seed of the random halves and of the split into two halves.

    Returns
    -------
    Dataset
        Inputs from 0 (blank) to 1 (ink), named by row and column of the pixel; `split` is the training and test part.

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
    if hidden not in HIDDEN:
        allowed = ", ".join(repr(part) for part in HIDDEN)
        raise ValueError(f"`hidden={hidden!r}` is not one of {allowed}{nearest(str(hidden), HIDDEN)}")
    of_halves, of_split = (np.random.default_rng(seed) for seed in np.random.SeedSequence(random_state).spawn(2))
    images, digit = load_digits(return_X_y=True)
    images = images.reshape(-1, SIDE, SIDE) / images.max()
    halves = list(HALVES)
    which = of_halves.integers(len(halves), size=len(images)) if hidden == "random half" else np.zeros(len(images))
    for half, (rows, columns) in HALVES.items():
        images[(hidden == half) | ((hidden == "random half") & (which == halves.index(half))), rows, columns] = 0.0
    names = [f"pixel_{row}_{column}" for row in range(SIDE) for column in range(SIDE)]
    Y = {
        fact: np.array(values)[digit]
        if fact == "loops"
        else pd.Categorical(np.array(values)[digit], categories=categories)
        for fact, (categories, values) in FACTS.items()
    }
    dataset = Dataset(
        X=pd.DataFrame(images.reshape(len(images), -1), columns=names),
        Y=pd.DataFrame(Y),
        feature_names=names,
        classes=[list(categories) for categories, _ in FACTS.values()],
        name="digits",
        description=(
            f"Six facts about hand-written digits of 8 by 8 pixels; hidden: {hidden}. The images are scikit-learn's "
            "`load_digits`, the test part of 'Optical Recognition of Handwritten Digits' (Alpaydin and Kaynak 1998, "
            "UCI Machine Learning Repository). They are split at random into two halves."
        ),
    )
    train, test = np.array_split(of_split.permutation(len(images)), 2)
    return replace(dataset, _load_split=partial(_split, dataset, np.sort(train), np.sort(test)))


def _split(dataset: Dataset, train: np.ndarray, test: np.ndarray) -> Split:
    return Split(dataset.take(train), dataset.take(test))
