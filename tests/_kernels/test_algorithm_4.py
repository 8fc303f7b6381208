"""The kernel of Algorithm 4, against the pseudocode with the same draws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.algorithm_4 import algorithm_4
from montechain.population.search import stacked_scores
from montechain.prefix_tree import no_knowledge
from random_chains import random_given
from random_populations import random_population
from reference import algorithm_4 as reference


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans())
def test_equals_the_pseudocode(seed, is_known):
    rng = np.random.default_rng(seed)
    population = random_population(rng)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    steps = rng.integers(len(population.models), size=int(rng.integers(1, 5)))
    uniforms = rng.random((len(steps), int(rng.choice([1, 2, 7, 25])), population.n_labels))
    labels = algorithm_4(
        *stacked_scores(population.models, X),
        no_knowledge(population.n_labels) if known is None else known,
        population.orders,
        steps,
        uniforms,
    )
    np.testing.assert_array_equal(labels, reference.algorithm_4(population, X, known, steps, uniforms))
