"""`set_output` for classifiers: predictions in the data frame that the user chooses."""

from __future__ import annotations

from typing import Any

from montechain._frames import import_library
from montechain._messages import nearest

KINDS = ("default", "pandas", "polars")


class SetOutputMixin:
    """Add `set_output`, as scikit-learn's transformers have it, to a classifier of several targets."""

    _sklearn_output_config: dict[str, str]

    def set_output(self, *, transform: str | None = None) -> Any:
        """Choose the container of predictions.

        By default, predictions come in the container of y: a data frame of the same library, or an array. Data frames
        have the names of the targets, or ``label_0``, ``label_1``, ... if y had none, and X's index if both are pandas
        objects. scikit-learn's global setting is about transformers and does not apply. In a `Pipeline`, call
        ``pipeline[-1].set_output(transform="pandas")``, since ``pipeline.set_output`` only reaches transformers.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            None leaves the choice as it is. The name is scikit-learn's.

        Examples
        --------
        >>> from sklearn.datasets import make_multilabel_classification
        >>> from montechain import ChainClassifier
        >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=2, random_state=0)
        >>> model = ChainClassifier(random_state=0).set_output(transform="pandas").fit(X, Y)
        >>> model.predict(X).columns.tolist()
        ['label_0', 'label_1']
        """
        if transform is None:
            return self
        if transform not in KINDS:
            raise ValueError(
                f"`transform={transform!r}` of set_output is not known{nearest(str(transform), KINDS) or '.'} "
                f"Allowed are {', '.join(map(repr, KINDS))}."
            )
        if transform != "default":
            import_library(transform)
        # scikit-learn's `clone` copies the attribute of this name.
        self._sklearn_output_config = {"transform": transform}
        return self

    @property
    def _output_container(self) -> str:
        return getattr(self, "_sklearn_output_config", {}).get("transform", "default")
