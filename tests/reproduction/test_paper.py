"""The paper's figures: as printed, and consistent except for the misprints that are listed."""

from itertools import pairwise

import pandas as pd

from montechain.methods import BASELINES, METHODS
from reproduction import paper
from reproduction.catalogue import DATASETS as CATALOGUE
from reproduction.catalogue import list_datasets
from reproduction.statistics import nemenyi

TABLES = ("accuracy_5fold_cv", "runtime_5fold_cv", "official_split")
FIGURES = {
    (table, row.measure, row.dataset, row.method): row
    for table in TABLES
    for row in paper.published(table).itertuples()
}
NINE = ("IC", "CC", "PCC", "ECC", "CDN", "MCC", "MsCC", "PMsCC", "PtMsCC")


def row(table, measure, dataset):
    return [one.word or one.value for key, one in FIGURES.items() if key[:3] == (table, measure, dataset)]


def test_tables_are_as_printed():
    """Rows typed from the paper, one of each kind."""
    exact = [FIGURES["accuracy_5fold_cv", "exact_match", "yeast", method] for method in NINE]
    assert [one.word or (one.value, one.rank) for one in exact] == [
        (0.14, 7), (0.15, 6), "DNF", (0.19, 5), (0.07, 8), (0.21, 4), (0.22, 3), (0.23, 1), (0.22, 2),
    ]  # fmt: skip
    assert pd.isna([exact[2].value, exact[2].rank]).all()
    running = [106, 120, "DNF", 20593, 14735, 1837, 5740, 4890, 5310]
    assert row("runtime_5fold_cv", "running_time_s", "reuters") == running
    assert row("official_split", "exact_match_loss", "enron") == [0.848, 0.805, 0.869, 0.822, 0.870, 0.867]
    assert row("official_split", "hamming_loss", "tmc2007") == [0.055, "N/A", 0.011, 0.076, "DNF", "DNF"]
    assert [len(paper.published(table)) for table in TABLES] == [198, 108, 96]
    assert sum(figure.word == "DNF" for figure in FIGURES.values()) == 28
    payoffs = paper.published_payoffs()
    yeast = payoffs.query("dataset == 'yeast' and measure == 'hamming_score'")
    assert yeast["mean"].tolist() == [0.7815, 0.7816, 0.7804, 0.7802]
    assert yeast["std"].tolist() == [0.0047, 0.0043, 0.0046, 0.0048]
    assert payoffs.groupby("dataset")["n_iterations"].unique().map(list).to_dict() == {"music": [1500], "yeast": [100]}


def test_the_search_on_music_climbs_to_one_order_from_both_starts():
    trace = paper.published_trace()
    for seed, last in ((1, 1935), (2, 1626)):
        steps = trace[trace["seed"] == seed].to_dict("records")
        assert all(a["J_EM"] < b["J_EM"] and a["t"] < b["t"] for a, b in pairwise(steps))
        assert (steps[-1]["t"], steps[-1]["order"], steps[-1]["J_EM"]) == (last, (3, 5, 0, 1, 4, 2), 167.73)
        assert all(sorted(step["order"]) == list(range(6)) for step in steps)


def test_names_are_ours():
    assert {key[3] for key in FIGURES} <= set(METHODS)
    assert set(paper.meka()["method"]) <= {*METHODS, *BASELINES}
    assert {key[2] for key in FIGURES} | set(paper.meka()["dataset"]) <= set(CATALOGUE)
    titles = {entry.name: entry.title for entry in list_datasets("nowhere")}
    assert titles == paper.DATASETS


def test_average_ranks_and_significant_pairs_follow_from_the_ranks():
    expected = {
        "exact_match": {(a, b) for a in ("MCC", "MsCC", "PMsCC", "PtMsCC") for b in ("IC", "CDN")},
        "hamming_score": {(a, "CDN") for a in ("PCC", "MCC", "PMsCC", "PtMsCC")},
    }
    for measure, pairs in expected.items():
        own = paper.published("accuracy_5fold_cv").query("measure == @measure")
        ranks = paper.published_average_ranks(measure)
        assert own.groupby("method")["rank"].mean().round(2).to_dict() == ranks
        assert {tuple(pair) for pair in nemenyi(ranks, 11)["pairs"]} == pairs


def test_only_the_figures_that_are_marked_contradict_each_other():
    """A row with a wrong label has between one and L wrong labels."""
    n_labels = {entry.name: entry.paper.L for entry in list_datasets("nowhere")}
    found = set()
    for (table, measure, dataset, method), figure in FIGURES.items():
        if measure not in ("exact_match", "exact_match_loss"):
            continue
        is_score = measure == "exact_match"
        other = FIGURES[table, "hamming_score" if is_score else "hamming_loss", dataset, method].value
        rows, labels = (1.0 - figure.value, 1.0 - other) if is_score else (figure.value, other)
        rounding = 0.005 if is_score else 0.0005
        if labels + rounding < (rows - rounding) / n_labels[dataset] or labels - rounding > rows + rounding:
            found.add((table, dataset, method))
    assert found == {("official_split", "tmc2007", "RF-PCT")}


def test_what_cannot_be_compared_is_marked_and_every_remark_is_used():
    marked = {key for key in FIGURES if not paper.remarks_on(key[0], key[2], key[3], key[1])[0]}
    assert {key[2] for key in marked} == {"parkinsons", "mediamill", "enron", "tmc2007"}
    assert {FIGURES[key].value for key in marked if key[2] == "enron"} == {0.58}
    said = {text for key in FIGURES for text in paper.remarks_on(key[0], key[2], key[3], key[1])[1]}
    said |= set(paper.remarks_on("payoffs", "music", "J_EM", "exact_match")[1])
    assert said == set(paper.remarks()["text"])
    assert (~paper.meka()["is_cross_validated"]).sum() == 3  # MEKA has two protocols
