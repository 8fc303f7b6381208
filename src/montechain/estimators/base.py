"""Shared fit and predict machinery: validate X, encode y, ask a joint model, decode."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import metrics
from montechain._compat import check_sample_weight
from montechain._frames import is_frame
from montechain._lazy import is_lazy, lazy_answer
from montechain._messages import check_memory, check_positive_argument, check_seed, explained_input
from montechain._rows import map_chunks
from montechain._savable import require
from montechain.distributions import Marginals
from montechain.errors import EstimateWarning, NonFiniteError
from montechain.estimators.checks import LazyGenerator, check_row_labels, is_finite, remembered, unchanged_on_failure
from montechain.estimators.lazy_fit import read_blocks
from montechain.inference import Decision, TopK
from montechain.joint import JointModel
from montechain.links.base import refuse_fit_params
from montechain.losses import Loss, check_loss
from montechain.targets import NEW, UNKNOWN, TargetCodec

BYTES_PER_LABEL = 12
"""Bytes per label of an answer: its code and its class."""
PLAIN = (np.ndarray, sp.csr_array, sp.csr_matrix)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
CHUNK_CELLS = 2**19
"""Approximate number of cells (of x, scores, labels) predicted at a time: they fit into a cache."""
MIN_CHUNK_CELLS = 2**16
"""Minimum number of scores in a chunk, since each chunk has a cost of its own."""
MIN_CHUNK_ROWS = 64
"""Minimum number of rows in a chunk."""
N_SHARES = 16
"""Number of chunks for threads to share, where that makes them neither too small nor too large."""
GENERAL_CHUNK_ROWS = 2048
"""Maximum number of rows in a chunk where links are not label-linear: each row may have thousands of open prefixes."""


class MultiTargetClassifier(ClassifierMixin, BaseEstimator):
    """Base class of classifiers that predict several targets at once: their codec, and the container of predictions."""

    codec_: TargetCodec

    def _set_codec(self, codec: TargetCodec) -> None:
        self.codec_ = codec
        self.classes_ = codec.classes[0] if codec.is_1d else codec.classes
        if codec.names is not None:
            self.target_names_ = list(codec.names)

    def _decode(self, codes: np.ndarray, X: Any) -> Any:
        """Return codes in the user's classes and container, with the index of X."""
        return self.codec_.decode(codes, index=X.index if hasattr(X, "iloc") else None)

    def _check_fitted(self) -> None:
        if "classes_" not in vars(self):  # faster than scikit-learn's check, which then says what to do
            check_is_fitted(self)

    @abstractmethod
    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return label vectors."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the exact match: the share of rows in which every known label is predicted right."""
        check_row_labels(X, y, "y")
        return metrics.exact_match(y, self.predict(X), sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


class JointClassifier(MultiTargetClassifier):
    """Base class of the classifiers that hold a joint model: everything but how it is learned (`_learn`)."""

    loss: Any
    random_state: Any
    model_: Any
    n_jobs: int | None = None
    verbose: bool = False

    # -- what a subclass supplies -------------------------------------------------------------

    @abstractmethod
    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        """Learn from checked rows and codes (one column per label), and set fitted attributes, as a rule `model_`."""

    def _model(self) -> JointModel:
        """Return the joint model learned, with the present parameters of inference."""
        return self.model_

    def _check_choices(self) -> None:
        """Raise an error that says what to type if a parameter is not allowed."""

    def _check_blocks(self) -> None:
        """Raise an error that says what to do unless this can learn from the blocks of a Dask collection."""
        raise TypeError(
            f"{type(self).__name__} learns from rows in memory, not from Dask collections: use ChainClassifier(), or "
            "fit to a sample of the rows, such as X.sample(frac=0.01).compute()."
        )

    def _takes(self) -> tuple[bool, bool]:
        """Return whether data frames are passed on as they are, and whether x may be NaN."""
        return False, False

    def _fit_options(self, X: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return what is passed on to learning besides X and y."""
        refuse_fit_params(self, fit_params)
        return {} if sample_weight is None else {"sample_weight": check_sample_weight(sample_weight, X)}

    def _check_loaded(self) -> None:
        """Raise a ValueError unless what was loaded from a file fits together."""
        if "classes_" in vars(self):
            classes, n_classes = self.codec_.classes, tuple(self.codec_.n_classes)
            require(self.classes_ is (classes[0] if self.codec_.is_1d else classes), "classes and codec differ")
            model = self._model()
            require(isinstance(model, JointModel), "the model is of the wrong kind")
            require(model.n_classes == n_classes, f"the labels have {n_classes} classes, the model {model.n_classes}")

    # -- the public methods -------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Any:
        """Learn from X and y.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
            Chains of logistic links also learn from Dask arrays and data frames, by passes over their blocks. Then
            `y`, and the weights if any, should be Dask collections with the same blocks.
        y : array, sparse container or data frame of shape (n, L), or array of shape (n,)
            Classes of any kind, column by column; NaN and None where a label is not known.
        sample_weight : array of shape (n,), optional
        **fit_params
            Passed on to the classifier's `fit`, by metadata routing if that is enabled.
        """
        with unchanged_on_failure(self):
            seed = check_seed(self.random_state)
            self._check_choices()
            check_row_labels(X, y, "y")
            codes: Any
            if is_lazy(X):
                refuse_fit_params(self, fit_params)
                X, options = read_blocks(self, X, y, sample_weight), {}
                codes = X
            else:
                X = self._check_X(X, reset=True)
                codec, codes = TargetCodec.fit_encode(y, n_rows=X.shape[0])
                self._set_codec(codec)
                options = self._fit_options(X, sample_weight, fit_params)
            self.n_samples_seen_ = X.shape[0]
            self._bound_loss()
            self._learn(X, codes, seed, options)
        return self

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return the label vectors of least expected loss.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
            For a Dask array or data frame, the answer is lazy as well.
        given : array or data frame of shape (n, L), optional
            Labels known beforehand, NaN or None elsewhere: the best completion is returned. A data frame may hold some
            of the targets only.

        Returns
        -------
        ndarray of shape (n, L) in y's own classes, a data frame if y was one, (n,) if y was one-dimensional
        """
        if is_lazy(X):
            return lazy_answer(self, "predict", X, given=given)
        return self._decide(X, given).labels

    def decide(self, X: Any, *, given: Any = None) -> Decision:
        """Return the predictions with what is proven about them; `X` and `given` are those of `predict`.

        They come with their log-probability, an upper bound on that of any label vector, the expected loss, a bound on
        the regret, and which rows are certified. The last three are conditional on what is given.
        """
        if is_lazy(X):
            return lazy_answer(self, "decide", X, given=given)
        return self._decide(X, given, conditional=True)

    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the marginal probabilities p(label | x, given) of each label; `X` and `given` are those of `predict`.

        They are exact where the labels have few combinations; else within the `residual` of the strategy, 0.01 by
        default (``BranchAndBound(residual=0.001)`` makes it smaller), as long as its node budget lasts. Rows whose
        budget ends first get estimates from random draws, whose error can be larger; an `EstimateWarning` says how
        many they are. `MonteCarlo` always estimates. `predict_marginals` also returns a bound on the error of each row.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        if is_lazy(X):
            return lazy_answer(self, "predict_proba", X, given=given)
        found = self.predict_marginals(X, given=given)
        n_estimated = int(found.estimated.sum())
        if n_estimated and not self._model().is_sampling:
            worst = found.error_bound[found.estimated].max()
            warnings.warn(
                f"The probabilities of {n_estimated} of {len(found.estimated)} rows are estimates: their search ran "
                f"out of nodes. Their error is proven to be at most {worst:.2g}; `predict_marginals` returns the bound "
                "of each row. For smaller errors, raise `max_nodes`, e.g. inference=BranchAndBound(max_nodes=200_000).",
                EstimateWarning,
                stacklevel=3,
            )
        return found.proba[0] if self.codec_.is_1d else found.proba

    def predict_marginals(self, X: Any, *, given: Any = None) -> Marginals:
        """Return the marginal probabilities with what is proven about them; `X` and `given` are those of `predict`.

        `proba` is a list of L ndarrays of shape (n, K); `error_bound`, of shape (n,), a proven bound on the error of
        every probability in a row; and `estimated`, of shape (n,), tells which rows rest on random draws.
        """
        if is_lazy(X):
            return lazy_answer(self, "predict_marginals", X, given=given)
        loss = self._bound_loss()
        find = lambda model, rows, known, rng: model.marginals(rows, given=known, rng=rng, loss=loss)  # noqa: E731
        return self._ask(find, X, given)

    def predict_top_k(self, X: Any, k: int = 5, *, given: Any = None) -> TopK:
        """Return the k most probable label vectors of each row, best first; `X` and `given` are those of `predict`.

        `labels` is of shape (n, k, L), `log_proba` and `proba` are of shape (n, k). There are fewer than k if the
        labels have fewer combinations. Rows where fewer agree with `given` are padded with None and probability zero.
        """
        k = check_positive_argument("k", k, "k=5")
        self._check_fitted()
        self._check_size(X, "k", min(k, math.prod(self.codec_.n_classes)))
        top = self._ask(lambda model, rows, known, rng: model.top_k(rows, k, given=known), X, given, width=k)
        return replace(top, labels=self.codec_.decode_array(top.labels))

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y | x) of one label vector per row; of the known labels only, where some are unknown in y.

        A class that did not occur in training counts as half a training row.
        """
        if is_lazy(X):
            return lazy_answer(self, "log_joint", X, y=y)
        check_row_labels(X, y, "y")
        X = self._checked(X)
        codes = self.codec_.encode(y, n_rows=X.shape[0], allow_new=True)
        is_new = codes == NEW
        known = np.where(is_new, UNKNOWN, codes).astype(codes.dtype)[:, : len(self.codec_.classes)]
        found = self._ask(lambda model, rows, own, rng: model.log_known(rows, own, rng=rng), X, codes=known)
        return found - is_new.sum(axis=1) * np.log(2.0 * self.n_samples_seen_ + 1.0)

    def sample(self, X: Any, n_samples: int = 100, *, given: Any = None) -> np.ndarray:
        """Draw label vectors from p(y | x, given), of shape (n, n_samples, L); `X` and `given` are those of `predict`.

        With labels given, the label vectors that agree with them are enumerated until at most a thousandth of their
        mass is left, and the draws are made from these.
        """
        n = check_positive_argument("n_samples", n_samples, "n_samples=100")
        self._check_fitted()
        self._check_size(X, "n_samples", n)
        draw = lambda model, rows, known, rng: model.sample(rows, n, given=known, rng=rng)  # noqa: E731
        return self.codec_.decode_array(self._ask(draw, X, given, width=n, is_drawn=True))

    # -- asking the model ---------------------------------------------------------------------

    def _decide(self, X: Any, given: Any, conditional: bool = False) -> Decision:
        """Return a decision; if `conditional`, its expected loss and regret are those given what is known."""
        loss, is_framed = self._bound_loss(), self.codec_.is_frame

        def decide(model: JointModel, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Decision:
            decision = model.decide(rows, loss=loss, given=known, rng=rng)
            if known is not None and conditional and loss.is_exact_match:
                decision = model.conditional_on_given(decision, rows, known)
            return decision if is_framed else decision.with_labels(self.codec_.decode(decision.labels))

        decision = self._ask(decide, X, given)
        return decision.with_labels(self._decode(decision.labels, X)) if is_framed else decision

    def _ask(
        self,
        query: Callable[..., Any],
        X: Any,
        given: Any = None,
        *,
        codes: np.ndarray | None = None,
        width: int | None = None,
        is_drawn: bool = False,
    ) -> Any:
        """Return ``query(model, rows, codes, rng=...)``, asked in chunks of rows and joined.

        What is known is `given`, in the user's classes; or, for rows that are already checked, `codes`. A row counts
        for `width` label vectors, by default the model's. Chunks have draws of their own if `is_drawn`. Otherwise all
        rows share the same draws, so that an answer does not depend on the rows beside it.
        """
        if codes is None:
            check_row_labels(X, given, "given")
            X = self._checked(X)
            codes = self.codec_.encode_given(given, n_rows=X.shape[0])
        model, seed, is_plain = self._model(), check_seed(self.random_state), self._is_plain(X)

        def ask(rows: Any, known: np.ndarray | None, start: int) -> Any:
            if is_plain and not model.sees_every_cell and not is_finite(rows):
                self._check_X(rows, reset=False)
            rng = LazyGenerator([seed, start] if is_drawn else seed)
            try:
                return query(model, rows, known, rng=rng)
            except NonFiniteError as error:
                if is_plain:
                    self._check_X(rows, reset=False)  # says which cell is not finite
                names = getattr(self, "target_names_", None), getattr(self, "feature_names_in_", None)
                raise error.named(*names) from None

        n_scores = model.n_scores
        n_cells = model.n_labels * (width or model.width) + n_scores
        if isinstance(X, np.ndarray) or not n_scores:
            n_cells += X.shape[1]
        n_rows_each = CHUNK_CELLS // n_cells
        if not n_scores:
            n_rows_each = min(n_rows_each, GENERAL_CHUNK_ROWS)
        elif not is_drawn:
            n_rows_each = min(n_rows_each, max(-(-X.shape[0] // N_SHARES), MIN_CHUNK_CELLS // n_scores))
        # Products of fewer than four rows at a time are rounded differently.
        n_rows_each = -(-max(n_rows_each, MIN_CHUNK_ROWS) // 4) * 4
        return map_chunks(ask, X, codes, n_rows_each=n_rows_each, n_jobs=self.n_jobs, in_kernels=n_scores > 0)

    def _check_size(self, X: Any, name: str, n_vectors: int) -> None:
        """Raise an error if an answer of `n_vectors` label vectors per row would not fit into memory."""
        if is_lazy(X):
            raise TypeError("`predict_top_k` and `sample` take rows in memory: ask for some, as in X.head(100).")
        n_rows = X.shape[0] if hasattr(X, "shape") and X.shape else 1
        n_bytes = n_rows * n_vectors * len(self.codec_.classes) * BYTES_PER_LABEL
        what = f"`{name}={n_vectors}` for {n_rows} rows of {len(self.codec_.classes)} labels"
        check_memory(n_bytes, what, f"Ask for fewer, e.g. {name}=100, or for fewer rows at a time.")

    def _bound_loss(self) -> Loss:
        """Return the loss, bound to the classes of the labels."""
        self._check_fitted()
        classes = self.codec_.classes
        bind = lambda _: check_loss(self.loss, classes=classes, order=range(len(classes)))  # noqa: E731
        if isinstance(self.loss, str):
            return remembered(self, "loss", [self.loss, self.codec_], bind)
        return bind(None)  # its own parameters may have changed

    # -- checking X ---------------------------------------------------------------------------

    def _checked(self, X: Any) -> Any:
        """Return rows to answer for. The cells of plain arrays are left to `_ask`."""
        self._check_fitted()
        return X if self._is_plain(X) else self._check_X(X, reset=False)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Return X as an array or CSR container, or unchanged if the model takes data frames."""
        keep_frames, allow_nan = self._takes()
        with explained_input(self):
            if keep_frames and is_frame(X):
                if X.shape[0] == 0:
                    raise ValueError(f"`X` has 0 rows (shape {tuple(X.shape)}): at least 1 is needed.")
                return validate_data(self, X, reset=reset, skip_check_array=True)
            dtype: Any = "numeric" if keep_frames else [np.float64, np.float32]
            are_finite = "allow-nan" if allow_nan else True
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=dtype, ensure_all_finite=are_finite)

    def _is_plain(self, X: Any) -> bool:
        """Return whether X is a dense or CSR matrix of floats with as many columns as in training.

        scikit-learn's checks can take longer than a prediction, so only inputs that need them are checked that way.
        """
        return (
            type(X) in PLAIN
            and X.dtype in FLOATS
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and "feature_names_in_" not in vars(self)
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes()[1]
        return tags
