"""`TableClassifier`: an encoder for tables and a classifier in one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if

from montechain._frames import as_pandas, column_names, import_library, is_frame
from montechain._lazy import is_lazy, lazy_answer
from montechain._messages import check_names, noted
from montechain._tags import expand_tags, join_tags, split_tags
from montechain.estimators.auto import AutoChainClassifier
from montechain.estimators.base import JointClassifier, MultiTargetClassifier
from montechain.estimators.checks import check_row_labels, fit_options, innermost, route_to, unchanged_on_failure
from montechain.features import acceptable
from montechain.preparation import TableEncoder
from montechain.targets import UNKNOWN, TargetCodec, named_labels, plain

MANY_CLASSES = 20
"""A target with more classes than this may not be categorical at all."""
SEPARATORS = (";", ",", "|")
"""If most tags contain one of these, a note asks whether it separates them."""
FEW_ROWS = 5
"""With fewer rows than this for each class, a target with many classes is hard to predict."""


def _classifier_has(method: str) -> Any:
    def check(self: TableClassifier) -> bool:
        within = getattr(self, "classifier_", AutoChainClassifier() if self.classifier is None else self.classifier)
        getattr(within, method)  # raises a more informative AttributeError than ours
        # Classifiers of other libraries were fitted to codes and do not know the user's classes.
        return method in ("predict", "predict_proba") or _takes_any_classes(within)

    return check


def _forwarded(method: str) -> Any:
    """Return the method of `JointClassifier` of this name, asked of the classifier within, if it has it."""

    @available_if(_classifier_has(method))
    @wraps(getattr(JointClassifier, method))
    def ask(self: TableClassifier, X: Any, *arguments: Any, **options: Any) -> Any:
        return self._ask(method, X, *arguments, **options)

    return ask


@dataclass(eq=False, repr=False)
class TableClassifier(MultiTargetClassifier):
    """Predict several targets from a table with numbers, words, dates, text and missing cells.

    An encoder turns the table into numbers, and a classifier learns from them. Both are fitted to the same rows, so
    nothing leaks from held-out rows when you cross-validate.

    Parameters
    ----------
    classifier : classifier, default=None
        A classifier of montechain, or any of scikit-learn for several targets. None is `AutoChainClassifier()`. Methods
        that it does not have, such as `decide`, are not available here either.
    encoder : transformer, default=None
        Turns the table into numbers. None is `TableEncoder()`, which fills missing numbers unless the classifier
        accepts them (its tag `allow_nan`); for sparse containers, a `SimpleImputer()` of medians.
    tags : str or sequence of str, default=()
        Columns of y whose cells hold any number of tags, such as ``"rock;calm"``. Each tag becomes a target of its own,
        named ``column=tag``, with the classes 0 and 1. An empty cell has no tags; those of a missing one (None, NaN)
        are unknown. Predictions hold tags in one cell again, sorted.
    separator : str, default=";"
        What separates the tags of a cell.

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier.
    encoder_ : transformer
        The fitted encoder.
    notes_ : list of str
        What you should know about the table and its targets: columns that are left out, targets with one class.
    tags_ : dict
        The tags of each column in `tags`.
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.estimators.table import TableClassifier
    >>> bridges = pd.DataFrame({"river": ["A", "M", "O", "A"] * 5, "length": [1000.0, None, 1200.0, 1500.0] * 5})
    >>> targets = pd.DataFrame({"material": ["wood", "iron", "steel", "wood"] * 5, "lanes": [2, 2, 4, 4] * 5})
    >>> model = TableClassifier().fit(bridges, targets)
    >>> model.predict(pd.DataFrame({"length": [1450.0], "river": ["A"]}))
      material  lanes
    0     wood      4
    >>> uses = pd.DataFrame({"uses": ["cars;trains", "cars", "cars;trains", ""] * 5})
    >>> TableClassifier(tags="uses").fit(bridges, uses).predict(bridges[2:4])
              uses
    2  cars;trains
    3
    """

    classifier: Any = None
    _: KW_ONLY
    encoder: Any = None
    tags: str | Sequence[str] = ()
    separator: str = ";"

    def set_params(self, **params: Any) -> Any:
        """Set parameters. Those of a part that is None, such as ``encoder__drop``, set its default first."""
        for role, default in (("classifier", AutoChainClassifier), ("encoder", TableEncoder)):
            if params.get(role, getattr(self, role)) is None and any(name.startswith(f"{role}__") for name in params):
                params[role] = default()
        return super().set_params(**params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> TableClassifier:
        """Learn from X and y, as `ChainClassifier.fit` does.

        Weights and further parameters are passed on to the classifier, not to the encoder, by metadata routing if that
        is enabled. Labels may be unknown if the classifier accepts that.
        """
        with unchanged_on_failure(self):
            classifier = self._part("classifier", "fit", AutoChainClassifier())
            if is_lazy(X):
                self._check_lazy(classifier)
            options = fit_options(self, "classifier", classifier, sample_weight, fit_params)
            check_row_labels(X, y, "y")
            encoded = self._fit_encoder(X, get_tags(classifier).input_tags)
            self._refuse_targets_among_inputs(X, y)
            y = self._learn_tags(y)
            y = y if is_lazy(X) else self._learn_targets(y, encoded.shape[0], classifier)
            advice = f"For several or unknown targets, use TableClassifier(ChainClassifier({innermost(classifier)!r}))."
            with nullcontext() if _takes_any_classes(classifier) else noted(advice):
                self.classifier_ = classifier.fit(acceptable(encoded, classifier), y, **options)
            if is_lazy(X):
                self._set_codec(self.classifier_.codec_)
        return self

    def _check_lazy(self, classifier: Any) -> None:
        """Raise an error that says what to do if these choices cannot learn from Dask collections."""
        if self.tags or not hasattr(classifier, "_check_blocks"):
            raise TypeError(
                "`tags`, and classifiers other than AutoChainClassifier() and chains of logistic links, take rows "
                "in memory, not Dask collections: fit to a sample, such as X.sample(frac=0.01).compute()."
            )
        classifier._check_blocks()

    def _fit_encoder(self, X: Any, accepted: Any) -> Any:
        """Fit the encoder, and return the table as numbers, with NaN only if the classifier accepts it."""
        default: Any = SimpleImputer(strategy="median", keep_empty_features=True) if sp.issparse(X) else TableEncoder()
        self.encoder_ = encoder = self._part("encoder", "fit_transform", default)
        if encoder is default or is_lazy(X):
            encoder.set_output(transform="default")
        keeps = accepted.allow_nan and getattr(encoder, "missing", "") is None
        if keeps:
            encoder.missing = "keep"
        encoded = encoder.fit_transform(X)
        if keeps and accepted.sparse and sp.issparse(encoded):  # which must not hold NaN
            encoded = encoder.set_params(missing="impute").fit_transform(X)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(encoder, name):
                setattr(self, name, getattr(encoder, name))
        self.notes_ = list(getattr(encoder, "notes_", ()))
        return encoded

    def _learn_targets(self, y: Any, n_rows: int, classifier: Any) -> Any:
        """Learn the classes, and return the targets as the classifier takes them."""
        codec, codes = TargetCodec.fit_encode(y, n_rows=n_rows)
        self._set_codec(codec)
        if n_rows == 1:
            raise ValueError("`X` has only 1 row (n_samples=1): give at least 2 rows to learn from.")
        self.notes_ += _notes(codec, codes, self.tags_)
        if _takes_any_classes(classifier):
            return y
        targets = np.where(codes == UNKNOWN, np.nan, codes) if (codes == UNKNOWN).any() else codes
        return targets[:, 0] if targets.shape[1] == 1 else targets

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the exact match: the share of rows in which every known label is predicted right."""
        for name in getattr(self, "tags_", ()):  # predictions have the tags of a cell in order
            y, sign = _as_pandas(y).copy(deep=False), self.separator
            y[name] = y[name].map(lambda cell, sign=sign: sign.join(sorted(split_tags(cell, sign) or ())), "ignore")
        return super().score(X, y, sample_weight)

    @available_if(_classifier_has("log_joint"))
    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y | x) of one label vector per row. See `ChainClassifier.log_joint`."""
        if is_lazy(X):
            return lazy_answer(self, "log_joint", X, y=y)
        check_row_labels(X, y, "y")
        return self._ask("log_joint", X, self._expanded(y))

    predict = _forwarded("predict")
    decide = _forwarded("decide")
    predict_proba = _forwarded("predict_proba")
    predict_top_k = _forwarded("predict_top_k")
    predict_marginals = _forwarded("predict_marginals")
    sample = _forwarded("sample")

    # -- helpers ------------------------------------------------------------------------------

    def _learn_tags(self, y: Any) -> Any:
        """Learn the tags of the columns in `tags`, and return y with a column for each."""
        self.tags_: dict[str, list[str]] = {}
        if isinstance(self.tags, list | tuple) and not self.tags:
            return y
        frame = _as_pandas(y)
        chosen = check_names(self, "tags", list(frame), "y")
        if not isinstance(self.separator, str) or not self.separator:
            raise ValueError(
                f"`separator={self.separator!r}` of TableClassifier must be a text, such as separator=';'."
            )
        self._target_columns, self._is_polars = list(frame), type(y).__module__.startswith("polars")
        expanded, self.tags_ = expand_tags(frame, chosen, self.separator)
        if empty := [name for name, tags in self.tags_.items() if not tags]:
            raise ValueError(f"column {empty[0]!r} of `y` has no tags: some cell must have one.")
        if n_missing := int(frame[chosen].isna().to_numpy().sum()):
            self.notes_.append(f"the tags of {n_missing} missing cells are unknown. If they have none, use fillna('').")
        return expanded

    def _refuse_targets_among_inputs(self, X: Any, y: Any) -> None:
        """Raise an error if columns of y are inputs, too: predictions for other rows would disappoint."""
        inputs, targets = ([] if not isinstance(own, pd.DataFrame) else own.reset_index(drop=True) for own in (X, y))
        shared = [name for name in targets if list(inputs).count(name) == list(targets).count(name) == 1]
        if same := [name for name in shared if inputs[name].equals(targets[name])]:
            raise ValueError(f"`X` holds the targets themselves: {same}. Leave them out: X.drop(columns={same}).")

    def _expanded(self, y: Any, *, partial: bool = False) -> Any:
        """Return y with a column for each tag. If it is `partial`, tags that a cell does not have are unknown."""
        if not getattr(self, "tags_", None):
            return y
        expanded = expand_tags(_as_pandas(y), list(self.tags_), self.separator, self.tags_)[0]
        marks = [f"{name}={tag}" for name, tags in self.tags_.items() for tag in tags]
        own = [name for name in expanded if name in marks]
        return expanded.assign(**expanded[own].where(expanded[own] == 1)) if partial else expanded

    def join_tags(self, labels: pd.DataFrame) -> pd.DataFrame:
        """Return labels that have a column for each tag with all tags of a row in one cell."""
        return join_tags(labels, self._target_columns, self.tags_, self.separator) if self.tags_ else labels

    def _part(self, role: str, method: str, default: Any) -> Any:
        """Return a clone of the classifier or the encoder, or the default for it."""
        given = getattr(self, role)
        if given is None:
            return default
        if isinstance(given, type) or not hasattr(given, method):
            raise TypeError(
                f"`{role}={given!r}` of TableClassifier has no method `{method}`: pass an instance, such as "
                f"{role}={type(default).__name__}()."
            )
        return clone(given)

    def _ask(self, method: str, X: Any, *arguments: Any, given: Any = None, **options: Any) -> Any:
        """Return the answer of the classifier for the table, in the user's classes and container."""
        if is_lazy(X) and method not in ("predict_top_k", "sample"):  # which refuse these
            return lazy_answer(self, method, X, given=given, **options)
        self._check_fitted()
        if given is not None:
            check_row_labels(X, given, "given")
            if not _takes_any_classes(self.classifier_):
                raise TypeError(f"`given` takes a classifier of montechain: ChainClassifier({self.classifier!r}).")
            options["given"] = self._expanded(given, partial=True)
        encoded = acceptable(self.encoder_.transform(X), self.classifier_)
        answer = getattr(self.classifier_, method)(encoded, *arguments, **options)
        if method == "predict":
            return self._presented(answer, X)
        if method == "decide":
            return replace(answer, labels=self._presented(answer.labels, X))
        if method != "predict_proba" or self.codec_.is_1d or isinstance(answer, list):
            return answer
        if len(self.codec_.classes) == 1:
            return [answer]
        # Some scikit-learn classifiers return one column per label, the probability of its second class.
        return [np.column_stack([1.0 - positive, positive]) for positive in answer.T]

    def _presented(self, labels: Any, X: Any) -> Any:
        """Return predictions in the user's classes and container, with the index of X."""
        if _takes_any_classes(self.classifier_):
            found = labels.set_axis(X.index) if hasattr(labels, "iloc") and hasattr(X, "iloc") else labels
        else:
            codes = np.asarray(labels.toarray() if sp.issparse(labels) else labels)
            found = self._decode(codes.reshape(len(codes), -1).astype(np.int64), X)
        found = self.join_tags(found)
        return import_library("polars").DataFrame(found.to_dict("list")) if self.tags_ and self._is_polars else found

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: see scikit-learn's guide to metadata routing."""
        return route_to(self, "classifier")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(TableEncoder() if self.encoder is None else self.encoder).input_tags
        tags.input_tags.sparse |= self.encoder is None
        return tags


def _as_pandas(y: Any) -> pd.DataFrame:
    """Return a data frame of any library, or a series of pandas, as a pandas data frame."""
    if isinstance(y, pd.DataFrame | pd.Series):
        return y.to_frame() if isinstance(y, pd.Series) else y
    if not is_frame(y):
        raise TypeError(f"`tags` of TableClassifier names columns of `y`, which must be a data frame, not {type(y)}.")
    names = column_names(y)
    return pd.DataFrame(dict(zip(names, as_pandas(y, names), strict=True)))


def _notes(codec: TargetCodec, codes: np.ndarray, tags: dict[str, list[str]]) -> list[str]:
    """Return what you should know about targets that are hard or pointless to predict; refuse those that are dates."""
    said = []
    for name, own, column in zip(named_labels(codec.names, codes.shape[1]), codec.classes, codes.T, strict=True):
        n_known, n_classes = int((column != UNKNOWN).sum()), len(own)
        if n_classes > MANY_CLASSES and (own.dtype.kind == "M" or isinstance(own[0], datetime.date)):
            raise ValueError(
                f"target {name!r} holds {n_classes} different dates, which are not classes. Predict the month or the "
                "weekday instead, or convert it to strings if each date is a class."
            )
        if n_classes == 1:
            said.append(f"target {name!r} has only one class, {plain(own[0])!r}, which is predicted for every row.")
        elif n_classes > MANY_CLASSES and n_known < FEW_ROWS * n_classes:
            said.append(
                f"target {name!r} has {n_classes} classes in {n_known} rows: with so few rows for each class, expect "
                "poor predictions."
            )
    for name, words in tags.items():
        for sign in SEPARATORS:
            if len(joined := [tag for tag in words if sign in tag]) > len(words) / 2:
                said.append(
                    f"most tags of {name!r} contain {sign!r}, such as {joined[0]!r}. If it separates them, use "
                    f"separator={sign!r}."
                )
    return said


def _takes_any_classes(classifier: Any) -> bool:
    """Return whether it is a classifier of montechain, which takes any classes; others are fitted to codes."""
    return isinstance(innermost(classifier), MultiTargetClassifier)
