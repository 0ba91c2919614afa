"""Vectors of LANES numbers as a value type of compiled code: one row of histories in registers.

A row view of a NumPy array carries no promise that two rows do not overlap, so the compiler guards
short loops over rows with checks that cost more than the loops. `load` brings LANES contiguous numbers
into a value of their own instead; +, -, *, /, `maximum` and `greater` work on such values, and `store`
writes one back.
"""

from __future__ import annotations

import operator
from typing import Any

import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

LANES = (
    32  # measured against 16 and 64 on the river of limit hold'em; 128 bytes a row in single precision
)

intrinsic: Any = numba.extending.intrinsic  # its annotations hide the typing context from a type checker


class LanesType(types.Type):
    """The type of LANES float32 or float64 numbers."""

    def __init__(self, dtype: types.Float):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype} x {LANES})")


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        element = ir.FloatType() if fe_type.dtype == types.float32 else ir.DoubleType()
        super().__init__(dmm, fe_type, ir.VectorType(element, LANES))


def _row_pointer(context, builder, array_type, array, row):
    """Pointer to row number `row` of a C-contiguous array whose last axis has LANES entries."""
    data = context.make_array(array_type)(context, builder, array).data
    offset = builder.mul(row, ir.Constant(row.type, LANES))
    lanes = context.get_value_type(LanesType(array_type.dtype))
    return builder.bitcast(builder.gep(data, [offset]), lanes.as_pointer())


@intrinsic
def load(typing_context, array, row):
    """The LANES numbers of row number `row`, counted over all leading axes. No bounds check."""
    result = LanesType(array.dtype)

    def codegen(context, builder, sig, args):
        value = builder.load(_row_pointer(context, builder, sig.args[0], *args))
        value.align = context.get_abi_sizeof(context.get_value_type(sig.args[0].dtype))
        return value

    return signature(result, array, types.intp), codegen


@intrinsic
def store(typing_context, array, row, value):
    """Write LANES numbers to row number `row`, counted over all leading axes. No bounds check."""

    def codegen(context, builder, sig, args):
        target, number, lanes = args
        pointer = _row_pointer(context, builder, sig.args[0], target, number)
        written = builder.store(lanes, pointer)
        written.align = context.get_abi_sizeof(context.get_value_type(sig.args[0].dtype))
        return context.get_dummy_value()

    return signature(types.void, array, types.intp, value), codegen


@intrinsic
def splat(typing_context, array, scalar):
    """A number in every lane, as the element type of `array`."""
    result = LanesType(array.dtype)

    def codegen(context, builder, sig, args):
        element = context.cast(builder, args[1], sig.args[1], sig.return_type.dtype)
        lanes = context.get_value_type(sig.return_type)
        first = builder.insert_element(
            ir.Constant(lanes, ir.Undefined), element, ir.Constant(ir.IntType(32), 0)
        )
        pick_first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, first, pick_first)

    return signature(result, array, scalar), codegen


@intrinsic
def maximum(typing_context, first, second):
    """The larger number in each lane."""

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return signature(first, first, second), codegen


@intrinsic
def greater(typing_context, first, second):
    """1 in each lane where the first number is the larger one, 0 elsewhere."""

    def codegen(context, builder, sig, args):
        return builder.uitofp(builder.fcmp_ordered(">", *args), context.get_value_type(sig.return_type))

    return signature(first, first, second), codegen


def _define(operation, instruction: str) -> None:
    @infer_global(operation)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], LanesType) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(operation, LanesType, LanesType)
    def _lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")

FLOATS = {"single": np.float32, "double": np.float64}
"""Element types by the name of the precision."""
