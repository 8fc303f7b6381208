"""The benchmarks on tiny data: that they measure what they say. No test looks at how long anything takes."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks import fit, growth, libraries, limits, peers, predict, predict_proba, second_core, timing
from benchmarks.__main__ import Group, main, update_document
from benchmarks.generated import make_rare_labels
from benchmarks.reference import Enumerated
from benchmarks.report import Measurement, details, fill, quantity, summary
from montechain import BranchAndBound, MonteCarlo
from tests.real_data import Split


@pytest.fixture
def tiny(monkeypatch):
    """Return the name of a data set of 150 + 40 rows and four labels, the last of which never varies in training."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(190, 5))
    Y = np.zeros((190, 4), dtype=np.int32)
    for k in range(3):
        Y[:, k] = X @ rng.normal(size=5) + Y[:, :k].sum(axis=1) + rng.logistic(size=190) > 0.5
    split = Split(X[:150], Y[:150], X[150:], Y[150:])
    monkeypatch.setattr(peers, "load_split", {"tiny": split}.__getitem__)
    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.0)
    caches = [peers.trainable_split, peers.solver_seconds, peers.best_solver, peers.fitted_peer]
    yield "tiny"
    for cached in caches:
        cached.cache_clear()


def test_generated_labels_are_as_rare_and_inputs_as_sparse_as_asked():
    even = make_rare_labels(20_000, 10, 8, 3, cardinality=2).Y
    uneven = make_rare_labels(20_000, 10, 8, 3, cardinality=2, tail=1).Y
    for Y in (even, uneven):
        assert (Y > 0).sum(axis=1).mean() == pytest.approx(2, abs=0.08)
        np.testing.assert_allclose((Y == 1).mean(axis=0), (Y == 2).mean(axis=0), atol=0.03)
    np.testing.assert_allclose((even > 0).mean(axis=0), 0.25, atol=0.03)
    shares = np.sort((uneven > 0).mean(axis=0))
    assert shares[-1] > 5 * shares[0]
    X, Y, truth = make_rare_labels(2_000, 30, 5, density=0.2)
    assert set(np.unique(X.toarray())) == {0.0, 1.0}
    assert X.mean() == pytest.approx(0.2, abs=0.01)
    np.testing.assert_allclose(Y.mean(axis=0), 0.5, atol=0.05)
    np.testing.assert_allclose(truth.log_joint(X, Y), truth.log_joint(X.toarray(), Y))


def test_ratio_and_target_of_a_row():
    row = Measurement("fit", "some", ours=0.002, peer=0.02, against="peer", target=5.0)
    assert row.ratio == pytest.approx(10.0)
    at_most = replace(row, ours=0.05, target=3.0, at_least=False)
    assert at_most.ratio == pytest.approx(2.5)
    alone = Measurement("import", "some", ours=0.2, target=0.3, at_least=False)
    nothing = Measurement("compiled", "some", ours=0, target=0.0, at_least=False, unit="functions")
    for reached, rows in {
        True: [row, at_most, alone, nothing],
        False: [replace(row, target=20.0), replace(row, correct=False), replace(row, target=None, correct=False)],
        None: [replace(row, target=None)],
    }.items():
        assert [one.reached for one in rows] == [reached] * len(rows)
    assert replace(at_most, target=2.0).reached is replace(alone, ours=0.4).reached is False
    assert (alone.wanted, nothing.wanted) == ("≤ 300 ms", "≤ 0 functions")
    whole = replace(row, note="checked", more={"bytes": "1 MB"})
    assert Measurement.from_dict(json.loads(json.dumps(whole.as_dict()))) == whole  # read back as it was


def test_quantities_have_three_digits_and_a_unit():
    for value, unit, text in (
        (12.345, "s", "12.3 s"), (1234.5, "s", "1,234 s"), (0.0123, "s", "12.3 ms"), (2e-8, "s", "0.02 µs"),
        (8e8, "MB", "800 MB"), (0, "functions", "0 functions"), (71, "links", "71 links"),
    ):  # fmt: skip
        assert quantity(value, unit) == text


def test_tables_have_only_filled_columns_of_the_same_width():
    rows = [
        Measurement("fit", "one", 1.0, 6.0, "peer", 5.0),
        Measurement("fit", "another", 2.0, 6.0, "peer", 5.0),
        Measurement("start", "x", 0.1, target=0.3, at_least=False, more={"where": "import"}),
    ]
    lines = details(rows).splitlines()
    assert [cell.strip() for cell in lines[0].strip("|").split("|")] == [
        "what", "data", "threads", "peer", "peer's", "ours", "ratio", "target", "reached", "where",
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1
    assert "| NO " in lines[3]
    brief = summary(rows).splitlines()
    assert len(brief) == 4
    cells = [cell.strip() for cell in brief[2].strip("|").split("|")]
    assert cells == ["fit", "one, another", "≥ 5 ×", "3 ×", "6 ×", "1/2", "another"]


def test_sections_of_a_document_are_replaced(tmp_path):
    document = tmp_path / "document.md"
    document.write_text("a\n<!-- fit -->\nold\n<!-- /fit -->\nb\n<!-- other -->\nkept\n<!-- /other -->\n")
    fill(document, {"fit": "new", "absent": "nowhere"})
    assert document.read_text() == "a\n<!-- fit -->\nnew\n<!-- /fit -->\nb\n<!-- other -->\nkept\n<!-- /other -->\n"


def test_work_is_interleaved_after_a_first_call(monkeypatch):
    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(timing, "TURN_SECONDS", 0.0)
    calls = []
    timing.interleaved(lambda: calls.append("peer"), lambda: calls.append("ours"), 3)
    # Once to warm up, once to see how many runs a turn takes, then in turn.
    assert calls == ["ours", "peer", "peer", "ours", *["peer", "ours"] * 3]


def test_exit_code_and_files_follow_the_targets(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MONTECHAIN_DATA", str(tmp_path))

    def rows_with(target):
        def measure(n_runs):
            return [replace(row, target=target) for row in fit.measure(n_runs, [tiny])]

        return {"tiny": Group(measure)}

    arguments = ["tiny", "--runs", "1", "--output", str(tmp_path / "results")]
    assert main(arguments, rows_with(0.0)) == 0
    printed = capsys.readouterr().out
    assert (tmp_path / "results" / "table.md").read_text() == printed
    saved = json.loads((tmp_path / "results" / "tiny.json").read_text())
    assert [row["reached"] for row in saved["rows"]] == [True] * 3
    assert "numpy" in saved["setting"]
    groups = rows_with(1e12)
    assert main(arguments, groups) == 1

    document = tmp_path / "document.md"
    document.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("summary", "tiny", "setting")))
    update_document(document, tmp_path / "results", groups)
    text = document.read_text()
    assert "| fit one chain " in text
    assert "numpy" in text
    assert "| NO " in text


def test_fit_and_predict_are_checked(tiny):
    chain, other, independent = fit.measure(1, [tiny])
    assert (chain.target, independent.target) == (5.0, None)
    assert peers.best_solver(tiny) in chain.against
    assert "liblinear" in other.against
    exact, sampled = predict.measure(1, [tiny])
    assert "100.0% certified" in exact.note
    (latency,) = predict.measure_latency(1, [tiny])
    (marginals,) = predict_proba.measure(1, [tiny])
    assert "on 40 rows" in marginals.note
    assert all(row.correct for row in (chain, exact, sampled, latency, marginals))


def test_an_objective_that_is_higher_is_noticed(tiny, monkeypatch):
    higher = iter([1.0, 1.1])
    monkeypatch.setattr(fit, "objective", lambda chain, X, Y: next(higher))
    assert next(iter(fit.measure(1, [tiny]))).reached is False


def test_a_plain_chain_as_peer_and_one_that_is_missing(tiny):
    for strategy in (BranchAndBound(), MonteCarlo(n_samples=100)):
        row = libraries._compare("predict", tiny, "naive", libraries._naive, 10, strategy, 1)
        assert row.correct
    wrong = libraries._compare(
        "predict", tiny, "wrong", lambda name: lambda X: 1 - libraries._naive(name)(X), 10, BranchAndBound(), 1
    )
    assert not wrong.correct

    def missing(name):
        raise ImportError("no such module")

    row = libraries._compare("predict", tiny, "peer", missing, 10, BranchAndBound(), 1, target=1000.0)
    assert (row.peer, row.reached) == (None, None)
    assert "no such module" in row.note


def test_enumeration_agrees_with_the_joint_of_the_chain(tiny):
    split = peers.trainable_split(tiny)
    chain = peers.same_links(peers.fitted_peer(tiny))
    vectors = np.array(list(product([0, 1], repeat=3)), dtype=np.int32)
    log_joint = np.column_stack([chain.log_joint(split.X_test, np.tile(v, (40, 1))) for v in vectors])
    np.testing.assert_allclose(np.exp(log_joint).sum(axis=1), 1.0)
    everything = Enumerated(chain)
    np.testing.assert_array_equal(everything.most_probable(split.X_test), vectors[log_joint.argmax(axis=1)])
    np.testing.assert_allclose(everything.marginals(split.X_test), np.exp(log_joint) @ vectors)


def test_two_threads_give_the_same_bits(tiny, monkeypatch):
    monkeypatch.setattr(second_core, "LEAST_ROWS", 100)
    rows = list(second_core.measure(1, [tiny], [tiny]))
    assert [row.correct for row in rows] == [True] * 3
    assert {row.threads for row in rows} == {2}
    one, other = peers.same_links(peers.fitted_peer(tiny)), peers.same_links(peers.fitted_peer(tiny))
    assert second_core._same_links(one, other)
    other.links[1].parent_effects[0][1] += 1e-15
    assert not second_core._same_links(one, other)


def test_limits_count_the_work_of_the_iterations(tiny, monkeypatch):
    monkeypatch.setattr(limits, "machine", lambda precision=float: limits.Rates(1e9, 1e9, 1e9))
    rows = list(limits.measure(1, [tiny]))
    assert [row.what for row in rows[-2:]] == ["fit", "exact predict"]
    assert "iterations a link, float64" in rows[-2].note
    assert "%" in rows[-2].more["where the time goes"]
    X, Y = np.zeros((10, 4)), np.zeros((10, 2))
    flops, n_bytes, n_exp = limits._least_of_fit(X, Y, np.array([2, 3]), np.float64)
    assert flops == 4 * (40 * 3 + 50 * 4)  # the second link has a parent
    assert n_bytes == 8 * 4 * 10 * 5 + 2 * X.nbytes * 3
    assert n_exp == 10 * 7
    assert limits._least_of_fit(X, Y, np.array([2, 3]), np.float32) == (flops, n_bytes / 2, n_exp)


def test_exponents_and_figure_of_growth(tmp_path, monkeypatch):
    sweep = growth.Sweep("n_rows", "rows N", (10, 20, 40, 80), {"n_features": 2})
    # The first point is off: small problems are all overhead.
    curve = growth.Curve(sweep, "fit", [10.0, 20.0, 40.0, 80.0], [9.0, 20**1.5, 40**1.5, 80**1.5])
    assert curve.exponent == pytest.approx(1.5)
    tiny_sweep = growth.Sweep("n_rows", "rows N", (200, 400), {"n_features": 2, "n_labels": 3}, search_up_to=200)
    rows = list(growth.measure(1, [tiny_sweep], tmp_path))
    assert [row.what for row in rows] == ["growth of fit", "growth of order search", "growth of predict"]
    saved = json.loads((tmp_path / "growth.json").read_text())
    assert [len(curve["values"]) for curve in saved] == [2, 1, 2]
    assert (tmp_path / "growth.svg").read_text().startswith("<?xml")
