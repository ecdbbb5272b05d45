"""Columns of Arrow in the types that are written: what other libraries make of texts, categories and lists, plain."""

from __future__ import annotations

from typing import Any


def plain_type(kind: Any) -> Any:
    """Return the type in which a column is written: views and categories as their values, truth as 0 and 1, lists as one kind."""
    import pyarrow  # late: it takes a third of a second
    from pyarrow import types

    if isinstance(kind, pyarrow.BaseExtensionType):
        return plain_type(kind.storage_type)
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_list(kind):
        inner = plain_type(kind.value_type)
        usual = (types.is_list(kind) or types.is_large_list(kind)) and inner == kind.value_type
        return kind if usual else pyarrow.large_list(inner)
    views = ((types.is_string_view, pyarrow.large_string()), (types.is_binary_view, pyarrow.large_binary()))
    shorter = ((types.is_boolean, pyarrow.uint8()), (types.is_float16, pyarrow.float32()))
    return next((plain for known, plain in (*views, *shorter) if known(kind)), kind)


def is_list(kind: Any) -> bool:
    """Return whether a type of Arrow is one of lists, of which it has five."""
    from pyarrow import types

    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(types, f"is_{name}")(kind) for name in kinds)


def plain(column: Any) -> Any:
    """Return an array in the type in which it is written; Arrow's own casts of views of lists and categories give wrong ones."""
    import numpy
    import pyarrow
    from pyarrow import compute, types

    kind, wanted = column.type, plain_type(column.type)
    if kind == wanted:
        return column
    if isinstance(kind, pyarrow.BaseExtensionType):
        return plain(column.storage)
    if types.is_dictionary(kind):
        return plain(column.dictionary).take(column.indices)
    if is_list(kind):
        lengths = compute.fill_null(compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        ends = pyarrow.array(numpy.concatenate(([0], numpy.cumsum(lengths, dtype=numpy.int64))))
        return pyarrow.LargeListArray.from_arrays(ends, plain(column.flatten()), mask=column.is_null())
    return column.cast(wanted)
