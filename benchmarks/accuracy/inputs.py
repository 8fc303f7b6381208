"""Inputs in the form that a peer takes best: scaled numbers, one-hot columns, or native categories."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from skrub import DatetimeEncoder, StringEncoder

from benchmarks.accuracy.data import Task

MOST_CATEGORIES = 100
"""Columns of words with more distinct values than this are treated as text."""
N_COMPONENTS = 30


@dataclass(frozen=True)
class Inputs:
    """Encoded inputs; `categorical` says which columns hold codes of categories, None if there are none."""

    train: Any
    test: Any
    categorical: np.ndarray | None = None


def encode(task: Task, form: str) -> Inputs:
    """Encode the inputs of both parts as "scaled", "one-hot" or "native", based on the training part."""
    if sp.issparse(task.X_train):
        if form == "native":
            return Inputs(task.X_train.toarray(), task.X_test.toarray())
        if form == "one-hot":
            return Inputs(task.X_train, task.X_test)
        encoder: Any = MaxAbsScaler()
    else:
        encoder, categories = _frame_encoder(task.X_train, native=form == "native")
        if form == "native":
            train, test = (np.asarray(part, dtype=float) for part in _transformed(encoder, task))
            # Treat two categories as a number: boosting would smooth them like rare categories.
            several = task.X_train[categories].nunique().to_numpy() > 2
            return Inputs(train, test, np.pad(several, (0, train.shape[1] - len(several))) if several.any() else None)
        if form == "scaled":
            encoder = make_pipeline(encoder, StandardScaler())
    return Inputs(*_transformed(encoder, task))


def _transformed(encoder: Any, task: Task) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        return encoder.fit_transform(task.X_train), encoder.transform(task.X_test)


def _frame_encoder(X: pd.DataFrame, native: bool) -> tuple[ColumnTransformer, list[str]]:
    """Return an encoder of a table, and the columns of categories, which come first."""
    groups: dict[str, list[str]] = {"category": [], "number": [], "date": [], "text": []}
    for name, column in X.items():
        if types.is_datetime64_any_dtype(column.dtype):
            groups["date"].append(name)
        elif types.is_numeric_dtype(column.dtype):
            groups["number"].append(name)
        else:
            groups["category" if column.nunique() <= MOST_CATEGORIES else "text"].append(name)
    if native:
        category: Any = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        number: Any = "passthrough"
    else:
        category = OneHotEncoder(handle_unknown="ignore", drop="if_binary", sparse_output=False)
        number = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    steps: list[tuple[str, Any, Any]] = [
        ("category", category, groups["category"]),
        ("number", number, groups["number"]),
    ]
    steps += [(f"date {name}", DatetimeEncoder(), name) for name in groups["date"]]
    as_text = FunctionTransformer(_as_text)
    components = min(N_COMPONENTS, len(X) - 1)
    steps += [(f"text {name}", make_pipeline(as_text, StringEncoder(components)), name) for name in groups["text"]]
    return ColumnTransformer(steps, sparse_threshold=0.0), groups["category"]


def _as_text(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.notna(), "").astype(str)
