# mypy: disallow-untyped-calls=False
"""A hint to the processor: rows that will be wanted soon are on their way from memory while others are worked with."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..core.arrays import Index, Places, Singles
from ..core.jit import inner

LINE = 16  # fp32 elements in a line of the processor's cache
AHEAD = 16  # rows on their way: of 8, 16 and 32 the best
FOR_READING, IN_ALL_CACHES, DATA = 0, 3, 1


@inner
def fetch(vectors: Singles, places: Places, at: Index) -> None:
    """Ask for the row that is worked with AHEAD of places[at], or the last one; what is computed stays the same."""
    row = places[min(at + AHEAD, places.size - 1)]
    for d in range(0, vectors.shape[1], LINE):
        _prefetch(vectors, row, d)


def _ask(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Return what LLVM is told to bring the line of array[row, column] near, which must exist."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = context.make_array(array)(context, builder, args[0])
        at = cgutils.get_item_pointer(context, builder, array, place, args[1:], wraparound=False)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        how = [number(each) for each in (FOR_READING, IN_ALL_CACHES, DATA)]
        builder.call(hint, [builder.bitcast(at, cgutils.voidptr_t), *how])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), code


_prefetch: Any = intrinsic(_ask)
