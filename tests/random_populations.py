"""Small random populations for tests."""

import numpy as np

from montechain.chain import Chain
from montechain.inference import BranchAndBound
from montechain.joint import ChainModel
from montechain.population import Population
from random_chains import as_generic, random_links, random_parents

EXACT = BranchAndBound(residual=0.0, max_nodes=10**6)


def seeded(seed=0):
    """Return a generator."""
    return np.random.default_rng(seed)


def random_chain(rng, n_classes, parents="all", scale=1.0):
    """Return a label-linear chain in a random order over labels with these numbers of classes."""
    order = rng.permutation(len(n_classes))
    structure = random_parents(rng, len(n_classes), parents)
    return Chain(order, structure, random_links(rng, [n_classes[label] for label in order], structure, scale=scale))


def random_population(rng, n_labels=None, max_classes=4, n_chains=None, parents="all", scale=None):
    """Return a population of label-linear chains with random orders and weights; what is None is random."""
    n_labels = int(rng.integers(1, 5)) if n_labels is None else n_labels
    n_chains = int(rng.integers(1, 5)) if n_chains is None else n_chains
    n_classes = rng.integers(2, max_classes + 1, size=n_labels)
    scale = float(rng.choice([0.3, 1, 3])) if scale is None else scale
    chains = [random_chain(rng, n_classes, parents, scale) for _ in range(n_chains)]
    return population_of(chains, rng.dirichlet(np.full(n_chains, 0.7)) + 1e-6)


def population_of(chains, weights=None, inference=EXACT):
    """Return a population of chains that share one inference strategy."""
    return Population([ChainModel(chain, inference) for chain in chains], weights)


def with_inference(population, inference):
    """Return the same population with another inference strategy."""
    return population_of(population.chains, population.weights, inference)


def as_generic_population(population):
    """Return the same population with the scores of its chains hidden."""
    views = []
    for chain in population.chains:
        view = as_generic(chain)
        view.order = chain.order
        views.append(view)
    return population_of(views, population.weights)
