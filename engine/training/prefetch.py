# mypy: disallow-untyped-calls=False
"""Prefetch hints: the processor loads rows from memory before a kernel needs them."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..core.arrays import Index, Places, Singles
from ..core.jit import inner_kernel

LINE = 16  # fp32 elements in a line of the processor's cache
ROWS_AHEAD = 16  # rows ahead: the best of 8, 16 and 32
FOR_READING, IN_ALL_CACHES, DATA_CACHE = 0, 3, 1


@inner_kernel
def prefetch_row(vectors: Singles, places: Places, position: Index) -> None:
    """Prefetch the row that is looked up ROWS_AHEAD positions after `position`.

    At the end of `places` this is the last row. Prefetching changes no result.
    """
    row = places[min(position + ROWS_AHEAD, places.size - 1)]
    for d in range(0, vectors.shape[1], LINE):
        _prefetch(vectors, row, d)


def _ask(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Return the signature and the code of a prefetch of the cache line of array[row, column], which must exist."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = context.make_array(array)(context, builder, args[0])
        pointer = cgutils.get_item_pointer(context, builder, array, place, args[1:], wraparound=False)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        hint_numbers = [number(constant) for constant in (FOR_READING, IN_ALL_CACHES, DATA_CACHE)]
        builder.call(hint, [builder.bitcast(pointer, cgutils.voidptr_t), *hint_numbers])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), code


_prefetch: Any = intrinsic(_ask)
