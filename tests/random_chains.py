"""Small random chains for tests, and what is needed to look at them from both sides."""

import itertools

import numpy as np
from hypothesis import strategies as st

from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink, n_scores
from montechain.losses import check_loss
from montechain.prefix_tree import ChainBase

SEEDS = st.integers(0, 2**32 - 1)
PARENTS = st.sampled_from(["all", "none", "tree", 1, 2])
NO_LIMIT = 10**9


def random_parents(rng, n_labels, parents="all"):
    """Return the parents of each position: all earlier ones, none, a random tree, or at most k of them."""
    structure = []
    for k in range(n_labels):
        if parents == "all":
            chosen = range(k)
        elif parents == "none" or k == 0:
            chosen = ()
        elif parents == "tree":
            chosen = (int(rng.integers(k)),)
        else:
            chosen = sorted(rng.choice(k, size=min(k, int(parents)), replace=False).tolist())
        structure.append(tuple(chosen))
    return tuple(structure)


def random_links(rng, n_classes, structure, scale=1.0, n_features=3):
    """Return label-linear links with random coefficients."""
    links = []
    for k, own in enumerate(int(n) for n in n_classes):
        width = n_scores(own)
        links.append(
            FittedLinearLink(
                n_classes=own,
                coef=scale * rng.normal(size=(n_features, width)),
                intercept=scale * rng.normal(size=width),
                parent_effects=tuple(scale * rng.normal(size=(n_classes[j], width)) for j in structure[k]),
            )
        )
    return links


def random_linear_chain(rng, n_labels, max_classes=2, parents="all", scale=1.0, n_features=3):
    """Return a label-linear chain with random coefficients."""
    n_classes = rng.integers(2, max_classes + 1, size=n_labels)
    structure = random_parents(rng, n_labels, parents)
    return Chain(range(n_labels), structure, random_links(rng, n_classes, structure, scale, n_features))


def random_case(seed, parents="all", *, is_known=False, n_rows=3, n_labels=None, most_labels=5, most_classes=5):
    """Return a small random problem: a chain, X, what is known (or None), and the generator it was drawn from."""
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.2, 1.0, 3.0]))
    n_labels = int(rng.integers(1, most_labels + 1)) if n_labels is None else n_labels
    max_classes = int(rng.integers(2, most_classes + 1))
    chain = random_linear_chain(rng, n_labels, max_classes, parents, scale=scale)
    X = rng.normal(size=(n_rows, 3))
    return chain, X, random_given(rng, n_rows, chain.n_classes) if is_known else None, rng


class TableChain(ChainBase):
    """A chain whose conditionals are typed out: one table per row and prefix, nothing learned."""

    def __init__(self, n_classes, tables):
        self.n_classes = tuple(int(k) for k in n_classes)
        self.order = range(len(self.n_classes))
        self.parents = tuple(tuple(range(k)) for k in range(len(self.n_classes)))
        self.tables = tables
        self.n_calls = 0

    def conditional(self, X, prefix):
        self.n_calls += 1
        rows = np.asarray(X)[:, 0].astype(int)
        return np.log(
            [self.tables[row][tuple(int(c) for c in classes)] for row, classes in zip(rows, prefix, strict=True)]
        ).reshape(len(rows), self.n_classes[prefix.shape[1]])


def random_table_chain(rng, n_classes, n_rows, concentration=0.7):
    """Return a `TableChain` with random conditionals and its X, a column of row numbers."""
    tables = []
    for _ in range(n_rows):
        table = {}
        for k, n in enumerate(n_classes):
            for prefix in itertools.product(*(range(m) for m in n_classes[:k])):
                table[prefix] = rng.dirichlet(np.full(n, concentration)) * (1 - 1e-9) + 1e-9 / n
        tables.append(table)
    return TableChain(n_classes, tables), np.arange(n_rows, dtype=float)[:, None]


class GenericChain(ChainBase):
    """The same chain with its scores hidden, so that strategies take the path for links of any kind."""

    def __init__(self, chain):
        self.chain = chain
        self.n_classes = chain.n_classes
        self.parents = chain.parents

    def conditional(self, X, prefix):
        return self.chain.conditional(X, prefix)


as_generic = GenericChain


def random_given(rng, n_rows, n_classes, share=0.4):
    """Return known classes for a share of the cells, -1 elsewhere."""
    classes = np.column_stack([rng.integers(k, size=n_rows) for k in n_classes]).astype(np.int32)
    return np.where(rng.random(classes.shape) < share, classes, -1).astype(np.int32)


def all_vectors(n_classes):
    """Return every label vector, of shape (number of vectors, L)."""
    vectors = list(itertools.product(*(range(k) for k in n_classes)))
    return np.array(vectors, dtype=np.int32).reshape(len(vectors), len(n_classes))


def log_proba_table(chain, X, given=None):
    """Return log p(y | x) of every label vector, of shape (n, number of vectors), by direct enumeration.

    Only `chain.conditional` is used. Vectors that disagree with `given` get minus infinity.
    """
    n_rows = X.shape[0]
    table = np.zeros((n_rows, 1))
    for k, n_own in enumerate(chain.n_classes):
        prefixes = all_vectors(chain.n_classes[:k])
        rows = np.repeat(np.arange(n_rows), len(prefixes))
        steps = chain.conditional(X[rows], np.tile(prefixes, (n_rows, 1)))
        table = (table[:, :, None] + steps.reshape(n_rows, len(prefixes), n_own)).reshape(n_rows, -1)
    vectors = all_vectors(chain.n_classes)
    if given is not None:
        disagrees = ((given[:, None] >= 0) & (given[:, None] != vectors)).any(axis=2)
        table[disagrees] = -np.inf
    return vectors, table


def posterior(chain, X, given=None):
    """Return every label vector and p(y | x, what is known), of shape (n, number of vectors)."""
    vectors, table = log_proba_table(chain, X, given)
    return vectors, np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))


def marginals_of(n_classes, vectors, proba):
    """Return the probabilities of the classes of each label, sums over a distribution of label vectors."""
    return [
        np.column_stack([proba[:, vectors[:, k] == c].sum(axis=1) for c in range(n)]) for k, n in enumerate(n_classes)
    ]


def exact_marginals(chain, X, given=None):
    """Return the probabilities of the classes of each label under a chain, given what is known."""
    return marginals_of(chain.n_classes, *posterior(chain, X, given))


def bind_loss(loss, n_classes):
    """Return a loss for labels whose classes are their codes, in the order of the chain."""
    return check_loss(loss, classes=[np.arange(k) for k in n_classes], order=range(len(n_classes)))
