"""Set-valued decisions over weighted label vectors: the exact maximiser of F1, and a search for Jaccard's.

These kernels know no chain: they take weighted label vectors (ragged rows), the class of each label
that means "not relevant", and what is known beforehand. The *relevant set* of a label vector is the
set of pairs (label, class) with a class other than the negative one.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.heap import rank
from montechain._kernels.ties import TIE


@njit
def maximise_f1(indptr, labels, weights, negative, n_classes, given):
    """Return for each row the label vector of the largest expected F1, and that expectation.

    The general F-measure maximiser (Dembczyński et al. 2011; Waegeman et al. 2014): among decisions
    with k relevant labels, the expected F1 is the sum over them of
    ``delta(l, c, k) = sum_s P(y_l = c, |y| = s) * 2 / (s + k)``, so the best one takes for each label
    its best class, and the k best labels. The best k is then found by trying each.

    Parameters
    ----------
    indptr, labels, weights : arrays
        As in `LabelDistribution`; the weights of a row sum to one.
    negative : int array of shape (L,)
        Code of the negative class; -1 for a label all of whose classes are relevant.
    n_classes : int array of shape (L,)
    given : int32 array of shape (n, L), or without rows
        Known classes, -1 elsewhere.

    Returns
    -------
    decisions : int32 array of shape (n, L)
    expectation : float64 array of shape (n,)
    """
    n_rows = len(indptr) - 1
    n_labels = labels.shape[1]
    class_start = np.zeros(n_labels + 1, dtype=np.int64)
    for j in range(n_labels):
        class_start[j + 1] = class_start[j] + n_classes[j]
    n_pairs = class_start[n_labels]
    pair_mass = np.zeros(n_pairs * (n_labels + 1))
    size_of = np.empty(len(labels), dtype=np.int64)
    size_mass = np.zeros(n_labels + 1)
    sizes = np.empty(n_labels + 1, dtype=np.int64)
    must = np.empty(n_labels, dtype=np.bool_)
    seen = np.zeros(n_pairs, dtype=np.bool_)
    score = np.empty(n_labels)
    keys = np.empty(n_labels)
    items = np.empty(n_labels, dtype=np.int64)
    ranking = np.empty(n_labels, dtype=np.int64)
    choice = np.empty(n_labels, dtype=np.int32)
    decisions = np.empty((n_rows, n_labels), dtype=np.int32)
    expectation = np.zeros(n_rows)

    for row in range(n_rows):
        first, last = indptr[row], indptr[row + 1]
        largest_size = 0
        for v in range(first, last):
            size_of[v] = 0
            for j in range(n_labels):
                size_of[v] += labels[v, j] != negative[j]
            largest_size = max(largest_size, size_of[v])
        width = largest_size + 1
        pair_mass[: n_pairs * width] = 0.0
        size_mass[:] = 0.0
        seen[:] = False
        for v in range(first, last):
            size_mass[size_of[v]] += weights[v]
            for j in range(n_labels):
                if labels[v, j] != negative[j]:
                    pair = class_start[j] + labels[v, j]
                    pair_mass[pair * width + size_of[v]] += weights[v]
                    seen[pair] = True
        n_sizes = 0
        for size in range(1, width):
            if size_mass[size] > 0.0:
                sizes[n_sizes] = size
                n_sizes += 1

        # Labels that are relevant in every decision, and those that may be.
        n_must = 0
        n_may = 0
        for j in range(n_labels):
            known = given[row, j] if given.shape[0] > 0 else -1
            must[j] = False
            decisions[row, j] = negative[j] if known < 0 else known
            if known >= 0:
                must[j] = known != negative[j]
            elif negative[j] < 0:
                must[j] = True
                decisions[row, j] = 0
            else:
                for c in range(n_classes[j]):
                    if seen[class_start[j] + c]:
                        n_may += 1
                        break
            if must[j]:
                n_must += 1

        best = size_mass[0] if n_must == 0 else -1.0
        for k in range(max(n_must, 1), n_must + n_may + 1):
            if k >= largest_size and best >= 0.0:
                # From here on at most all of y is hit, and ever more is predicted: this only falls.
                bound = 0.0
                for t in range(n_sizes):
                    bound += size_mass[sizes[t]] * 2.0 * sizes[t] / (sizes[t] + k)
                if bound <= best + TIE:
                    break
            value = 0.0
            for j in range(n_labels):
                known = given[row, j] if given.shape[0] > 0 else -1
                score[j] = -1.0
                choice[j] = -1
                if known >= 0 and not must[j]:
                    continue
                for c in range(n_classes[j]):
                    if c == negative[j] or (known >= 0 and c != known):
                        continue
                    pair = class_start[j] + c
                    if not (seen[pair] or must[j]):
                        continue
                    delta = 0.0
                    for t in range(n_sizes):
                        delta += pair_mass[pair * width + sizes[t]] * 2.0 / (sizes[t] + k)
                    if delta > score[j] + TIE:
                        score[j] = delta
                        choice[j] = c
                if must[j]:
                    value += score[j]
            # Stable, so that of equal labels the earlier one is taken, whatever the batch.
            rank(score, n_labels, keys, items, ranking)
            taken = n_must
            for t in range(n_labels):
                j = ranking[t]
                if taken == k:
                    break
                if not must[j] and choice[j] >= 0:
                    value += score[j]
                    taken += 1
            if value > best + TIE:
                best = value
                taken = n_must
                for j in range(n_labels):
                    if given.shape[0] == 0 or given[row, j] < 0:
                        decisions[row, j] = choice[j] if must[j] else negative[j]
                for t in range(n_labels):
                    j = ranking[t]
                    if taken == k:
                        break
                    if not must[j] and choice[j] >= 0:
                        decisions[row, j] = choice[j]
                        taken += 1
        expectation[row] = max(best, 0.0)
    return decisions, expectation


@inner
def copy(vector, out):
    """Write one label vector over another; numba takes a second to compile the assignment of a slice."""
    for j in range(len(vector)):
        out[j] = vector[j]


@inner
def unite(candidate, vector, negative):
    """Add to `candidate` the relevant labels of `vector` where it has none; return whether there are any."""
    grown = False
    for j in range(len(vector)):
        if candidate[j] == negative[j] and vector[j] != negative[j]:
            candidate[j] = vector[j]
            grown = True
    return grown


@inner
def try_candidate(labels, weights, first, last, sets, negative, candidate, best, decision):
    """Return the expected Jaccard loss of `candidate` over the vectors first..last-1 if it is less than `best`.

    Then `decision` becomes the candidate; otherwise, known as soon as some of the vectors cost that much, `best` is
    returned. `sets` are the relevant labels of all vectors and where those of each begin.
    """
    relevant, relevant_start = sets
    candidate_size = 0
    for j in range(len(candidate)):
        if candidate[j] != negative[j]:
            candidate_size += 1
    loss = 0.0
    for v in range(first, last):
        shared = 0
        for t in range(relevant_start[v], relevant_start[v + 1]):
            j = relevant[t]
            if labels[v, j] == candidate[j]:
                shared += 1
        union = relevant_start[v + 1] - relevant_start[v] + candidate_size - shared
        if union > 0:
            loss += weights[v] * (1.0 - shared / union)
            if loss >= best - TIE:
                return best
    if loss >= best - TIE:  # without vectors, nothing was added up
        return best
    copy(candidate, decision)
    return loss


@njit
def minimise_jaccard(indptr, labels, weights, negative, n_classes, given, first_candidates, n_heaviest, max_candidates):
    """Return for each row the candidate of least expected Jaccard loss, that expectation, and whether all were tried.

    The Jaccard loss of two relevant sets is 1 - |A ∩ B| / |A ∪ B|, and zero if both are empty. Its
    minimiser is hard to find in general, so candidates are tried: every label vector there is, if
    these are at most `max_candidates`; otherwise the row's entry of `first_candidates`, every vector
    of the row, the unions of its 1, 2, 3, ... heaviest, and the unions of two among its `n_heaviest`
    heaviest. In a union the heavier vector's class goes first.

    Parameters
    ----------
    indptr, labels, weights : arrays
        As in `LabelDistribution`, heaviest vector first; the weights of a row sum to one.
    negative : int array of shape (L,)
        Code of the negative class; -1 for a label all of whose classes are relevant.
    n_classes : int array of shape (L,)
    given : int32 array of shape (n, L), or without rows
        Known classes, -1 elsewhere; all vectors agree with them.
    first_candidates : int32 array of shape (n, L)
    n_heaviest, max_candidates : int

    Returns
    -------
    decisions : int32 array of shape (n, L)
    expected_loss : float64 array of shape (n,)
    tried_all : bool array of shape (n,)
    """
    n_rows, n_labels = first_candidates.shape
    # The relevant labels of each vector: most vectors are sparse, so comparing these alone is quicker.
    relevant_start = np.zeros(len(labels) + 1, dtype=np.int64)
    relevant = np.empty(labels.size, dtype=np.int64)
    place = 0
    for v in range(len(labels)):
        for j in range(n_labels):
            if labels[v, j] != negative[j]:
                relevant[place] = j
                place += 1
        relevant_start[v + 1] = place
    sets = (relevant, relevant_start)

    decisions = first_candidates.copy()
    expected_loss = np.empty(n_rows)
    tried_all = np.zeros(n_rows, dtype=np.bool_)
    candidate = np.empty(n_labels, dtype=np.int32)
    for row in range(n_rows):
        first, last, decision = indptr[row], indptr[row + 1], decisions[row]
        n_vectors = 1
        for j in range(n_labels):
            if (given.shape[0] == 0 or given[row, j] < 0) and n_vectors <= max_candidates:
                n_vectors *= n_classes[j]
        tried_all[row] = n_vectors <= max_candidates
        copy(decision, candidate)
        best = try_candidate(labels, weights, first, last, sets, negative, candidate, np.inf, decision)
        # Good candidates first, for they cut the others short.
        for d in range(first, last):
            best = try_candidate(labels, weights, first, last, sets, negative, labels[d], best, decision)
        if tried_all[row]:
            for number in range(n_vectors):
                rest = number
                for j in range(n_labels):
                    if given.shape[0] > 0 and given[row, j] >= 0:
                        candidate[j] = given[row, j]
                    else:
                        candidate[j] = rest % n_classes[j]
                        rest //= n_classes[j]
                best = try_candidate(labels, weights, first, last, sets, negative, candidate, best, decision)
        elif last > first:
            copy(labels[first], candidate)
            for d in range(first + 1, last):
                if unite(candidate, labels[d], negative):
                    best = try_candidate(labels, weights, first, last, sets, negative, candidate, best, decision)
            top = min(last, first + n_heaviest)
            for d in range(first, top):
                for other in range(d + 1, top):
                    copy(labels[d], candidate)
                    if unite(candidate, labels[other], negative):
                        best = try_candidate(labels, weights, first, last, sets, negative, candidate, best, decision)
        expected_loss[row] = best
    return decisions, expected_loss, tried_all
