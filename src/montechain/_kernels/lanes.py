"""Eight float64 or sixteen float32 numbers side by side, as one value: a cache line, and a few vector registers.

Compilers turn a plain loop over columns into vector instructions only if they can keep its sums in registers, which
they cannot for sums in an array. With these functions a loop over the entries of a sparse matrix handles a whole line
of columns at each entry.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

N_BYTES = 64


class Lanes(types.Type):
    """Numba's type of a line of numbers of one kind."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(lanes))


def _vector(lanes):
    element = ir.DoubleType() if lanes.dtype == types.float64 else ir.FloatType()
    return ir.VectorType(element, 8 * N_BYTES // lanes.dtype.bitwidth)


def _pointer(context, builder, signature, arguments):
    """Return the address of row ``arguments[1]`` of the table ``arguments[0]``, whose rows are lines."""
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    vector = _vector(Lanes(signature.args[0].dtype))
    offset = builder.mul(arguments[1], ir.Constant(arguments[1].type, vector.count))
    return builder.bitcast(builder.gep(table.data, [offset]), vector.as_pointer())


@intrinsic
def load(typing_context, table, row):
    """Return a row of a C-contiguous table with one line in each row."""

    def generate(context, builder, signature, arguments):
        size = signature.args[0].dtype.bitwidth // 8
        return builder.load(_pointer(context, builder, signature, arguments), align=size)

    return Lanes(table.dtype)(table, types.intp), generate


@intrinsic
def store(typing_context, table, row, lanes):
    """Write a line to a row of a C-contiguous table."""

    def generate(context, builder, signature, arguments):
        size = signature.args[0].dtype.bitwidth // 8
        builder.store(arguments[2], _pointer(context, builder, signature, arguments), align=size)
        return context.get_dummy_value()

    return types.void(table, types.intp, lanes), generate


@intrinsic
def zeros_like(typing_context, table):
    """Return a line of zeros, of the kind of numbers of a table."""
    lanes = Lanes(table.dtype)

    def generate(context, builder, signature, arguments):
        vector = _vector(lanes)
        return ir.Constant(vector, [0.0] * vector.count)

    return lanes(table), generate


@intrinsic
def add(typing_context, left, right):
    """Return the sum of two lines."""

    def generate(context, builder, signature, arguments):
        return builder.fadd(*arguments)

    return left(left, right), generate


@intrinsic
def multiply_add(typing_context, factor, lanes, addend):
    """Return ``factor * lanes + addend`` for a number and two lines."""

    def generate(context, builder, signature, arguments):
        vector = _vector(signature.args[1])
        nothing = ir.Constant(vector, ir.Undefined)
        place = ir.IntType(32)
        first = builder.insert_element(nothing, arguments[0], ir.Constant(place, 0))
        everywhere = builder.shuffle_vector(
            first, nothing, ir.Constant(ir.VectorType(place, vector.count), [0] * vector.count)
        )
        product = builder.fmul(everywhere, arguments[1], flags=("contract",))
        return builder.fadd(product, arguments[2], flags=("contract",))

    return lanes(lanes.dtype, lanes, addend), generate
