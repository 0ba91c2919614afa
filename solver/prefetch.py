"""Prefetching in compiled code: asking for memory a while before it is read."""

from __future__ import annotations

from typing import Any

import numba.extending
from llvmlite import ir
from numba.core import types

intrinsic: Any = numba.extending.intrinsic  # its annotations hide the typing context from a type checker


@intrinsic
def prefetch(typing_context, array, index):
    """Ask for the cache line of an element of a contiguous array, counted over all axes. No bounds check."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        pointer = builder.gep(data, [args[1]])
        i32 = ir.IntType(32)
        byte_pointer = ir.IntType(8).as_pointer()
        function = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [byte_pointer],
            ir.FunctionType(ir.VoidType(), [byte_pointer, i32, i32, i32]),
        )
        read, keep, data_cache = (ir.Constant(i32, number) for number in (0, 3, 1))
        builder.call(function, [builder.bitcast(pointer, byte_pointer), read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen
