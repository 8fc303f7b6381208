"""The best of many draws: Algorithm 3 of the paper, and what Algorithm 4 does with each of its chains.

A draw is abandoned as soon as it cannot beat the best vector found. The answer is the same as that of drawing and
comparing complete vectors one after the other. Binary chains have their own kernel, which takes a third of the time to
compile.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import ZERO, inner, njit
from montechain._kernels.conditional import new_path, walk_down
from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.ties import TIE

PATIENCE = 512
"""Node budget of the search for the most probable vector. If it finds that vector, later draws do not matter, and the
search is cheaper than the draws."""


def monte_carlo(base, links, given, uniforms):
    """Return the best of the greedy vector and the drawn ones, its log-probability and an upper bound.

    The first parameters are `PrefixTree.arrays`. All rows share the `uniforms` in [0, 1), of shape (S, L). No vector,
    drawn or not, has a higher log-probability than the upper bound.
    """
    labels, log_proba, upper_bound, _, complete, tied = search_depth_first(base, links, given, PATIENCE)
    if not links.is_all_binary:
        found = (labels, log_proba, upper_bound)
        _draw_rows(base, links, given, uniforms, found, new_path(links))
        return found
    # The most probable vector is often the greedy one, or else among the draws: then it is the answer.
    odds = base + labels @ np.tril(links.effects, -1).T
    is_known = given >= 0 if len(given) else np.zeros((1, 1), dtype=bool)
    is_greedy = complete & (((odds > TIE) == (labels == 1)) | is_known).all(axis=1)
    rows = np.flatnonzero(~is_greedy)
    _draw_binary_rows(base, links.effects, given, rows, complete & ~tied, uniforms, labels, log_proba, upper_bound)
    return labels, log_proba, upper_bound


@njit(error_model="numpy")
def _draw_binary_rows(base, effects, given, rows, is_best, uniforms, labels, log_proba, upper_bound):
    """Draw for some rows of a binary chain, one vector after the other, and keep the first of the most probable ones.

    `is_best` says whether each row of `labels` is more probable than any other vector: if it is drawn, it is the
    answer. No vector has a higher log-probability than `upper_bound`: where one is drawn that has this one, the others
    do not matter. The vectors of the int64 `rows` and their log-probabilities go to `labels` and `log_proba`.
    """
    n_labels = base.shape[1]
    path = np.empty(n_labels, dtype=np.int32)
    active = np.empty(n_labels, dtype=np.int64)
    # Draws share the beginning of the vector that the search has found. Of each label of that vector: the probability
    # of the first class, the log-probability of the prefix before it, and that of the prefix that leaves there.
    vector = np.empty(n_labels, dtype=np.int32)
    first_class = np.empty(n_labels)
    before = np.zeros(n_labels + 1)
    leaving = np.empty(n_labels)
    leaves_at = np.empty(uniforms.shape[0] + 1, dtype=np.int64)  # the label at which the start and each draw leave
    for i in rows:
        n_active = 0
        leaves_at[0] = n_labels
        for k in range(n_labels):
            odds = base[i, k]
            for a in range(n_active):
                odds += effects[k, active[a]]
            small = math.exp(-abs(odds))
            more, less = before[k] - math.log1p(small), before[k] - math.log1p(small) - abs(odds)
            chosen = vector[k] = labels[i, k]
            is_less = (chosen == 1) != (odds > 0.0)
            before[k + 1], leaving[k] = (less, more) if is_less else (more, less)
            first_class[k] = (1.0 if odds < 0.0 else small) / (1.0 + small)
            if given.shape[0] > 0 and given[i, k] >= 0:  # every draw has the known class
                first_class[k] = -1.0 if chosen == 1 else 2.0
            elif leaves_at[0] == n_labels and (chosen == 1) != (odds > TIE):
                leaves_at[0] = k
            if chosen == 1:
                active[n_active] = k
                n_active += 1
        is_drawn = False
        for s in range(uniforms.shape[0]):
            k = 0
            while k < n_labels and (uniforms[s, k] < first_class[k]) == (vector[k] == 0):
                k += 1
            leaves_at[s + 1] = k
            if k == n_labels and is_best[i]:
                is_drawn = True
                break
        if is_drawn:
            continue
        best = -np.inf
        for s in range(-1, uniforms.shape[0]):
            start = k = leaves_at[s + 1]
            if k < n_labels and best > -np.inf and leaving[k] <= best + TIE:
                continue
            partial = before[k]
            n_active = 0
            for j in range(k):
                if vector[j] == 1:
                    active[n_active] = j
                    n_active += 1
            # How often the probability of the best vector goes into that of the prefix, and what divides the latter. To
            # multiply takes less time than to add logarithms.
            lead, divisor = math.exp(min(partial - best, 700.0)), 1.0
            while k < n_labels:
                odds = base[i, k]
                for a in range(n_active):
                    odds += effects[k, active[a]]
                small = math.exp(-abs(odds))
                if given.shape[0] > 0 and given[i, k] >= 0:
                    chosen = given[i, k]
                elif s < 0:
                    chosen = 1 if odds > TIE else 0
                else:
                    chosen = 0 if (1.0 if odds < 0.0 else small) > uniforms[s, k] * (1.0 + small) else 1
                divisor *= 1.0 + small
                if (chosen == 1) != (odds > 0.0):
                    partial -= abs(odds)
                    lead *= small
                if lead <= divisor:
                    partial -= math.log(divisor)
                    if partial <= best + TIE and best > -np.inf:
                        break
                    lead, divisor = math.exp(min(partial - best, 700.0)), 1.0
                path[k] = chosen
                if chosen == 1:
                    active[n_active] = k
                    n_active += 1
                k += 1
            partial -= math.log(divisor)
            if k == n_labels and (partial > best + TIE or best == -np.inf):
                best = partial
                for j in range(n_labels):
                    labels[i, j] = vector[j] if j < start else path[j]
                if best >= upper_bound[i] - TIE:
                    break
        log_proba[i] = best
        upper_bound[i] = max(best, upper_bound[i])


@njit
def _draw_rows(base, links, given, uniforms, found, path):
    labels, log_proba, upper_bound = found
    vector, nothing = np.empty(labels.shape[1], dtype=np.int32), np.empty(0, dtype=np.int32)
    for i in range(len(base)):
        known = given[i] if len(given) else nothing
        walk_down(base[i], links, known, uniforms[0, :0], -np.inf, labels[i], ZERO, len(vector), path)
        log_proba[i] = best_of_draws(base[i], links, known, uniforms, upper_bound[i], labels[i], vector, path)
        upper_bound[i] = max(log_proba[i], upper_bound[i])


@inner
def best_of_draws(base_row, links, known, uniforms, upper_bound, labels, vector, path):
    """Replace `labels` by the most probable draw if that is more probable; of equal draws, the first wins.

    `known` has known classes, -1 elsewhere; it is empty if nothing is known. Draw s chooses the class of position k by
    ``uniforms[s, k]``. No vector has a higher log-probability than `upper_bound`: once one is found that has this one,
    the other draws do not matter. `vector`, as long as `labels`, and `path`, made by `new_path`, are scratch space.
    Returns the log-probability of `labels`.
    """
    best, _ = walk_down(base_row, links, labels, uniforms[0], -np.inf, labels, ZERO, len(labels), path)
    for s in range(len(uniforms)):
        if best >= upper_bound - TIE:
            break
        value, _ = walk_down(base_row, links, known, uniforms[s], best + TIE, vector, ZERO, len(labels), path)
        if value > best + TIE:
            best = value
            for k in range(len(labels)):
                labels[k] = vector[k]
    return best
