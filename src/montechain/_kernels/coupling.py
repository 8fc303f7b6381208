"""Pairwise coupling: from the odds within each pair of classes to one distribution over all of them.

Hastie and Tibshirani (1998) ask for the probabilities p whose shares ``p_i / (p_i + p_j)`` come nearest to the given
ones, by the weighted Kullback-Leibler divergence. In ``log p`` this is a concave problem, whose second derivatives are
those of a network of conductances between the classes; so Newton's method takes a few steps where their updates, one
class at a time, take hundreds. A network is solved by eliminating one class after the other. Only sums of positive
numbers occur in that, so that probabilities of any size come out to full accuracy.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, config, types
from numba.extending import intrinsic, overload

from montechain._kernels.compiling import njit

PAIRWISE = 2
"""Response of links with K (K - 1) / 2 logistic scores, i against j for i < j, joined by pairwise coupling."""

MAX_STEPS = 100
"""Steps of Newton's method after which it is enough."""
ACCURACY = 1e-11
"""Movement of the log-probabilities below which they are found: the next step would move them by its square."""
LONGEST_STEP = 4.0
"""Further than this the second derivatives say nothing any more."""
SHORTEST_STEP = 1e-6
"""Steps are not made shorter than this."""
LARGEST_CONTRADICTION = 0.5
"""Log-odds that are missed by more than this share of them do not tell where to start."""
LEAST = 1e-30
"""Second derivatives count at least so much, so that classes of no probability at all do not stop the others."""


@njit(cache=False)
def _share(score):
    """Return 1 / (1 + exp(-score)), to full accuracy also if it is tiny."""
    if score >= 0.0:
        return 1.0 / (1.0 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1.0 + odds)


@njit(cache=False)
def _settle(conductance, inflow, potential):
    """Write to `potential` what lets `inflow` run through the network, the last class at zero; spoils both."""
    n = inflow.shape[0]
    for i in range(n - 1):
        total = 0.0
        for j in range(i + 1, n):
            total += conductance[i, j]
        conductance[i, i] = total
        if total <= 0.0:  # nothing leads on from here
            continue
        for j in range(i + 1, n):
            share = conductance[i, j] / total
            inflow[j] += share * inflow[i]
            for k in range(i + 1, n):
                if k != j:
                    conductance[j, k] += share * conductance[i, k]
    potential[n - 1] = 0.0
    for i in range(n - 2, -1, -1):
        potential[i] = 0.0
        if conductance[i, i] > 0.0:
            flow = inflow[i]
            for j in range(i + 1, n):
                flow += conductance[i, j] * potential[j]
            potential[i] = flow / conductance[i, i]


@njit(cache=False)
def _divergence(scores, weights, position):
    """Return the divergence, but for what does not depend on `position`."""
    total = 0.0
    index = 0
    for i in range(position.shape[0]):
        for j in range(i + 1, position.shape[0]):
            gap = position[i] - position[j]
            # -r log(share) - (1 - r) log(1 - share), r the wanted share
            total += weights[index] * (
                _share(-scores[index]) * max(gap, 0.0)
                + _share(scores[index]) * max(-gap, 0.0)
                + math.log1p(math.exp(-abs(gap)))
            )
            index += 1
    return total


@njit(cache=False)
def _contradiction(scores, position):
    """Return by how much the worst of the given log-odds is missed, relative to its size."""
    worst = 0.0
    index = 0
    for i in range(position.shape[0]):
        for j in range(i + 1, position.shape[0]):
            worst = max(worst, abs(scores[index] - position[i] + position[j]) / (1.0 + abs(scores[index])))
            index += 1
    return worst


@njit(cache=False)
def _balance(scores, weights, position):
    """Give each class in turn the odds that it is due, the others as they are: slow, but it always comes nearer."""
    n = position.shape[0]
    for i in range(n):
        wanted = implied = 0.0
        for j in range(n):
            if j != i:
                low, high = (i, j) if i < j else (j, i)
                pair = low * n - low * (low + 1) // 2 + (high - low - 1)
                wanted += weights[pair] * _share(scores[pair] if i < j else -scores[pair])
                implied += weights[pair] * _share(position[i] - position[j])
        if wanted > 0.0 and implied > 0.0:
            position[i] += math.log(wanted / implied)


@njit(cache=False)
def couple_pairs(scores, weights, n_classes, out):
    """Write to ``out[:n_classes]`` the log-probabilities whose pairwise odds fit `scores` best.

    Parameters
    ----------
    scores : array of K (K - 1) / 2 floats
        Log-odds of class i against class j, for i < j.
    weights : array of as many floats
        What each pair counts.
    n_classes : int
        K.
    out : array
    """
    conductance = np.zeros((n_classes, n_classes))
    inflow = np.zeros(n_classes)
    position = np.zeros(n_classes)
    step = np.zeros(n_classes)
    before = np.zeros(n_classes)
    # Weighted least squares of the log-odds: right if they do not contradict each other.
    index = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            own = weights[index] * max(_share(scores[index]) * _share(-scores[index]), 1e-6)
            conductance[i, j] = conductance[j, i] = own
            inflow[i] += own * scores[index]
            inflow[j] -= own * scores[index]
            index += 1
    _settle(conductance, inflow, position)
    contradiction = _contradiction(scores, position)
    if contradiction > LARGEST_CONTRADICTION:
        position[:] = 0.0
    value = _divergence(scores, weights, position)
    for _ in range(MAX_STEPS if contradiction > ACCURACY else 0):
        inflow[:] = 0.0
        index = 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                gap = position[i] - position[j]
                low, high = _share(-abs(gap)), _share(abs(gap))
                conductance[i, j] = conductance[j, i] = weights[index] * max(low * high, LEAST)
                # The difference of the shares, taken between those that are small.
                if gap <= 0.0:
                    surplus = weights[index] * (_share(scores[index]) - low)
                else:
                    surplus = weights[index] * (low - _share(-scores[index]))
                inflow[i] += surplus
                inflow[j] -= surplus
                index += 1
        _settle(conductance, inflow, step)
        longest = 0.0
        for i in range(n_classes):
            step[i] = min(max(step[i], -LONGEST_STEP), LONGEST_STEP)
            longest = max(longest, abs(step[i]))
        if longest <= ACCURACY:
            break
        before[:] = position
        size = 1.0
        while True:
            for i in range(n_classes):
                position[i] = before[i] + size * step[i]
            new_value = _divergence(scores, weights, position)
            # Near the solution the divergence is flat, and rounding decides which of two is less.
            if new_value <= value * (1.0 + 1e-14) or size * longest < SHORTEST_STEP:
                break
            size *= 0.5
        if new_value > value and longest >= SHORTEST_STEP:  # odds that contradict each other wildly
            position[:] = before
            _balance(scores, weights, position)
            new_value = _divergence(scores, weights, position)
        value = new_value
    largest = position[0]
    for i in range(1, n_classes):
        largest = max(largest, position[i])
    total = 0.0
    for i in range(n_classes):
        total += math.exp(position[i] - largest)
    shift = largest + math.log(total)
    for i in range(n_classes):
        out[i] = position[i] - shift


# Few chains have such links, and this takes longer to compile than a whole search. So other kernels do not call
# `couple_pairs` itself but go through an address, which stands in the place of the response `PAIRWISE`.


def with_addresses(response):
    """Return the response of one link, or of each link, as kernels take it: an address instead of `PAIRWISE`."""
    if not np.any(response == PAIRWISE) or config.DISABLE_JIT:
        return response
    return np.where(response == PAIRWISE, _coupling().address, response) if np.ndim(response) else _coupling().address


@functools.cache
def _coupling():
    signature = "void(CPointer(f8), CPointer(f8), i8, CPointer(f8))"
    try:
        return cfunc(signature, cache=True)(_couple_at)
    except RuntimeError:  # there is nowhere to keep it
        return cfunc(signature)(_couple_at)


def _couple_at(scores, weights, n_classes, out):
    n_pairs = n_classes * (n_classes - 1) // 2
    couple_pairs(carray(scores, n_pairs), carray(weights, n_pairs), n_classes, carray(out, n_classes))


def couple(address, scores, weights, n_classes, out):
    """Do what `couple_pairs` does, in compiled code by way of an address."""
    couple_pairs(scores, weights, n_classes, out)


@overload(couple)
def _couple(address, scores, weights, n_classes, out):
    def through_address(address, scores, weights, n_classes, out):
        _call(address, scores.ctypes.data, weights.ctypes.data, n_classes, out.ctypes.data)

    return through_address


@intrinsic
def _call(typing_context, address, scores, weights, n_classes, out):
    """Call the function at an address with three pointers and a whole number."""

    def generate(context, builder, signature, arguments):
        double, whole = ir.DoubleType().as_pointer(), ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [double, double, whole, double]).as_pointer()
        kinds = (function, double, double, None, double)
        target, *given = (
            value if kind is None else builder.inttoptr(value, kind)
            for value, kind in zip(arguments, kinds, strict=True)
        )
        builder.call(target, given)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate
