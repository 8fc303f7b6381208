import numpy as np
import pytest

from montechain._kernels import quasi_newton as kernel
from reference import margins as reference


@pytest.mark.parametrize("n_pairs", [0, 1, 3, 5])
def test_two_loops_apply_the_explicit_inverse_hessian(rng, n_pairs):
    capacity, widths, n_columns = 5, [1, 2], 4
    score_start = np.array([0, 1, 3])
    rows_of_all = np.array([4, 1, 2])  # the positions of these problems among all problems
    curvature = [np.diag(rng.uniform(1, 3, w * n_columns)) for w in widths]
    steps, changes, inverse = rng.normal(size=(2, capacity, 3, n_columns)), None, np.zeros((capacity, 6))
    steps = steps[0]
    changes = np.empty_like(steps)
    for q, matrix in enumerate(curvature):
        rows = slice(score_start[q], score_start[q + 1])
        for p in range(capacity):
            changes[p, rows] = (matrix @ steps[p, rows].ravel()).reshape(widths[q], n_columns)
            inverse[p, rows_of_all[score_start[q]]] = 1.0 / (steps[p, rows].ravel() @ changes[p, rows].ravel())
    n_iter = np.array([12, 7])  # the rings have gone round: 2, 3, 4, 0, 1 from oldest to newest
    gradient, divisor = rng.normal(size=(3, n_columns)), rng.uniform(1, 2, n_columns)
    direction, shares = -gradient, np.zeros((capacity, 2))
    order = [2, 3, 4, 0, 1][capacity - n_pairs :]
    inverse[[p for p in range(capacity) if p not in order]] = 0.0  # these are not known yet
    all_steps, all_changes = np.full((2, capacity, 6, n_columns), np.nan, dtype=np.float32)
    all_steps[:, rows_of_all], all_changes[:, rows_of_all] = steps, changes
    direction, place = direction.astype(np.float32), (score_start, rows_of_all, n_iter)
    kernel.sweep(*place, all_steps, all_changes, inverse, shares, False, direction)
    direction /= divisor.astype(np.float32)
    kernel.sweep(*place, all_changes, all_steps, inverse, shares, True, direction)
    for q in range(2):
        rows = slice(score_start[q], score_start[q + 1])
        expected = reference.two_loop(
            gradient[rows].ravel(),
            [steps[p, rows].ravel() for p in order],
            [changes[p, rows].ravel() for p in order],
            lambda v, q=q: v / np.tile(divisor, widths[q]),
        )
        np.testing.assert_allclose(direction[rows].ravel(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_move_is_remembered_with_the_change_of_the_gradient(rng, dtype):
    n_columns, n_parents, newest = 6, 2, [2, 1, 1]  # the pair that each score writes
    penalty = rng.random(n_columns)
    score_start, rows = np.array([0, 1, 3]), np.array([4, 1, 2])
    coefficients, gradient = rng.normal(size=(2, 5, n_columns))
    direction, of_loss = rng.normal(size=(2, 3, n_columns)).astype(np.float32)
    allowed = rng.random((5, n_parents)) < 0.5
    direction[:, -n_parents:] *= allowed[rows]  # parents that are not allowed have no coefficient either
    coefficients[:, -n_parents:] *= allowed
    steps, changes = np.full((2, 3, 5, n_columns), np.nan, dtype=np.float32)
    step, inverse, n_iter = np.array([0.5, 2.0]), np.zeros((3, 5)), np.array([5, 1])
    moved = coefficients[rows] + step[[0, 1, 1], None] * direction
    after = of_loss + penalty * moved
    after[:, -n_parents:] *= allowed[rows]
    change = after - gradient[rows]
    others = coefficients[[0, 3]].copy()
    kernel.move(
        score_start, rows, n_iter, step, direction, of_loss.astype(dtype), penalty, allowed, coefficients, gradient,
        steps, changes, inverse,
    )  # fmt: skip
    np.testing.assert_allclose(coefficients[rows], moved, rtol=1e-12)
    np.testing.assert_allclose(gradient[rows], after, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(steps[newest, rows], step[[0, 1, 1], None] * direction, rtol=1e-6)
    np.testing.assert_allclose(changes[newest, rows], change, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(coefficients[[0, 3]], others)
    for q in range(2):
        own = slice(score_start[q], score_start[q + 1])
        product = (step[q] * direction[own] * change[own]).sum()
        assert inverse[[2, 1][q], rows[score_start[q]]] == pytest.approx(1 / product if product > 0 else 0.0, rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize("stuck", [False, True])
def test_the_way_ahead(rng, scale, stuck):
    score_start, rows = np.array([0, 1, 3]), np.array([2, 0, 1])
    penalty, information, weight = rng.random(5), rng.random(4), np.array([3.0, 4.0])
    gradient, coefficients = scale * rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    direction = -gradient[rows].astype(np.float32)
    ahead = np.empty((5, 2))
    any_solved = kernel.look_ahead(
        score_start, rows, direction, gradient, coefficients, penalty, information, weight, np.array([stuck] * 2),
        1e-3, 1e-13, 1e-7, ahead,
    )  # fmt: skip
    for q in range(2):
        own = slice(score_start[q], score_start[q + 1])
        d, g, c = direction[own], gradient[rows[own]], coefficients[rows[own]]
        norm, promised = np.abs(g).max() / weight[q], -(d * g).sum() / weight[q]
        objective = information[rows[own]].sum() + (penalty * c * c).sum() / 2
        enough = min(1e-3, kernel.RELATIVE * objective / weight[q]) if norm <= 1e-3 else -np.inf
        solved = promised <= max(enough, 1e-7 if stuck else 1e-13)
        expected = (d * g).sum(), norm, (penalty * d * c).sum(), (penalty * d * d).sum(), solved
        np.testing.assert_allclose(ahead[:, q], expected, rtol=1e-6)
    assert any_solved == ahead[4].any() == (scale < 1e-3)
