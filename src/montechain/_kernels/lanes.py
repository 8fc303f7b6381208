"""Eight float64 or sixteen float32 numbers side by side, as one value: a cache line, and a few vector registers.

Compilers turn a plain loop over columns into vector instructions only if they can keep its sums in registers, which
they cannot for sums in an array. With these functions a loop over the entries of a sparse matrix handles a whole line
of columns at each entry; and loops over a few labels, which are too short for what a compiler adds to them when it
vectorises, take the exponentials of a line of labels at a time.
"""

from __future__ import annotations

import math
from functools import partial, wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from montechain._kernels.elementary import LOG2_E, LOG_2_HIGH, LOG_2_LOW, LOWEST, ROUND
from montechain._kernels.ties import TO_GRID

N_BYTES = 64


def whole_lines(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Return zeros that begin at a line of the cache: to load what straddles two lines takes 1.5 times as long."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    space = np.zeros(n_bytes + N_BYTES, dtype=np.uint8)
    first = -space.ctypes.data % N_BYTES
    return space[first : first + n_bytes].view(dtype).reshape(shape)


class Lanes(types.Type):
    """Numba's type of a line of numbers of one kind."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(lanes.dtype))


def _vector(dtype):
    element = ir.DoubleType() if dtype == types.float64 else ir.FloatType()
    return ir.VectorType(element, 8 * N_BYTES // dtype.bitwidth)


def _pointer(context, builder, kind, array, place, n_each=1):
    """Build the address of the line that begins at a multiple of `n_each` elements of an array."""
    place = builder.mul(place, ir.Constant(place.type, n_each))
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _vector(kind.dtype).as_pointer())


def _on_lines(build=None, /, *, returns=None):
    """Turn a function that builds instructions for lines, and for numbers, into one that kernels can call.

    Numbers are of the kind that lines are made of, or 64 bits. The result is a line unless `returns` says otherwise.
    """
    if build is None:
        return lambda own: _on_lines(own, returns=returns)

    @wraps(build)
    def typed(typing_context, *kinds):
        lanes = next(kind for kind in kinds if isinstance(kind, Lanes))
        numbers = [types.uint64 if isinstance(kind, types.Integer) else lanes.dtype for kind in kinds]
        own = [kind if kind == lanes else number for kind, number in zip(kinds, numbers, strict=True)]
        signature = (lanes if returns is None else returns)(*own)
        return signature, lambda context, builder, signature, arguments: build(builder, *arguments)

    return intrinsic(typed)


def _loading(array, n_each):
    """Return what numba needs to load a line that begins at a multiple of `n_each` elements of an array."""

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, array, *arguments, n_each)
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return Lanes(array.dtype)(array, types.intp), generate


def _storing(array, lanes, n_each):
    """Return what numba needs to write a line to a multiple of `n_each` elements of an array."""

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, array, *arguments[:2], n_each)
        builder.store(arguments[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic
def load(typing_context, table, row):
    """Return a row of a C-contiguous table with one line in each row."""
    return _loading(table, _vector(table.dtype).count)


@intrinsic
def load_at(typing_context, array, place):
    """Return the line that begins at an element of a C-contiguous array, counted from its start."""
    return _loading(array, 1)


@intrinsic
def store(typing_context, table, row, lanes):
    """Write a line to a row of a C-contiguous table."""
    return _storing(table, lanes, _vector(table.dtype).count)


@intrinsic
def store_at(typing_context, array, place, lanes):
    """Write the line that begins at an element of a C-contiguous array, counted from its start."""
    return _storing(array, lanes, 1)


@intrinsic
def transpose(typing_context, source, place, step, target, target_place, target_step):
    """Write the columns of a square of float64 as the rows of another one.

    The squares begin at a `place` of a C-contiguous array, and their rows `step` elements after each other.
    """

    def generate(context, builder, signature, arguments):
        def addresses(kind, array, place, step):
            for _ in range(n_lanes):
                yield _pointer(context, builder, kind, array, place)
                place = builder.add(place, step)

        n_lanes = _vector(source.dtype).count
        lines = [builder.load(address, align=8) for address in addresses(source, *arguments[:3])]
        for distance in (1, 2, 4):
            # Of each two lines at this distance, the squares beside the diagonal change places.
            ways = [[], []]
            for k in range(n_lanes):
                ways[0].append(n_lanes + k - distance if k & distance else k)
                ways[1].append(n_lanes + k if k & distance else k + distance)
            pairs = [(lines[k & ~distance], lines[k | distance], ways[bool(k & distance)]) for k in range(n_lanes)]
            lines = [_shuffle(builder, *pair) for pair in pairs]
        for line, address in zip(lines, addresses(target, *arguments[3:]), strict=True):
            builder.store(line, address, align=8)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, target, types.intp, types.intp), generate


@intrinsic
def zeros_like(typing_context, table):
    """Return a line of zeros, of the kind of numbers of a table."""
    return Lanes(table.dtype)(table), lambda *_: _constant(_vector(table.dtype), 0.0)


@intrinsic
def number_at(typing_context, address):
    """Return the float64 at an address."""

    def generate(context, builder, signature, arguments):
        return builder.load(builder.inttoptr(arguments[0], ir.DoubleType().as_pointer()), align=1)

    return types.float64(types.intp), generate


@intrinsic
def lowest_bit(typing_context, bits):
    """Return the place of the lowest bit that is set in a number other than zero."""
    is_never_zero = ir.Constant(ir.IntType(1), 1)
    return types.uint64(types.uint64), lambda c, builder, s, arguments: builder.cttz(arguments[0], is_never_zero)


@_on_lines(returns=types.uint64)
def above(builder, lanes, thresholds):
    """Return which numbers of a line exceed those of another one, or one number: bit k of the result is the k-th."""
    if thresholds.type != lanes.type:
        thresholds = _everywhere(builder, thresholds, lanes.type)
    found = builder.fcmp_ordered(">", lanes, thresholds)
    return builder.zext(builder.bitcast(found, ir.IntType(lanes.type.count)), ir.IntType(64))


@_on_lines
def keep(builder, lanes, bits):
    """Return a line with zero in place of the numbers whose bit is not set."""
    n_lanes = lanes.type.count
    kept = builder.bitcast(builder.trunc(bits, ir.IntType(n_lanes)), ir.VectorType(ir.IntType(1), n_lanes))
    return builder.select(kept, lanes, _constant(lanes.type, 0.0))


@_on_lines
def add(builder, left, right):
    """Return the sum of two lines."""
    return builder.fadd(left, right)


@_on_lines
def multiply(builder, left, right):
    """Return the product of two lines."""
    return builder.fmul(left, right)


@_on_lines
def maximum(builder, left, right):
    """Return the larger of the numbers at each place of two lines."""
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


@_on_lines
def running_products(builder, factor, lanes):
    """Return at each place the product of a number and the numbers of a line up to there."""
    ones, n_lanes, distance = _constant(lanes.type, 1.0), lanes.type.count, 1
    while distance < n_lanes:
        # One, which is at the first place of `ones`, moves in from below.
        places = [n_lanes] * distance + list(range(n_lanes - distance))
        lanes = builder.fmul(lanes, _shuffle(builder, lanes, ones, places))
        distance *= 2
    return builder.fmul(_everywhere(builder, factor, lanes.type), lanes)


@_on_lines
def multiply_add(builder, factor, lanes, addend):
    """Return ``factor * lanes + addend`` for a number and two lines."""
    return _multiply_add(builder, _everywhere(builder, factor, lanes.type), lanes, addend)


@_on_lines
def on_grid(builder, lanes):
    """Return the numbers of a line as `montechain._kernels.ties.on_grid` rounds them."""
    shift = _constant(lanes.type, TO_GRID)
    return builder.fsub(builder.fadd(lanes, shift), shift)


@_on_lines
def ratios(builder, odds):
    """Return exp(-|x|) of each number x of a line of float64: the odds of the less probable class."""
    return _ratios(builder, odds)


@_on_lines
def shares(builder, ratios):
    """Return 1 / (1 + x) of each number x of a line: the probability of the more probable class."""
    one = _constant(ratios.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, ratios))


@_on_lines
def sigmoids(builder, odds):
    """Return 1 / (1 + exp(-x)) of each number x of a line of float64."""
    small, one = _ratios(builder, odds), _constant(odds.type, 1.0)
    is_positive = builder.fcmp_ordered(">", odds, _constant(odds.type, 0.0))
    return builder.fdiv(builder.select(is_positive, one, small), builder.fadd(one, small))


def _constant(vector, value):
    return ir.Constant(vector, [value] * vector.count)


def _multiply_add(builder, factor, other, addend):
    return builder.fadd(builder.fmul(factor, other, flags=("contract",)), addend, flags=("contract",))


def _everywhere(builder, number, vector):
    """Build a line with one number in all places."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    return _shuffle(builder, first, nothing, [0] * vector.count)


def _shuffle(builder, left, right, places):
    """Build a line of the numbers at some places of two lines, those of the second one counted on from the first."""
    return builder.shuffle_vector(left, right, ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places))


def _ratios(builder, odds):
    """Build exp(-|odds|), by the same steps as in `montechain._kernels.elementary`."""
    vector = odds.type
    whole_numbers = ir.VectorType(ir.IntType(64), vector.count)
    constant, multiply_add = partial(_constant, vector), partial(_multiply_add, builder)
    is_positive = builder.fcmp_ordered(">", odds, constant(0.0))
    negative = builder.select(is_positive, builder.fsub(constant(0.0), odds), odds)
    is_low = builder.fcmp_ordered("<", negative, constant(LOWEST))
    negative = builder.select(is_low, constant(LOWEST), negative)
    shifted = multiply_add(negative, constant(LOG2_E), constant(ROUND))
    whole = builder.fsub(shifted, constant(ROUND))
    rest = multiply_add(whole, constant(-LOG_2_LOW), multiply_add(whole, constant(-LOG_2_HIGH), negative))
    # Taylor's series, neighbours joined in pairs, so that no step waits for many others.
    terms = [constant(1.0 / math.factorial(power)) for power in range(14)]
    power = rest
    while len(terms) > 1:
        unpaired = terms[len(terms) // 2 * 2 :]
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [multiply_add(high, power, low) for low, high in pairs] + unpaired
        power = builder.fmul(power, power)
    exponent = builder.shl(builder.bitcast(shifted, whole_numbers), ir.Constant(whole_numbers, [52] * vector.count))
    return builder.bitcast(builder.add(builder.bitcast(terms[0], whole_numbers), exponent), vector)
