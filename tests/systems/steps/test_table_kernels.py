"""Kernels of tables: do lookups in HBM, in host memory and by the host cost what the works of each say, alone and mixed?"""

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_amounts
from engine.core.row_sizes import mean_bytes
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import expected_timeline, machine_of, settle
from engine.simulate import simulate
from engine.systems.capacity import place_and_size, with_sizes
from engine.systems.kernels.in_force import mixed_system, title_of
from engine.systems.kernels.mixed import HBM, HOST, UVM, UVM_CACHE, chosen_kernels, tiers
from engine.systems.row_kinds import kind_bytes
from engine.systems.traffic import table_bytes
from engine.workload.accesses import expected_accesses
from engine.workload.caching.expected_cache import expected_moves
from tests.cases import each

KERNELS = (HBM, UVM, UVM_CACHE, HOST)
ABLE = ("all-hbm", "cpu-gpu", "torchrec-uvm")
SMALL = {
    "model.num_embeddings": (3000,) * 26,
    "data.batch_size": 512,
    "run.training": False,
    "run.batches": 40,
    "machine.num_gpus": 1,
    "machine.framework": "none",
    "policy.cache_load_factor": 0.2,
}
MIX = tuple(KERNELS[t % 4] for t in range(26))


def asked(system="all-hbm", **knobs):
    return with_values(preset("torchrec-terabyte").scenario, {"system": system, **SMALL, **knobs})


def works(s):
    settled = settle(s)
    amounts = expected_amounts(settled)
    tasks = settled.system.graph(settled, amounts).tasks
    return {task.name: {demand.device: demand.work for demand in task.demands} for task in tasks}, amounts


def row_nbytes(work):
    return float(np.max(work.rows)) * mean_bytes(work.row_bytes)


@each("gpus", [1, 4])
@each("knobs", [{}, {"policy.cache_policy": "lfu"}, {"model.optimizer": "adam"}])
def test_a_table_of_the_systems_own_kernel_costs_what_the_system_costs(gpus, knobs):
    """The plan of mixed kernels, where no table has another, is all-hbm's or torchrec-uvm's own."""
    for name, cached in (("all-hbm", False), ("torchrec-uvm", True)):
        s = asked(name, **{**({} if name == "all-hbm" else knobs), "machine.num_gpus": gpus, "policy.replicated_rows": 0})
        plain, system = settle(s), mixed_system(name, cached)
        as_mixed = with_sizes(s, system, *place_and_size(s, system))
        steps = [np.diff(expected_timeline(machine_of(one), 60).batch_ends)[-20:].mean() for one in (plain, as_mixed)]
        assert steps[1] == pytest.approx(steps[0], rel=0.01)
        held = [one.system.nbytes_by_memory(one.scenario) for one in (plain, as_mixed)]
        assert all(held[1][place] == pytest.approx(nbytes) for place, nbytes in held[0].items())


@each("system", ABLE)
@each("gpus", [1, 4])
def test_mixed_kernels_are_the_same_machine_whatever_the_system_calls_itself(system, gpus):
    s = asked(system, **{"policy.kernel": MIX, "machine.num_gpus": gpus})
    first = estimate(asked("all-hbm", **{"policy.kernel": MIX, "machine.num_gpus": gpus})).results
    found = estimate(s)
    assert found.ran, found.outcome
    assert found.results["Step time [ms]"] == first["Step time [ms]"]
    counted = simulate(s).results
    assert counted["Step time [ms]"] == pytest.approx(found.results["Step time [ms]"], rel=0.01)
    assert counted["Cache hit rate [%]"] == pytest.approx(found.results["Cache hit rate [%]"], abs=1)
    assert counted["Energy per batch [J]"] == pytest.approx(found.results["Energy per batch [J]"], rel=0.01)


def test_auto_is_the_systems_own_kernel():
    for name in ABLE:
        own = load_variant("systems", name).kernel
        plain = estimate(asked(name))
        for kernel in (own, (own,) * 26, tuple(own if t % 2 else "auto" for t in range(26))):
            assert estimate(asked(name, **{"policy.kernel": kernel})).results == plain.results


def test_the_title_says_how_many_tables_have_which_kernel():
    assert title_of(asked(**{"policy.kernel": ("host",) * 5 + ("auto",) * 21})) == "All in HBM (kernels hbm 21, host 5)"
    for kernel in ("auto", "hbm", ("auto", "hbm") * 13):
        assert title_of(asked(**{"policy.kernel": kernel})) == "All in HBM"


@each("system", sorted(set(variant_names("systems")) - set(ABLE)))
def test_other_systems_refuse_kernels_with_a_sentence(system):
    with pytest.raises(
        BadKnob,
        match=rf"system={system} has a fixed place for lookups; set policy.kernel=auto, or choose all-hbm or cpu-gpu or torch",
    ):
        settle(asked(system, **{"policy.kernel": "host"}))


@each("values", [("hbm",) * 25, ("hbm",) * 27, ("hbm", "gpu"), "dram"])
def test_a_list_of_another_length_or_an_unknown_kernel_is_refused(values):
    with pytest.raises(BadKnob, match=r"policy\.kernel"):
        asked(**{"policy.kernel": values})


def test_each_kernel_moves_the_rows_of_its_own_tables():
    """Unlike pooling and widths, so that no table stands for another."""
    knobs = {
        "model.pooling": tuple(1 + t % 5 for t in range(26)),
        "model.embedding_dim": tuple((16, 64, 128)[t % 3] for t in range(26)),
        "model.interaction": "concat",
    }
    s = asked(**knobs, **{"policy.kernel": MIX})
    found, amounts = works(s)
    touched, kernel = expected_accesses(s), np.array(MIX)
    row, vector, gradient = (kind_bytes(s, name) for name in ("row", "vector", "gradient"))

    def total(amount, *kernels):
        return float(amount[np.isin(kernel, kernels)].sum())

    read = total(touched.lookups * vector, UVM)
    assert row_nbytes(found["UVM lookup"]["pcie"]) == pytest.approx(read)
    changed = total(touched.unique_rows * row, UVM)
    assert row_nbytes(found["UVM update"]["pcie"]) == pytest.approx(changed)
    host = found["Host lookup"]["host"]
    assert host.lookups == pytest.approx(total(touched.lookups, HOST))
    assert float(host.nbytes) == pytest.approx(total(touched.lookups * vector, HOST))
    vectors = 512 * 4 * total(np.array(s.model.embedding_dim), HOST)
    assert found["Host vectors"]["pcie"].nbytes == found["Host gradients"]["pcie"].nbytes == pytest.approx(vectors)
    cached = [t for t in range(26) if MIX[t] == UVM_CACHE]
    moves = expected_moves(s, "lru in sets", 0.2 * 3000 * len(cached), tables=cached)
    assert float(amounts.misses[0]) == pytest.approx(moves.misses) and float(amounts.missed_lookups[0]) == pytest.approx(
        moves.missed_lookups
    )
    come = row_nbytes(found["Missing rows to GPU"]["pcie"])
    assert come == pytest.approx((moves.misses - moves.refused) * mean_bytes(amounts.sizes.moved_row.row))
    for title, kernel_ in (("HBM update", HBM), ("Cached update", UVM_CACHE)):
        update = found[title]["gpu"]
        assert float(update.rows[0]) * mean_bytes(update.row_bytes) == pytest.approx(total(touched.unique_rows * row, kernel_))
    spread = total(touched.lookups * gradient, HBM, UVM_CACHE, UVM)
    assert float(np.max(found["Gradient spreading"]["gpu"].nbytes)) > spread
    tasks = set(found)
    for other in KERNELS:
        left = tuple(kernel if kernel != other else HBM for kernel in MIX)
        fewer = set(works(with_values(s, {"policy.kernel": left}))[0])
        assert (fewer < tasks) == (other != HBM), "a kernel that no table has brings no task"


def test_each_kernel_is_as_uneven_as_its_own_tables():
    """Two nodes of a GPU: host and uvm tables lie wholly on one of them, and those in HBM on both."""
    knobs = {
        "model.num_tables": 4,
        "model.num_embeddings": 100_000,
        "machine.num_gpus": 2,
        "machine.gpus_per_node": 1,
        "policy.kernel": (HOST, UVM, HBM, HBM),
        "policy.plan": "0;1;0;1",
    }
    found, amounts = works(asked(**knobs))
    of = dict(amounts.groups)
    assert [float(of[name].lookup_skew[0]) for name in (HOST, UVM, HBM)] == pytest.approx([2.0, 2.0, 1.0])
    assert (
        float(np.max(found["Host lookup"]["host"].skew)) == float(np.max(found["UVM lookup"]["pcie"].skew)) == pytest.approx(2.0)
    )
    assert float(np.max(found["HBM lookup"]["gpu"].skew)) == pytest.approx(1.0)


def test_bytes_lie_where_the_kernel_looks_for_them():
    s = asked(**{"policy.kernel": MIX})
    kept, nbytes = tiers(s).nbytes_by_memory, 3000 * kind_bytes(s, "row")
    kernel = np.array(chosen_kernels(s))
    assert (kept["dram"] > 0).tolist() == (kernel != HBM).tolist()
    assert kept["dram"].sum() + nbytes[kernel == HBM].sum() == pytest.approx(table_bytes(s))
    assert (kept["hbm"][kernel == HBM] == nbytes[kernel == HBM]).all() and not kept["hbm"][np.isin(kernel, (UVM, HOST))].any()
    assert (kept["hbm"][kernel == UVM_CACHE] > 0.2 * nbytes[kernel == UVM_CACHE]).all()
    tight = {"machine.gpu": "a100-40", "model.num_embeddings": (10**7,) * 26}
    assert not estimate(with_values(s, {**tight, "policy.kernel": HBM})).ran
    assert estimate(with_values(s, {**tight, "policy.kernel": UVM, "machine.host_dram_GiB": 512})).ran


def test_groups_of_a_full_run_are_those_counted_from_ids():
    s = asked(**{"policy.kernel": MIX, "model.pooling": tuple(1 + t % 3 for t in range(26)), "data.bag_length_cv": (0.5,)})
    m = settle(s)
    counted, awaited = dict(counted_traffic(m).groups), dict(expected_amounts(m).groups)
    assert list(counted) == list(awaited) == [HBM, UVM_CACHE, UVM, HOST, "gpu"]
    for name, part in awaited.items():
        assert np.mean(counted[name].lookups) == pytest.approx(float(part.lookups), rel=0.02)
        assert counted[name].rows.mean() == pytest.approx(float(part.rows[0]), rel=0.02)
        assert mean_bytes(counted[name].row_bytes) == pytest.approx(mean_bytes(part.row_bytes), rel=0.02)


def test_a_cache_that_two_batches_fill_costs_more_than_one_with_room():
    """The knee: beside the lookups of two batches' rows a larger cache gains little, and a smaller one is locked."""
    knobs = {"policy.kernel": UVM_CACHE, "data.popularity": "uniform", "model.num_embeddings": 20_000, "data.batch_size": 4096}
    unique = float(expected_accesses(asked(**knobs)).unique_rows.sum()) / (26 * 20_000)
    refused = []
    for times in (1.0, 1.5, 2.0, 3.0):
        settled = settle(asked(**knobs, **{"policy.cache_load_factor": times * unique}))
        refused.append(float(expected_amounts(settled).refused[0]) / (26 * 20_000 * unique))
    assert refused[0] > 0.4 and refused[1] > 0.15 and refused[3] < 0.01
    assert refused == sorted(refused, reverse=True)


def test_hosts_share_their_tables_by_node_and_gpus_by_gpu():
    knobs = {
        "model.num_tables": 4,
        "model.num_embeddings": 100_000,
        "machine.num_gpus": 4,
        "machine.gpus_per_node": 2,
        "policy.kernel": (HOST, HOST, UVM, UVM),
        "policy.plan": "0;2;0;2",
    }
    _, amounts = works(asked(**knobs))
    of = dict(amounts.groups)
    assert float(of[HOST].lookup_skew[0]) == pytest.approx(1.0), "each node has one of two tables"
    assert float(of[UVM].lookup_skew[0]) == pytest.approx(2.0), "two of four GPUs have none"
