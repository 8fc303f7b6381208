"""Each loss's decision has the least expected loss, and its regret is bounded as promised."""

from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from montechain.distributions import LabelDistribution, Loss, Marginals, example_distribution
from montechain.losses import F1, CallableLoss, ExactMatch, Hamming, Jaccard, check_loss
from random_chains import bind_loss, random_given
from tests.reference import losses as reference


def asymmetric(y, h):
    """Return a loss that no other one equals: later labels cost more, and the direction matters."""
    costs = [(k + 1) * (2.0 if a > b else 1.0) for k, (a, b) in enumerate(zip(y, h, strict=True)) if a != b]
    return sum(costs) / (len(y) * (len(y) + 1))


def make_losses(negative):
    """Return each loss to try, with the same loss on two tuples of codes."""
    return {
        "exact_match": ("exact_match", reference.exact_match),
        "hamming": ("hamming", reference.hamming),
        "f1": (F1(0), lambda y, h: reference.f1(y, h, negative)),
        "jaccard": (Jaccard(0), lambda y, h: reference.jaccard(y, h, negative)),
        "jaccard, few": (Jaccard(0, max_candidates=1), lambda y, h: reference.jaccard(y, h, negative)),
        "callable": (CallableLoss(asymmetric, maximum=1.0), asymmetric),
        "callable, few": (CallableLoss(asymmetric, maximum=1.0, max_candidates=1), asymmetric),
    }


NAMES = list(make_losses([0]))
EXACT = [name for name in NAMES if not name.endswith("few")]


def make_distribution(rows, *, residual=None, estimated=None):
    """Return a LabelDistribution from one list of (vector, weight) per row."""
    counts = [len(row) for row in rows]
    pairs = [pair for row in rows for pair in row]
    return LabelDistribution(
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        labels=np.array([vector for vector, _ in pairs], dtype=np.int32),
        weights=np.array([weight for _, weight in pairs]),
        residual=np.zeros(len(rows)) if residual is None else np.array(residual),
        estimated=np.zeros(len(rows), dtype=bool) if estimated is None else np.array(estimated),
    )


def random_rows(rng, n_rows, n_classes, known, share):
    """Return for each row a distribution over a part of the vectors that agree with `known`, summing to one."""
    rows = []
    for i in range(n_rows):
        vectors = reference.all_vectors(n_classes, known[i])
        chosen = [vector for vector in vectors if rng.random() < share] or [vectors[rng.integers(len(vectors))]]
        weights = rng.gamma(0.4, size=len(chosen)) + 1e-9
        rows.append(list(zip(chosen, (weights / weights.sum()).tolist(), strict=True)))
    return rows


def bind(loss, n_classes, negative=None):
    bound = bind_loss(loss, n_classes)
    if negative is not None and hasattr(bound, "negative_"):
        bound.negative_ = np.array(negative)
    return bound


problems = {
    "seed": st.integers(0, 2**32 - 1),
    "n_classes": st.lists(st.integers(1, 4), min_size=1, max_size=5).filter(lambda k: np.prod(k) <= 60),
    "known_share": st.sampled_from([0.0, 0.4]),
    "share": st.sampled_from([0.05, 0.5, 1.0]),
}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=50)
@given(**problems, kept=st.just(1.0) | st.floats(0.0, 1.0), estimated=st.booleans())
def test_the_decision_is_the_best_and_its_regret_bounded_when_mass_is_left_out(
    name, seed, n_classes, known_share, share, kept, estimated
):
    rng = np.random.default_rng(seed)
    known = random_given(rng, 3, n_classes, known_share)
    rows = random_rows(rng, 3, n_classes, known, share)
    parts, residual = [], []
    for i, row in enumerate(rows):
        part = row[: max(1, round(kept * len(row)))]
        left = max(0.0, 1.0 - sum(w for _, w in part)) if len(part) < len(row) else 0.0
        # A vector may stand several times.
        part = [(v, w / 2) for v, w in part] + [(v, w / 2) for v, w in reversed(part)]
        if estimated and left:
            vectors = reference.all_vectors(n_classes, known[i])
            part = part + [(vectors[rng.integers(len(vectors))], left / 3) for _ in range(3)]
        parts.append(part)
        residual.append(left)
    negative = [int(rng.integers(-1, k)) for k in n_classes]  # -1: all classes are relevant
    loss, plain = make_losses(negative)[name]
    loss = bind(loss, n_classes, negative)
    estimated = np.array([estimated and left > 0.0 for left in residual])
    distribution = make_distribution(parts, residual=residual, estimated=estimated)
    labels, expected_loss, regret = loss.decide(distribution, given=known if known_share else None)
    assert labels.dtype == np.int32
    assert labels.shape == known.shape
    for i, row in enumerate(rows):
        decision = tuple(labels[i].tolist())
        everything = reference.all_vectors(n_classes, known[i])
        assert decision in everything
        cost = reference.expected_loss(plain, row, decision)
        assert cost - reference.least_expected_loss(plain, row, everything) <= regret[i] + 1e-9
        if name in EXACT:
            assert regret[i] <= min(1.0, (2 if estimated[i] else 1) * residual[i]) + 1e-12
        if residual[i] == 0.0:
            assert expected_loss[i] == pytest.approx(cost, abs=1e-9)
            # Among those of positive probability it is the best, whatever else may be better.
            assert expected_loss[i] <= reference.least_expected_loss(plain, row, [v for v, _ in row]) + 1e-9
        alone = make_distribution([parts[i]], residual=[residual[i]], estimated=estimated[[i]])
        own = loss.decide(alone, given=known[[i]] if known_share else None)
        for found, together in zip(own, (labels, expected_loss, regret), strict=True):
            np.testing.assert_array_equal(found[0], together[i])


@pytest.mark.parametrize(
    ("loss", "rows", "regret"),
    [
        # The first label leads by 0.9; the second by 0.1, which the residual just makes up for.
        ("hamming", [((1, 1), 0.5), ((1, 0), 0.4)], 0.0),
        ("hamming", [((1, 1), 0.5), ((1, 0), 0.3)], 0.0),
        ("hamming", [((1, 1), 0.4), ((1, 0), 0.3)], 0.1),
        # One vector stands twice.
        ("exact_match", [((1, 1), 0.3), ((1, 0), 0.25), ((1, 1), 0.1)], 0.0),
    ],
)
def test_a_lead_that_exceeds_the_residual_is_certain(loss, rows, regret):
    left = 1.0 - sum(weight for _, weight in rows)
    labels, expected_loss, found = bind(loss, [2, 2]).decide(make_distribution([rows], residual=[left]))
    assert labels.tolist() == [[1, 1]]
    assert found[0] == pytest.approx(regret, abs=1e-12)
    if loss == "exact_match":
        assert expected_loss[0] == pytest.approx(1 - 0.4 / 0.65)


def test_hamming_decides_from_marginals():
    proba = [np.array([[0.2, 0.7], [0.5, 0.4]]), np.array([[0.1, 0.2, 0.3], [1.0, 0.0, 0.0]])]
    marginals = Marginals(proba, proba, np.array([[0.1, 0.4], [0.1, 0.0]]), np.zeros(2, dtype=bool))
    labels, expected_loss, regret = Hamming().decide_marginals(marginals)
    np.testing.assert_array_equal(labels, [[1, 2], [0, 0]])
    np.testing.assert_allclose(expected_loss, [(2 / 9 + 1 / 2) / 2, (4 / 9 + 0.0) / 2])
    np.testing.assert_allclose(regret, [(0.0 + 0.3) / 2, 0.0], atol=1e-12)
    known = np.array([[0, -1], [-1, 1]], dtype=np.int32)
    labels, _, regret = Hamming().decide_marginals(marginals, known)
    np.testing.assert_array_equal(labels, [[0, 2], [0, 1]])
    np.testing.assert_allclose(regret, [0.15, 0.0], atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_vectors_and_vectors_without_weight_do_no_harm(name):
    loss = bind(make_losses([0, 0])[name][0], [2, 2])
    _, expected_loss, regret = loss.decide(make_distribution([[((1, 1), 0.0), ((1, 0), 0.0)]], residual=[1.0]))
    assert 0.0 <= expected_loss[0] <= 1.0
    assert regret[0] == 1.0
    distribution = make_distribution([[((1, 1), 1.0)], []], residual=[0.0, 1.0])
    labels, _, regret = loss.decide(distribution, given=np.array([[-1, -1], [-1, 1]], dtype=np.int32))
    np.testing.assert_array_equal(labels, [[1, 1], [0, 1]])
    assert regret[0] == 0.0 or name == "callable, few"
    assert regret[1] > 0.0


def test_large_jaccard_problems_admit_what_is_not_proven():
    rng = np.random.default_rng(1)
    vectors = [tuple(v) for v in rng.integers(0, 2, (30, 16)).tolist()]
    rows = [[(v, 1 / 30) for v in vectors]]
    labels, expected_loss, regret = bind("jaccard", [2] * 16).decide(make_distribution(rows))
    assert 0.0 < regret[0] < 1.0
    candidates = reference.jaccard_candidates(vectors, [0] * 16, 0)

    loss = partial(reference.jaccard, negative=[0] * 16)
    assert expected_loss[0] == pytest.approx(reference.expected_loss(loss, rows[0], tuple(labels[0].tolist())))
    assert expected_loss[0] <= reference.least_expected_loss(loss, rows[0], set(vectors) & candidates) + 1e-12


def test_the_order_is_undone_for_functions_and_negative_classes():
    classes = [np.array(["no", "yes"]), np.array(["none", "red", "tan"]), np.array([3, 7])]
    seen = []

    def spy(y, y_hat):
        seen.append((tuple(y.tolist()), tuple(y_hat.tolist())))
        return 0.0

    order = [2, 0, 1]
    distribution = make_distribution([[((1, 0, 2), 1.0)]])  # label 2 is 7, label 0 "no", label 1 "tan"
    check_loss(CallableLoss(spy, max_candidates=1), classes=classes, order=order).decide(distribution)
    assert seen == [(("no", "tan", 7), ("no", "tan", 7))]
    loss = check_loss(F1(negative="none").set_params(negative=["yes", "tan", 3]), classes=classes, order=order)
    assert loss.negative_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("classes", "negative", "codes"),
    [
        ([["no", "yes"], [0, 1], [False, True], [-1, 1]], None, [0, 0, 0, 0]),
        ([[0], [1], [False], ["no"], ["yes"], ["0"], ["a"]], None, [0, -1, 0, -1, -1, -1, -1]),
        ([["none", "red", "tan"], ["all", "none"], ["none"], ["red"]], "none", [0, 1, 0, -1]),
        ([["a", "b"], [3, 4, 5]], ["b", 4], [1, 1]),
        ([["a", "b"], [3, 4, 5]], [None, 4], [0, 1]),
        ([[0, 1], [0.0, 1.0, 2.0]], 0, [0, 0]),
        ([[0, 1, 2], [1, 2, 0]], np.array([2, 0]), [2, 2]),
    ],
)
def test_negative_classes_are_resolved(classes, negative, codes):
    loss = check_loss(F1(negative), classes=[np.array(c) for c in classes], order=range(len(classes)))
    assert loss.negative_.tolist() == codes


@pytest.mark.parametrize(
    ("loss", "classes", "message"),
    [
        ("f1", [[0, 1], ["a", "b", "none"]], r"label 1 has 3 classes, \['a', 'b', 'none'\].*F1\(negative='a'\)"),
        ("jaccard", [[0, 1, 2]], r"label 0 has 3 classes, \[0, 1, 2\].*negative=0"),
        (F1("none"), [["a", "none"], ["c", "d"]], r"label 1 has 2 classes, \['c', 'd'\], and `negative` is 'none'"),
        (F1(["q"]), [["a", "none"]], r"label 0 has 2 classes, \['a', 'none'\], and `negative` is 'q'"),
        (F1([0, 0]), [[0, 1]], r"names 2 classes, but there are 1 labels"),
    ],
)
def test_errors_say_what_to_type(loss, classes, message):
    with pytest.raises(ValueError, match=message):
        check_loss(loss, classes=[np.array(c) for c in classes], order=range(len(classes)))
    with pytest.raises(RuntimeError, match="check_loss"):
        F1().decide(example_distribution())


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_function_must_be_finite_and_not_negative(value):
    broken = Mock(return_value=value, __name__="broken")
    with pytest.raises(ValueError, match=r"broken\(\[1, 1\], \[1, 1\]\) is"):
        bind(broken, [2, 2]).decide(example_distribution())


def errors(y, y_hat):
    return (y != y_hat).sum()


def test_a_function_without_a_maximum_has_no_bound_unless_nothing_is_left_out():
    rows = [[((1, 1), 0.5), ((0, 0), 0.25)]]
    for residual, loss, regret in [
        (0.25, errors, np.inf),
        (0.25, CallableLoss(errors, maximum=2.0), 0.5),
        (0.0, errors, 0.0),
        # Small on all pairs that are looked at, and still nothing is known about the rest.
        (0.25, lambda y, y_hat: errors(y, y_hat) / 100, np.inf),
    ]:
        labels, _, bound = bind(loss, [2, 2]).decide(make_distribution(rows, residual=[residual]))
        np.testing.assert_array_equal(labels, [[1, 1]])
        assert bound[0] == regret


def test_the_regret_of_a_function_holds_for_vectors_that_were_not_evaluated():
    def rare(y, y_hat):
        return 10.0 if y.sum() == 0 and y_hat.sum() > 0 else 0.1 * (y != y_hat).any()

    # All but a tenth of the mass is on 11; the rest, which is not enumerated, on 00, where every label costs 10.
    distribution = make_distribution([[((1, 1), 0.9)]], residual=[0.1])
    for loss in (rare, CallableLoss(rare, maximum=10.0)):
        labels, _, regret = bind(loss, [2, 2]).decide(distribution)
        rows = [((1, 1), 0.9), ((0, 0), 0.1)]
        arrays = lambda y, h: rare(np.array(y), np.array(h))  # noqa: E731
        cost = reference.expected_loss(arrays, rows, tuple(labels[0].tolist()))
        assert cost - reference.least_expected_loss(arrays, rows, [v for v, _ in rows]) <= regret[0] + 1e-12


def test_a_maximum_that_is_exceeded_is_refused():
    loss = bind(CallableLoss(errors, maximum=1.0), [2, 2])
    with pytest.raises(ValueError, match=r"is 2.0, above `maximum=1.0`.*CallableLoss\(errors, maximum=..."):
        loss.decide(make_distribution([[((1, 1), 0.5), ((0, 0), 0.5)]]))


def test_members_are_estimators_with_parameters_that_binding_leaves_alone():
    loss = F1(negative=[0, 0])
    bound = bind(loss, [2, 2])
    assert not hasattr(loss, "negative_")
    assert clone(bound).get_params() == {"negative": [0, 0]}
    for loss in (ExactMatch(), Hamming(), F1(negative="x"), Jaccard(max_candidates=3), CallableLoss(asymmetric)):
        assert isinstance(loss, Loss)
        assert clone(loss).get_params() == loss.get_params()
        assert loss.is_exact_match == isinstance(loss, ExactMatch)
