"""Laws that logistic links and those of support vector machines have in common."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from link_problems import N_CLASSES, PROBLEMS
from montechain.links.base import LinkProblem
from montechain.links.linear import FittedLinearLink
from montechain.links.logistic import LogisticLink
from montechain.links.svm import SVMLink

# A learner at its highest accuracy, and the error allowed in its probabilities.
LEARNERS = [pytest.param(LogisticLink(tol=1e-10), 1e-6, id="logistic"), pytest.param(SVMLink(tol=1e-6), 1e-3, id="svm")]
both = pytest.mark.parametrize(("learner", "atol"), LEARNERS)


def assert_alike(links, expected, X, codes, atol, problems=PROBLEMS):
    """Compare probabilities, and that all links are linear ones."""
    assert len(links) == len(expected) == len(problems)
    for problem, link, other in zip(problems, links, expected, strict=True):
        assert isinstance(link, FittedLinearLink)
        parents = codes[:, list(problem.parents)]
        found, wanted = np.exp(link.log_proba(X, parents)), np.exp(other.log_proba(X, parents))
        np.testing.assert_allclose(found, wanted, atol=atol)


@both
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_array, np.asfortranarray, np.ndarray.tolist])
def test_kind_of_x_does_not_matter(data, learner, atol, container):
    X, codes = data
    expected = learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS)
    assert_alike(learner.fit_links(container(X), codes, codes, N_CLASSES, PROBLEMS), expected, X, codes, atol)


@both
def test_rows_with_an_unknown_label_are_left_out_and_parents_are_read_as_filled(data, learner, atol):
    X, codes = data
    unknown = np.random.default_rng(3).random(codes.shape) < 0.25
    unknown[:4] = False
    unknown[5], X[5] = True, 1000.0  # must not stretch a range either
    links = learner.fit_links(X, np.where(unknown, -1, codes).astype(np.int32), codes, N_CLASSES, PROBLEMS[:5])
    for problem, link in zip(PROBLEMS[:5], links, strict=True):
        rows = ~unknown[:, problem.label]
        alone = learner.fit_links(X[rows], codes[rows], codes[rows], N_CLASSES, [problem])
        assert_alike([link], alone, X[rows], codes[rows], atol, [problem])


@both
def test_whole_weights_are_repetitions(data, learner, atol):
    X, codes = data
    times = np.random.default_rng(0).integers(0, 3, len(X))
    times[:4] = 1
    again = np.repeat(np.arange(len(X)), times)
    weighted = learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, sample_weight=times)
    repeated = learner.fit_links(X[again], codes[again], codes[again], N_CLASSES, PROBLEMS)
    assert_alike(weighted, repeated, X, codes, min(atol, 1e-4))


@both
def test_batch_and_threads_do_not_matter(data, learner, atol):
    X, codes = data
    together = learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, n_jobs=2)
    alone = [learner.fit_links(X, codes, codes, N_CLASSES, [problem])[0] for problem in PROBLEMS]
    assert_alike(together, alone, X, codes, 1e-6 if isinstance(learner, LogisticLink) else 0.0)
    assert learner.fit_links(X, codes, codes, N_CLASSES, []) == []


@both
@pytest.mark.parametrize(
    ("own", "n_classes"), [([1, 1, 1, -1], 2), ([1, 1, 1, -1], 3), ([0, 0, 0, 0], 1), ([-1, -1, -1, -1], 3)]
)
def test_label_of_one_class_or_never_known_has_smoothed_constant_probabilities(own, n_classes, learner, atol):
    X, codes = np.arange(8.0).reshape(4, 2), np.column_stack([own, [0, 1, 0, 1]]).astype(np.int32)
    filled = np.abs(codes)
    (link,) = learner.fit_links(X, codes, filled, [n_classes, 2], [LinkProblem(0, (1,))])
    expected = 0.5 + np.bincount(codes[codes[:, 0] >= 0, 0], minlength=n_classes)
    np.testing.assert_allclose(np.exp(link.log_proba(X, filled[:, [1]])), np.tile(expected / expected.sum(), (4, 1)))
    assert (link.coef == 0.0).all()


@both
@pytest.mark.parametrize(
    ("weight", "message"), [(np.ones(3), r"shape == \(3,\)"), (-1.0, "Negative"), (np.nan, "NaN"), (np.inf, "infinity")]
)
def test_bad_weights_and_inputs(data, learner, atol, weight, message):
    X, codes = data
    weight = weight if np.ndim(weight) else np.where(np.arange(len(X)) == 5, weight, 1.0)
    with pytest.raises(ValueError, match=message):
        learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, sample_weight=weight)
    with pytest.raises(TypeError, match="Link takes no fit parameters besides sample_weight, but got groups"):
        learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, groups=codes[:, 0])
    with pytest.raises(ValueError, match="NaN"):
        learner.fit_links(np.where(X > 1, np.nan, X), codes, codes, N_CLASSES, PROBLEMS)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            LogisticLink(C=5.0, max_iter=2, tol=1e-9),
            r"max_iter=2 iterations .*: labels 'a', 'b', 'c', 'e'. Use LogisticLink\(max_iter=20\), a C smaller than 5",
        ),
        (SVMLink(max_iter=1, tol=1e-6), r"label '[abce]' .* max_iter=1 steps .* Use SVMLink\(max_iter=10\), or a C"),
    ],
    ids=["logistic", "svm"],
)
def test_warns_which_label_did_not_converge_and_what_to_change(data, learner, message):
    X, codes = data
    with pytest.warns(ConvergenceWarning, match=message):
        learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, names="abcde")
