import numpy as np
import pytest
import scipy.sparse as sp

from montechain.links._solver import problems as solver
from montechain.links._solver.inputs import Inputs
from montechain.links._solver.problems import LogisticProblems
from montechain.links.design import canonical
from reference import solver as reference

N_CLASSES = (2, 3, 2, 4, 2)


def solve_logistic(X, P, allowed, targets, target_row, n_classes, *, C=1.0, **options):
    """Solve problems in one go."""
    problems = LogisticProblems(canonical(X), P, targets, np.ones(X.shape[0]), C)
    return problems.solve(allowed, target_row, n_classes, **options)


def make_problems(seed=0, n=120, d=5, kind="nested", scale=1.0):
    """Return random arguments of `solve_logistic`: five problems of two to four classes, and six parent columns."""
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d)) + 0.5 * scale
    P = (rng.random((n, 6)) < 0.4).astype(float)
    targets = []
    for k in N_CLASSES:
        scores = X @ rng.normal(size=(d, k)) / scale + P @ rng.normal(size=(6, k)) + rng.gumbel(size=(n, k))
        targets.append(scores.argmax(axis=1))
        targets[-1][:k] = range(k)
    targets = np.array(targets, dtype=np.int32)
    if kind == "nested":
        allowed = np.arange(6) < np.array([0, 1, 3, 4, 6])[:, None]
        allowed = allowed[:, rng.permutation(6)]
    else:
        allowed = rng.random((5, 6)) < 0.5
        allowed[0], allowed[1] = False, True
    return X, P, allowed, targets


def largest_gradient(solution, X, P, allowed, targets, q, C=1.0):
    own = solution.coefficients[solution.score_start[q] : solution.score_start[q + 1]].T
    is_input = np.concatenate([np.ones(X.shape[1], bool), allowed[q]])
    assert (own[1:][~is_input] == 0.0).all()
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    slopes = reference.gradient(np.hstack([X, P[:, allowed[q]]]), targets[q], own[1:][is_input], own[0], C)
    return max(np.abs(part).max() for part in slopes) / (targets[q] >= 0).sum()


@pytest.fixture(params=["factor", "diagonal"])
def preconditioner(request, monkeypatch):
    if request.param == "diagonal":
        monkeypatch.setattr(solver, "LARGEST_FACTOR", 0)


@pytest.mark.parametrize("kind", ["nested", "any"])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csr_array, np.float32])
@pytest.mark.usefixtures("preconditioner")
def test_gradient_at_the_solution_is_within_tol(container, kind):
    X, P, allowed, targets = make_problems(kind=kind)
    X = container(X)
    solution = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, C=0.7, tol=1e-8)
    assert solution.converged.all()
    for q in range(5):
        gradient = largest_gradient(solution, X, P, allowed, targets, q, C=0.7)
        assert gradient <= 1e-8 + 1e-13
        assert solution.gradient[q] == pytest.approx(gradient, abs=1e-12)


@pytest.mark.usefixtures("preconditioner")
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_answer_does_not_depend_on_the_batch(container, monkeypatch):
    X, P, allowed, targets = make_problems(5, kind="any")
    X = container(X)
    together = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=1e-10)
    blocks_seen = []
    monkeypatch.setattr(solver, "BLOCK_WIDTH", 1)
    monkeypatch.setattr(
        solver, "run_in_threads", lambda function, tasks, n_jobs: blocks_seen.extend([function(t), t][1] for t in tasks)
    )
    blocks = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=1e-10)
    assert [len(block) for block in blocks_seen] == [1] * 5
    np.testing.assert_allclose(together.coefficients, blocks.coefficients, atol=1e-7)


def many_problems(kind, n=400, n_labels=40):
    """Return arguments for forty binary problems, large enough for single precision and for several blocks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50)) if kind != "sparse" else sp.random(n, 300, density=0.2, format="csr", random_state=rng)
    dense = X.toarray() if sp.issparse(X) else X
    Y = np.zeros((n, n_labels))
    for k in range(n_labels):
        scores = dense @ rng.normal(size=dense.shape[1]) / 3 + Y[:, :k] @ rng.normal(size=k) - rng.uniform(0, 3)
        Y[:, k] = scores + rng.logistic(size=n) > 0
        Y[:2, k] = 0, 1
    allowed = np.tri(n_labels, n_labels, -1, dtype=bool)
    if kind == "any":
        allowed = rng.random((n_labels, n_labels)) < 0.3
    return X, Y, allowed, Y.T.astype(np.int32), range(n_labels), [2] * n_labels


@pytest.mark.parametrize("kind", ["nested", "any", "sparse"])
def test_threads_and_single_precision_change_only_the_time(kind, monkeypatch):
    X, P, allowed, targets, target_row, n_classes = many_problems(kind)
    problems = X, P, allowed, targets, target_row, n_classes
    found, two, three = (solve_logistic(*problems, n_jobs=n_jobs) for n_jobs in (1, 2, 3))
    for name in ("coefficients", "n_iter", "gradient"):
        np.testing.assert_array_equal(getattr(found, name), getattr(two, name))
        np.testing.assert_array_equal(getattr(found, name), getattr(three, name))
    for q in (0, 7, 39):  # computed in double precision
        assert largest_gradient(found, X, P, allowed, targets, q) <= 1.001e-6
    monkeypatch.setattr(solver, "SINGLE_TOL", np.inf)
    double = solve_logistic(*problems)
    np.testing.assert_allclose(found.coefficients, double.coefficients, atol=1e-3)
    if kind != "sparse":  # a year of many digits: in single precision all values are the same
        years = solve_logistic(X + 1e9 * (np.arange(50) == 0), *problems[1:], tol=1e-5)
        np.testing.assert_allclose(years.coefficients[:, 2:], found.coefficients[:, 2:], atol=0.05)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_more_columns_than_rows(container):
    X, P, allowed, targets = make_problems(6, n=30, d=80)
    X[7] = X[3]  # rows that do not span n dimensions
    X[:, 5] = 0.0
    solution = solve_logistic(container(X), P, allowed, targets, range(5), N_CLASSES, tol=1e-9)
    assert solution.converged.all()
    for q in range(5):
        assert largest_gradient(solution, X, P, allowed, targets, q) <= 1.1e-9


@pytest.mark.usefixtures("preconditioner")
def test_columns_of_very_different_scale():
    X, P, allowed, targets = make_problems(7)
    X = X * np.array([1e-3, 1.0, 1e2, 1e4, 1.0]) + np.array([0.0, 0.0, 0.0, 1e5, 0.0])
    solution = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=1e-4, max_iter=3000)
    assert np.isfinite(solution.coefficients).all()
    if solver.LARGEST_FACTOR:
        assert solution.converged.all()
        assert solution.n_iter.max() < 200


def test_inputs_of_tiny_scale_do_not_end_at_the_start():
    # Every entry of the gradient is below tol at once, but the objective can still be lowered a lot.
    X, P, allowed, targets = make_problems(8)
    none = np.zeros_like(allowed)
    small = solve_logistic(1e-8 * X, P, none, targets, range(5), N_CLASSES, C=1e16)
    plain = solve_logistic(X, P, none, targets, range(5), N_CLASSES, C=1.0)
    np.testing.assert_allclose(1e-8 * small.coefficients[:, 1:], plain.coefficients[:, 1:], atol=0.02)


def test_tolerances_below_rounding_end_without_complaint():
    X, P, allowed, targets = make_problems(9)
    solution = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=1e-30)
    assert solution.converged.all()
    assert solution.gradient.max() < 1e-11
    assert solution.n_iter.max() < 200


def test_max_iter_is_obeyed_and_told():
    X, P, allowed, targets = make_problems(10)
    solution = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, max_iter=2, tol=1e-12)
    assert not solution.converged.any()
    assert (solution.n_iter == 2).all()
    assert (solution.gradient > 1e-12).all()


@pytest.mark.parametrize("wide", [False, True])
def test_warm_start_from_the_solution_ends_at_once(wide):
    X, P, allowed, targets = make_problems(11, n=30 if wide else 120, d=60 if wide else 5)
    cold = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=1e-9)
    initial = cold.coefficients.copy()
    warm = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=2e-9, initial=initial)
    assert (warm.n_iter == 0).all()
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=1e-9)
    initial[0] = np.nan  # start this problem afresh
    mixed = solve_logistic(X, P, allowed, targets, range(5), N_CLASSES, tol=2e-9, initial=initial)
    assert mixed.n_iter[0] > 0
    assert (mixed.n_iter[1:] == 0).all()
    np.testing.assert_allclose(mixed.coefficients, cold.coefficients, atol=1e-6)


def test_sparse_inputs_are_never_made_dense():
    # 40,000 rows by 60,000 columns: 19 GB if it were dense.
    rng = np.random.default_rng(0)
    n, d = 40_000, 60_000
    X = sp.csr_array((np.ones(2 * n), rng.integers(0, d, 2 * n), np.arange(0, 2 * n + 1, 2)), shape=(n, d))
    targets = (np.asarray(X[:, :20_000].sum(axis=1)).ravel() > 0).astype(np.int32)[None]
    solution = solve_logistic(X, np.empty((n, 0)), np.empty((1, 0), bool), targets, [0], [2])
    assert solution.converged.all()
    assert ((X @ solution.coefficients[0, 1:] + solution.coefficients[0, 0] > 0) == targets[0]).mean() > 0.95


def test_problems_without_parents_are_solved_in_silence(capfd):
    # LAPACK prints its complaints, for example about an empty matrix, to standard output.
    X, _, _, targets = make_problems()
    solution = solve_logistic(X, np.empty((120, 0)), np.empty((5, 0), bool), targets, range(5), N_CLASSES)
    assert solution.converged.all()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("few", [0, 100])
def test_gram_and_squares_are_those_of_a_dense_matrix(container, few, monkeypatch):
    monkeypatch.setattr("montechain.links._solver.inputs.FEW_COLUMNS", few)
    X, P, _, _ = make_problems(n=300)
    weight = np.random.default_rng(0).random(300)
    inputs = Inputs.of(container(X), P * (np.arange(6) == 0))
    Z = np.hstack([np.ones((300, 1)), X, P * (np.arange(6) == 0)])
    np.testing.assert_allclose(inputs.gram(weight), Z.T @ (weight[:, None] * Z), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(inputs.squares(weight), weight @ Z**2, rtol=1e-10)
