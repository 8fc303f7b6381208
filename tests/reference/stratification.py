"""Iterative stratification by the book, one row at a time: fractions, sets and dictionaries.

Algorithm 1 of K. Sechidis, G. Tsoumakas, I. Vlahavas, On the stratification of multi-label data (2011), with k equal
subsets. Beyond the paper, a subset that has its share of the rows takes no more.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction


def iterative_stratification(
    labels: Sequence[set[Hashable]],
    n_subsets: int,
    order: Sequence[int],
    priority: dict[Hashable, int],
    uniforms: Sequence[float],
) -> list[int]:
    """Return the subset of each example, given the set of labels that it has."""
    n = len(labels)
    subset_of: dict[int, int] = {}
    D = list(order)
    c = [Fraction(n, n_subsets) for _ in range(n_subsets)]
    c_label = {
        label: [Fraction(sum(label in has for has in labels), n_subsets) for _ in range(n_subsets)]
        for label in set().union(*labels)
    }

    def has_room(j: int) -> bool:
        sizes = [sum(s == i for s in subset_of.values()) for i in range(n_subsets)]
        floor, n_larger = divmod(n, n_subsets)
        larger = sum(size > floor for size in sizes)
        return sizes[j] < floor or (sizes[j] == floor and larger < n_larger)

    def put(example: int, wanted: list[Fraction]) -> None:
        subsets = [j for j in range(n_subsets) if has_room(j)]
        M = [j for j in subsets if wanted[j] == max(wanted[i] for i in subsets)]
        if len(M) > 1:
            M = [j for j in M if c[j] == max(c[i] for i in M)]
        m = M[int(uniforms[example] * len(M))]
        subset_of[example] = m
        D.remove(example)
        for label in labels[example]:
            c_label[label][m] -= 1
        c[m] -= 1

    while any(labels[example] for example in D):
        examples_of = {label: [e for e in D if label in labels[e]] for label in c_label}
        rarest = min(
            (label for label in c_label if examples_of[label]), key=lambda i: (len(examples_of[i]), priority[i])
        )
        for example in examples_of[rarest]:
            put(example, c_label[rarest])
    for example in list(D):
        put(example, c)
    return [subset_of[example] for example in range(n)]
