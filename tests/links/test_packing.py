"""Links become a few arrays and come back bit by bit; arrays that do not fit are told."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from montechain.chain import Chain
from montechain.links.estimator import FittedEstimatorLink
from montechain.links.linear import ONE_VERSUS_REST, PAIRWISE, SOFTMAX, FittedLinearLink, n_scores
from montechain.links.packing import check_parents, joined, pack_links, ragged, unpack_links

OTHER = FittedEstimatorLink(GaussianNB(), 2, (2,))


def random_link(rng: np.random.Generator, response: int, n_classes: int, parents_n_classes: list[int]):
    width = n_scores(response, n_classes)
    return FittedLinearLink(
        n_classes,
        response,
        rng.normal(size=(3, width)),
        rng.normal(size=width),
        tuple(rng.normal(size=(k, width)) for k in parents_n_classes),
        rng.random(width) if response == PAIRWISE and rng.random() < 0.5 else None,
    )


def assert_same(one, other):
    assert type(one) is type(other)
    if not isinstance(one, FittedLinearLink):
        assert one is other
        return
    assert (one.n_classes, one.response) == (other.n_classes, other.response)
    for name in ("coef", "intercept", "score_weight"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert len(one.parent_effects) == len(other.parent_effects)
    for block, same in zip(one.parent_effects, other.parent_effects, strict=True):
        np.testing.assert_array_equal(block, same, strict=True)


KINDS = st.tuples(
    st.sampled_from([SOFTMAX, ONE_VERSUS_REST, PAIRWISE]), st.integers(1, 5), st.lists(st.integers(1, 4), max_size=4)
)


@given(st.lists(st.one_of(st.none(), KINDS), max_size=5), st.integers(0, 2**32 - 1))
def test_links_come_back(kinds, seed):
    rng = np.random.default_rng(seed)
    links = [OTHER if kind is None else random_link(rng, *kind) for kind in kinds]
    same = unpack_links(pack_links(links))
    assert len(same) == len(links)
    for one, other in zip(links, same, strict=True):
        assert_same(one, other)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6))
def test_lists_come_back(lists):
    lengths, numbers = joined(lists)
    assert ragged(lengths.tolist(), numbers.tolist()) == [tuple(numbers) for numbers in lists]


def chain() -> Chain:
    rng = np.random.default_rng(0)
    kinds = [(SOFTMAX, 2, []), (SOFTMAX, 3, [2]), (PAIRWISE, 4, [3, 2])]
    return Chain([2, 0, 1], [(), (0,), (1, 0)], [random_link(rng, *kind) for kind in kinds])


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_chain_comes_back(way):
    one = chain()
    other = way(one)
    assert (other.order, other.parents, other.n_classes) == (one.order, one.parents, one.n_classes)
    for link, same in zip(one.links, other.links, strict=True):
        assert_same(link, same)
    X, Y = np.random.default_rng(1).normal(size=(5, 3)), np.array([[1, 2, 3]] * 5)
    np.testing.assert_array_equal(one.log_joint(X, Y), other.log_joint(X, Y))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order", np.array([0, 1, 1]), "not a permutation"),
        ("order", np.array([0, 1]), "3 links and 3 sets of parents for 2 labels"),
        ("order", [0, 1, 2], "'order' is not a list of whole numbers"),
        ("order", np.array([-1, 0, 1]), "'order' holds -1, which is below 0"),
        ("parents", np.array([1, 1, 0]), "not distinct earlier positions"),
        ("parents", np.array([0, 0, 0]), "not distinct earlier positions"),
        ("parents", np.array([0, 0, 1]), "a link expects parents with"),
        ("parents", np.array([0, 1]), "found 2 numbers instead of 3"),
    ],
)
def test_a_chain_that_does_not_fit_is_told(name, value, message):
    state = {**chain().__getstate__(), name: value}
    with pytest.raises(ValueError, match=message):
        Chain.__new__(Chain).__setstate__(state)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_classes", np.array([2, 3]), "numbers of links do not agree"),
        ("response", np.array([0, 0, 9]), "unknown response"),
        ("is_linear", np.array([1, 1, 1]), "not a list of truth values"),
        ("is_weighted", np.array([True, False, False]), "weights of pairs"),
        ("coef", np.zeros((3, 4)), "4 columns for 10 scores"),
        ("coef", np.full((3, 10), np.nan), "not finite"),
        ("intercept", np.zeros(9), "found 9 numbers instead of 10"),
        ("effects", np.zeros((2, 2)), "not an array of numbers with 1 dimensions"),
        ("n_parents", np.array([0, 1]), "instead of"),
        ("others", [OTHER], "expected a link"),
    ],
)
def test_links_that_do_not_fit_are_told(name, value, message):
    with pytest.raises(ValueError, match=message):
        unpack_links({**pack_links(chain().links), name: value})


@pytest.mark.parametrize("other", [5, None, chain().links[0], FittedEstimatorLink(GaussianNB(), 0, ())])
def test_what_is_no_link_is_told(other):
    packed = {**pack_links([OTHER]), "others": [other]}
    with pytest.raises(ValueError, match="expected a link"):
        unpack_links(packed)


def test_parents_of_another_number_of_classes():
    with pytest.raises(ValueError, match=r"expects parents with \[2\] classes, but they have \[3\]"):
        check_parents([random_link(np.random.default_rng(0), SOFTMAX, 3, []), OTHER], [(), (0,)])
