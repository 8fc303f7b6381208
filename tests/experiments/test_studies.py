"""The studies, on small data sets that stand for the real ones."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from montechain.chain import ChainBase
from montechain.errors import DataError
from montechain.experiments import Limits, ResultStore
from montechain.experiments.measures import Task
from montechain.experiments.reproduction import CELL_COLUMNS, CURVE_COLUMNS, Reproduction
from montechain.experiments.studies import (
    FULL,
    QUICK,
    Study,
    StudyStore,
    agreement,
    choose_studies,
    evaluations,
    examples,
    gather,
    traces,
    work,
)
from montechain.experiments.studies.evaluations import Beside, cells_beside
from montechain.experiments.studies.payoff_traces import PayoffTraces
from montechain.experiments.studies.processes import work_in_processes
from montechain.experiments.studies.running import all_pieces
from montechain.experiments.studies.significance import significance
from montechain.experiments.studies.store import Step
from montechain.experiments.studies.traces import OrderTrace, trace_jobs, traces_of
from montechain.experiments.studies.units import work_off
from tests.experiments import stand_ins
from tests.experiments.kills import Kill, progress
from tests.experiments.stand_ins import STUDIES, SUSPENDED, contents, setting_for

pytestmark = pytest.mark.filterwarnings("ignore:`keep=")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return the setting of studies that were done, and the progress that they told of."""
    setting = setting_for(tmp_path_factory.mktemp("studies") / "results.sqlite")
    told: dict[int, list[int]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work(STUDIES, setting, on_done=lambda piece, n_steps: told.setdefault(piece, []).append(n_steps))
    return setting, told


@pytest.fixture(scope="module")
def found(done) -> Reproduction:
    return gather(STUDIES, done[0], {"seed": 0})


def cells_of(found: Reproduction, key: str) -> pd.DataFrame:
    return next(table.cells for table in found.comparisons if table.key == key)


# -- what is found ----------------------------------------------------------------------------


def test_every_table_has_cells_of_one_shape(found):
    assert [table.key for table in found.comparisons] == [
        "music_orders", "payoffs", "natural_order", "accuracy", "time", "official", "agreement",
    ]  # fmt: skip
    for table in found.comparisons:
        assert list(table.cells.columns[: len(CELL_COLUMNS)]) == list(CELL_COLUMNS)
        assert not table.cells.duplicated(["dataset", "method", "measure"]).any()
        assert set(table.cells["status"]) <= {"ok", "DNF", "missing"}
        ok = table.cells["status"] == "ok"
        assert table.cells.loc[ok, "ours"].notna().all()
        assert table.cells.loc[~ok, "ours"].isna().all()
        assert (table.cells.loc[~ok, "reason"] != "").all()
        assert table.title
        assert table.caption


def test_accuracies_stand_beside_published_figures_and_those_of_meka(found, done):
    cells = cells_of(found, "accuracy").set_index(["dataset", "method", "measure"])
    one = cells.loc[("music", "CC", "exact_match")]
    assert (one["published"], one["published_rank"], one["meka"], one["n"]) == (0.29, 9, 0.2973, 2)
    assert one["difference"] == pytest.approx(one["ours"] - 0.29)
    stored = ResultStore(done[0].path).to_frame()
    own = stored[(stored["dataset"] == "music") & (stored["measure"] == "exact_match") & (stored["method"] == "CC")]
    five = own[own["protocol"].str.contains("LabelStratified") & own["parameters"].str.contains('"order": "random"')]
    assert one["ours"] == pytest.approx(five["value"].mean())
    assert one["ours_std"] == pytest.approx(five["value"].std())
    absent = cells.loc[("parkinsons", "IC", "exact_match")]
    assert (absent["status"], absent["comparable"], absent["published"]) == ("missing", False, 0.17)
    assert "not public" in absent["reason"]
    assert np.isnan(absent["difference"])
    assert cells.loc[("music", "Majority", "exact_match"), "status"] == "ok"
    assert cells.xs("Majority", level="method")["rank"].isna().all()
    ranks = cells.loc[("music", ["IC", "CC", "MCC"], "exact_match"), "rank"]
    assert ranks.min() == 1


def test_times_come_from_the_same_runs(found, done):
    cells = cells_of(found, "time").set_index(["dataset", "method", "measure"])
    running = cells.xs("running_time_s", level="measure")["ours"].dropna()
    build = cells.xs("build_time_s", level="measure")["ours"].dropna()
    assert (running > build).all()
    assert (cells.loc[cells["ours"].notna(), "ours_cpu"] > 0).all()
    assert len(build) == 8
    stored = ResultStore(done[0].path).to_frame()
    fits = stored[(stored["method"] == "IC") & (stored["measure"] == "fit_seconds") & (stored["dataset"] == "bridges")]
    assert len(fits) == 2
    assert cells.loc[("bridges", "IC", "build_time_s"), "ours"] == pytest.approx(fits["value"].mean())


def test_official_splits_are_losses(found, done):
    cells = cells_of(found, "official").set_index(["method", "measure"])
    assert set(cells.index.get_level_values("method")) == {
        "PCC-epsilon", "PCC-Beam", "RF-PCT", "MCC", "MsCC", "PtMsCC", "Majority",
    }  # fmt: skip
    stored = ResultStore(done[0].path).to_frame()
    own = stored[(stored["method"] == "RF-PCT") & (stored["measure"] == "hamming_score")]
    assert cells.loc[("RF-PCT", "hamming_loss"), "ours"] == pytest.approx(1.0 - own["value"].iloc[0])
    ranked = cells.xs("hamming_loss", level="measure").drop("Majority")
    assert ranked.loc[ranked["rank"] == 1, "ours"].max() == ranked["ours"].min()
    links = stored[stored["method"].isin(["PCC-epsilon", "MCC"]) & stored["protocol"].str.contains("Official")]
    assert {m: "logistic" in p for m, p in zip(links["method"], links["parameters"], strict=True)} == {
        "PCC-epsilon": True, "MCC": False,
    }  # fmt: skip


def test_payoffs_are_compared_with_a_random_order(found):
    cells = cells_of(found, "payoffs")
    assert set(cells["method"]) == {"J_EM", "J_EM_prod", "J_Ham", "none", "Majority"}
    row = cells[(cells["method"] == "none") & (cells["measure"] == "exact_match")].iloc[0]
    assert (row["published"], row["published_std"], row["n"]) == (0.3264, 0.022, 2)
    assert "T_s = 3 in place of 1500" in row["note"]


@pytest.mark.parametrize(("least_done", "n_done", "status"), [(1.0, 3, "missing"), (0.5, 3, "ok"), (0.5, 1, "missing")])
def test_a_mean_over_some_folds_is_one_where_each_is_a_sample(least_done, n_done, status):
    values = np.array([0.25, 0.5, 0.75, 1.0])
    values[n_done:] = np.nan
    own = pd.DataFrame({"fold": range(n_done), "status": "ok", "reason": ""})
    found = evaluations._mean(values, own, 4, "", least_done)
    assert (found["status"], found["n"]) == (status, n_done)
    if status == "ok":
        assert found["mean"] == 0.5
        assert found["std"] == 0.25
    else:
        assert np.isnan(found["mean"])
        assert found["reason"] == f"{n_done} of 4 are done"


def test_the_order_of_the_file_is_held_against_meka(found):
    cells = cells_of(found, "natural_order").set_index(["method", "measure"])
    row = cells.loc[("PCC", "exact_match")]
    assert row["meka"] == 0.3209
    assert row["meka_difference"] == pytest.approx(row["ours"] - 0.3209)


def test_enumeration_and_branch_and_bound_agree_in_every_row(found):
    cells = cells_of(found, "agreement").set_index(["dataset", "method"])
    for name, n_rows in (("music", 60), ("bridges", 60)):
        row = cells.loc[(name, agreement.PAIRS["enumeration"])]
        assert (row["ours"], row["rows"], row["agreeing"], row["certified_rows"]) == (1.0, n_rows, n_rows, n_rows)
        assert cells.loc[(name, agreement.PAIRS["sampling"]), "ours"] > 0.9


def test_searches_climb_to_at_most_the_optimum(found):
    own = [trace for trace in found.traces if trace.figure == "music_orders"]
    assert {(t.payoff, t.on, t.seed) for t in own} == {
        (p, on, s) for p in ("J_EM", "J_EM_prod", "J_Ham") for on in ("truth", "prediction") for s in (1, 2)
    }
    for trace in own:
        curve = trace.curve
        assert list(curve.columns[:4]) == list(CURVE_COLUMNS)
        assert curve["iteration"].iloc[[0, -1]].tolist() == [0, 40]
        assert (curve["payoff"].diff().dropna() >= 0).all()
        assert curve["payoff"].iloc[-1] <= trace.optimum + 1e-9
        assert curve["order"].iloc[0] == ("5 2 4 1 0 3" if trace.seed == 1 else "4 2 0 1 3 5")
    long = [trace for trace in found.traces if trace.figure == "payoff_traces"]
    assert len(long) == 4
    for seed in (1, 2):  # of one seed, both payoffs are maximised from the same order
        starts = {trace.curve["order"].iloc[0] for trace in long if trace.seed == seed}
        assert len(starts) == 1
    by = {(trace.payoff, trace.seed): trace.curve for trace in long}
    assert by["J_EM", 1]["J_EM_prod"].iloc[0] == pytest.approx(by["J_EM_prod", 1]["payoff"].iloc[0])


def test_all_orders_of_the_paper_have_our_payoffs(found):
    cells = cells_of(found, "music_orders")
    assert set(cells["measure"]) == {
        *("J_EM", "J_EM_prod", "J_Ham"), *(f"{p} on prediction" for p in ("J_EM", "J_EM_prod", "J_Ham")),
    }  # fmt: skip
    row = cells[(cells["measure"] == "J_EM") & (cells["method"] == "3 5 0 1 4 2")].iloc[0]
    assert row["published"] in (167.73, 167.72)
    assert row["comparable"]
    assert not cells.loc[cells["measure"].isin(["J_Ham", "J_EM on prediction"]), "comparable"].any()


def test_statistics_are_those_of_the_paper_and_of_today(found):
    tests = found.statistics["exact_match"]
    assert tests["datasets"] == ["music", "bridges"]
    assert tests["methods"] == ["IC", "CC", "MCC"]
    cells = cells_of(found, "accuracy")
    own = cells[(cells["measure"] == "exact_match") & cells["rank"].notna()]
    assert tests["average_ranks"] == pytest.approx(own.groupby("method")["rank"].mean().to_dict())
    assert len(tests["wilcoxon_holm"]) == len(tests["bayesian"]) == 3
    assert tests["published_average_ranks"]["PMsCC"] == 2.73
    assert ["PMsCC", "CDN"] in tests["published_pairs"]


def test_statistics_of_too_few_data_sets_are_left_out():
    scores = pd.DataFrame([[0.5, 0.4], [np.nan, np.nan]], columns=["CC", "IC"], index=["music", "yeast"])
    tests = significance(scores, "exact_match")
    assert tests["average_ranks"] == {"CC": 1.0, "IC": 2.0}
    assert tests["friedman"] is None
    assert tests["nemenyi"] is None
    assert tests["bayesian"] == []
    assert significance(scores.iloc[1:], "exact_match")["average_ranks"] == {}


def test_a_method_that_did_not_finish_has_no_rank_and_the_others_are_ranked_without_it():
    scores = pd.DataFrame(
        {"CC": [0.5, 0.5, 0.4], "IC": [0.4, 0.5, 0.3], "PCC": [0.6, np.nan, 0.5]}, index=["a", "b", "c"]
    )
    tests = significance(scores, "exact_match")
    assert tests["average_ranks"] == {"CC": pytest.approx(5 / 3), "IC": pytest.approx(7 / 3), "PCC": 1.0}
    assert tests["friedman"]["datasets"] == ["a", "c"]


def test_examples_hold_their_trees(found):
    assert {example.dataset for example in found.examples} == {"music", "bridges"}
    for example in found.examples:
        assert len(example.label_names) == len(example.order) == len(example.classes) == len(example.truth)
        labels, proba = example.top[0]
        assert example.certified
        path = [node for node in example.tree if node["best"]]
        assert [len(node["prefix"]) for node in path] == list(range(1, len(example.order) + 1))
        codes = path[-1]["prefix"]
        assert [example.classes[label][code] for label, code in zip(example.order, codes, strict=True)] == [
            labels[label] for label in example.order
        ]
        assert path[-1]["probability"] == pytest.approx(proba)
        assert [p for _, p in example.top] == sorted((p for _, p in example.top), reverse=True)


def test_findings_survive_json(found):
    again = Reproduction.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    for ours, theirs in zip(found.comparisons, again.comparisons, strict=True):
        pd.testing.assert_frame_equal(ours.cells, theirs.cells, check_dtype=False)
        assert dict(ours.cells.dtypes[list(CELL_COLUMNS)]) == dict(theirs.cells.dtypes[list(CELL_COLUMNS)])
    for ours, theirs in zip(found.traces, again.traces, strict=True):
        pd.testing.assert_frame_equal(ours.curve, theirs.curve, check_dtype=False)
    assert again.examples == found.examples


# -- how it is done ---------------------------------------------------------------------------


def test_progress_counts_every_step(done):
    setting, told = done
    for number, piece in enumerate(all_pieces(STUDIES, setting)):
        assert told[number] == list(range(1, piece.n_steps + 1))


def test_nothing_finished_is_done_again(done, monkeypatch):
    setting, _ = done

    def refuse(self):
        raise AssertionError("this was done before")

    for kind in (Task, traces.SearchWork, traces.ExhaustiveWork, agreement.AgreementWork, examples.ExampleWork):
        monkeypatch.setattr(kind, "run", refuse)
    before = contents(setting.path)
    work(STUDIES, setting, backwards=True)
    assert contents(setting.path) == before


def test_gathering_computes_nothing(tmp_path):
    setting = setting_for(tmp_path / "results.sqlite")
    empty = gather(STUDIES, setting)
    assert len(StudyStore(setting.path)) == 0
    assert not empty.traces
    assert not empty.examples
    for table in empty.comparisons:
        assert set(table.cells["status"]) == {"missing"}
    assert cells_of(empty, "accuracy")["reason"].str.contains("0 of 2 are done|not public").all()
    Reproduction.from_json(empty.to_json())


def run_program(*arguments: object) -> str:
    program = Path(stand_ins.__file__)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, program, *map(str, arguments)]
    return subprocess.run(command, check=True, env=environment, timeout=600, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="module")
def undisturbed_store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("undisturbed") / "results.sqlite"
    run_program("share", path, 1)
    return path


@pytest.fixture(scope="module")
def undisturbed(undisturbed_store) -> dict[str, list]:
    found = contents(undisturbed_store)
    assert len(found["trace_steps"]) == stand_ins.N_SUSPENDED_STEPS
    assert not found["claims"]
    return found


@pytest.mark.slow
def test_runs_killed_while_they_work_leave_what_an_undisturbed_one_leaves(tmp_path, undisturbed_store, undisturbed):
    told = run_program("kill", tmp_path / "results.sqlite", 20, 5, undisturbed_store)
    assert contents(tmp_path / "results.sqlite") == undisturbed
    kills = [Kill.from_json(kill) for kill in json.loads(told)]
    assert len(kills) == 20
    whole = progress(undisturbed_store)
    assert all(kill.found.units + kill.found.steps < kill.left.units + kill.left.steps for kill in kills[1:])
    assert all(kill.left.units < whole.units for kill in kills)
    # There were kills in the midst of searches, among other work, and in the midst of writes.
    assert sum(kill.left.open_searches > 0 for kill in kills) >= 8
    assert sum(kill.left.units > kill.found.units for kill in kills) >= 3
    assert sum(kill.in_write for kill in kills) >= 3


@pytest.mark.slow
def test_processes_that_share_a_store_share_the_work(tmp_path, undisturbed):
    run_program("share", tmp_path / "results.sqlite", 3)
    assert contents(tmp_path / "results.sqlite") == undisturbed


@pytest.mark.slow
def test_processes_of_ours_do_the_same(tmp_path, undisturbed):
    setting, told = setting_for(tmp_path / "results.sqlite"), []
    work_in_processes(SUSPENDED, setting, n_jobs=2, on_progress=told.append)
    found = contents(setting.path)
    assert {name: found[name] for name in ("results", "trace_steps", "documents")} == {
        name: undisturbed[name] for name in ("results", "trace_steps", "documents")
    }
    assert told == sorted(told)
    assert told[-1] == sum(piece.n_steps for piece in all_pieces(SUSPENDED, setting))


class Unusable(Study):
    """Its data cannot be used."""

    name = "unusable"

    def pieces(self, setting):
        from montechain.experiments.studies import Piece

        def do(on_done):
            raise DataError("the file is damaged.", path="music.arff")

        return [Piece("unusable", 1, do)]

    def collect(self, setting):
        raise NotImplementedError


@pytest.mark.slow
def test_a_failure_in_a_process_is_a_failure_here(tmp_path):
    with pytest.raises(DataError, match="damaged"):
        work_in_processes([Unusable()], setting_for(tmp_path / "results.sqlite"), n_jobs=1)


def whole_and_interrupted(study: Study, folder: Path, monkeypatch) -> tuple[dict[str, list], dict[str, list]]:
    """Return the contents of the stores of two runs, of which one was interrupted every few steps."""
    whole = setting_for(folder / "whole.sqlite")
    work([study], whole)
    broken = setting_for(folder / "broken.sqlite")
    n_steps = 0

    def interrupted(*arguments, **options):
        nonlocal n_steps
        for step in plain(*arguments, **options):
            n_steps += 1
            if n_steps % 11 == 0:
                raise KeyboardInterrupt
            yield step

    plain = traces.search
    monkeypatch.setattr(traces, "search", interrupted)
    monkeypatch.setattr(traces, "CHECKPOINT_STEPS", 4)
    for _ in range(20):
        # The next one is another process, which shares nothing with the one before.
        monkeypatch.setattr(traces, "_SHARED", {})
        try:
            work([study], broken)
            break
        except KeyboardInterrupt:
            continue
    else:
        pytest.fail("it never ends")
    assert n_steps > 66  # it was interrupted, and what was not written down was done again
    return contents(whole.path), contents(broken.path)


@pytest.mark.parametrize(
    "study",
    [
        PayoffTraces(datasets=("music",), n_iterations=30, numbers=(1,)),
        PayoffTraces(datasets=("music",), n_iterations=30, numbers=(1,), estimator="svm"),
        PayoffTraces(datasets=("yeast",), n_iterations=30, numbers=(1,), estimator="svm"),
    ],
    ids=["few labels", "few labels, svm", "many labels, svm"],
)
def test_a_search_goes_on_where_it_was_written_down(tmp_path, monkeypatch, study):
    whole, broken = whole_and_interrupted(study, tmp_path, monkeypatch)
    assert len(whole["trace_steps"]) == 2 * 31
    assert broken == whole


def test_a_search_with_warm_starts_goes_on_where_it_was_written_down_but_for_the_accuracy(tmp_path, monkeypatch):
    study = PayoffTraces(datasets=("yeast",), n_iterations=30, numbers=(1,))
    whole, broken = whole_and_interrupted(study, tmp_path, monkeypatch)
    steps, again = whole.pop("trace_steps"), broken.pop("trace_steps")
    assert broken == whole  # among it, where each search ended and its random numbers there
    by_search: dict[str, list] = {}
    for one, other in zip(sorted(steps), sorted(again), strict=True):
        assert one[:2] == other[:2]
        by_search.setdefault(one[0], []).append((one[2:], other[2:]))
    assert [len(pairs) for pairs in by_search.values()] == [31, 31]
    n_same = 0
    for pairs in by_search.values():
        # Of payoffs that differ by less than their accuracy either may count as greater: from there on, orders differ.
        for one, other in itertools.takewhile(lambda pair: pair[0][0] == pair[1][0], pairs):
            _, payoff, candidate, accepted, others = other
            assert accepted == one[3]
            assert [payoff, candidate] == pytest.approx(one[1:3], rel=3 * traces.ACCURACY, abs=0.0)
            assert json.loads(others) == pytest.approx(json.loads(one[4]), rel=3 * traces.ACCURACY, abs=0.0)
            n_same += 1
    assert n_same > 31


@pytest.mark.slow
def test_a_search_that_exceeds_its_time_keeps_its_steps_and_goes_on_with_more_of_it(tmp_path):
    trace = OrderTrace("yeast", "J_EM", "prediction", 1, 1_000_000, record=("J_EM_prod",))
    steps = []
    for seconds in (8.0, 16.0):
        limits = Limits(seconds=seconds)
        setting = setting_for(tmp_path / "results.sqlite", limits=limits)
        work_off(setting.store, trace_jobs(setting, [trace]), limits, lambda n_done: None)
        assert setting.store.reason(trace.unit(setting)) == "time"
        steps.append(len(setting.store.curve(trace.unit(setting))))
        shown = traces_of(setting, [trace], "payoff_traces", lambda trace: None)
        assert shown[0].curve["iteration"].iloc[-1] == steps[-1] - 1
    assert 0 < steps[0] < steps[1]


def test_a_step_and_the_state_after_it_are_written_together(tmp_path):
    setting = setting_for(tmp_path / "results.sqlite")
    unit = OrderTrace("music", "J_EM", "truth", 1, 5).unit(setting)
    store = setting.store
    assert store.checkpoint(unit) is None
    assert store.curve(unit).empty
    store.write_steps(unit, [Step(0, (1, 0), 0.5, 0.5, True, {}), Step(1, (1, 0), 0.5, 0.25, False, {})], {"a": 1})
    store.write_steps(unit, [Step(2, (0, 1), 0.75, 0.75, True, {})], {"a": 2})
    assert store.checkpoint(unit).step == Step(2, (0, 1), 0.75, 0.75, True, {})
    assert store.checkpoint(unit).rng == {"a": 2}
    assert store.curve(unit)["candidate"].tolist() == [0.5, 0.25, 0.75]


def test_studies_are_chosen_by_name():
    assert [study.name for study in FULL] == [study.name for study in QUICK]
    assert choose_studies(["agreement"], quick=True) == (QUICK[-2],)
    assert choose_studies() == FULL
    with pytest.raises(ValueError, match="did you mean 'official'"):
        choose_studies(["oficial"])


# -- parts ------------------------------------------------------------------------------------


class Table(ChainBase):
    """Conditional probabilities from a dict."""

    def __init__(self, n_classes, seed):
        self.n_classes = n_classes
        self.parents = tuple(tuple(range(k)) for k in range(len(n_classes)))
        rng = np.random.default_rng(seed)
        self.table = {
            prefix: np.log(rng.dirichlet(np.full(n_classes[k], 0.7)))
            for k in range(len(n_classes))
            for prefix in itertools.product(*map(range, n_classes[:k]))
        }

    def conditional(self, X, prefix):
        return np.array([self.table[tuple(row)] for row in prefix.tolist()])


@pytest.mark.parametrize("n_classes", [(2, 3, 2), (4,), (2,) * 7, (3, 3, 3, 3)])
@pytest.mark.parametrize("seed", range(5))
def test_the_tree_leads_to_the_most_probable_vector(n_classes, seed):
    chain = Table(n_classes, seed)
    vectors = list(itertools.product(*map(range, n_classes)))
    joint = {
        vector: float(np.exp(sum(chain.table[vector[:k]][code] for k, code in enumerate(vector)))) for vector in vectors
    }
    best = max(joint, key=joint.__getitem__)
    tree = examples.explored_tree(chain, None)
    nodes = {tuple(node["prefix"]): node for node in tree}
    assert [tuple(node["prefix"]) for node in tree if node["best"]] == [best[: k + 1] for k in range(len(best))]
    assert len(nodes) == len(tree) <= examples.MAX_NODES + sum(n_classes) + max(n_classes)
    for prefix, node in nodes.items():
        mass = sum(p for vector, p in joint.items() if vector[: len(prefix)] == prefix)
        assert node["probability"] == pytest.approx(mass)
        assert len(prefix) == 1 or prefix[:-1] in nodes
        children = [child for child in nodes if child[:-1] == prefix]
        assert len(children) in (0, 0 if len(prefix) == len(n_classes) else n_classes[len(prefix)])
        if not children and len(prefix) < len(n_classes) and len(tree) < examples.MAX_NODES:
            assert node["probability"] <= joint[best] + 1e-12  # pruned


def test_published_figures_that_do_not_compare_have_no_difference():
    results = pd.DataFrame(
        [
            {"dataset": "enron", "method": m, "measure": "hamming_loss", "mean": v, "std": np.nan, "n": 1} | status
            for m, v, status in [
                ("MsCC", 0.05, {"status": "ok", "reason": ""}),
                ("MCC", 0.05, {"status": "ok", "reason": ""}),
                ("RF-PCT", 0.04, {"status": "ok", "reason": ""}),
                ("PtMsCC", np.nan, {"status": "DNF", "reason": "exceeded the time limit of 5 s"}),
                ("Majority", 0.01, {"status": "ok", "reason": ""}),
            ]
        ]
    )
    published = {("enron", "MsCC", "hamming_loss"): Beside(0.58), ("enron", "MCC", "hamming_loss"): Beside(0.053)}
    cells = cells_beside(results, "official_split", published).set_index("method")
    assert cells["rank"].tolist()[:3] == [2, 2, 1]
    assert cells["rank"].isna().tolist()[3:] == [True, True]
    assert np.isnan(cells.loc["MsCC", "difference"])
    assert "0.058" in cells.loc["MsCC", "note"]
    assert cells.loc["MCC", "difference"] == pytest.approx(-0.003)
    assert cells.loc["PtMsCC", "reason"] == "exceeded the time limit of 5 s"
