"""The chain: conditionals, joint, draws, learning with unknown labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from montechain.chain import Chain
from montechain.links.base import LinkLearner
from montechain.links.linear import FittedLinearLink
from montechain.targets import UNKNOWN
from random_chains import PARENTS, SEEDS, as_generic, log_proba_table, random_linear_chain


@given(seed=SEEDS, n_labels=st.integers(1, 5), parents=PARENTS)
def test_probabilities_of_all_vectors_sum_to_one_and_both_paths_agree(seed, n_labels, parents):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, n_labels, max_classes=4, parents=parents)
    X = rng.normal(size=(3, 3))
    vectors, table = log_proba_table(chain, X)
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0, atol=1e-9)
    for v in range(0, len(vectors), max(1, len(vectors) // 7)):
        Y = np.tile(vectors[v], (3, 1))
        np.testing.assert_allclose(chain.log_joint(X, Y), table[:, v], atol=1e-9)
        np.testing.assert_allclose(as_generic(chain).log_joint(X, Y), table[:, v], atol=1e-9)


class Copying(LinkLearner):
    """Learns nothing: p(label = class of its first parent) is 0.9; remembers what it was shown."""

    def __init__(self):
        self.seen = []

    def fit_links(self, X, codes, filled, n_classes, problems, **options):
        self.seen.append(([p.label for p in problems], filled.copy()))
        return [
            FittedLinearLink(2, np.zeros((1, 1)), np.full(1, -2.0),
                             tuple(np.array([[0.0], [4.0]]) for _ in problem.parents))
            for problem in problems
        ]  # fmt: skip


def test_unknown_parents_are_drawn_from_the_chain_learned_so_far():
    n = 2000
    codes = np.zeros((n, 3), dtype=np.int32)
    codes[: n // 2, 0] = 1
    codes[:, 1] = UNKNOWN
    codes[0, 1] = 1
    learner = Copying()
    chain = Chain.learn(learner, np.zeros((n, 1)), codes, [2, 2, 2], [0, 1, 2], [(), (0,), (1,)])
    # Links 0 and 1 have complete parents and go together; link 2 waits until label 1 is filled.
    assert [labels for labels, _ in learner.seen] == [[0, 1], [2]]
    filled = learner.seen[1][1]
    assert filled[0, 1] == 1
    assert (filled >= 0).all()
    share = [filled[: n // 2, 1].mean(), filled[n // 2 :, 1].mean()]
    odds = 1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))
    np.testing.assert_allclose(share, odds, atol=0.04)
    assert chain.parents == ((), (0,), (1,))


def test_complete_labels_are_learned_in_one_go():
    learner = Copying()
    Chain.learn(learner, np.zeros((4, 1)), np.zeros((4, 3), dtype=np.int32), [2] * 3, [2, 0, 1], [(2,), (2, 0), ()])
    assert [labels for labels, _ in learner.seen] == [[2, 0, 1]]
