"""The strong default: a stacked mixture of joint models that needs no tuning."""

from __future__ import annotations

import time
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

from montechain._messages import check_time_limit
from montechain.errors import InterruptedFitWarning
from montechain.estimators.base import JointClassifier
from montechain.links.row_blocks import RowBlocks
from montechain.recipe import Recipe
from montechain.seen_vectors import informative_rows

SAMPLE = 40_000
"""Number of rows of a Dask collection from which all models are learned first."""


@dataclass(eq=False, repr=False)
class AutoChainClassifier(JointClassifier):
    """Predict several targets at once, as well as this library can, with no tuning.

    Several models are learned and weighted by how probable they make label vectors that they have not seen:

    - chains of logistic links over the scaled inputs, TF-IDF for sparse counts, a Gaussian kernel map, and the log-odds
      that forests and boosted trees give each label, alone and all together;
    - a pool of these chains and the forests that divides all probability among the label vectors seen in training.

    Their mixture is itself a joint distribution: the most probable label vector comes with a proof, vectors never seen
    in training keep a positive probability, and one fit serves every loss
    (``model.set_params(loss="f1").predict(X)``). Ctrl-C during `fit` keeps what has been learned so far, with a
    warning, once the first chain is learned.

    Parameters
    ----------
    loss : str, Loss or callable, default="exact_match"
        What "best" means: "exact_match", "hamming", "f1", "jaccard", or ``loss(y, y_hat)``.
    time_limit : float, default=None
        Seconds that `fit` may take, roughly. The first chain is always learned; other models are added, the most
        useful first, while time remains. None: no limit.
    n_jobs : int, default=None
        Threads that learn, and that predict chunks of rows.
    random_state : int, RandomState or None, default=None
        With a number, the result is always the same, unless a time limit ends the fit early.
    verbose : bool or callable, default=False
        Whether to print a line for each step. A callable gets the name of each step before it begins, and roughly the
        seconds left, None as long as nothing is known about that.

    Attributes
    ----------
    leaderboard_ : list of dict
        What was learned: the mean log-likelihood and the exact match of held-out rows, the weight in the mixture, the
        rows that its chains learned from, the seconds it took. ``pandas.DataFrame(leaderboard_)`` is a table.
    model_ : MappedModel
        The mixture, over the features that the models need.
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    Notes
    -----
    From a Dask collection, everything is learned from about 40,000 rows drawn at random. Then the chains over scaled
    inputs, TF-IDF and the kernel map learn again, from all rows, by passes over the blocks.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import AutoChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=150, n_classes=3, random_state=0)
    >>> model = AutoChainClassifier(random_state=0).fit(X[:100], Y[:100])
    >>> model.predict(X[100:]).shape
    (50, 3)
    >>> bool(model.decide(X[100:]).certified.all())
    True
    """

    loss: Any = "exact_match"
    _: KW_ONLY
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: Any = False

    def _check_choices(self) -> None:
        check_time_limit(self.time_limit)

    def _check_blocks(self) -> None:
        """All parameters are allowed for Dask collections."""

    def _learn(self, X: Any, codes: Any, seed: int, options: dict[str, Any]) -> None:
        every = X if isinstance(X, RowBlocks) else None
        if every is not None:
            rows = every.sample(SAMPLE, seed)
            X, codes = rows.X, rows.codes
            options = {} if (rows.weight == 1.0).all() else {"sample_weight": rows.weight}
            every = every if len(codes) < every.shape[0] else None
        X, codes, options = informative_rows(X, codes, options)
        recipe = Recipe(X, codes, self.codec_.n_classes, seed=seed, n_jobs=self.n_jobs, **options)
        started = time.perf_counter()
        deadline = None if self.time_limit is None else started + float(self.time_limit)
        try:
            for name, step in recipe.steps(deadline):
                self._report(name, started, deadline, recipe.seconds_left(name))
                step()
            if every is not None:
                self._report("all rows", started, deadline, None)
                recipe.learn_from_blocks(every, deadline)
        except KeyboardInterrupt:
            if not recipe.parts:
                raise
            learned = ", ".join(repr(part.name) for part in recipe.parts)
            message = f"The fit was interrupted. The model is made of what had been learned by then: {learned}."
            warnings.warn(message, InterruptedFitWarning, stacklevel=3)
        if recipe.left_out:
            message = f"`time_limit={self.time_limit}` was too short for some steps, which were left out: "
            warnings.warn(message + ", ".join(recipe.left_out) + ".", InterruptedFitWarning, stacklevel=3)
        self.model_, self.leaderboard_ = recipe.model()

    def _report(self, name: str, started: float, deadline: float | None, left: float | None) -> None:
        """Tell the user which step begins, and in how many seconds the fit will roughly end."""
        now = time.perf_counter()
        if deadline is not None:
            left = max(0.0, deadline - now if left is None else min(left, deadline - now))
        if callable(self.verbose):
            self.verbose(name, left)
        elif self.verbose:
            more = "" if left is None else f", about {left:.0f} s left"
            print(f"[AutoChainClassifier] {name} ({now - started:.1f} s{more})")
