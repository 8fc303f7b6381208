"""The figures printed in the paper and those of MEKA today, as tables, with remarks on figures that do not compare."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = [
    "DATASETS",
    "meka",
    "published",
    "published_average_ranks",
    "published_payoffs",
    "published_trace",
    "remarks",
    "remarks_on",
]

AVERAGE_RANK = "_average_rank"
DATASETS = {
    "solar_flare": "Solar Flare", "bridges": "Bridges", "parkinsons": "Parkinson's", "thyroid": "Thyroid",
    "music": "Music", "scene": "Scene", "yeast": "Yeast", "genbase": "Genbase", "medical": "Medical",
    "enron": "Enron", "reuters": "Reuters", "tmc2007": "TMC2007", "mediamill": "MediaMill",
}  # fmt: skip
"""The paper's name of each data set."""


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(__file__).parent / name, keep_default_na=False)


@cache
def published(table: str) -> pd.DataFrame:
    """Return the cells of one of the paper's tables of methods.

    Parameters
    ----------
    table : {"accuracy_5fold_cv", "runtime_5fold_cv", "official_split"}

    Returns
    -------
    data frame
        With the columns `dataset`, `method`, `measure`, `value`, `rank` (NaN where none is printed) and `word`: "DNF"
        or "N/A" where the paper prints that in place of a value.

    Examples
    --------
    >>> cells = published("official_split")
    >>> cells.query("dataset == 'music' and measure == 'exact_match_loss'")["value"].tolist()
    [0.718, 0.673, 0.693, 0.673, 0.688, 0.653]
    """
    rows = _read("published.csv")
    rows = rows[(rows["table"] == table) & ~rows["measure"].str.endswith(AVERAGE_RANK)]
    value = pd.to_numeric(rows["value"], errors="coerce")
    return pd.DataFrame(
        {
            "dataset": rows["dataset"], "method": rows["method"], "measure": rows["measure"], "value": value,
            "rank": pd.to_numeric(rows["rank"], errors="coerce"), "word": rows["value"].where(value.isna(), ""),
        }
    ).reset_index(drop=True)  # fmt: skip


def published_average_ranks(measure: str) -> dict[str, float]:
    """Return the paper's average rank of each method over its eleven data sets.

    Examples
    --------
    >>> published_average_ranks("exact_match")["PMsCC"]
    2.73
    """
    rows = _read("published.csv").query("measure == @measure + @AVERAGE_RANK")
    return dict(zip(rows["method"], rows["value"].astype(float), strict=True))


@cache
def published_payoffs() -> pd.DataFrame:
    """Return the paper's comparison of payoffs: mean and standard deviation over 100 random splits."""
    return _read("published_payoffs.csv").rename(columns={"Ts": "n_iterations", "payoff": "method"})


@cache
def published_trace() -> pd.DataFrame:
    """Return the orders that the paper's search on Music accepted, from two seeds, with their payoffs.

    Examples
    --------
    >>> published_trace().query("t == 0")["order"].tolist()
    [(5, 2, 4, 1, 0, 3), (4, 2, 0, 1, 3, 5)]
    """
    rows = _read("published_trace.csv").rename(columns={"log_J_EM_prod": "J_EM_prod"})
    return rows.assign(order=[tuple(map(int, text.split())) for text in rows["order"]])


@cache
def meka() -> pd.DataFrame:
    """Return what MEKA of 2026 reaches on the same data with the same kind of base classifier.

    Examples
    --------
    >>> meka().query("dataset == 'music' and method == 'PCC'")["exact_match"].tolist()
    [0.3209]
    """
    rows = _read("meka_2026_measured.csv").replace("", np.nan)
    numbers = ["exact_match", "hamming_score", "build_cpu_s", "test_cpu_ms_per_row"]
    rows = rows.astype(dict.fromkeys(numbers, "float64"))
    return rows.assign(
        method=rows["method"].replace("majority", "Majority"),
        is_cross_validated=rows["protocol"].str.startswith("5-fold"),
    )


@cache
def remarks() -> pd.DataFrame:
    """Return what is known about published figures.

    Returns
    -------
    data frame
        `text`; which figures it is about, empty for all (`table`, `dataset`, `methods`, `measure`); `comparable`,
        whether they compare with ours nevertheless; and `explains`, whether the remark can explain a difference.
    """
    rows = _read("remarks.csv")
    return rows.astype({"comparable": bool, "explains": bool})


@cache
def remarks_on(table: str, dataset: str, method: str, measure: str) -> tuple[bool, tuple[str, ...]]:
    """Return whether a published figure compares with ours, and the remarks on it.

    Examples
    --------
    >>> remarks_on("official_split", "enron", "MsCC", "hamming_loss")[0]
    False
    >>> remarks_on("accuracy_5fold_cv", "music", "IC", "exact_match")
    (True, ())
    """
    found = remarks()
    applies = found["table"].isin(["", table]) & found["dataset"].isin(["", dataset])
    applies &= found["measure"].isin(["", measure])
    applies &= pd.Series([not names or method in names.split() for names in found["methods"]])
    return bool(found.loc[applies, "comparable"].all()), tuple(found.loc[applies, "text"])
