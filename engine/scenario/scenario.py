"""A scenario: the one frozen object that holds every knob of a run.

`KNOBS` maps a dotted path to its declaration. `Scenario` checks all its knobs on creation. Whether the machine can hold the
model is checked later, by the simulation.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, cast

from ..core import figures
from ..core.arithmetic import total
from ..core.memo import Recorder
from ..core.points.parts import record
from ..errors import BadKnob, nearest_hint
from ..registry import model_file, variant_names
from . import knobs
from .contradictions import CONTRADICTING_KNOBS, check_contradictions, without_contradictions
from .data import LISTS, DataKnobs, RunKnobs, by_table
from .fault_knobs import Faults, read_trace
from .groups import Model, Policy
from .knobs import Knob, knob
from .machine import MachineKnobs
from .renamed import RENAMED

ROW_KNOBS = ("embedding_dim", "row_precision", "optimizer")  # knobs that decide the size of a table's rows
PER_TABLE = ("num_embeddings", "pooling", "features", "feature_kind", *ROW_KNOBS)
DIM, BOTTOM, PROJECTION = "model.embedding_dim", "model.bottom_mlp", "model.projection_dim"
AGGRAVATING_FAULTS = ("fault-in-recovery", "late-detection")  # faults that only worsen others; not allowed in a trace


@dataclass(frozen=True)
class Scenario:
    """The complete description of one run; equal scenarios give equal results."""

    system: str = knob(
        "cxl",
        "Training system",
        "How the model is trained: where tables lie, which processor looks rows up, and what is logged.",
        choices=lambda: variant_names("systems"),
        main=True,
    )
    model: Model = field(default_factory=Model)
    data: DataKnobs = field(default_factory=DataKnobs)
    machine: MachineKnobs = field(default_factory=MachineKnobs)
    policy: Policy = field(default_factory=Policy)
    run: RunKnobs = field(default_factory=RunKnobs)
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        """Check every knob, then the rules between knobs; raises BadKnob."""
        for path, setting in values(self).items():
            knobs.check(KNOBS[path], setting)
        _check_rules(self, GROUPS)
        check_contradictions(KNOBS, setting_of(self))

    def __repr__(self) -> str:
        """Return one line: system, model, and the knobs that differ from their defaults."""
        usual = (
            {path: knob.default for path, knob in KNOBS.items()} | dict(named_model(self.model.name)) | {"system": self.system}
        )
        differing = ((path, setting) for path, setting in values(self).items() if setting != usual[path])
        settings = (f"{path}={knobs.write(KNOBS[path], setting)[: knobs.MAX_SETTING_LENGTH]}" for path, setting in differing)
        return knobs.shorten(f"Scenario({', '.join([self.system, f'model {self.model.name}', *settings])})")


# The knobs that the rules between knobs read; all other knobs are independent.
KNOBS_WITH_RULES = frozenset(
    {f"model.{name}" for name in ("name", "num_tables", *PER_TABLE, "interaction", "interaction_stride", "projection_dim")}
    | {"model.bottom_mlp", "model.top_mlp", "policy.kernel", "faults.trace", "data.once_share"}
    | {f"data.{name}" for name in LISTS}
    | CONTRADICTING_KNOBS
)


def _check_rules(scenario: "Scenario", groups: Collection[str]) -> None:
    """Check the rules between knobs that involve some groups; raises BadKnob."""
    if "model" in groups:
        _check_model(scenario.model)
    if "faults" in groups:
        read_trace(scenario.faults.trace, tuple(name for name in variant_names("faults") if name not in AGGRAVATING_FAULTS))
    if "model" in groups or "policy" in groups:
        _check_length("policy.kernel", scenario.policy.kernel, scenario.model.num_tables)
    if "model" in groups or "data" in groups:
        _check_data(scenario.data, scenario.model.num_tables)


def _check_model(model: Model) -> None:
    for name in PER_TABLE:
        _check_length(f"model.{name}", getattr(model, name), model.num_tables)
    _check_features(model)
    _check_histories(model)
    if model.top_mlp[-1] != 1:
        raise BadKnob(f"model.top_mlp ends in {model.top_mlp[-1]}; its last width must be 1, the click's logit.")
    if model.interaction == "dot" and model.bottom_mlp[-1] != projection_dim(model):
        requirement = f"model.embedding_dim={model.embedding_dim}"
        if not has_like_vectors(model):
            requirement = f"vectors of {figures.count(projection_dim(model), 'element')}"
        raise BadKnob(
            f"model.bottom_mlp ends in {model.bottom_mlp[-1]}, but pairwise dot needs {requirement}; "
            "make them equal or set model.interaction=concat."
        )


def _check_length(path: str, setting: Any, tables: int) -> None:
    count = len(setting) if isinstance(setting, tuple) else 1
    if count not in (1, tables):
        raise BadKnob(
            f"{path} has {figures.count(count, 'value')} for {figures.count(tables, 'table')}; give one value, or {tables}."
        )


def _check_features(model: Model) -> None:
    pairs = zip(per_table(model, "features"), per_table(model, "pooling"), strict=True)
    table = next((table for table, (features, lookups) in enumerate(pairs) if features > lookups), None)
    if table is not None:
        features, lookups = (per_table(model, name)[table] for name in ("features", "pooling"))
        raise BadKnob(
            f"model.features={features} of table {table} is more than its model.pooling={lookups}; each feature needs at least "
            "one lookup per sample."
        )
    if model.interaction_stride > 1 and model.interaction != "concat":
        raise BadKnob(
            f"model.interaction_stride={model.interaction_stride} works only on concatenated features; set "
            "model.interaction=concat, or the stride to 1."
        )


def _check_histories(model: Model) -> None:
    if model.interaction == "hstu" and not is_sequential(model):
        raise BadKnob("model.interaction=hstu needs a history; set model.feature_kind=sequence for the tables of its events.")
    if model.interaction != "hstu" and is_sequential(model):
        raise BadKnob(
            f"model.feature_kind=sequence needs layers that read histories; set model.interaction=hstu in place of "
            f"{model.interaction}, or model.feature_kind=bag."
        )
    columns = zip(per_table(model, "feature_kind"), per_table(model, "pooling"), strict=True)
    lengths = sorted({lookups for kind, lookups in columns if kind == "sequence"})
    if len(lengths) > 1:
        raise BadKnob(
            f"model.pooling has {' and '.join(map(str, lengths))} lookups a sample for tables of sequences; an event has "
            "one row of each of them, so give these tables one number."
        )


def stale_lists(scenario: "Scenario", tables: int) -> dict[str, Any]:
    """Return defaults, by path, for lists by table whose length does not fit `tables`.

    Lists of the model itself are left out.
    """
    known_values = values(scenario)
    lists = [f"data.{name}" for name in LISTS] + ["policy.kernel"]
    stale = [path for path in lists if isinstance(known_values[path], tuple) and len(known_values[path]) not in (0, 1, tables)]
    return {path: KNOBS[path].default for path in stale}


def has_like_vectors(model: Model) -> bool:
    """Return whether all tables' vectors have one width, used without a projection."""
    return not isinstance(model.embedding_dim, tuple) and model.projection_dim in (None, model.embedding_dim)


def _declared(cls: type, prefix: str = "") -> Iterator[tuple[str, Knob]]:
    for scenario_field in fields(cls):
        if "knob" in scenario_field.metadata:
            path = prefix + scenario_field.name
            yield path, knobs.with_kind(scenario_field.metadata["knob"], path, scenario_field.type)
        elif is_dataclass(scenario_field.default_factory):
            yield from _declared(scenario_field.default_factory, scenario_field.name + ".")


def _check_data(data_knobs: DataKnobs, tables: int) -> None:
    for name in LISTS:
        count = len(getattr(data_knobs, name))
        if count not in (0, 1, tables):
            raise BadKnob(
                f"data.{name} has {figures.count(count, 'value')} for {figures.count(tables, 'table')}; give none, one or "
                f"{figures.count(tables, 'value')}."
            )
    max_share = max(
        map(total, zip(*(by_table(data_knobs, name, tables) for name in ("hottest_shares", "once_shares")), strict=True))
    )
    if max_share > 0.99:
        raise BadKnob(
            f"data.hottest_shares and data.once_share together take {figures.exact(max_share)} of a table's lookups; leave at "
            "least 0.01 to the other rows."
        )
    if below := [factor for factor in data_knobs.hot_rank_factor if 0 < factor < 1]:
        raise BadKnob(
            f"data.hot_rank_factor={figures.exact(below[0])} is less than 1, but the busiest part has at least the mean; give 1 "
            "or more, or 0 for rows that a hash spreads."
        )


KNOBS: Mapping[str, Knob] = dict(_declared(Scenario))
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(path.split(".")[0] for path in KNOBS if "." in path))


@cache
def _reader(paths: tuple[str, ...]) -> Callable[[Scenario], tuple[Any, ...]]:
    return attrgetter(*paths)


def setting_of(scenario: Scenario) -> Callable[[str], Any]:
    """Return the function that returns a scenario's value of a knob by dotted path."""
    return lambda path: attrgetter(path)(scenario)


def values(scenario: Scenario) -> dict[str, Any]:
    """Return every knob's value by dotted path, in declaration order."""
    return dict(zip(KNOBS, _reader(tuple(KNOBS))(scenario), strict=True))


def declaration(path: str) -> Knob:
    """Return the declaration of the knob `path`; raises BadKnob, which names a similar knob."""
    if path in RENAMED:
        raise BadKnob(f"{path!r} is a knob of an older version; {RENAMED[path].remedy}")
    if path not in KNOBS:
        raise BadKnob(f"{path!r} is not a knob; {nearest_hint(path, tuple(KNOBS), 'knobs')}")
    return KNOBS[path]


def with_values(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """Return `scenario` with some knobs changed, by dotted path; raises BadKnob.

    A new `model.name` first sets all knobs of that model, and resets lists for another number of tables.
    """
    merged = {path: knobs.check(declaration(path), setting) for path, setting in changes.items()}
    if "model.name" in merged:
        merged = {**named_model(merged["model.name"]), **merged}
        if not isinstance(scenario, Recorder):
            merged = {**stale_lists(scenario, merged["model.num_tables"]), **merged}
    changed_scenario = with_checked_values(scenario, merged)
    if not isinstance(changed_scenario, Recorder):
        _check_rules(changed_scenario, {path.partition(".")[0] for path in merged})
        check_contradictions(KNOBS, setting_of(changed_scenario), changes)
    return changed_scenario


def fit_bottom_mlp(scenario: Scenario, changes: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return `changes` with a bottom MLP that fits a new embedding dimension, and a sentence.

    The sentence tells the user of the changed bottom MLP; it is "" if nothing was changed. A bottom MLP that is among `changes`,
    or that did not fit before, is left as it is.
    """
    model = scenario.model
    new_dims, projection = changes.get(DIM), changes.get(PROJECTION, model.projection_dim)
    dims = new_dims if isinstance(new_dims, tuple) else (new_dims,)
    if "model.name" in changes or BOTTOM in changes or not all(isinstance(dim, int) and dim > 0 for dim in dims):
        return dict(changes), ""
    if changes.get("model.interaction", model.interaction) != "dot" or model.bottom_mlp[-1] != projection_dim(model):
        return dict(changes), ""
    dim = projection or max(dims)
    if dim == model.bottom_mlp[-1]:
        return dict(changes), ""
    cause = "as model.embedding_dim does" if len(dims) == 1 and not projection else "as the vectors of dot products do"
    return {**changes, BOTTOM: (*model.bottom_mlp[:-1], dim)}, f"model.bottom_mlp ends in {dim} now, {cause}."


def clear_contradictions(scenario: Scenario, changes: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return `changes` with knobs of the scenario that contradict them set back, and a sentence.

    The sentence is "" if no knob is set back.
    """
    return without_contradictions(KNOBS, setting_of(scenario), changes)


def with_checked_values(scenario: Scenario, checked: Mapping[str, Any]) -> Scenario:
    """Return `scenario` with changed values that are known to be valid, without checks."""
    if isinstance(scenario, Recorder):
        if "machine.assume" in checked:
            raise RuntimeError(
                "machine.assume cannot change between points here, because the constants are read from `given`, the scenario "
                "itself."
            )
        return cast(Scenario, scenario.with_changes(checked))
    grouped: dict[str, dict[str, Any]] = {}
    for path, setting in checked.items():
        group, _, name = path.rpartition(".")
        grouped.setdefault(group, {})[name] = setting
    parts = {group: changed_copy(getattr(scenario, group), settings) for group, settings in grouped.items() if group}
    changed_scenario: Scenario = changed_copy(scenario, {**grouped.get("", {}), **parts})
    return changed_scenario


def changed_copy(original: Any, changes: Mapping[str, Any]) -> Any:
    """Return a copy of a scenario or group with changed fields, without a check."""
    return record(type(original), {**vars(original), **changes})


@cache
def named_model(name: str) -> Mapping[str, Any]:
    """Return the knobs of the model `name` by path: from its file, else defaults."""
    file_knobs = {path: from_file(path, file_value) for path, file_value in model_file(name).items()}
    return {path: file_knobs.get(path, knob.default) for path, knob in KNOBS.items() if path.startswith("model.")} | file_knobs


def from_file(path: str, file_value: Any) -> Any:
    """Return the value of a knob in a file; raises BadKnob.

    A list may be written as text, such as "128*10;16*600".
    """
    knob = declaration(path)
    is_list = isinstance(file_value, str) and (knob.by_table or knob.kind in (*knobs.SEPARATOR, "assumptions"))
    return knobs.parse(knob, file_value) if is_list else knobs.check(knob, file_value)


def cross_ranks(model: Model) -> tuple[int, ...]:
    """Return the rank of each layer of the cross network, 0 for a full matrix.

    Return () for a model without a cross network.
    """
    return (model.cross_rank or 0,) * model.cross_layers if model.interaction == "cross" else ()


def per_table(model: Model, name: str) -> tuple[Any, ...]:
    """Return the value of a model's knob for each table, (T,).

    The knob has one value for all tables, or one for each table.
    """
    per_table_value = getattr(model, name)
    if not isinstance(per_table_value, tuple):
        return (per_table_value,) * model.num_tables
    return per_table_value if len(per_table_value) == model.num_tables else per_table_value * model.num_tables


def is_sequential(model: Model) -> bool:
    """Return whether any table holds the events of a user's history."""
    return "sequence" in (model.feature_kind if isinstance(model.feature_kind, tuple) else (model.feature_kind,))


def vectors_per_table(model: Model) -> tuple[int, ...]:
    """Return the vectors of a sample from each table, (T,).

    A table of bags has one for each feature, a table of sequences one for each lookup.
    """
    if not is_sequential(model):
        return per_table(model, "features")
    columns = (per_table(model, name) for name in ("feature_kind", "features", "pooling"))
    return tuple(pooling if kind == "sequence" else features for kind, features, pooling in zip(*columns, strict=True))


def dense_optimizer(model: Model) -> str:
    """Return the name of the optimizer of the dense layers."""
    return model.dense_optimizer or str(per_table(model, "optimizer")[0])


def projection_dim(model: Model) -> int:
    """Return the width of the vectors in pairwise dot products."""
    embedding_dims = model.embedding_dim
    return model.projection_dim or (max(embedding_dims) if isinstance(embedding_dims, tuple) else embedding_dims)


def projected_tables(model: Model) -> tuple[int, ...]:
    """Return the numbers of tables whose vectors a layer projects to another width.

    The width is that of the dot products. Return () for interactions without dot products.
    """
    if model.interaction != "dot" or has_like_vectors(model):
        return ()
    width = projection_dim(model)
    return tuple(table for table, dim in enumerate(per_table(model, "embedding_dim")) if dim != width)
