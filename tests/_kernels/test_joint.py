"""Joint probabilities and draws, against one conditional at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.conditional import draw_class
from montechain._kernels.joint import log_joint
from random_chains import PARENTS, SEEDS, as_generic, random_given, random_linear_chain
from reference import joint as reference


@given(seed=SEEDS, parents=PARENTS)
def test_log_joint_is_the_sum_of_the_conditionals(seed, parents):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4, parents)
    X = rng.normal(size=(4, 3))
    Y = np.column_stack([rng.integers(k, size=4) for k in chain.n_classes]).astype(np.int32)
    np.testing.assert_allclose(log_joint(*chain.scores(X), Y), reference.log_joint(chain, X, Y), rtol=0, atol=1e-10)


@given(seed=SEEDS, is_known=st.booleans(), is_shared=st.booleans())
def test_draws_are_those_of_the_reference_and_of_the_generic_path(seed, is_known, is_shared):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4)
    X = rng.normal(size=(3, 3))
    uniforms = rng.random((1 if is_shared else 3, 7, chain.n_labels))
    known = random_given(rng, 3, chain.n_classes) if is_known else None
    expected, expected_weight = reference.sample(chain, X, known, uniforms)
    for view in (chain, as_generic(chain)):
        labels, log_weight = view.sample(X, uniforms, known)
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_allclose(log_weight, expected_weight, rtol=0, atol=1e-10)


def test_the_last_class_takes_what_rounding_leaves():
    log_proba = np.log([0.25, 0.25, 0.5])
    almost_one = np.nextafter(1.0, 0.0)
    draw = getattr(draw_class, "py_func", draw_class)  # compiled, only kernels can call it
    assert [draw(log_proba, 3, u) for u in (0.0, 0.2, 0.3, 0.6, almost_one)] == [0, 0, 1, 2, 2]
    assert draw(np.log([0.1, 0.2]), 2, 0.95) == 1


@given(seed=SEEDS)
def test_conditionals_of_prefixes_are_those_of_the_links(seed):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, 4, max_classes=4)
    X = rng.normal(size=(3, 3))
    rows = np.array([0, 0, 2, 1])
    labels = np.column_stack([rng.integers(k, size=4) for k in chain.n_classes]).astype(np.int32)
    for k in range(4):
        found = chain.scores(X).conditional(rows, labels[:, :k])
        np.testing.assert_allclose(found, chain.conditional(X[rows], labels[:, :k]), atol=1e-10)
