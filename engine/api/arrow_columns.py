"""Columns of Arrow, converted to the plain types that are written to a file."""

from __future__ import annotations

from typing import Any


def plain_type(kind: Any) -> Any:
    """Return the plain type as which a column of the type `kind` is written.

    Views and categories become the type of their values, truth values become 0 and 1, and unusual lists become large lists.
    """
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
    return next((written_kind for is_kind, written_kind in (*views, *shorter) if is_kind(kind)), kind)


def is_list(kind: Any) -> bool:
    """Return whether a type of Arrow is one of its five list types."""
    from pyarrow import types

    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(types, f"is_{name}")(kind) for name in kinds)


def plain_column(column: Any) -> Any:
    """Return an array in its plain type.

    Arrow's own casts of list views and categories give wrong arrays.
    """
    import numpy
    import pyarrow
    from pyarrow import compute, types

    kind, written_type = column.type, plain_type(column.type)
    if kind == written_type:
        return column
    if isinstance(kind, pyarrow.BaseExtensionType):
        return plain_column(column.storage)
    if types.is_dictionary(kind):
        return plain_column(column.dictionary).take(column.indices)
    if is_list(kind):
        lengths = compute.fill_null(compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        ends = pyarrow.array(numpy.concatenate(([0], numpy.cumsum(lengths, dtype=numpy.int64))))
        return pyarrow.LargeListArray.from_arrays(ends, plain_column(column.flatten()), mask=column.is_null())
    return column.cast(written_type)
