"""Tables from rows: against pandas, by hand, and with gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from montechain.experiments import evaluate
from montechain.experiments.results import Measurement, Outcome, Unit, results_of
from montechain.experiments.summary import scores_table, summarise, tabulate
from tests.experiments.cheap import Failing, Guess, small_dataset


def rows_of(values, *, dataset="music", measure="exact_match", parameters="{}", protocol="{}"):
    """Return rows for methods with their values by fold; None is DNF."""
    rows = []
    for method, by_fold in values.items():
        for fold, value in enumerate(by_fold):
            unit = Unit(dataset, "0f", method, parameters, protocol, fold, 0)
            if value is None:
                outcome = Outcome.did_not_finish([measure], "time", "too slow")
            else:
                outcome = Outcome([Measurement(measure, value)])
            rows += results_of(unit, outcome)
    return rows


def test_means_deviations_and_ranks():
    summary = summarise(rows_of({"A": [0.1, 0.3], "B": [0.2, 0.2], "C": [0.5, 0.7]})).set_index("method")
    assert summary["mean"].to_dict() == pytest.approx({"A": 0.2, "B": 0.2, "C": 0.6})
    assert summary["std"].to_dict() == pytest.approx({"A": 0.1 * np.sqrt(2), "B": 0.0, "C": 0.1 * np.sqrt(2)})
    assert summary["rank"].to_dict() == {"A": 2.5, "B": 2.5, "C": 1.0}
    assert summary["text"].to_dict() == {"A": "0.200 ± 0.141", "B": "0.200 ± 0.000", "C": "0.600 ± 0.141"}
    least = summarise(rows_of({"A": [0.1, 0.3], "B": [0.2, 0.2], "C": [0.5, 0.7]}), ties="min")
    assert least["rank"].tolist() == [2.0, 2.0, 1.0]


def test_small_is_good_for_times_and_errors():
    summary = summarise(rows_of({"A": [3.0], "B": [1.0]}, measure="fit_seconds"))
    assert summary["rank"].tolist() == [2.0, 1.0]
    assert summary["text"].tolist() == ["3.000", "1.000"]


def test_a_method_that_did_not_finish_a_fold_has_no_mean_and_no_rank():
    summary = summarise(rows_of({"A": [0.1, 0.3], "B": [0.9, None]})).set_index("method")
    assert np.isnan(summary.loc["B", "mean"])
    assert np.isnan(summary.loc["B", "rank"])
    assert (summary.loc["B", "status"], summary.loc["B", "reason"], summary.loc["B", "n"]) == ("DNF", "too slow", 1)
    assert summary.loc["A", "rank"] == 1.0
    table = tabulate(summary.reset_index(), "exact_match")
    assert table.loc["music"].to_dict() == {"A": "0.200 ± 0.141", "B": "DNF"}


def test_tables_are_wide_in_the_order_of_the_rows():
    rows = rows_of({"Z": [0.5], "A": [0.4]}) + rows_of({"Z": [0.3], "A": [None]}, dataset="enron")
    scores = scores_table(summarise(rows), "exact_match")
    assert list(scores.columns) == ["Z", "A"]
    assert list(scores.index) == ["music", "enron"]
    assert scores.loc["music"].tolist() == [0.5, 0.4]
    assert np.isnan(scores.loc["enron", "A"])
    with pytest.raises(ValueError, match=r"no measure 'f1'. It has: 'exact_match'"):
        scores_table(summarise(rows), "f1")


def test_other_parameters_and_protocols_are_kept_apart():
    rows = rows_of({"A": [0.5]}) + rows_of({"A": [0.4]}, parameters='{"C": 2}')
    summary = summarise(rows)
    assert summary["rank"].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"'A' on 'music' has several rows"):
        scores_table(summary, "exact_match")
    rows = rows_of({"A": [0.5]}) + rows_of({"A": [0.4]}, protocol='"other"')
    assert summarise(rows)["rank"].tolist() == [1.0, 1.0]


def test_rows_and_frames_give_the_same_and_nothing_gives_nothing():
    rows = rows_of({"A": [0.1, 0.3], "B": [0.9, None]})
    frame = pd.DataFrame([vars(row) for row in rows])
    pd.testing.assert_frame_equal(summarise(rows), summarise(frame))
    assert summarise([]).empty


def test_what_evaluate_returns_is_summarised():
    methods = {"guess": Guess(), "failing": Failing()}
    summary = summarise(evaluate(small_dataset(), methods, folds=4, encoder="passthrough"))
    chosen = summary[summary["measure"] == "hamming_score"].set_index("method")
    assert 0.3 < chosen.loc["guess", "mean"] < 0.7
    assert chosen.loc["guess", "n"] == 4
    assert chosen.loc["failing", "status"] == "DNF"
    undefined = summary[(summary["measure"] == "certified") & (summary["method"] == "guess")]
    assert undefined["text"].tolist() == ["–"]
