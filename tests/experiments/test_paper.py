"""The paper's figures: carried over as printed, and consistent but for the misprints that are listed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from montechain.datasets import DATASETS, list_datasets
from montechain.experiments.paper import (
    DATASET_NAMES,
    METHOD_NAMES,
    REMARKS,
    dataset_title,
    meka_figures,
    published_average_ranks,
    published_figures,
    published_payoffs,
    published_trace,
    remarks_on,
)
from montechain.experiments.statistics import nemenyi_from_ranks
from montechain.methods import BASELINES, METHODS

FIGURES = {
    (figure.table, figure.measure, figure.dataset, figure.method): figure for figure in published_figures()
}  # fmt: skip
# Typed from the paper, row by row; "-" is DNF.
ACCURACY = """
Scene    & 0.54 8 & 0.55 7 & 0.64 3 & 0.61 6 & 0.53 9 & 0.64 3 & 0.63 5 & 0.68 2 & 0.69 1
Yeast    & 0.14 7 & 0.15 6 & - & 0.19 5 & 0.07 8 & 0.21 4 & 0.22 3 & 0.23 1 & 0.22 2
Parkins & 0.17 1 & 0.17 2 & 0.16 5 & 0.16 8 & 0.16 5 & 0.16 5 & 0.16 8 & 0.17 4 & 0.17 2
"""
HAMMING = """
Bridges & 0.63 7 & 0.66 3 & 0.67 1 & 0.64 6 & 0.62 9 & 0.67 1 & 0.65 4 & 0.65 4 & 0.63 8
Enron  & 0.93 2 & 0.92 5 & - & 0.94 1 & 0.92 3 & 0.92 5 & 0.92 8 & 0.92 5 & 0.92 3
"""
NINE = ("IC", "CC", "PCC", "ECC", "CDN", "MCC", "MsCC", "PMsCC", "PtMsCC")


@pytest.mark.parametrize(("measure", "printed"), [("exact_match", ACCURACY), ("hamming_score", HAMMING)])
def test_rows_of_the_accuracies_are_as_printed(measure, printed):
    for line in printed.strip().splitlines():
        title, *cells = line.split("&")
        for method, cell in zip(NINE, cells, strict=True):
            figure = FIGURES["accuracy_5fold_cv", measure, DATASET_NAMES[title.strip()], method]
            if cell.strip() == "-":
                assert figure.did_not_finish
                assert math.isnan(figure.value)
                assert math.isnan(figure.rank)
            else:
                value, rank = map(float, cell.split())
                assert (figure.value, figure.rank, figure.did_not_finish) == (value, rank, False)


def test_other_tables_are_as_printed():
    def row(table, measure, dataset):
        return [
            "DNF" if f.did_not_finish else f.value
            for f in published_figures(table)
            if (f.measure, f.dataset) == (measure, dataset)
        ]

    assert row("runtime_5fold_cv", "running_time_s", "reuters") == [
        106, 120, "DNF", 20593, 14735, 1837, 5740, 4890, 5310,
    ]  # fmt: skip
    assert row("runtime_5fold_cv", "build_time_s", "enron") == [99, 86, "DNF", 307, 72, 80, 8474, 2729, 3139]
    assert row("official_split", "exact_match_loss", "enron") == [0.848, 0.805, 0.869, 0.822, 0.870, 0.867]
    hamming = row("official_split", "hamming_loss", "tmc2007")
    assert hamming[::2][:1] == [0.055]
    assert math.isnan(hamming[1])
    assert hamming[2:] == [0.011, 0.076, "DNF", "DNF"]
    assert Counter(f.table for f in published_figures()) == {
        "accuracy_5fold_cv": 198, "runtime_5fold_cv": 108, "official_split": 96,
    }  # fmt: skip
    assert sum(f.did_not_finish for f in published_figures()) == 28
    assert [(f.mean, f.std) for f in published_payoffs() if (f.dataset, f.measure) == ("yeast", "hamming_score")] == [
        (0.7815, 0.0047), (0.7816, 0.0043), (0.7804, 0.0046), (0.7802, 0.0048),
    ]  # fmt: skip
    assert {f.dataset: f.n_iterations for f in published_payoffs()} == {"music": 1500, "yeast": 100}


def test_the_search_on_music_climbs_to_one_order_from_both_starts():
    for seed, last in ((1, 1935), (2, 1626)):
        steps = [step for step in published_trace() if step.seed == seed]
        assert all(a.J_EM < b.J_EM and a.iteration < b.iteration for a, b in pairwise(steps))
        assert (steps[-1].iteration, steps[-1].order, steps[-1].J_EM) == (last, (3, 5, 0, 1, 4, 2), 167.73)
        assert all(sorted(step.order) == list(range(6)) for step in steps)


def test_names_are_ours():
    known = {*METHODS, *BASELINES}
    assert {figure.method for figure in published_figures()} == set(METHOD_NAMES.values())
    assert set(METHOD_NAMES.values()) <= known
    assert {figure.method for figure in meka_figures()} <= known
    catalogue = {*DATASETS}
    assert {figure.dataset for figure in published_figures()} <= catalogue
    assert {figure.dataset for figure in meka_figures()} <= catalogue
    titles = {entry.name: entry.title for entry in list_datasets("nowhere") if entry.paper is not None}
    assert {name: dataset_title(name) for name in titles} == titles


def test_average_ranks_follow_from_the_ranks():
    for measure in ("exact_match", "hamming_score"):
        ranks = defaultdict(list)
        for figure in published_figures("accuracy_5fold_cv"):
            if figure.measure == measure and not math.isnan(figure.rank):
                ranks[figure.method].append(figure.rank)
        assert {m: round(sum(own) / len(own), 2) for m, own in ranks.items()} == published_average_ranks(measure)


def test_nemenyi_gives_the_pairs_that_the_paper_lists():
    pairs = set(nemenyi_from_ranks(published_average_ranks("exact_match"), 11, alpha=0.10).significant)
    assert pairs == {(a, b) for a in ("MCC", "MsCC", "PMsCC", "PtMsCC") for b in ("IC", "CDN")}
    pairs = set(nemenyi_from_ranks(published_average_ranks("hamming_score"), 11, alpha=0.10).significant)
    assert pairs == {(a, "CDN") for a in ("PCC", "MCC", "PMsCC", "PtMsCC")}


def test_only_the_figures_that_are_marked_contradict_each_other():
    """A row with a wrong label has between one and L wrong labels."""
    n_labels = {entry.name: entry.paper.L for entry in list_datasets("nowhere") if entry.paper is not None}
    found = set()
    for (table, measure, dataset, method), figure in FIGURES.items():
        if measure == "exact_match":
            rows, rounding = 1.0 - figure.value, 0.005
            labels = 1.0 - FIGURES[table, "hamming_score", dataset, method].value
        elif measure == "exact_match_loss":
            rows, rounding = figure.value, 0.0005
            labels = FIGURES[table, "hamming_loss", dataset, method].value
        else:
            continue
        if labels + rounding < (rows - rounding) / n_labels[dataset] or labels - rounding > rows + rounding:
            found.add((table, dataset, method))
    assert found == {("official_split", "tmc2007", "RF-PCT")}
    for measure in ("exact_match_loss", "hamming_loss"):
        assert not remarks_on("official_split", "tmc2007", "RF-PCT", measure)[0]


def test_what_cannot_be_compared_is_marked_and_nothing_else():
    marked = {key for key in FIGURES if not remarks_on(key[0], key[2], key[3], key[1])[0]}
    assert {(k[0], k[3], k[1]) for k in marked if k[2] == "enron"} == {
        ("official_split", "MsCC", "hamming_loss"), ("official_split", "PtMsCC", "hamming_loss"),
    }  # fmt: skip
    assert {FIGURES[key].value for key in marked if key[2] == "enron"} == {0.58}
    assert {key[2] for key in marked} == {"parkinsons", "mediamill", "enron", "tmc2007"}
    for name in ("parkinsons", "mediamill"):
        assert all(key in marked for key in FIGURES if key[2] == name)
    assert all(remark.text.endswith(".") for remark in REMARKS)
    assert all(any(remark.is_about(k[0], k[2], k[3], k[1]) for k in FIGURES) for remark in REMARKS if
               remark.tables != ("payoffs",))  # fmt: skip
    assert "0.058" in remarks_on("official_split", "enron", "MsCC", "hamming_loss")[1]


def test_meka_knows_its_protocols():
    assert sum(not figure.is_cross_validated for figure in meka_figures()) == 3
    majority = next(figure for figure in meka_figures() if figure.method == "Majority")
    assert (majority.dataset, majority.exact_match) == ("solar_flare", 0.8204)
    assert math.isnan(majority.build_seconds)
