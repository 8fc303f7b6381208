"""What holds for every estimator: tables of any kind in, the user's own classes out, whatever the rows beside it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import montechain as mc
from random_chains import all_vectors, log_proba_table
from tests.estimators.test_chain import make_bridges

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
SHORT = {"n_iterations": 12, "n_collected": 8, "random_state": 0}
KINDS = {
    "chain": mc.ChainClassifier(random_state=0),
    "draws": mc.ChainClassifier(inference=mc.MonteCarlo(n_samples=15), loss="hamming", random_state=5),
    "svm": mc.ChainClassifier(mc.SVMLink(), random_state=0),
    "trees": mc.ChainClassifier(TREE, inference="beam", random_state=0),
    "forests": mc.ChainClassifier(RandomForestClassifier(n_estimators=4), inference="monte_carlo", random_state=5),
    "population": mc.ChainPopulationClassifier(n_chains=3, random_state=0),
    "vote": mc.ChainPopulationClassifier(TREE, n_chains=3, combine="vote", bootstrap=True, random_state=0),
    "search": mc.ChainPopulationClassifier(
        order=mc.OrderSearch(n_iterations=4, keep=2, pool="evaluated"), combine="algorithm-4", random_state=0
    ),
    "network": mc.DependencyNetworkClassifier(**SHORT),
    "network of trees": mc.DependencyNetworkClassifier(TREE, loss="exact_match", **SHORT),
    "powerset": mc.LabelPowersetClassifier(random_state=0),
    "forest": mc.ClusteringForestClassifier(n_estimators=10, random_state=0),
    "majority": mc.MajorityClassifier(random_state=0),
}
STRATEGIES = {
    f"{inference} {loss}": mc.ChainClassifier(inference=inference, loss=loss, random_state=0)
    for inference in ("greedy", mc.Beam(2), "branch_and_bound", mc.MonteCarlo(30), mc.Exhaustive())
    for loss in ("exact_match", "hamming")
}
LEARNING = [kind for kind in KINDS if kind != "majority"]
every_kind = pytest.mark.parametrize("kind", KINDS)


EXACT = mc.BranchAndBound(residual=0.0)
ORDERS = [[0, 1, 2], [2, 1, 0], [1, 2, 0]]
JOINT = {
    "chain": mc.ChainClassifier(inference=EXACT, random_state=3),
    "chain of trees": mc.ChainClassifier(TREE, inference=EXACT, random_state=3),
    "population": mc.ChainPopulationClassifier(order=ORDERS, weights=[1, 2, 3], inference=EXACT, random_state=0),
    "powerset": mc.LabelPowersetClassifier(random_state=0),
    "forest": mc.ClusteringForestClassifier(15, min_samples_leaf=4, loss="exact_match", random_state=3),
    "majority": mc.MajorityClassifier(random_state=0),
}


def log_proba_of_all(model, X):
    """Return all label vectors, in codes and in the user's classes, and their log-probabilities of shape (n, V)."""
    codes = all_vectors([len(classes) for classes in model.classes_])
    vectors = np.column_stack([c[codes[:, j]].astype(object) for j, c in enumerate(model.classes_)])
    table = np.column_stack([model.log_joint(X, np.tile(vector, (len(X), 1))) for vector in vectors])
    chains = getattr(model, "chains_", [model.chain_] if hasattr(model, "chain_") else [])
    if chains:
        # Written out: each chain's table, its columns put in the order of the labels, averaged by weight.
        each = []
        for chain in chains:
            own, own_table = log_proba_table(chain, X)
            place = {tuple(vector): v for v, vector in enumerate(own[:, np.argsort(chain.order)].tolist())}
            each.append(own_table[:, [place[tuple(vector)] for vector in codes.tolist()]])
        expected = logsumexp(np.stack(each, axis=2), axis=2, b=getattr(model, "weights_", np.ones(1)))
        np.testing.assert_allclose(table, expected, atol=1e-9)
    return codes, vectors, table


@pytest.mark.parametrize("known_label", [None, 0, 1, 2])
@pytest.mark.parametrize("kind", JOINT)
def test_every_method_answers_for_one_joint_distribution(bridges, kind, known_label):
    X, Y = bridges
    model = clone(JOINT[kind]).fit(X, Y)
    codes, vectors, table = log_proba_of_all(model, X)
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0)
    known = None
    if known_label is not None:
        known = Y.iloc[:, [known_label]]  # a frame may hold some of the targets only
        table = np.where(vectors[:, known_label] == known.to_numpy(), table, -np.inf)
        # What no leaf of a forest agrees with is completed by frequency, see there.
        possible = np.isfinite(table).any(axis=1)
        X, Y, known, table = X[possible], Y[possible], known[possible], table[possible]
        partly = Y.astype(object).mask(np.tile(np.arange(3) != known_label, (len(Y), 1)))
        np.testing.assert_allclose(model.log_joint(X, partly), logsumexp(table, axis=1), atol=1e-5)
    joint = np.exp(table - logsumexp(table, axis=1, keepdims=True))

    decision = model.decide(X, given=known)
    chosen = (decision.labels.to_numpy(dtype=object)[:, None] == vectors).all(axis=2).argmax(axis=1)
    np.testing.assert_allclose(table[np.arange(len(X)), chosen], table.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(decision.log_proba, table.max(axis=1), atol=1e-9)
    np.testing.assert_allclose(decision.expected_loss, 1.0 - joint.max(axis=1), atol=1e-3)
    assert decision.certified.all()
    pd.testing.assert_frame_equal(model.predict(X, given=known), decision.labels)
    for label, marginal in enumerate(model.predict_proba(X, given=known)):
        expected = np.column_stack([joint[:, codes[:, label] == c].sum(axis=1) for c in range(marginal.shape[1])])
        np.testing.assert_allclose(marginal, expected, atol=1e-5)

    top = model.predict_top_k(X, 24, given=known)
    n_listed = top.labels.shape[1]
    np.testing.assert_allclose(top.log_proba, -np.sort(-table, axis=1)[:, :n_listed], atol=1e-9)
    np.testing.assert_allclose(top.proba.sum(axis=1), np.exp(table).sum(axis=1))
    for rank in range(3):
        listed = np.isfinite(top.log_proba[:, rank])
        again = model.log_joint(X[listed], top.labels[listed, rank])
        np.testing.assert_allclose(again, top.log_proba[listed, rank], atol=1e-9)
        assert (top.labels[~listed, rank] == None).all()  # noqa: E711

    draws = model.sample(X[:1], 3000, given=None if known is None else known[:1])[0]
    observed = (draws[:, None] == vectors).all(axis=2).sum(axis=0)
    assert observed.sum() == 3000
    assert not observed[joint[0] == 0].any()
    likely = joint[0] * 3000 > 8
    expected = np.append(joint[0][likely], joint[0][~likely].sum()) * 3000
    observed = np.append(observed[likely], observed[~likely].sum())
    if expected[-1] < 1:
        observed, expected = observed[:-1], expected[:-1]
    assert len(expected) == 1 or chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-4


@every_kind
def test_frames_come_back_with_names_types_and_index(bridges, kind):
    X, Y = bridges
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(len(X)) + 1000)
    model = clone(KINDS[kind]).fit(frame, Y)
    predicted = model.predict(frame)
    assert predicted.dtypes.to_dict() == Y.dtypes.to_dict()
    assert list(predicted.columns) == model.target_names_ == ["material", "span", "lanes"]
    assert predicted.index.equals(frame.index)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert [classes.tolist() for classes in model.classes_] == [["iron", "steel", "wood"], [0, 1], [1, 2, 3, 4]]
    assert [marginal.shape for marginal in model.predict_proba(frame)] == [(len(X), k) for k in (3, 2, 4)]
    known = pd.DataFrame({"lanes": [4] * len(X)})
    assert (model.predict(frame, given=known)["lanes"] == 4).all()

    in_polars = pl.DataFrame(dict(zip("abc", X.T, strict=True)))
    targets = pl.DataFrame(make_bridges()[1].to_dict("list"))
    of_polars = clone(KINDS[kind]).fit(in_polars, targets).predict(in_polars)
    assert of_polars.schema == targets.schema
    assert of_polars.rows() == [tuple(row) for row in predicted.to_numpy().tolist()]

    of_arrays = clone(KINDS[kind]).fit(X, Y.to_numpy(dtype=object)).predict(X)
    assert of_arrays.dtype == object
    assert of_arrays.tolist() == predicted.to_numpy().tolist()


@pytest.mark.parametrize(
    ("kind", "container"),
    [*((kind, sp.csr_array) for kind in KINDS), *(("chain", c) for c in (sp.csr_matrix, sp.csc_array, sp.coo_matrix))],
)
def test_sparse_inputs_and_targets_give_the_same(binary, kind, container):
    X, Y = binary
    dense, sparse = clone(KINDS[kind]).fit(X, Y), clone(KINDS[kind]).fit(container(X), container(Y))
    np.testing.assert_array_equal(sparse.predict(container(X)), dense.predict(X))
    marginals = np.hstack(sparse.predict_proba(container(X))), np.hstack(dense.predict_proba(X))
    np.testing.assert_allclose(*marginals, atol=1e-9)


@every_kind
def test_one_dimension_in_one_dimension_out(bridges, kind):
    X, Y = bridges
    model = clone(KINDS[kind])
    if kind == "search":
        model.set_params(order="random")  # one label has one order only
    model.fit(X, Y["material"].to_numpy())
    assert model.predict(X).shape == (len(X),)
    assert model.classes_.tolist() == ["iron", "steel", "wood"]
    assert model.predict_proba(X).shape == (len(X), 3)
    assert model.sample(X, 2).shape == (len(X), 2, 1)


@every_kind
def test_constant_labels_are_predicted_as_they_are(binary, kind):
    X, Y = binary
    model = clone(KINDS[kind]).fit(X, np.column_stack([Y[:, :2], np.full(len(Y), 7)]))
    assert (model.predict(X)[:, 2] == 7).all()
    np.testing.assert_allclose(model.predict_proba(X)[2], 1.0)
    model.fit(X, np.tile([3, 4, 5], (len(X), 1)))
    np.testing.assert_array_equal(model.predict(X[:2]), [[3, 4, 5]] * 2)


@every_kind
def test_unknown_labels_in_training(bridges, kind):
    X, Y = bridges
    holes = np.random.default_rng(0).random(Y.shape) < 0.2
    codes = np.column_stack([np.unique(Y[name], return_inverse=True)[1] for name in Y])
    model = clone(KINDS[kind]).fit(X, np.where(holes, np.nan, codes))
    assert [classes.tolist() for classes in model.classes_] == [[0, 1, 2], [0, 1], [0, 1, 2, 3]]
    assert kind == "majority" or model.score(X, codes) > 0.35


@every_kind
def test_weights_count(binary, kind):
    X, Y = binary
    weight = np.where(Y[:, 0] == 1, 20.0, 0.05)
    plain, weighted = clone(KINDS[kind]).fit(X, Y), clone(KINDS[kind]).fit(X, Y, sample_weight=weight)
    assert weighted.predict_proba(X)[0][:, 1].mean() > plain.predict_proba(X)[0][:, 1].mean() + 0.05


@pytest.mark.parametrize("kind", [*KINDS, *STRATEGIES])
def test_a_row_is_answered_alike_alone_in_a_batch_and_by_several_threads(binary, kind, monkeypatch):
    X, Y = binary
    model = clone({**KINDS, **STRATEGIES}[kind]).fit(X, Y)
    together = model.predict(X)
    np.testing.assert_array_equal(np.vstack([model.predict(X[[i]]) for i in range(12)]), together[:12])
    monkeypatch.setattr("montechain.estimators.base.CHUNK_CELLS", 1)
    monkeypatch.setattr("montechain.estimators.base.MIN_CHUNK_ROWS", 29)
    marginals, drawn = np.hstack(model.predict_proba(X)), model.sample(X, 3)
    for n_jobs in (None, 2):
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(model.predict(X), together)
        np.testing.assert_array_equal(np.hstack(model.predict_proba(X)), marginals)
        np.testing.assert_array_equal(model.sample(X, 3), drawn)


@pytest.mark.parametrize("kind", LEARNING)
def test_the_same_seed_gives_the_same_model_for_any_number_of_jobs(binary, kind):
    X, Y = binary
    one, two = (clone(KINDS[kind]).set_params(n_jobs=n_jobs).fit(X, Y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_array_equal(one.sample(X, 4), two.sample(X, 4))
    assert (one.sample(X, 4) != two.set_params(random_state=4).sample(X, 4)).any()
    assert one.score(X.tolist(), Y.tolist()) == one.score(X, Y)


@pytest.mark.parametrize("kind", ["chain", "network"])
def test_verbose_prints_what_was_learned(binary, kind, capsys):
    model = clone(KINDS[kind]).set_params(verbose=True).fit(*binary)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "compil" not in line]
    assert line.startswith(f"[{type(model).__name__}] learned 5 links in ")
