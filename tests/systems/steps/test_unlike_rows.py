"""Tables of unlike width, precision and optimizer: nothing is padded, nothing is lost, and alike tables stay as they were."""

import json
from dataclasses import replace

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_amounts
from engine.amounts.hot_rows import hot_set, hot_shares
from engine.core.row_sizes import RowMix, joined_row_mix, mean_bytes, row_mix
from engine.core.work import HostRows, RowLog, RowReads, RowUpdates, TopPart, written_bytes
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.hardware.device import energy, seconds, stored_bytes
from engine.hardware.layers import count_kernels, layer_cost
from engine.insight.data_movement import payload
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.scenario.storage import row_state
from engine.scenario.storage import stored_bytes as vector_bytes
from engine.schedule.machine import ready_machine, settle
from engine.systems.balance import table_placement
from engine.systems.exchange.replicas import replicas
from engine.systems.exchange.sent import vector_nbytes
from engine.systems.parts import KINDS as PART_KINDS
from engine.systems.parts import table_units
from engine.systems.placement import level_shares, table_levels
from engine.systems.row_kinds import row_bytes, row_kinds
from engine.systems.sharding import shares
from engine.systems.traffic import cached_rows, hot_bytes, hot_rows, sort_nbytes, table_bytes, table_nbytes
from engine.workload.accesses import expected_accesses
from engine.workload.bags import uneven_bags
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import expected_moves, missed_rows
from engine.workload.source import source
from tests.cases import each

TABLES = 12
DIMS, PRECISIONS, OPTIMIZERS = (8, 24, 40, 64, 96), ("fp32", "fp16", "int8", "bf16"), ("sgd", "rowwise-adagrad", "adam")
ROWS = tuple(400 * (1 + 7 * t % 11) for t in range(TABLES))
LISTS = {
    "model.embedding_dim": tuple(DIMS[t % 5] for t in range(TABLES)),
    "model.row_precision": tuple(PRECISIONS[t % 4] for t in range(TABLES)),
    "model.optimizer": tuple(OPTIMIZERS[t % 3] for t in range(TABLES)),
}
BASE = {
    "model.num_tables": TABLES,
    "model.num_embeddings": ROWS,
    "model.pooling": tuple(1 + t % 3 for t in range(TABLES)),
    "model.interaction": "concat",
    "model.dense_optimizer": "adagrad",
    "data.popularity": "zipf",
    "data.batch_size": 256,
    "run.training": False,
    "run.batches": 6,
}


def asked(system="cxl", name="dlrm-kaggle", **knobs):
    return with_values(preset(name).scenario, {"system": system, **BASE, **LISTS, **knobs})


def own_bytes(s):
    """The bytes of each table's rows by the formulas of storage alone."""
    lists = zip(*(LISTS[f"model.{name}"] for name in ("embedding_dim", "row_precision", "optimizer")), strict=True)
    extra = 8 if s.policy.row_checksums else 0
    return [vector_bytes(precision, dim) + 4 * row_state(optimizer, dim) + extra for dim, precision, optimizer in lists]


def outcome(s):
    found = estimate(s)
    return json.dumps([found.ran, dict(found.results), found.breakdown, found.devices], default=str)


def test_a_mix_keeps_sums_and_is_a_number_where_all_are_alike():
    assert row_mix((64, 64), (3, 4)) == 64 and row_mix((64, 32), (3, 0)) == 64
    mix = row_mix((96, 32, 32), (1, 2, 1))
    assert mix == RowMix((32, 96), (0.75, 0.25)) and mean_bytes(mix) == 48.0
    assert joined_row_mix((mix, 32), (4, 4)) == RowMix((32, 96), (0.875, 0.125)) and joined_row_mix((64, mix), (2, 0)) == 64
    with pytest.raises(TypeError):
        np.ones(2) * mix  # a mix is no number: whoever means the mean row says so


@each("system", list(variant_names("systems")), few=8)
def test_a_list_of_like_tables_is_one_group_to_the_byte(system):
    gpus = 1 if load_variant("systems", system).memory == "pmem" else 4
    s = with_values(preset("dlrm-terabyte").scenario, {"system": system, "machine.num_gpus": gpus})
    lists = {path: (value,) * 26 for path, value in (("model.embedding_dim", 128), ("model.row_precision", "fp32"))}
    lists |= {"model.optimizer": (s.model.optimizer,) * 26, "model.features": (1,) * 26}
    assert len(row_kinds(with_values(s, lists))[0]) == 1
    assert outcome(with_values(s, lists)) == outcome(s)


@each("system", list(variant_names("systems")), few=8)
def test_the_order_of_tables_makes_no_difference_to_a_step(system):
    s = asked(system)
    turned = {
        path: tuple(reversed(getattr(s.model, path.partition(".")[2]))) for path in ("model.num_embeddings", "model.pooling")
    }
    turned |= {path: tuple(reversed(values)) for path, values in LISTS.items()}
    one, other = (estimate(x).results for x in (s, with_values(s, turned)))
    for name in ("Step time [ms]", "Energy per batch [J]", "PMEM written [GB]", "Capital cost [USD]"):
        assert one[name] == (None if other[name] is None else pytest.approx(other[name], rel=1e-9)), name


@each("checks", [False, True])
def test_tables_and_logs_take_what_their_rows_take(checks):
    s = asked(**{"policy.row_checksums": checks})
    sizes = own_bytes(s)
    assert table_nbytes(s).tolist() == [rows * size for rows, size in zip(ROWS, sizes, strict=True)]
    assert table_bytes(s) == pytest.approx(float(np.dot(ROWS, sizes))) == pytest.approx(row_bytes(s) * sum(ROWS))


# Of these systems each embedding row that moves is one of the batch's unique rows.
PLAIN = ("pmem", "cxl-d", "cxl-b", "cxl", "dram", "pcie", "cpu-gpu", "cpu-only", "all-hbm", "remote-no-cache", "hotline")


@each("system", list(PLAIN))
def test_no_row_is_padded_in_time(system):
    """What tasks move for all tables is what they move for each group's tables alone, in the mean row and in whole lines."""
    s = asked(system, **{"policy.row_dedup": "memory"})
    unique, sizes = expected_accesses(s).unique_rows, np.array(own_bytes(s))
    m = ready_machine(s)
    amounts = expected_amounts(m.settled)
    graph = m.system.graph(m.settled, amounts)
    assert mean_bytes(amounts.row_bytes) == pytest.approx(float(unique @ sizes / unique.sum()))
    logs = [d.work for task in graph.tasks for d in task.demands if isinstance(d.work, RowLog)]
    for log in logs:
        assert float(np.max(written_bytes(log))) == pytest.approx(float(unique @ (sizes + 8)))
    updates = [d.work for task in graph.tasks for d in task.demands if isinstance(d.work, RowUpdates)]
    if system in ("pmem", "cxl-d", "cxl-b", "cxl", "dram", "cpu-gpu", "cpu-only", "all-hbm"):
        assert any(float(np.max(payload(work)[1])) == pytest.approx(float(unique @ sizes), rel=1e-6) for work in updates)
    assert amounts.pooled_bytes == 4 * 256 * sum(LISTS["model.embedding_dim"])
    assert float(np.max(amounts.lookup_bytes)) == pytest.approx(float(expected_accesses(s).lookups @ np.array(vectors(s))))


def test_rows_that_leave_two_memories_are_those_of_both():
    """What MTrainS evicts into PMEM came from PMEM and from drives; each has the bytes of its own tables."""
    knobs = {"policy.cache_load_factor": 0.02, "machine.host_dram_GiB": 16, "machine.pmem_capacity_GB": 128}
    rows = tuple(40_000_000 * (1 + 7 * t % 11) for t in range(TABLES))
    m = ready_machine(asked("mtrains", **knobs, **{"model.num_embeddings": rows, "data.batch_size": 4096}))
    amounts = expected_amounts(m.settled)
    (scm, drives), sizes = amounts.levels[0, 2:], amounts.sizes.levels
    assert scm > 0 and drives > 0 and sizes[2].row != sizes[3].row
    graph = m.system.graph(m.settled, amounts)
    evicted = next(d.work for task in graph.tasks if task.name == "Evict rows" for d in task.demands if d.device == "pmem")
    nbytes = scm * mean_bytes(sizes[2].row) + drives * mean_bytes(sizes[3].row)
    assert float(np.max(written_bytes(evicted))) == pytest.approx(float(nbytes))


def vectors(s):
    return [vector_bytes(p, d) for p, d in zip(LISTS["model.row_precision"], LISTS["model.embedding_dim"], strict=True)]


KINDS = {
    "pmem": [RowReads(1e9, 0, requester="near-data"), RowUpdates(1e9, 0, "near-data"), RowLog(1e9, 0, 0, "near-data")],
    "dram": [RowReads(1e9, 0), RowUpdates(1e9, 0)],
    "gpu": [RowUpdates(1e9, 0)],
    "host": [HostRows(1e9, 0), HostRows(1e9, 0, scatter=True)],
    "gatherer": [RowReads(1e9, 0), RowUpdates(1e9, 0)],
}


@each("device", list(KINDS))
def test_a_mix_costs_what_its_rows_cost_apart(device):
    """So many rows that no latency shows: seconds, joules and stored bytes of a mix are the sums of its parts'."""
    system = {"dram": "cpu-gpu", "gpu": "all-hbm", "host": "cached-embedding", "gatherer": "hotline"}.get(device, "cxl")
    machine = ready_machine(asked(system, **{"policy.cache_load_factor": 0.2}))
    built, sizes, shares_of = machine.devices[device], (36, 196, 512), (0.5, 0.25, 0.25)
    for work in KINDS[device]:
        entry = {"entry_bytes": 0} if isinstance(work, RowLog) else {}

        def sized(size, rows, work=work, entry=entry):
            longer = {
                name: size + 8 if isinstance(size, int) else RowMix(tuple(x + 8 for x in sizes), shares_of) for name in entry
            }
            return replace(work, rows=rows, row_bytes=size, **longer)

        parts = [sized(size, share * 1e9) for size, share in zip(sizes, shares_of, strict=True)]
        mix = sized(RowMix(sizes, shares_of), 1e9)
        for cost in (seconds, energy, stored_bytes):
            whole, apart = float(np.sum(cost(built, mix))), sum(float(np.sum(cost(built, one))) for one in parts)
            launches = 2 * 50e-6 if cost is seconds else 0.0
            assert whole == pytest.approx(apart, rel=0.02, abs=launches), (device, type(work).__name__, cost.__name__)


@each("system", ["cxl", "pmem", "torchrec-uvm", "mtrains", "all-hbm", "scratchpipe", "bagpipe"])
def test_counted_batches_agree_with_expected_ones(system):
    from engine.simulate import simulate

    s = asked(system, **{"run.batches": 40, "data.batch_size": 512})
    full, quick = simulate(s).results, estimate(s).results
    for name in ("Step time [ms]", "Energy per batch [J]", "PMEM written [GB]"):
        if quick[name]:
            assert full[name] == pytest.approx(quick[name], rel=0.03), name


def test_counted_rows_have_the_mix_that_is_counted():
    s = asked("cxl")
    found, first, sizes = counted_traffic(settle(s)), offsets(s.model), np.array(own_bytes(s))
    unique = np.zeros(TABLES)
    for n in range(6):
        rows = np.unique(source(s).ids(n))
        unique += np.histogram(rows, bins=first)[0]
    assert float(found.rows.sum()) == unique.sum()
    assert mean_bytes(found.row_bytes) == pytest.approx(float(unique @ sizes / unique.sum()), rel=1e-12)


@each("sharding", ["table-wise", "column-wise", "row-wise", "two-level", "planner"])
def test_each_part_holds_and_sends_its_own_columns(sharding):
    s = asked("all-hbm", **{"machine.num_gpus": 4, "policy.sharding": sharding, "policy.replicated_rows": 0})
    settled = settle(s)
    found, sent = table_placement(settled.scenario, settled.system), vector_nbytes(s)
    balance = found.balance
    assert balance is not None and isinstance(sent, np.ndarray)
    held = np.zeros(4)
    of = shares(balance.pieces.place, balance.pieces.runs, 4)
    for n, (table, width) in enumerate(zip(balance.pieces.table, balance.pieces.width, strict=True)):
        owners = of.owner[of.first_share[n] : of.first_share[n] + of.share_count[n]]
        for part in owners:
            held[part] += width * table_nbytes(s)[table] / len(owners)
        if sharding == "column-wise":
            assert width >= 32 / LISTS["model.embedding_dim"][table] or width == 1.0
    assert balance.table_bytes == pytest.approx(held) and held.sum() == pytest.approx(table_bytes(s))
    if sharding == "table-wise":  # whole tables: each sends three quarters of its vectors, of its own width
        assert found.pooled.nbytes == pytest.approx(0.75 * float(sent.sum()))


def test_rows_by_memory_and_table_add_up_to_those_of_each_memory():
    knobs = {"policy.cache_load_factor": 0.02, "machine.host_dram_GiB": 16, "machine.pmem_capacity_GB": 128}
    rows = tuple(40_000_000 * (1 + 7 * t % 11) for t in range(TABLES))
    s = ready_machine(asked("mtrains", **knobs, **{"model.num_embeddings": rows, "data.batch_size": 4096})).scenario
    caches, unique = load_variant("systems", "mtrains").caches(s), expected_accesses(s).unique_rows
    found = table_levels(s, *caches)
    assert found.sum(axis=1) == pytest.approx(np.array(level_shares(s, *caches)) * unique.sum(), rel=0.02)
    assert (found >= 0).all() and (found.sum(axis=0) <= unique * (1 + 1e-9)).all()
    assert len(set(np.count_nonzero(found, axis=0).tolist())) > 1, "some tables lie in DRAM, others below"


def test_misses_by_table_add_up_and_are_those_of_large_tables():
    s = asked("torchrec-uvm", **{"model.num_embeddings": (3,) * 6 + (10**6,) * 6, "data.batch_size": 2048})
    rows = cached_rows(s)
    missed = missed_rows(s, "lru", rows)
    assert missed.sum() == pytest.approx(expected_moves(s, "lru", rows).misses, rel=0.01)
    assert missed[:6].sum() < 0.01 * missed[6:].min()
    same = missed_rows(with_values(s, {"model.pooling": 2, "model.num_embeddings": 10**6}), "lru", 12 * 10**4)
    assert same == pytest.approx(np.full(TABLES, same[0]))


WIDE = {"model.num_tables": 2, "model.num_embeddings": 50_000, "model.pooling": 4, "model.embedding_dim": (16, 128)}
ALIKE = {"model.row_precision": "fp32", "model.optimizer": "sgd", "model.dense_optimizer": None}


def test_a_part_with_wide_rows_has_more_to_do_than_one_with_as_many_narrow_ones():
    knobs = {**WIDE, **ALIKE, "machine.num_gpus": 2, "policy.sharding": "table-wise", "policy.replicated_rows": 0}
    settled = settle(asked("all-hbm", **knobs))
    s = settled.scenario
    units = table_units(s, settled.system, PART_KINDS["gpus"])
    lookup = [4 * dim + 4 * dim + sort_nbytes(s) for dim in (16, 128)]  # a vector, a gradient, and a sort
    assert units.lookups == pytest.approx(np.array(lookup) / lookup[0]) and units.rows == pytest.approx([1, 8])
    balance = settled.placement.balance
    assert balance is not None and balance.lookups[0] == balance.lookups[1]
    assert settled.placement.skews.lookups == pytest.approx(2 * lookup[1] / sum(lookup))
    counted = counted_traffic(settled)
    assert counted.lookup_skew == pytest.approx(np.full(6, settled.placement.skews.lookups))
    assert counted.row_skew == pytest.approx(np.full(6, settled.placement.skews.rows), rel=0.02)


def test_features_of_one_lookup_each_are_replicated_as_lookups_are():
    """Where each feature looks one row up, a vector meets copies alone as often as a lookup does; pooled, more rarely."""
    knobs = {"machine.num_gpus": 4, "model.pooling": (4,) * 6 + (2,) * 6}
    apart = asked("all-hbm", **knobs, **{"model.features": (4,) * 6 + (2,) * 6})
    found = replicas(apart, 2000.0)
    assert found.vectors == pytest.approx(found.lookups) and 0.1 < found.lookups < 0.9
    assert replicas(with_values(apart, {"model.features": 1}), 2000.0).vectors < found.vectors
    batches = source(apart)
    lookups, vectors_, _ = hot_shares(hot_set(apart, 2000.0, batches), batches.ids(0))
    assert vectors_ == pytest.approx(lookups)


def test_uneven_bags_are_those_of_features():
    s = asked(**{"model.pooling": 4, "model.features": (3, 1) * 6, "data.bag_length_cv": (0.5, 0) * 6})
    assert uneven_bags(s) == 18
    assert expected_amounts(ready_machine(s).settled).length_bytes == 4 * 256 * 18


@each("united", ["memory", "gpu", "off"])
def test_who_takes_rows_lookup_by_lookup_takes_those_of_lookups(united):
    m = ready_machine(asked("cxl", **{"policy.row_dedup": united, "policy.relaxed_lookup": False}))
    s, amounts = m.scenario, expected_amounts(m.settled)
    reads, writes = np.array(vectors(s)), np.array(own_bytes(s))
    touched = expected_accesses(s)
    graph = m.system.graph(m.settled, amounts)
    works = {task.name: task.demands[0].work for task in graph.tasks}
    of_read = touched.unique_rows if united == "memory" else touched.lookups
    of_update = touched.lookups if united == "off" else touched.unique_rows
    again = amounts.repeated_reads if united == "memory" else 0.0
    assert float(np.max(payload(works["Embedding lookup"])[1])) == pytest.approx(
        float(of_read @ reads), rel=0.001 + np.max(again)
    )
    assert float(np.max(payload(works["Embedding update"])[1])) == pytest.approx(
        float(of_update @ writes), rel=0.001 + np.max(again)
    )


def test_projections_are_three_products_and_an_update_of_each_width():
    gpu = ready_machine(asked("all-hbm")).devices["gpu"]
    plain = TopPart(4096.0, (100, 1), 1000)
    both = replace(plain, projections=((3, 5, 16, 64),))
    rates, samples = gpu.rates, 4096.0
    on = rates if hasattr(rates, "bandwidth") else rates[0]
    flop, weights = 2.0 * 5 * samples * 16 * 64, 3 * 16 * 64
    assert layer_cost(both, on).flop - layer_cost(plain, on).flop == pytest.approx(3 * flop)
    assert count_kernels(both) - count_kernels(plain) == 4
    moved = 3 * on.word * (5 * samples * (16 + 64) + weights)
    more = layer_cost(both, on).nbytes - layer_cost(plain, on).nbytes
    assert moved < more < 1.02 * moved + 64 * weights
    assert float(seconds(gpu, both)) > float(seconds(gpu, plain)) + 4e-6


def test_hot_rows_fill_their_budget_by_their_own_bytes():
    s = asked("hotline", **{"policy.hot_rows_MiB": 0.25})
    assert 0.2 * 2**20 < hot_bytes(s) <= 0.25 * 2**20 and hot_rows(s) < sum(ROWS)


def test_projections_and_features_are_layers_and_vectors():
    from engine.systems.traffic import elements, mlp_gradient_bytes, projection_layers, top_widths, vector_count

    dot = asked(
        **{
            "model.interaction": "dot",
            "model.bottom_mlp": (13, 64, 96),
            "model.features": tuple(1 + t % 2 * (t % 3 > 0) for t in range(TABLES)),
        }
    )
    features, dims = dot.model.features, LISTS["model.embedding_dim"]
    layers = projection_layers(dot)
    assert {(k, n) for _, _, k, n in layers} == {(dim, 96) for dim in dims if dim != 96}
    assert sum(one[1] for one in layers) == sum(f for f, dim in zip(features, dims, strict=True) if dim != 96)
    assert vector_count(dot) == sum(features) and elements(dot) == sum(f * d for f, d in zip(features, dims, strict=True))
    vectors_ = vector_count(dot) + 1
    assert top_widths(dot)[0] == 96 + vectors_ * (vectors_ - 1) // 2
    weights = sum(dim * 96 for dim in dims if dim != 96)
    plain = with_values(dot, {"model.embedding_dim": 96})
    assert mlp_gradient_bytes(dot) - mlp_gradient_bytes(plain) == 4 * weights
    slower = [estimate(with_values(x, {"system": "all-hbm"})).results["Step time [ms]"] for x in (plain, dot)]
    assert slower[0] and slower[1]
    averaged = asked(**{"model.interaction_stride": 7})
    assert top_widths(averaged)[0] == -(-(16 + sum(dims)) // 7)


@each(
    ("knobs", "part"),
    [
        ({"model.embedding_dim": (16, 32)}, "model.embedding_dim has 2 values for 12 tables"),
        ({"model.optimizer": ("sgd",) * 11 + ("lamb",)}, "'lamb' is not known"),
        ({"model.row_precision": ("fp32",) * 11 + ("fp8",)}, "'fp8' is not known"),
        ({"model.embedding_dim": (16,) * 11 + (0,)}, "out of range"),
        ({"model.embedding_dim": (16,) * 11 + (True,)}, "not a number"),
        ({"model.embedding_dim": ()}, "is empty"),
        ({"model.features": 4}, "more than its model.pooling"),
        ({"model.interaction": "dot"}, "pairwise dot needs vectors of 96 elements"),
        ({"model.interaction": "cross", "model.interaction_stride": 2}, "works only on concatenated features"),
    ],
)
def test_a_wrong_list_is_refused_with_the_remedy(knobs, part):
    with pytest.raises(BadKnob, match=part):
        asked(**knobs)
