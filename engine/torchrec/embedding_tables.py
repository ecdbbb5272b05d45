"""Embedding tables in TorchRec's forms: JSON, a pasted repr, or source code.

Each form is a list of `EmbeddingBagConfig`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.arithmetic import total
from ..core.figures import count
from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..user_text import json_content
from .source_text import OpaqueExpression, SourceCall, Symbol, check_size, source_calls

POOLED, UNPOOLED = "EmbeddingBagConfig", "EmbeddingConfig"
FIELDS = ("num_embeddings", "embedding_dim", "name", "data_type", "feature_names")  # by position
LISTS = ("tables", "embedding_bag_configs", "embedding_configs", "configs")  # of an object in JSON
MAX_TABLES = int(KNOBS["model.num_tables"].high or 0)
PRECISION = {
    **dict.fromkeys(("FP32", "FLOAT32", "FLOAT"), "fp32"),
    **dict.fromkeys(("FP16", "FLOAT16", "HALF"), "fp16"),
    **dict.fromkeys(("BF16", "BFLOAT16"), "bf16"),
    "INT8": "int8",
}
UNTIMED_FIELDS = ("weight_init_max", "weight_init_min", "init_fn", "input_dim")
UNMODELLED_FIELDS = {
    "need_pos": "position weights",
    "num_embeddings_post_pruning": "pruning",
    "total_num_buckets": "buckets of managed collisions",
    "use_virtual_table": "virtual tables",
    "virtual_table_eviction_policy": "eviction of rows",
    "enable_embedding_update": "updates of rows from outside",
    "stash_weights": "stashing of weights",
}
PASTE_REMEDY = "run print(tables) in your script and paste what it shows"


class TorchRecTable(NamedTuple):
    """A table as TorchRec has it.

    name: unique name of the table.
    rows: `num_embeddings`.
    dim: `embedding_dim`.
    precision: a precision of `model.row_precision`.
    features: the features that are looked up in the table, each with its own pooled vector.
    mean: whether vectors are averaged, not summed.
    """

    name: str
    rows: int
    dim: int
    precision: str
    features: tuple[str, ...]
    mean: bool = False


class TorchRecTables(NamedTuple):
    """The tables of a text, and sentences on ignored parts of the text."""

    tables: tuple[TorchRecTable, ...]
    sentences: tuple[str, ...]


def read_tables(text: str) -> TorchRecTables:
    """Read tables from JSON, a pasted repr or source code.

    Raises BadInput, which names the table by number, and the field.
    """
    table_text = check_size(text, "tables")
    tables, ignored = [], Counter[str]()
    for number, fields in enumerate(_written_fields(table_text), 1):
        tables.append(_table(number, fields))
        ignored.update(key for key, setting in fields.items() if key not in (*FIELDS, "pooling") and _is_set(setting))
    if not tables:
        raise BadInput(f"The text has no {POOLED}(...) and is not a list of tables in JSON; {PASTE_REMEDY}.")
    repeated_names = [name for name, times in Counter(table.name for table in tables).items() if times > 1]
    if repeated_names:
        raise BadInput(
            f"{len(repeated_names)} names occur twice, such as {repeated_names[0][:60]!r}; TorchRec needs a different name for "
            "each table."
        )
    return TorchRecTables(tuple(tables), tuple(_sentences(tables, ignored)))


def _written_fields(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of each table as they are written."""
    refusal, content = "", None
    try:
        content = json_content(text, "The text") if text.lstrip()[:1] in ("[", "{") else None
    except RecursionError:
        refusal = "is nested too deeply"
    except ValueError as error:
        refusal = f"is not valid: {error}"
    if content is not None:
        yield from _objects(content)
        return
    calls = _fields_of_calls(text)
    first_table = next(calls, None)
    if first_table is None and refusal:
        raise BadInput(f"The text {refusal}, as JSON, and has no {POOLED}(...); {PASTE_REMEDY}.")
    if first_table is not None:
        yield first_table
        yield from calls


def _objects(content: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, or of the one list that an object has."""
    if isinstance(content, dict):
        lists = [content[key] for key in LISTS if isinstance(content.get(key), list)] or [
            json_list
            for json_list in content.values()
            if isinstance(json_list, list) and all(isinstance(part, dict) for part in json_list)
        ]
        if len(lists) != 1:
            raise BadInput(f"The JSON has {count(len(lists), 'list')} of tables; write one list, named 'tables'.")
        content = lists[0]
    _check_number(len(content))
    for number, table in enumerate(content, 1):
        if not isinstance(table, dict):
            raise BadInput(
                f"Table {count(number)} of the JSON is {str(table)[:40]!r}; write an object with {FIELDS[0]} and {FIELDS[1]}."
            )
        yield table


def _fields_of_calls(text: str) -> Iterator[Mapping[str, Any]]:
    _check_number(text.count(f"{POOLED}("))
    for number, call in enumerate(source_calls(text, (POOLED, UNPOOLED)), 1):
        _check_call(number, call)
        yield dict(zip(FIELDS, call.positional, strict=False)) | call.keywords


def _check_number(tables: int) -> None:
    if tables > MAX_TABLES:
        raise BadInput(f"The text has {count(tables, 'table')}; a model has at most {count(MAX_TABLES)}: leave some out.")


def _check_call(number: int, call: SourceCall) -> None:
    if call.repeated:
        raise BadInput(f"Table {count(number)} stands in a list comprehension, which is not run here; {PASTE_REMEDY}.")
    if call.name == UNPOOLED:
        raise BadInput(
            f"Table {count(number)} is an {UNPOOLED}, whose vectors are not pooled; only an {POOLED} can be timed: leave the "
            "table out."
        )
    if len(call.positional) > len(FIELDS) or any(
        isinstance(part, OpaqueExpression) and part.text.startswith("*") for part in call.positional
    ):
        raise BadInput(f"Table {count(number)} has arguments that cannot be read, such as **fields; {PASTE_REMEDY}.")


def _table(number: int, fields: Mapping[str, Any]) -> TorchRecTable:
    written_name = fields.get("name", "")
    name = f"t{number - 1}" if written_name in ("", None) else written_name
    subject = f"Table {count(number)}" + (f" ({name[:60]!r})" if isinstance(name, str) and written_name else "")
    if not isinstance(name, str) or not name.isprintable() or len(name) > 200:
        raise _refusal(subject, "name", written_name, "a text of at most 200 letters in quotes")
    pooling = str(_last_word(fields.get("pooling", "SUM"))).upper()
    if pooling not in ("SUM", "MEAN"):
        raise _refusal(subject, "pooling", fields["pooling"], "SUM or MEAN, the two that pool")
    return TorchRecTable(
        name,
        _whole_number(subject, fields, "num_embeddings"),
        _whole_number(subject, fields, "embedding_dim"),
        _precision(subject, fields.get("data_type", "FP32")),
        _features(subject, fields.get("feature_names"), name),
        pooling == "MEAN",
    )


def _whole_number(subject: str, fields: Mapping[str, Any], field: str) -> int:
    knob = KNOBS[f"model.{field}"]
    low, high = int(knob.low or 0), int(knob.high or 0)
    if field not in fields:
        raise BadInput(f"{subject} has no {field}; write {field}=N.")
    number = fields[field]
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number or not low <= number <= high:
        raise _refusal(subject, field, number, f"a whole number from {count(low)} to {count(high)}")
    if number != int(number):
        raise _refusal(subject, field, number, "a whole number")
    return int(number)


def _precision(subject: str, data_type: Any) -> str:
    word = str(_last_word(data_type)).upper()
    if word not in PRECISION:
        raise _refusal(subject, "data_type", data_type, "FP32, FP16, BF16 or INT8, in which rows can be trained here")
    return PRECISION[word]


def _features(subject: str, names: Any, table: str) -> tuple[str, ...]:
    """Return the features of a table; TorchRec calls the only one like its table where none is named."""
    if names in (None, []):
        return (table,)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refusal(subject, "feature_names", names, 'a list of names, such as ["f0"]')
    return tuple(names)


def _last_word(dotted_name: Any) -> Any:
    """Return the last word of a dotted name, written with quotes or without."""
    if isinstance(dotted_name, Symbol):
        dotted_name = dotted_name.name
    return dotted_name.rpartition(".")[2] if isinstance(dotted_name, str) else dotted_name


def _refusal(subject: str, field: str, setting: Any, allowed: str) -> BadInput:
    if isinstance(setting, OpaqueExpression | Symbol):
        label = setting.name if isinstance(setting, Symbol) else setting.text
        if field not in ("data_type", "pooling") or isinstance(setting, OpaqueExpression):
            return BadInput(
                f"{subject}: {field} is {label[:60]}, whose value is not in the text; write the value, or {PASTE_REMEDY}."
            )
        setting = label
    return BadInput(f"{subject}: {field} is {str(setting)[:60]}; write {allowed}.")


def _is_set(setting: Any) -> bool:
    return setting not in (None, False, [], {}, "")


def _sentences(tables: Iterable[TorchRecTable], ignored: Mapping[str, int]) -> Iterator[str]:
    if unused_fields := [key for key in UNTIMED_FIELDS if key in ignored]:
        yield f"{' and '.join(unused_fields)} set first values alone, which no time depends on: ignored."
    if unmodelled := [
        f"{meaning} ({key} of {count(ignored[key], 'table')})" for key, meaning in UNMODELLED_FIELDS.items() if key in ignored
    ]:
        yield f"The times of these tables do not contain what is not modelled: {', '.join(unmodelled)}."
    if unknown_fields := sorted(ignored.keys() - {*UNTIMED_FIELDS, *UNMODELLED_FIELDS}):
        yield f"These fields do not exist in {POOLED} and were ignored: {', '.join(unknown_fields[:5])}."
    means = total(table.mean for table in tables)
    if means:
        yield f"pooling=MEAN of {count(means, 'table')} is timed as SUM: the division is not counted."
