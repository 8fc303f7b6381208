from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.tree import DecisionTreeClassifier

from montechain.links import EstimatorLink, LinkProblem, LogisticLink, SVMLink
from montechain.ordering.link_cache import LinkCache

N_LABELS = 5


def data(n_rows=120, n_labels=N_LABELS, three_classes=False):
    X, Y = make_multilabel_classification(n_samples=n_rows, n_features=8, n_classes=n_labels, random_state=1)
    codes = Y.astype(np.int32)
    if three_classes:
        codes[:, 0] += codes[:, 1] * codes[:, 2]
    return X, codes, (codes.max(axis=0) + 1).tolist()


def problems_of(order):
    return [LinkProblem(label, tuple(order[:k])) for k, label in enumerate(order)]


def make(learner=None, three_classes=False, **options):
    X, codes, n_classes = data(three_classes=three_classes)
    return LinkCache(learner or LogisticLink(tol=1e-8), X, codes, codes, n_classes, **options), X, codes, n_classes


def test_a_link_is_fitted_once_whatever_the_order_of_its_parents():
    cache, *_ = make()
    first = cache.links([LinkProblem(0, (2, 1)), LinkProblem(0, (1, 2)), LinkProblem(3, ())])
    assert cache.n_fitted == 2
    assert first[0] is first[1]
    again = cache.links([LinkProblem(3, ()), LinkProblem(0, (1, 2))])
    assert cache.n_fitted == 2
    assert again[1] is first[0]


@pytest.mark.parametrize("swap", [(0, 1), (3, 4), (0, 4), (1, 3)])
def test_a_swap_costs_the_links_between_its_positions(swap):
    cache, *_ = make()
    order = [3, 0, 4, 1, 2]
    cache.links(problems_of(order))
    assert cache.n_fitted == N_LABELS
    low, high = swap
    order[low], order[high] = order[high], order[low]
    cache.links(problems_of(order))
    assert cache.n_fitted - N_LABELS == high - low + 1


@pytest.mark.parametrize("learner", [LogisticLink(), SVMLink(), EstimatorLink(DecisionTreeClassifier(max_depth=3), 0)])
def test_without_warm_start_links_do_not_depend_on_what_was_fitted_before(learner):
    order = [3, 0, 4, 1, 2]
    cache, X, codes, n_classes = make(learner, three_classes=True, warm_start=False)
    cache.links(problems_of([1, 4, 0, 2, 3]))
    found = cache.links(problems_of(order))
    assert cache.is_exact
    for problem, link in zip(problems_of(order), found, strict=True):
        problem = LinkProblem(problem.label, tuple(sorted(problem.parents)))
        (alone,) = learner.prepared(X, codes, codes, n_classes)([problem])
        parents = codes[:, list(problem.parents)]
        np.testing.assert_array_equal(link.log_proba(X, parents), alone.log_proba(X, parents))


def test_warm_starts_change_links_within_the_tolerance_only():
    warm, X, codes, _ = make(three_classes=True)
    cold, *_ = make(three_classes=True, warm_start=False)
    assert not warm.is_exact
    for order in ([0, 1, 2, 3, 4], [1, 0, 2, 4, 3], [4, 3, 2, 1, 0]):
        for problem, left, right in zip(
            problems_of(order), warm.links(problems_of(order)), cold.links(problems_of(order)), strict=True
        ):
            parents = codes[:, sorted(problem.parents)]
            np.testing.assert_allclose(left.log_proba(X, parents), right.log_proba(X, parents), rtol=1e-5, atol=1e-6)


def test_warm_starts_come_from_the_nearest_parents():
    started = []

    class Spy(LogisticLink):
        def prepared(self, *args, **options):
            fit_links = super().prepared(*args, **options)
            return lambda problems, initial: started.extend(initial) or fit_links(problems, initial=initial)

    cache, *_ = make(Spy())
    cache.links([LinkProblem(0, ()), LinkProblem(0, (1, 2, 3)), LinkProblem(1, ())])
    cache.links([LinkProblem(0, (1, 2)), LinkProblem(2, ())])
    assert started[:3] == [None, None, None]
    assert started[3][0] == LinkProblem(0, (1, 2, 3))
    assert started[4] is None


def test_missing_links_are_fitted_together():
    batches = []

    class Spy(LogisticLink):
        def prepared(self, *args, **options):
            fit_links = super().prepared(*args, **options)
            return lambda problems, **own: batches.append(len(problems)) or fit_links(problems, **own)

    make(Spy())[0].links(problems_of([0, 1, 2, 3, 4]))
    assert batches == [5]
    batches.clear()
    make(Spy(), warm_start=False)[0].links(problems_of([0, 1, 2, 3, 4]))
    assert batches == [1] * 5


@pytest.mark.parametrize("learner", [LogisticLink(), EstimatorLink(DecisionTreeClassifier(max_depth=3), 0)])
def test_memory_is_bounded_and_what_was_forgotten_is_fitted_again(learner):
    cache, X, *_ = make(learner, warm_start=False)
    everything = problems_of([0, 1, 2, 3, 4])
    before = [link.log_proba(X, np.zeros((len(X), k), dtype=int)) for k, link in enumerate(cache.links(everything))]
    small, *_ = make(learner, warm_start=False, max_bytes=cache.n_bytes // 2)
    for _ in range(2):
        links = small.links(everything)
        assert 0 < small.n_bytes <= small.max_bytes
        for k, link in enumerate(links):
            np.testing.assert_array_equal(link.log_proba(X, np.zeros((len(X), k), dtype=int)), before[k])
    assert small.n_fitted > cache.n_fitted
    small.links(everything[:1])
    small.links(everything[1:2])
    n_fitted = small.n_fitted
    small.links(everything[:1])  # the ones used last are still there
    assert small.n_fitted == n_fitted


def test_a_cache_of_no_size_fits_everything_every_time():
    cache, *_ = make(max_bytes=0)
    for n in (5, 10, 15):
        assert len(cache.links(problems_of([0, 1, 2, 3, 4]))) == 5
        assert cache.n_fitted == n
    assert cache.n_bytes == 0


def test_links_own_their_memory():
    cache, *_ = make()
    for link in cache.links(problems_of([0, 1, 2, 3, 4])):
        assert link.coef.base is None
        assert link.intercept.base is None


def test_a_link_that_cannot_be_pickled_counts_for_something():
    class Odd(DecisionTreeClassifier):
        def __getstate__(self):
            raise RuntimeError("not me")

    cache, *_ = make(EstimatorLink(Odd(max_depth=2), 0))
    cache.links([LinkProblem(0, ())])
    assert cache.n_bytes > 0
