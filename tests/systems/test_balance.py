"""Placement as a plan: is the slowest part what a hand calculation says, is nothing lost, and is the planner any good?"""

import gc
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_traffic
from engine.core.figures import figure
from engine.core.work import Pool, RowUpdates
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.registry import load_variant, variant_names
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import machine_of, settle
from engine.simulate import simulate
from engine.systems import balance as balances
from engine.systems.balance import _part_balance, _plan_request
from engine.systems.exchange.crossing import vector_crossing
from engine.systems.parts import KINDS, table_units
from engine.systems.plans.planner import greedy
from engine.systems.sharding import Parts, Pieces, PlanRequest, make_plan, parse_plan, spread_amounts
from engine.systems.table_placement import skew
from engine.workload.accesses import expected_accesses
from engine.workload.row_spread import part_of
from engine.workload.source import source
from tests.cases import each, examples

ROWS, POOLING, DIM, BATCH = (1000, 40_000, 300, 8000), (2, 1, 7, 1), 64, 600
MADE_UP = {
    "system": "all-hbm",
    "model.num_tables": 4,
    "model.num_embeddings": ROWS,
    "model.pooling": POOLING,
    "model.embedding_dim": DIM,
    "model.bottom_mlp": (13, DIM),
    "data.popularity": "uniform",
    "data.batch_size": BATCH,
    "run.batches": 4,
    "run.training": False,
    "machine.num_gpus": 3,
    "machine.step_jitter": 0.0,
    "machine.framework": "lean",
}
PLANS = ("0;1;2;2", "1;0+2;2;0", "0/2;1;0+1/2;1+1+2", "0-2", "2")
MODULES = {"machine.num_gpus": 1, "machine.pmem_module_GB": 1.0, "machine.pmem_capacity_GB": 4.0}
SPILLED = {"machine.gpus_per_node": 2, "machine.assume": (("gpu.memory", 0.005),)}  # tables 1 and 3 have no place in HBM
DEDUP = ("off", "memory", "gpu")
SHARDINGS, ALL_HBM = variant_names("plans"), load_variant("systems", "all-hbm")
# Of 11 MB: three copies of the MLPs' parameters, and each layer's activations and the vectors of 200 samples twice, in fp32.
MLP = 4 * (14 * 64 + (64 + 10 + 1) * 512 + 513 * 256 + 257)
ROOM = 0.011 - (3 * MLP + 2 * 4 * 200 * (13 + 64 + 512 + 256 + 1 + 2 * 5 * 64)) / 1e9


def made_up(**knobs):
    return with_values(Scenario(), {**MADE_UP, **knobs})


def nested(pieces: Pieces) -> list[list[tuple[float, tuple[int, ...]]]]:
    """Return of each table the width of each piece and the parts that have it."""
    found: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(pieces.table[-1] + 1)]
    for table, width, place in zip(pieces.table, pieces.width, pieces.place, strict=True):
        found[table].append((float(width), (int(place),) if place >= 0 else pieces.runs[~place]))
    return found


def test_a_made_up_plans_slowest_part_takes_what_a_hand_calculation_says():
    """Part 0 has table 0 and half of table 1's columns, part 1 table 2, part 2 the other half and table 3."""
    s = made_up(**{"policy.plan": "0;0/2;1;2"})
    unique = [rows * (1 - (1 - 1 / rows) ** (BATCH * bag)) for rows, bag in zip(ROWS, POOLING, strict=True)]
    lookups = [BATCH * 2 + BATCH / 2, BATCH * 7, BATCH / 2 + BATCH]
    touched = [unique[0] + unique[1] / 2, unique[2], unique[1] / 2 + unique[3]]
    m = machine_of(settle(s))
    tasks = {task.name: task.demands[0].work for task in m.system.plan(m.settled, expected_traffic(m.settled, 3))}
    one = machine_of(settle(with_values(s, {"machine.num_gpus": 1, "policy.plan": ""}))).devices["gpu"]
    for name, alone in (
        # pooled vectors are written where rows are read, in the shares of the lookups; indices are sorted in 16 passes
        ("Embedding lookup", Pool(max(lookups) * DIM * 4 * (1 + 4 * BATCH / sum(lookups)))),
        ("Gradient spreading", Pool(max(lookups) * (DIM * 4 + 16 * 8))),
        ("Embedding update", RowUpdates(max(touched), DIM * 4)),
    ):
        assert seconds(m.devices["gpu"], tasks[name])[-1] == pytest.approx(float(seconds(one, alone)), rel=1e-9), name
    # GPU 0 has 1.5 tables' columns, GPU 2 as many, GPU 1 one; each has a third of the samples.
    sent = [(2 / 3) * BATCH * DIM * 4 * tables for tables in (1.5, 1.0, 1.5)]
    received = [(1 / 3) * BATCH * DIM * 4 * (4 - tables) for tables in (1.5, 1.0, 1.5)]
    work = tasks["Pooled all-to-all"]
    assert (work.nbytes, work.fabric, work.network) == pytest.approx((sum(sent), max(sent + received), 0.0))
    assert sum(sent) == pytest.approx(sum(received))
    # The indices of table 1 go to both of its parts: 3, 7 and 2 lookups of a sample are sent on, less a third that stays.
    indices = [8 * BATCH * bags for bags in (2 + 1, 7, 1 + 1)]
    assert tasks["Index all-to-all"].nbytes == pytest.approx(2 / 3 * sum(indices))
    assert tasks["Index all-to-all"].fabric == pytest.approx(2 / 3 * max(indices))


@pytest.mark.parametrize("plan", PLANS)
def test_a_full_run_counts_each_part_from_its_ids_and_the_estimate_expects_as_much(plan):
    s = made_up(**{"policy.plan": plan, "data.popularity": "zipf", "data.zipf_exponent": 1.2, "data.hottest_shares": (0.1,)})
    first = np.cumsum((0, *ROWS))
    found, lookups, rows = counted_traffic(settle(s)), np.zeros((4, 3)), np.zeros((4, 3))
    for n in range(4):
        ids = source(s).ids(n)
        for table, entry in enumerate((plan.split(";") * 4)[:4]):
            mine, columns = ids[(ids >= first[table]) & (ids < first[table + 1])], entry.split("/")
            for piece in columns:
                parts = [0, 1, 2] if piece == "0-2" else [int(part) for part in piece.split("+")]
                for row, times in zip(*np.unique(mine, return_counts=True), strict=True):
                    part = parts[int(part_of(np.array([row]), len(parts))[0])]
                    lookups[n, part] += times / len(columns)
                    rows[n, part] += 1 / len(columns)
    assert found.lookup_skew == pytest.approx(lookups.max(axis=1) / lookups.mean(axis=1))
    assert found.row_skew == pytest.approx(rows.max(axis=1) / rows.mean(axis=1))
    guess = expected_traffic(settle(s), 1)
    assert guess.lookup_skew[0] == pytest.approx(found.lookup_skew.mean(), rel=0.03)
    assert guess.row_skew[0] == pytest.approx(found.row_skew.mean(), rel=0.03)
    full, quick = simulate(s).results, estimate(s).results
    assert quick["Step time [ms]"] == pytest.approx(full["Step time [ms]"], rel=0.02)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_no_plan_loses_or_doubles_a_lookup_a_row_or_a_byte_of_tables(sharding):
    s = made_up(**{"policy.sharding": sharding, "machine.num_gpus": 6, "machine.gpus_per_node": 4})
    found, every = settle(s).placement.balance, expected_accesses(s)
    assert (found is None) == (sharding == "interleaved")
    if found:
        assert found.lookups.sum() == pytest.approx(every.lookups.sum())
        assert found.rows.sum() == pytest.approx(every.unique_rows.sum())
        assert found.table_bytes.sum() == pytest.approx(sum(ROWS) * DIM * 4)


def test_the_hottest_row_is_where_its_hash_says_and_makes_that_part_the_slowest():
    s = made_up(
        **{"data.hottest_shares": (0.4,), "data.zipf_exponent": 0.0, "data.popularity": "zipf", "policy.sharding": "row-wise"}
    )
    found = settle(s).placement.balance
    where = part_of(np.cumsum((0, *ROWS))[:4], 3)
    each = [
        BATCH * sum(bag * (0.4 * (part == at) + 0.6 / 3) for bag, at in zip(POOLING, where, strict=True)) for part in range(3)
    ]
    assert found.lookups == pytest.approx(each, rel=0.05)
    assert skew(found.lookups) > 1.15


def routed(parts, pieces, samples):
    """Send each piece's vectors, sample by sample, each byte one by one: what each part sends and receives, (2, 2, P)."""
    group, sent, received = parts.group, np.zeros((2, parts.number)), np.zeros((2, parts.number))
    owner = np.arange(samples) % parts.number

    def send(source, target, share):
        if source != target:
            sent[int(group[source] != group[target]), source] += share
            received[int(group[source] != group[target]), target] += share

    for width, over in (piece for table in nested(pieces) for piece in table):
        for node in range(parts.groups):
            members = sorted({part for part in over if group[part] == node})
            for sample in range(samples if members else 0):
                held_by = owner[sample] if owner[sample] in members else members[(sample // parts.number) % len(members)]
                for member in members:
                    send(member, held_by, width)  # sums within the node meet at one of its parts
                send(held_by, owner[sample], width)
    return np.maximum(sent, received), sent


@each("parts", [Parts(6, 6), Parts(6, 3), Parts(6, 2), Parts(5, 1)])
@each("plan", ["0;1;2;3;4;4", "0/1/2/3;0", "0-4", "3", "4;0/2;1+1;0-1"])
def test_what_crosses_is_what_routing_every_vector_takes(parts, plan):
    pieces, samples = parse_plan(plan, plan.count(";") + 1, parts.number), parts.number * 60
    found = vector_crossing(parts, pieces, float(samples))
    most, sent = routed(parts, pieces, samples)
    assert found.nbytes == pytest.approx(sent.sum())
    if all(len(set(over)) in (1, parts.number) for table in nested(pieces) for _, over in table):
        assert (found.fabric, found.network) == pytest.approx(tuple(most.max(axis=1)))


@given(st.lists(st.tuples(st.floats(0.01, 9), st.floats(1, 50)), min_size=1, max_size=30), st.integers(2, 9), st.floats(1.001, 4))
@examples(40)
def test_the_planner_is_never_worse_than_round_robin_by_its_own_cost_and_fits_where_anything_does(tables, count, slack):
    weights, nbytes = map(np.array, zip(*tables, strict=True))
    parts = Parts(count, 4)

    def slowest(pieces, than=np.inf):
        busy = np.zeros(count)
        for weight, table in zip(weights, nested(pieces), strict=True):
            for width, over in table:
                np.add.at(busy, list(over), weight * width / len(over))
        return float(busy.max()) if busy.mean() <= than else np.inf

    wanted = PlanRequest(parts, weights, nbytes[None], np.full(len(weights), 128), (slack * nbytes.sum() / count,), (1,), slowest)
    plan, turns = make_plan("planner", wanted), make_plan("table-wise", wanted)
    assert wanted.fits(plan), "rows over all parts always fit"
    assert slowest(plan) <= slowest(turns) * (1 + 1e-12) or not wanted.fits(turns)
    assert spread_amounts(plan, nbytes[None], count).sum() == pytest.approx(nbytes.sum())
    assert all(sum(width for width, _ in table) == pytest.approx(1) for table in nested(plan))


def dealt(seconds, nbytes, ranges, over, rooms, parts, sharing):
    """Deal out pieces by the words of the greedy plan, one by one: the parts that each table's pieces have."""
    busy, left, found = [0.0] * parts, [[room] * parts for room in rooms], [[] for _ in ranges]

    def give(part, count, times=1):
        busy[part] += times * lasts / count
        for m, need in enumerate(needs):
            left[m][part // sharing[m]] -= times * need / count

    for table in sorted(range(len(ranges)), key=lambda one: -seconds[one] / ranges[one]):
        lasts, needs = seconds[table] / ranges[table], [one[table] / ranges[table] for one in nbytes]
        for _ in range(ranges[table]):
            count, mine = over[table], []
            while len(mine) < count < parts:
                roomy = [p for p in range(parts) if all(left[m][p // sharing[m]] >= x / count for m, x in enumerate(needs))]
                if not (free := [part for part in roomy if part not in mine]):
                    break
                mine.append(min(free, key=lambda part: busy[part]))
                give(mine[-1], count)
            if len(mine) < count:
                for part in sorted(mine):
                    give(part, count, -1)
                mine = list(range(parts))
                busy = [one + lasts / parts for one in busy]
                for m, need in enumerate(needs):
                    held = [sum(part // sharing[m] == room for part in mine) for room in range(parts)]
                    left[m] = [have - some * need / parts for have, some in zip(left[m], held, strict=True)]
            found[table].append(tuple(sorted(mine)))
    return found


@given(
    st.lists(st.tuples(st.floats(0, 9), st.integers(0, 9), st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(2, 9),
    st.data(),
)
@examples(60)
def test_the_longest_piece_goes_first_to_the_part_with_least_to_do_that_has_room(tables, parts, data):
    """Or its rows to as many as it is for; in up to two memories, rooms of one to three parts, maybe too small for some."""
    seconds, nbytes, ranges, over = map(np.array, zip(*tables, strict=True))
    over = np.minimum(over, parts)
    every = np.array([nbytes, nbytes[::-1] / 4])[: data.draw(st.integers(0, 2))]
    sharing = tuple(data.draw(st.integers(1, 3)) for _ in every)
    rooms = tuple(data.draw(st.floats(0.3, 3)) * float(one.sum()) / parts for one in every)
    plan = greedy(
        PlanRequest(Parts(parts, 4), seconds, every, np.full(len(seconds), 128), rooms, sharing, lambda pieces, than: 0.0),
        ranges,
        over,
    )
    by_words = dealt(seconds, every, ranges.tolist(), over.tolist(), rooms, parts, sharing)
    assert [[over for _, over in table] for table in nested(plan)] == by_words
    assert [[width for width, _ in table] for table in nested(plan)] == [[1 / cut] * cut for cut in ranges]


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_plan_of_a_thousand_tables_is_a_handful_of_objects(sharding):
    """Sizing a machine by its throughput makes hundreds of plans; what they are made of must not wait to be collected."""
    tables = np.arange(1.0, 1001.0)
    wanted = PlanRequest(Parts(16, 8), tables, tables[None], np.full(len(tables), 128), (1e5,), (1,), lambda pieces, than: 1.0)
    plan, before = make_plan(sharding, wanted), len(gc.get_objects())
    plan = make_plan(sharding, wanted)
    assert len(gc.get_objects()) - before < 50
    assert plan is None or (len(plan.runs) <= 2 and plan.table.tolist() == sorted(plan.table))


@given(st.lists(st.tuples(st.integers(50, 10**6), st.integers(1, 40)), min_size=2, max_size=9), st.integers(2, 12))
@examples(15)
def test_a_plan_is_left_out_early_only_if_it_is_not_the_cheapest(tables, gpus):
    rows, bags = zip(*tables, strict=True)
    own = {"model.num_tables": len(tables), "model.num_embeddings": rows, "model.pooling": bags, "machine.num_gpus": gpus}
    s = made_up(**own, **{"machine.gpus_per_node": 4})
    with pytest.MonkeyPatch.context() as patch:
        early = make_plan("planner", _plan_request(s, ALL_HBM, Parts(gpus, 4), table_units(s, ALL_HBM, KINDS["gpus"])))
        patch.setattr(balances, "ROUNDED", np.inf)
        assert make_plan("planner", _plan_request(s, ALL_HBM, Parts(gpus, 4), table_units(s, ALL_HBM, KINDS["gpus"]))) == early


def test_the_planner_is_no_worse_than_any_plan_of_whole_tables_or_of_the_hottest_tables_by_rows():
    """Of 16 columns, which cannot be cut: one table has nine tenths of the lookups, so that its rows must go over all parts."""
    hot = {"model.pooling": (90, 4, 3, 3), "model.embedding_dim": 16, "model.bottom_mlp": (13, 16), "data.popularity": "uniform"}
    s = made_up(**hot)
    wanted = _plan_request(s, ALL_HBM, Parts(3, 8), table_units(s, ALL_HBM, KINDS["gpus"]))
    whole = [parse_plan(";".join(map(str, parts)), 4, 3) for parts in product(range(3), repeat=4)]
    rows = [parse_plan(";".join(map(str, ("0-2", *parts))), 4, 3) for parts in product((0, 1, 2, "0-2"), repeat=3)]
    best = min(wanted.slowest(plan, np.inf) for plan in whole + rows)
    assert best < 0.8 * min(wanted.slowest(plan, np.inf) for plan in whole)
    assert wanted.slowest(make_plan("planner", wanted), np.inf) <= best * 1.01  # greedy


@pytest.mark.parametrize(
    ("bags", "plan"),
    [((60, 30), "0-1/2-3;4/5"), ((90, 30), "0-2/3-5;6/7"), ((60, 29, 1, 1), "0-1/2-3;4/5;4;5"), ((1, 19, 40), "0;4/5;0-1/2-3")],
)
def test_what_columns_are_too_few_for_goes_by_rows_over_no_more_parts_than_needed(bags, plan):
    """Of 64 columns, two ranges: the hot table takes two thirds of all GPUs' time or three quarters, the next one the rest."""
    gpus, same = max(int(part) for part in plan if part.isdecimal()) + 1, (40_000,) * len(bags)
    own = {"model.num_tables": len(bags), "model.pooling": bags, "model.num_embeddings": same, "machine.num_gpus": gpus}
    s = made_up(**own, **{"data.batch_size": 6000})
    wanted = _plan_request(s, ALL_HBM, Parts(gpus, 8), table_units(s, ALL_HBM, KINDS["gpus"]))
    best = wanted.slowest(parse_plan(plan, len(bags), gpus), np.inf)
    others = [make_plan(name, wanted) for name in SHARDINGS if name not in ("planner", "interleaved")]
    assert best < 0.85 * min(wanted.slowest(other, np.inf) for other in others)
    assert wanted.slowest(make_plan("planner", wanted), np.inf) <= best * 1.01
    assert (
        estimate(s).results["Step time [ms]"] <= estimate(with_values(s, {"policy.plan": plan})).results["Step time [ms]"] * 1.01
    )


@pytest.mark.parametrize(
    ("gpus", "rows", "bags"),
    [(4, (1000, 20_000, 20_000, 1000), (20, 5, 50, 1)), (3, (400_000, 1000, 20_000, 1000), (20, 20, 5, 1))],
)
def test_the_planner_of_a_cache_knows_that_misses_cross_each_gpus_own_link(gpus, rows, bags):
    """Tables of many different rows must not share a GPU, whose link they would fill; nothing beats an even share."""
    own = {"system": "torchrec-uvm", "machine.num_gpus": gpus, "policy.cache_load_factor": 0.1, "data.batch_size": 6000}
    s = made_up(**own, **{"model.num_embeddings": rows, "model.pooling": bags})
    even = estimate(with_values(s, {"policy.sharding": "interleaved"})).results["Step time [ms]"]
    assert even <= estimate(s).results["Step time [ms]"] <= 1.05 * even


@pytest.mark.parametrize(
    "knobs", [{"policy.row_dedup": one, "machine.near_data_compute": on} for one in DEDUP for on in (True, False)]
)
def test_the_planner_of_modules_knows_what_goes_lookup_by_lookup(knobs):
    """Two tables of many lookups must not share a channel, though they have no more different rows than a third."""
    own = {
        "model.pooling": (100, 100, 5, 1),
        "model.num_embeddings": (5000, 5000, 5000, 100),
        "machine.expander_dram_channels": 2,
    }
    own |= {"machine.framework": "none", "data.batch_size": 8192, "data.popularity": "zipf", "data.zipf_exponent": 1.3}
    own |= {"model.embedding_dim": 16, "model.bottom_mlp": (13, 16), "system": "dram", "machine.num_gpus": 1}
    s = made_up(**knobs, **own)
    planned = estimate(with_values(s, {"policy.sharding": "planner"}))
    turns = [with_values(s, {"policy.plan": ";".join(map(str, parts))}) for parts in product(range(2), repeat=4)]
    best = min(one.results["Step time [ms]"] for one in map(estimate, turns))
    assert planned.results["Step time [ms]"] <= best * 1.02


@pytest.mark.parametrize("system", ["all-hbm", "torchrec-uvm", "cpu-only", "cpu-gpu", "fae"])
def test_one_part_has_everything_whatever_the_plan(system):
    alone = {"system": system, "machine.num_gpus": 1, "policy.cache_load_factor": 1.0}
    own = estimate(made_up(**alone)).results
    for sharding in SHARDINGS:
        assert estimate(made_up(**alone, **{"policy.sharding": sharding})).results == own
    assert estimate(made_up(**alone, **{"machine.exchange_precision": "int8"})).results == own


def test_vectors_in_fp16_are_half_the_bytes_and_in_int8_a_quarter_and_eight_bytes():
    exact, half, quarter = (
        settle(made_up(**{"machine.exchange_precision": name, "policy.plan": "0;1;2;2"})).placement.pooled
        for name in ("fp32", "fp16", "int8")
    )
    assert (2 * half.nbytes, 2 * half.fabric) == pytest.approx((exact.nbytes, exact.fabric))
    assert quarter.nbytes == pytest.approx(exact.nbytes * (DIM + 8) / (4 * DIM))


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_faster_network_never_slows_a_plan(sharding):
    steps = [
        estimate(
            made_up(**{"policy.sharding": sharding, "machine.gpus_per_node": 2, "machine.network_bandwidth_GBps": rate})
        ).results["Step time [ms]"]
        for rate in (0.5, 2.0, 8.0, 26.0)
    ]
    assert steps == sorted(steps, reverse=True) and steps[0] > steps[-1]


def test_interleaved_is_faster_than_any_plan_and_energy_counts_all_parts():
    even = estimate(made_up(**{"policy.sharding": "interleaved"})).results
    uneven = estimate(made_up(**{"policy.plan": "0;1;1;1"})).results
    assert uneven["Step time [ms]"] > even["Step time [ms]"]
    s = made_up(**{"policy.plan": "0;1;1;1"})
    both = [
        one.system.plan(one, expected_traffic(one, 3)) for one in map(settle, (s, made_up(**{"policy.sharding": "interleaved"})))
    ]
    for one, other in zip(*both, strict=True):
        for mine, theirs in zip(one.demands, other.demands, strict=True):
            if mine.device == "gpu":
                assert repr(replace(mine.work, skew=1.0)) == repr(replace(theirs.work, skew=1.0))


@each(
    ("knobs", "sentence"),
    [
        ({"policy.plan": "0;1"}, "policy.plan has 2 entries for 4 tables; give one entry, or 4 separated by ';'."),
        ({"policy.plan": "1", "machine.num_gpus": 1}, "policy.plan names part 1, but the parts are numbered 0 to 0."),
        ({"policy.plan": "9" * 5000}, "write 3 for a whole table, 0-7 or 0+2 for rows over several parts, 0/1 for columns."),
        ({"policy.plan": "0-2+" * 22_000 + "0"}, "with more than 65,536 shares; name fewer parts."),
        ({"policy.plan": "0;1;2;3"}, "policy.plan names part 3, but the parts are numbered 0 to 2."),
        (
            {"policy.plan": "0;1;2;x"},
            "policy.plan has the entry 'x', which cannot be read; write 3 for a whole table, 0-7 or 0+2 for rows over "
            "several parts, 0/1 for columns.",
        ),
        (
            {"policy.plan": "0;1;2;2", "system": "hotline"},
            "policy.plan=0;1;2;2 is not possible: system=hotline divides all work evenly; set it to nothing.",
        ),
        (
            {"policy.plan": "0;1;2;2", "machine.assume": (("gpu.memory", 0.011),)},
            f"policy.plan=0;1;2;2 puts 10.2 MB on GPU 1, whose hbm has {figure(ROOM, 'GB')} left for tables; give it fewer "
            "tables, or raise machine.num_gpus.",
        ),
        (
            {"policy.plan": "1;0+1+2;1;1", "system": "dram-hbm-nodes", "machine.assume": (("gpu.memory", 0.006),)},
            "policy.plan=1;0+1+2;1;1 puts 2.38 MB on GPU 1, whose hbm has 1.57 MB left for tables; give it fewer "
            "tables, or raise machine.num_gpus.",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_a_sentence(knobs, sentence):
    result = estimate(made_up(**knobs))
    assert not result.ran and result.outcome.endswith(sentence), result.outcome


def test_the_planner_spreads_what_no_part_could_hold_alone():
    tight = made_up(**{"machine.assume": (("gpu.memory", 0.011),)})
    assert estimate(tight).ran
    assert 40_000 * DIM * 4 > ROOM * 1e9 > settle(tight).placement.balance.table_bytes.max()


def test_hosts_of_several_nodes_exchange_what_each_lacks():
    for system in ("cpu-only", "cpu-gpu"):
        s = made_up(**{"system": system, "machine.num_gpus": 8, "machine.gpus_per_node": 2, "policy.sharding": "interleaved"})
        m = machine_of(settle(s))
        plan = m.system.plan(m.settled, expected_traffic(m.settled, 3))
        sent = {task.name: task.demands[0].work for task in plan if task.demands[0].device == "network"}
        vectors = BATCH * 4 * DIM * 4 * 3 / 4
        assert sent["Pooled all-to-all"].nbytes == sent["Gradient all-to-all"].nbytes == pytest.approx(vectors)
        assert sent["Pooled all-to-all"].network == pytest.approx(vectors / 4 / 2), "a node's two cards share it"
        assert sent["Index all-to-all"].nbytes == pytest.approx(BATCH * sum(POOLING) * 8 * 3 / 4)


def near(**knobs):
    """Return the tasks, by name, of the made-up model on two expanders of two modules each, and what a batch asks for."""
    return tasks_of(made_up(**{"system": "cxl-b", "machine.num_expanders": 2, **MODULES, **knobs}))


def test_the_fullest_module_reads_and_pools_longest_and_each_link_carries_its_own_tables():
    """Module 0 has tables 0 and 1, module 1 table 3, module 2 table 2; module 3 has nothing."""
    tasks, t = near(**{"policy.plan": "0;0;2;1"})
    unique = [rows * (1 - (1 - 1 / rows) ** (BATCH * bag)) for rows, bag in zip(ROWS, POOLING, strict=True)]
    rows, lookups = (unique[0] + unique[1]) / (sum(unique) / 4), 7 / (sum(POOLING) / 4)
    lookup, update, log = (tasks[name] for name in ("Embedding lookup", "Embedding update", "Embedding log"))
    for work in (lookup["pmem"], update["pmem"], log["pmem"]):
        assert work.skew == pytest.approx(rows)
    assert lookup["near-data"].skew == pytest.approx(lookups)
    added, changed = BATCH * sum(POOLING) * DIM * 4, sum(unique) * DIM * 4
    assert update["near-data"].skew == pytest.approx((added * lookups + changed * rows) / (added + changed))
    assert (lookup["cxl"].nbytes[-1], lookup["cxl"].skew) == pytest.approx((BATCH * 4 * DIM * 4, 3 / 2))
    assert (update["cxl"].nbytes, update["cxl"].skew) == pytest.approx((BATCH * 4 * DIM * 4, 3 / 2))
    assert tasks["Sparse features"]["cxl"].skew == pytest.approx(7 / (sum(POOLING) / 2))
    whole, _ = near(**{"policy.plan": "0;0;2;1", "machine.near_data_compute": False, "policy.row_dedup": "off"})
    assert whole["Embedding lookup"]["pmem"].skew == pytest.approx(lookups)
    assert whole["Embedding lookup"]["cxl"].skew == pytest.approx(7 / (sum(POOLING) / 2))
    spread, _ = near(**{"policy.sharding": "row-wise"})
    assert spread["Embedding lookup"]["cxl"].nbytes[-1] == pytest.approx(2 * BATCH * 4 * DIM * 4), (
        "each expander sends sums of its rows"
    )
    assert t.mlp_bytes == tasks["MLP log"]["pmem"].nbytes and tasks["MLP log"]["pmem"].skew == 1


def test_a_hosts_fullest_module_is_read_logged_and_updated_longest_and_its_cpu_serves_all():
    tasks, _ = near(**{"system": "pmem", "policy.plan": "0;0;2;1"})
    unique = [rows * (1 - (1 - 1 / rows) ** (BATCH * bag)) for rows, bag in zip(ROWS, POOLING, strict=True)]
    for name in ("Row reads", "Row updates", "Embedding log", "Home write"):
        assert tasks[name]["pmem"].skew == pytest.approx((unique[0] + unique[1]) / (sum(unique) / 4))
    assert tasks["Embedding lookup"]["host"].skew == tasks["Embedding update"]["host"].skew == 1
    planned, whole = ({"system": "pmem", "policy.sharding": one, **MODULES} for one in ("planner", "table-wise"))
    assert estimate(made_up(**planned)).results["Step time [ms]"] <= estimate(made_up(**whole)).results["Step time [ms]"]


def tasks_of(s):
    """Return the work of each task by name and device, and what a batch asks for."""
    settled = settle(s)
    t = expected_traffic(settled, 3)
    return {x.name: {one.device: one.work for one in x.demands} for x in settled.system.plan(settled, t)}, t


def test_rows_outside_hbm_cross_the_link_of_the_gpu_whose_tables_they_are_and_leave_its_nodes_dram():
    """HBM has tables 0 and 2 alone: table 1 lies beside GPU 1 of node 0, table 3 beside GPU 2 of node 1."""
    s = made_up(**SPILLED, **{"system": "dram-hbm-nodes", "policy.plan": "0;1;2;2"})
    one, three = (rows * (1 - (1 - 1 / rows) ** (BATCH * bag)) for rows, bag in zip(ROWS[1::2], POOLING[1::2], strict=True))
    tasks, t = tasks_of(s)
    assert t.far_rows == pytest.approx(one + three)
    for device, groups in (("gpu", 3), ("pcie", 3), ("dram", 2)):
        assert tasks["Read rows from DRAM"][device].skew == pytest.approx(one / ((one + three) / groups))
        assert device == "gpu" or tasks["Embedding update"][device].skew == pytest.approx(one / ((one + three) / groups))
    assert tasks["Embedding lookup"]["gpu"].skew == pytest.approx(t.lookup_skew)
    assert estimate(s).results["Step time [ms]"] == pytest.approx(simulate(s).results["Step time [ms]"], rel=0.02)
    even = made_up(**SPILLED, system="dram-hbm-nodes")
    assert estimate(s).results["Step time [ms]"] > estimate(even).results["Step time [ms]"]


def test_drives_and_scm_serve_the_nodes_whose_tables_lie_there():
    """Ten GB of table 1 lie on drives: its rows over GPUs 0 and 2 load both nodes, on GPU 2 alone the second."""
    own = {**SPILLED, "system": "mtrains", "model.num_embeddings": (1000, 40_000_000, 300, 40_000), "data.batch_size": 60}
    own |= {"machine.host_dram_GiB": 2.0, "policy.cache_load_factor": 0.01}
    for plan, nodes in (("0;0+2;1;1", 1), ("0;2;1;1", 2)):
        tasks, _ = tasks_of(made_up(**own, **{"policy.plan": plan}))
        works = [tasks[name][device] for name in ("Prefetch", "Evict rows") for device in ("ssd", "pmem")]
        assert [work.skew for work in works] == pytest.approx([nodes] * 4)
        rows = 40_000 * (1 - (1 - 1 / 40_000) ** 60)  # of table 3, in DRAM beside GPU 1
        assert tasks["Prefetch"]["pcie"].skew == pytest.approx(
            max(60 / (plan.count("+") + 1), rows) / ((60 + rows) / 3), rel=1e-3
        )
    assert tasks["Prefetch"]["dram"].skew == pytest.approx(60 / ((60 + rows) / 2), rel=1e-3)


@pytest.mark.parametrize("system", ["dram-hbm-nodes", "mtrains"])
def test_the_planner_of_tiers_keeps_to_each_memorys_room_and_is_no_slower_than_turns(system):
    planned, turns, even = (
        estimate(made_up(**SPILLED, **{"system": system, "policy.sharding": one})) for one in ("planner", "table-wise", None)
    )
    assert planned.ran, planned.outcome
    assert planned.results["Step time [ms]"] >= even.results["Step time [ms]"] * (1 - 1e-9)
    assert (
        not turns.ran or planned.results["Step time [ms]"] <= turns.results["Step time [ms]"] * 1.01
    )  # its own cost overlaps nothing


def test_servers_answer_as_fast_as_the_one_with_most_rows():
    s = made_up(
        **{"system": "remote-no-cache", "machine.embedding_servers": 2, "policy.plan": "0;1;1;1", "data.batch_size": 6000}
    )
    m = machine_of(settle(s))
    t = expected_traffic(m.settled, 3)
    even = made_up(**{"system": "remote-no-cache", "machine.embedding_servers": 2, "data.batch_size": 6000})
    both = [
        {task.name: task.demands[0].work for task in m.system.plan(one, expected_traffic(one, 3))}
        for one in map(settle, (s, even))
    ]
    unique = [rows * (1 - (1 - 1 / rows) ** (6000 * bag)) for rows, bag in zip(ROWS, POOLING, strict=True)]
    name, skewed = "Gather remote rows", sum(unique[1:]) / (sum(unique) / 2)
    assert t.row_skew == pytest.approx(skewed)
    more = replace(both[1][name], rows=both[1][name].rows * skewed)
    assert seconds(m.devices["remote"], both[0][name]) == pytest.approx(seconds(m.devices["remote"], more))


def test_a_module_that_a_plan_overfills_is_named():
    huge = {"model.num_embeddings": (1000, 4_000_000, 300, 8000), "policy.plan": "0;3;1;2"}
    result = estimate(
        made_up(
            **huge, **{"system": "cxl", "machine.num_gpus": 1, "machine.pmem_module_GB": 1.0, "machine.pmem_capacity_GB": 4.0}
        )
    )
    assert "puts 1.02 GB on module 3, whose pmem has 0.9" in result.outcome
    assert result.outcome.endswith("give it fewer tables, or raise machine.pmem_capacity_GB.")


def test_a_plan_by_hand_reads_parts_rows_and_columns():
    pieces = parse_plan("3;0-1+3;0/1+2", 3, 4)
    assert nested(pieces) == [[(1.0, (3,))], [(1.0, (0, 1, 3))], [(0.5, (0,)), (0.5, (1, 2))]]
    alike_tables = table_units(made_up(), ALL_HBM, KINDS["gpus"])
    found = _part_balance(made_up(), ALL_HBM, Parts(3, 3), parse_plan("1", 4, 3), alike_tables)
    assert found.lookups.tolist() == [0, BATCH * sum(POOLING), 0]
