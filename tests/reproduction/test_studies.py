"""The studies on small data sets: what they find, and that an interrupted run resumes."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command import Started
from montechain.errors import DataError
from montechain.evaluation import jobs
from random_chains import log_proba_table, random_table_chain
from reproduction.__main__ import reproduce
from reproduction.studies import FULL, QUICK, Setting, choose_studies
from reproduction.studies.methods import _mean
from reproduction.studies.rows import MAX_NODES, PAIRS, explored_tree
from reproduction.tables import Findings
from tests.reproduction.stand_ins import KILLED, STUDIES, setting_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def found(folder) -> Findings:
    findings, complete = reproduce(STUDIES, setting_for(folder), folder)
    assert complete
    return findings


@pytest.fixture(scope="module")
def stored(found, folder) -> list[dict]:
    return [one for one in units(folder) if "method" in one["identity"]]


def units(folder: Path) -> list[dict]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("units/*.json"))]


def cells_of(found: Findings, key: str) -> pd.DataFrame:
    cells = next(table.cells for table in found.tables if table.key == key)
    return cells.set_index(["dataset", "method", "measure"])


def test_every_table_has_a_figure_or_a_reason(found):
    assert [table.key for table in found.tables] == [
        "accuracy", "time", "official", "natural_order", "agreement", "payoffs", "music_orders",
    ]  # fmt: skip
    for table in found.tables:
        cells = table.cells
        assert not cells.duplicated(["dataset", "method", "measure"]).any()
        assert ((cells["status"] == "ok") == cells["ours"].notna()).all()
        assert ((cells["status"] == "ok") == (cells["reason"] == "")).all()
        assert table.caption


def test_accuracies_stand_beside_published_figures_and_those_of_meka(found, stored):
    cells = cells_of(found, "accuracy")
    one = cells.loc[("music", "CC", "exact_match")]
    assert (one["published"], one["published_rank"], one["meka"], one["n"]) == (0.29, 9, 0.2973, 2)
    assert one["difference"] == pytest.approx(one["ours"] - 0.29)
    data = next(s["identity"]["data"] for s in stored if s["identity"]["method"] == "J_EM")  # run on music only
    values = [
        s["values"]["values"]["exact_match"]
        for s in stored
        if (s["identity"]["data"], s["identity"]["method"]) == (data, "CC")
        and "order=" not in s["identity"]["parameters"]  # in random order, the default
    ]
    assert (one["ours"], one["ours_std"]) == (pytest.approx(np.mean(values)), pytest.approx(np.std(values, ddof=1)))
    absent = cells.loc[("parkinsons", "IC", "exact_match")]
    assert (absent["status"], absent["comparable"], absent["published"]) == ("missing", False, 0.17)
    assert "not public" in absent["reason"]
    assert np.isnan(absent["difference"])
    assert cells.xs("Majority", level="method")["rank"].isna().all()
    assert cells.loc[("music", ["IC", "CC", "MCC"], "exact_match"), "rank"].min() == 1
    tests = found.statistics["exact_match"]
    assert tests["datasets"] == ["music", "bridges"]
    own = cells.xs("exact_match", level="measure")["rank"].dropna()
    assert tests["average_ranks"] == pytest.approx(own.groupby("method").mean().to_dict())


def test_times_and_losses_come_from_the_same_runs(found, stored):
    times = cells_of(found, "time")
    running, build = (times.xs(name, level="measure")["ours"].dropna() for name in ("running_time_s", "build_time_s"))
    assert (running > build).all()
    assert len(build) == 8
    official = cells_of(found, "official")
    (forest,) = [s for s in stored if s["identity"]["method"] == "RF-PCT"]
    loss = 1.0 - forest["values"]["values"]["hamming_score"]
    assert official.loc[("music", "RF-PCT", "hamming_loss"), "ours"] == pytest.approx(loss)
    links = {
        s["identity"]["method"]: s["identity"]["parameters"] for s in stored if "official" in s["identity"]["protocol"]
    }
    assert "logistic" in links["PCC-epsilon"]
    assert "logistic" not in links["MCC"]
    best = official.xs("hamming_loss", level="measure").query("rank == 1")
    assert best["ours"].max() == official.xs("hamming_loss", level="measure").query("rank > 0")["ours"].min()


def test_payoffs_and_the_order_of_the_file(found):
    row = cells_of(found, "payoffs").loc[("music", "none", "exact_match")]
    assert (row["published"], row["published_std"], row["n"]) == (0.3264, 0.022, 2)
    assert "T_s = 3 instead of 1500" in row["note"]
    assert cells_of(found, "natural_order").loc[("music", "PCC", "exact_match"), "meka"] == 0.3209


@pytest.mark.parametrize(("least_done", "n_done", "status"), [(1.0, 3, "missing"), (0.5, 3, "ok"), (0.5, 1, "missing")])
def test_a_mean_over_some_folds_counts_where_each_is_a_sample(least_done, n_done, status):
    found = _mean([0.25, 0.5, 0.75, 1.0][:n_done], [{"status": "ok"}] * n_done, 4, "", least_done)
    assert (found["status"], found["n"]) == (status, n_done)
    if status == "ok":
        assert (found["ours"], found["ours_std"]) == (0.5, 0.25)
    else:
        assert np.isnan(found["ours"])
        assert found["reason"] == f"{n_done} of 4 folds are done"
    failed = _mean([0.5], [{"status": "ok"}, {"status": "DNF", "reason": "too slow"}], 2, "", 0.5)
    assert (failed["status"], failed["reason"]) == ("DNF", "too slow")


def test_enumeration_and_branch_and_bound_agree_in_every_row(found):
    cells = cells_of(found, "agreement")
    for name in ("music", "bridges"):
        row = cells.loc[(name, PAIRS["enumeration"], "agreeing")]
        assert (row["ours"], row["n"], row["certified"]) == (1.0, 60, 1.0)
        assert cells.loc[(name, PAIRS["sampling"], "agreeing"), "ours"] > 0.9


def test_searches_climb_to_at_most_the_optimum(found):
    own = [trace for trace in found.traces if trace["figure"] == "music_orders"]
    assert {(t["payoff"], t["on"], t["number"]) for t in own} == set(
        itertools.product(("J_EM", "J_EM_prod", "J_Ham"), ("truth", "prediction"), (1, 2))
    )
    for trace in own:
        steps = trace["steps"]
        assert (steps[0]["iteration"], steps[-1]["iteration"]) == (0, 40)
        assert all(a["payoff"] <= b["payoff"] for a, b in itertools.pairwise(steps))
        assert steps[-1]["payoff"] <= trace["optimum"] + 1e-9
        assert steps[0]["order"] == ([5, 2, 4, 1, 0, 3] if trace["number"] == 1 else [4, 2, 0, 1, 3, 5])
    long = {(t["payoff"], t["number"]): t["steps"] for t in found.traces if t["figure"] == "payoff_traces"}
    for number in (1, 2):  # for one number, both payoffs are maximised from the same order
        one, other = long["J_EM", number][0], long["J_EM_prod", number][0]
        assert one["order"] == other["order"]
        assert one["J_EM_prod"] == pytest.approx(other["payoff"])
    cells = cells_of(found, "music_orders")
    row = cells.loc[("music", "3 5 0 1 4 2", "J_EM")]
    assert (row["published"], row["comparable"]) == (167.73, True)
    assert not cells.loc[(slice(None), slice(None), ["J_Ham", "J_EM on prediction"]), "comparable"].any()


def test_examples_hold_their_trees(found):
    assert {example["dataset"] for example in found.examples} == {"music", "bridges"}
    for example in found.examples:
        vector, proba = example["top"][0]
        path = [node for node in example["tree"] if node[2]]
        assert [len(prefix) for prefix, _, _ in path] == list(range(1, len(example["order"]) + 1))
        for label, code in zip(example["order"], path[-1][0], strict=True):
            assert example["classes"][label][code] == vector[label]
        assert path[-1][1] == pytest.approx(proba)
        assert example["certified"]


def test_findings_survive_json(found, tmp_path):
    found.write(tmp_path / "one.json")
    again = Findings.read(tmp_path / "one.json")
    again.write(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()
    for ours, theirs in zip(found.tables, again.tables, strict=True):
        pd.testing.assert_frame_equal(ours.cells, theirs.cells)


def test_nothing_finished_is_done_again(found, folder, monkeypatch):
    monkeypatch.setattr(jobs, "_run", None)  # whatever runs fails
    again, complete = reproduce(STUDIES, setting_for(folder), folder)
    assert complete
    assert again.examples == found.examples


def test_a_run_that_is_killed_in_a_search_resumes_and_finds_the_same(tmp_path):
    def start(folder: Path, seconds: float) -> Started:
        program = f"from tests.reproduction.stand_ins import run_killed\nrun_killed({str(folder)!r}, {seconds})"
        return Started(tmp_path, program=program)

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for least in (1, 20):
        process = start(killed, 0.05)
        process.wait_until(lambda n=least: any(last_step(file) >= n for file in killed.glob("unfinished/*.json")))
        process.kill()
        assert len(list(killed.glob("units/*.json"))) < 4
    assert all(start(folder, 0.0).wait() == 0 for folder in (killed, whole))
    one, other = units(killed), units(whole)
    assert len(one) == 2 + 2
    assert one == other
    findings, _ = reproduce(KILLED, setting_for(killed), killed)
    assert [trace["steps"][-1]["iteration"] for trace in findings.traces] == [60, 60]


def last_step(file: Path) -> int:
    return json.loads(file.read_text())["steps"][-1]["iteration"]


def test_studies_are_chosen_by_name_and_data_must_be_somewhere(tmp_path):
    assert [study.name for study in QUICK] == [study.name for study in FULL]
    assert [study.name for study in choose_studies(["official", "examples"])] == ["examples", "official"]
    with pytest.raises(ValueError, match=r"study 'offical' is not known. Choose from examples, accuracy"):
        choose_studies(["offical"])
    with pytest.raises(DataError, match=r"none of the data sets is available .*--data"):
        reproduce(QUICK, Setting(tmp_path), tmp_path)


@pytest.mark.parametrize("n_classes", [(2, 3, 2), (4,), (2,) * 7, (3, 3, 3, 3)])
@pytest.mark.parametrize("seed", range(5))
def test_the_tree_leads_to_the_most_probable_vector(n_classes, seed):
    chain, x = random_table_chain(np.random.default_rng(seed), n_classes, n_rows=1)
    vectors, log_proba = log_proba_table(chain, x)
    joint = dict(zip(map(tuple, vectors.tolist()), np.exp(log_proba[0]).tolist(), strict=True))
    best = max(joint, key=joint.__getitem__)
    tree = explored_tree(chain, x)
    nodes = {tuple(prefix): proba for prefix, proba, _ in tree}
    assert [tuple(prefix) for prefix, _, on_path in tree if on_path] == [best[: k + 1] for k in range(len(best))]
    assert len(nodes) == len(tree) <= MAX_NODES + sum(n_classes) + max(n_classes)
    for prefix, proba in nodes.items():
        assert proba == pytest.approx(sum(p for vector, p in joint.items() if vector[: len(prefix)] == prefix))
        assert len(prefix) == 1 or prefix[:-1] in nodes
        children = [child for child in nodes if child[:-1] == prefix]
        assert len(children) in (0, 0 if len(prefix) == len(n_classes) else n_classes[len(prefix)])
        if not children and len(prefix) < len(n_classes) and len(tree) < MAX_NODES:
            assert proba <= joint[best] + 1e-12  # pruned
