"""`TableClassifier`: an encoder for tables and a classifier in one."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from montechain.estimators.chain import ChainClassifier
from montechain.estimators.checks import unchanged_on_failure
from montechain.estimators.multi_target import MultiTargetClassifier
from montechain.estimators.wrappers import innermost
from montechain.inference import Decision, TopK
from montechain.links.base import UNKNOWN
from montechain.preparation import TableEncoder

__all__ = ["TableClassifier"]


def _classifier_has(method: str) -> Any:
    def check(self: TableClassifier) -> bool:
        within = getattr(self, "classifier_", ChainClassifier() if self.classifier is None else self.classifier)
        getattr(within, method)  # raises an AttributeError that says more than ours would
        # Classifiers of other libraries were fitted to codes and do not know the user's classes.
        return method == "predict_proba" or _takes_any_classes(within)

    return check


class TableClassifier(MultiTargetClassifier):
    """Predict several targets from a table with numbers, words, dates, text and missing cells.

    An encoder turns the table into numbers, and a classifier learns from them. Both are fitted to the same rows, so
    nothing leaks from held-out rows when you cross-validate.

    Parameters
    ----------
    classifier : classifier, default=None
        A classifier of montechain, or any scikit-learn classifier for several targets. None is `ChainClassifier()`.
        Methods that it does not have, such as `decide`, are not available here either.
    encoder : transformer, default=None
        Turns the table into numbers. None is `TableEncoder()`, which fills missing numbers unless the classifier
        accepts them (its tag `allow_nan`).

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier.
    encoder_ : transformer
        The fitted encoder.
    classes_ : list of L ndarrays, or ndarray for a one-dimensional y
    target_names_ : list
        Names of the labels; only if y has names.
    notes_ : list of str
        What you should know about the table and its targets: columns that are left out, targets with one class.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame whose names are strings.

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
    """

    random_state = None

    def __init__(self, classifier: Any = None, *, encoder: Any = None):
        self.classifier = classifier
        self.encoder = encoder

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> TableClassifier:
        """Learn from X and y.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)
        y : array, sparse container or data frame of shape (n, L), or array of shape (n,)
            Classes of any kind; NaN or None where a label is unknown, if the classifier accepts that.
        sample_weight : array of shape (n,), optional
            Passed on to the classifier, not to the encoder.
        **fit_params
            Passed on to the classifier's `fit`, by metadata routing if that is enabled.
        """
        with unchanged_on_failure(self):
            classifier = self._new_classifier()
            encoder = self._new_encoder(classifier)
            encoded = encoder.fit_transform(X)
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
                if hasattr(encoder, name):
                    setattr(self, name, getattr(encoder, name))
            self.encoder_ = encoder
            codes = self._learn_classes(y, encoded.shape[0])
            if encoded.shape[0] == 1:
                raise ValueError("`X` has only 1 row (n_samples=1): give at least 2 rows to learn from.")
            self.notes_ = [*getattr(encoder, "notes_", ()), *self.codec_.notes(codes)]
            targets = y if _takes_any_classes(classifier) else self._as_numbers(codes)
            options = self._fit_options(classifier, sample_weight, fit_params)
            self.classifier_ = classifier.fit(_acceptable(encoded, classifier), targets, **options)
        return self

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return a label vector for each row.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)
        given : array or data frame of shape (n, L), optional
            Labels known beforehand, for classifiers that take them.

        Returns
        -------
        ndarray of shape (n, L) in y's own classes, a data frame if y was one, (n,) if y was one-dimensional
        """
        return self._presented(self._ask("predict", X, given=given), X)

    @available_if(_classifier_has("decide"))
    def decide(self, X: Any, *, given: Any = None) -> Decision:
        """Return the predictions with what is proven about them.

        Parameters
        ----------
        X, given
            As in `predict`.
        """
        decision = self._ask("decide", X, given=given)
        return replace(decision, labels=self._presented(decision.labels, X))

    @available_if(_classifier_has("predict_proba"))
    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the marginal probabilities of each label.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        marginals = self._ask("predict_proba", X, given=given)
        if self.codec_.is_1d:
            return marginals
        if isinstance(marginals, np.ndarray) and marginals.ndim == 2:
            if len(self.codec_.classes) == 1:
                return [marginals]
            # Some scikit-learn classifiers return one column per label, the probability of its second class.
            return [np.column_stack([1.0 - positive, positive]) for positive in marginals.T]
        return list(marginals)

    @available_if(_classifier_has("predict_top_k"))
    def predict_top_k(self, X: Any, k: int = 5, *, given: Any = None) -> TopK:
        """Return the k most probable label vectors of each row, best first.

        Parameters
        ----------
        X, given
            As in `predict`.
        k : int, default=5
        """
        return self._ask("predict_top_k", X, k, given=given)

    @available_if(_classifier_has("log_joint"))
    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y | x) of one label vector per row.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)
        y : array or data frame of shape (n, L)
            Where a label is unknown, the probability of the known ones is returned.
        """
        return self._ask("log_joint", X, y)

    @available_if(_classifier_has("sample"))
    def sample(self, X: Any, n_samples: int = 100, *, given: Any = None) -> np.ndarray:
        """Draw label vectors from p(y | x), or from p(y | x, given).

        Parameters
        ----------
        X, given
            As in `predict`.
        n_samples : int, default=100

        Returns
        -------
        ndarray of shape (n, n_samples, L)
        """
        return self._ask("sample", X, n_samples, given=given)

    # -- helpers ------------------------------------------------------------------------------

    @property
    def unknown(self) -> Any:
        """The value in y that means "this label is not known", if the classifier has one."""
        return getattr(innermost(self.classifier), "unknown", None)

    @property
    def _output_container(self) -> str:
        """The container asked for by `set_output`, here or of the classifier."""
        return (
            super()._output_container
            if hasattr(self, "_sklearn_output_config")
            else getattr(innermost(self.classifier), "_output_container", "default")
        )

    def _new_classifier(self) -> Any:
        if self.classifier is None:
            return ChainClassifier()
        if isinstance(self.classifier, type) or not hasattr(self.classifier, "fit"):
            raise TypeError(
                f"`classifier={self.classifier!r}` of TableClassifier is not a classifier: pass an instance, such as "
                "TableClassifier(ChainClassifier())."
            )
        return clone(self.classifier)

    def _new_encoder(self, classifier: Any) -> Any:
        if self.encoder is None:
            keep = get_tags(classifier).input_tags.allow_nan
            return TableEncoder(missing="keep" if keep else "impute").set_output(transform="default")
        if isinstance(self.encoder, type) or not hasattr(self.encoder, "fit_transform"):
            raise TypeError(
                f"`encoder={self.encoder!r}` of TableClassifier is not a transformer: pass an instance, such as "
                "TableClassifier(encoder=TableEncoder())."
            )
        return clone(self.encoder)

    def _as_numbers(self, codes: np.ndarray) -> np.ndarray:
        """Return codes as targets for scikit-learn's classifiers, NaN where a label is unknown."""
        targets = np.where(codes == UNKNOWN, np.nan, codes) if (codes == UNKNOWN).any() else codes.astype(np.int64)
        return targets[:, 0] if targets.shape[1] == 1 else targets

    def _fit_options(self, classifier: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        given = fit_params if sample_weight is None else {**fit_params, "sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"] and self.classifier is not None:
            return dict(process_routing(self, "fit", **given)["classifier"]["fit"]) if given else {}
        if sample_weight is not None and not has_fit_parameter(classifier, "sample_weight"):
            raise TypeError(
                f"`sample_weight` was given, but {type(classifier).__name__}.fit does not take it. Leave it out, or "
                "use a classifier that does, such as ChainClassifier()."
            )
        return given

    def _ask(self, method: str, X: Any, *arguments: Any, given: Any = None) -> Any:
        """Call a method of the classifier with the encoded table."""
        check_is_fitted(self)
        answer = getattr(self.classifier_, method)
        options = {}
        if given is not None:
            if "given" not in inspect.signature(answer).parameters:
                raise TypeError(
                    f"`given` was passed, but {type(self.classifier_).__name__}.{method} does not take it. Leave it "
                    "out, or use a classifier that completes known labels, such as ChainClassifier()."
                )
            options["given"] = given
        return answer(_acceptable(self.encoder_.transform(X), self.classifier_), *arguments, **options)

    def _presented(self, labels: Any, X: Any) -> Any:
        """Return predictions in the user's classes and container, with the index of X."""
        if _takes_any_classes(self.classifier_):
            if self._output_container == "default" and not self.codec_.is_frame:
                return labels
            codes = self.codec_.encode(labels)
        else:
            codes = np.asarray(labels.toarray() if sp.issparse(labels) else labels)
            codes = codes.reshape(len(codes), -1).astype(np.int64)
        return self._decode(codes, X)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata goes: see scikit-learn's guide to metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if hasattr(self.classifier, "get_metadata_routing"):
            router.add(classifier=self.classifier, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        of_encoder = get_tags(TableEncoder() if self.encoder is None else self.encoder).input_tags
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(of_encoder, name))
        return tags


def _acceptable(encoded: Any, classifier: Any) -> Any:
    """Return the encoded table, as an array if the classifier does not accept sparse containers."""
    return encoded.toarray() if sp.issparse(encoded) and not get_tags(classifier).input_tags.sparse else encoded


def _takes_any_classes(classifier: Any) -> bool:
    """Return whether it is a classifier of montechain, which takes any classes; others are fitted to codes."""
    return isinstance(innermost(classifier), MultiTargetClassifier)
