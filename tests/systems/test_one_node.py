"""TrainingCXL's systems and two caches on all GPUs of a node: what crosses which wire, and how long a batch takes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_traffic
from engine.core.work import AllReduce, AllToAll, Copy, Move, RowLog, RowReads, RowUpdates
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.registry import all_variants
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, ready_machine, settle
from engine.schedule.timeline import timeline
from engine.systems.exchange.fullest import sender_bytes
from engine.systems.steps.recovery import recover
from engine.systems.steps.repeated import updated_rows
from engine.systems.system import RecoveryWork, device_names
from engine.workload.source import shared_source
from tests.cases import each
from tests.machines import SYSTEMS, TINY

ONE_NODE = tuple(name for name, system in all_variants("systems").items() if system.one_node)
CACHES = ("cached-embedding", "scratchpipe")
POOLED = ("cxl", "cxl-b", "cxl-d", "dram")
STEP, GB = "Step time [ms]", 1e9
TERABYTE = preset("dlrm-terabyte").scenario
MODEL = {"model.num_tables": 10, "model.num_embeddings": 1_000_000, "model.embedding_dim": 64, "model.pooling": 20}
MODEL |= {"model.bottom_mlp": (13, 256, 64), "model.top_mlp": (256, 1), "data.batch_size": 4096}
MODEL |= {"model.optimizer": "sgd", "model.dense_optimizer": "sgd"}
VECTORS, LOOKUPS = 10 * 4096 * 64 * 4.0, 10 * 4096 * 20  # bytes of a batch's pooled vectors; its lookups


def asked(system, gpus=1, **knobs):
    return with_values(TERABYTE, {**MODEL, "system": system, "machine.num_gpus": gpus, **knobs})


def plan(system, gpus, **knobs):
    """Return the machine and, by task and device, the work of expected batches."""
    m = ready_machine(asked(system, gpus, **knobs))
    graph = m.system.graph(m.settled, expected_traffic(m.settled, 2))  # an early lookup needs a next batch
    return m, {(task.name, demand.device): demand.work for task in graph.tasks for demand in task.demands}


def total(amount):
    return float(np.max(amount))


def busy_seconds(m, work, kinds):
    """Return the seconds of all work of some kinds by device."""
    found = {}
    for (_, device), one in work.items():
        if isinstance(one, kinds) and device in m.devices:
            found[device] = found.get(device, 0.0) + float(np.max(seconds(m.devices[device], one)))
    return found


def test_nine_systems_have_one_node():
    assert {*ONE_NODE} == {*SYSTEMS, *CACHES}
    assert all(all_variants("systems")[name].can_use_many_gpus for name in ONE_NODE)
    assert not any(all_variants("systems")[name].can_use_many_nodes for name in ONE_NODE)
    assert all_variants("systems")["all-hbm"].can_use_many_nodes


@each("gpus", [2, 8])
def test_the_bytes_of_ports_and_links_of_cxl_are_those_worked_out_by_hand(gpus):
    m, work = plan("cxl", gpus)
    _, one = plan("cxl", 1)
    parameters = 13 * 256 + 256 + 256 * 64 + 64 + 119 * 256 + 256 + 256 + 1  # 11 vectors have 55 products, beside the bottom's 64
    assert parameters * 4 == total(work["All-reduce", "network"].nbytes)
    by_hand = {
        "Sparse features": LOOKUPS * 8,
        "Embedding lookup": VECTORS,
        "Early lookup": VECTORS,
        "Embedding update": VECTORS,
        "MLP log": parameters * 4,
    }
    port = m.devices["gpu-port"].rates.rate
    for name, nbytes in by_hand.items():
        link = work[name, "cxl"]
        assert total(link.nbytes) == pytest.approx(nbytes) == pytest.approx(total(one[name, "cxl"].nbytes))
        assert total(seconds(m.devices["gpu-port"], work[name, "gpu-port"])) == pytest.approx(nbytes / gpus / port)
    on_ports = sum(by_hand.values()) + total(work["Correct pooled", "cxl"].nbytes)
    assert busy_seconds(m, work, Move)["gpu-port"] == pytest.approx(on_ports / gpus / port)


@each("system", SYSTEMS)
@pytest.mark.parametrize("near", [True, False])
def test_bytes_on_the_pool_do_not_depend_on_the_number_of_gpus(system, near):
    if system in ("pmem", "ssd") and not near:
        return
    pools = []
    for gpus in (1, 2, 8):
        _, work = plan(system, gpus, **{"machine.near_data_compute": near})
        kinds = (RowReads, RowUpdates, RowLog, Move)
        pools.append({key: repr(one) for key, one in work.items() if isinstance(one, kinds) and key[1] != "gpu-port"})
    assert pools[0] == pools[1] == pools[2] and pools[0]


@each("system", ONE_NODE)
def test_one_gpu_has_neither_a_network_nor_a_card_link_and_eight_have(system):
    assert not {"network", "card-link"} & {*device_names(system, asked(system).machine)}
    many = {*device_names(system, asked(system, 8).machine)}
    assert "network" in many and ("card-link" in many) == (system == "pcie")


@each("system", ONE_NODE)
@pytest.mark.parametrize("gpus", [2, 8])
def test_no_wire_carries_more_than_its_rate_and_more_gpus_sum_their_mlps(system, gpus):
    found = estimate(asked(system, gpus, **{"policy.cache_load_factor": 0.1}))
    assert found.ran, found.outcome
    shares = {row["Device"]: row["Busy [%]"] for row in found.devices}
    assert shares["network"] > 0
    assert all(shares[name] <= 100.01 for name in ("gpu-port", "cxl", "pcie", "card-link", "network", "pmem") if name in shares)


def test_the_cards_one_link_bounds_system_pcie_on_eight_gpus():
    m, work = plan("pcie", 8)
    copied = sum(total(one.nbytes) for (_, device), one in work.items() if device == "card-link")
    assert copied == pytest.approx(sum(total(one.nbytes) for (_, device), one in work.items() if device == "pcie"))
    rate = 52 * GB  # sixteen lanes of PCIe 5
    assert busy_seconds(m, work, Copy)["card-link"] == pytest.approx(copied / rate)
    assert estimate(asked("pcie", 8)).results[STEP] >= 1e3 * copied / rate
    slow = asked("pcie", 8, **{"machine.assume": (("card-link.share-of-lanes", 0.02),)})
    assert estimate(slow).results[STEP] >= 5e4 * copied / rate > estimate(asked("pcie", 8)).results[STEP]


def test_a_recovery_from_a_card_loads_the_mlp_over_its_one_link():
    settled = settle(asked("pcie", 8))
    tasks = {task.name: task for task in recover(settled, RecoveryWork(5.0, 256, 300.0, 1e9)).tasks}
    found = busy_seconds(
        machine_of(settled), {("Load MLP", demand.device): demand.work for demand in tasks["Load MLP"].demands}, Copy
    )
    assert found["card-link"] == pytest.approx(1e9 / (52 * GB)) and found["pcie"] < found["card-link"] / 2
    assert tasks["Gather MLP"].predecessors == ("Load MLP",)


@each("gpu", ["h100-pcie", "a100-80", "a100-80-mig-1g", "v100", "gh200"])
def test_a_cards_lanes_do_not_depend_on_the_gpu_and_a_superchip_alone_is_bound_by_them_too(gpu):
    for gpus in (1, 8):
        devices = ready_machine(asked("pcie", gpus, **{"machine.gpu": gpu, "machine.matrix_precision": "fp32"})).devices
        assert ("card-link" in devices) == (gpus > 1 or gpu == "gh200")
        assert "card-link" not in devices or devices["card-link"].rates == 52 * GB
    few = {"machine.gpu": gpu, "machine.matrix_precision": "fp32", "machine.framework": "none", "data.batch_size": 16_384}
    one, two = (estimate(asked("pcie", gpus, **few)).results[STEP] for gpus in (1, 2))
    assert two <= 1.02 * one


@each("gpus", [2, 4, 8])
def test_with_links_that_never_limit_a_batch_takes_the_embeddings_of_all_samples_and_the_mlps_of_a_share(gpus):
    """Lookup beside bottom MLP, top MLP, update beside the bottom MLP's way back: in closed form from one GPU's times."""
    wide = {"machine.cxl_bandwidth_GBps": 1000.0, "machine.framework": "none", "machine.near_data_scratchpad_MB": 1e5}
    wide["machine.assume"] = (("gpu.port", 1e5), ("gpu-port.host-port-of-PCIe-3", 1e5), ("network.fabric-latency", 0.0))
    wide["machine.assume"] += (("network.fabric-bandwidth", 1e6), ("cxl.lines-in-flight", 1e9))
    m = ready_machine(asked("dram", gpus, **wide))

    def lasting(system_gpus, samples):
        one, work = plan("dram", system_gpus, **{**wide, "data.batch_size": samples})
        names = ("Embedding lookup", "Embedding update", "Bottom MLP forward", "Top MLP", "Bottom MLP backward")
        return {
            name: max(total(seconds(one.devices[device], w)) for (task, device), w in work.items() if task == name)
            for name in names
        }

    rows, dense = lasting(1, 4096), lasting(1, 4096 // gpus)
    by_hand = (
        max(rows["Embedding lookup"], dense["Bottom MLP forward"])
        + dense["Top MLP"]
        + max(rows["Embedding update"], dense["Bottom MLP backward"])
    )
    steady = timeline(m.system.graph(m.settled, expected_traffic(m.settled, 40)), m.devices, 40).steady.step
    assert float(steady) == pytest.approx(by_hand, rel=0.002)


@each("gpus", [2, 8])
def test_without_near_data_logic_a_row_has_an_owner_and_partial_sums_cross(gpus):
    """Each GPU sends the sums of all samples of the others, and ids to the owners, as tables divided by rows do."""
    _, work = plan("dram", gpus, **{"machine.near_data_compute": False})
    vectors, indices = work["Pooled all-to-all", "network"], work["Index all-to-all", "network"]
    assert isinstance(vectors, AllToAll) and total(vectors.fabric) == pytest.approx((gpus - 1) / gpus * VECTORS)
    assert repr(work["Gradient all-to-all", "network"]) == repr(vectors)
    assert total(indices.nbytes) == pytest.approx((gpus - 1) / gpus * 8 * LOOKUPS)
    assert ("Pooled all-to-all", "network") not in plan("dram", gpus)[1]


@each("system", [*POOLED, "pcie"])
def test_rows_that_each_gpu_has_summed_are_sent_by_each_and_joined_beside_the_memory(system):
    joined = {"policy.row_dedup": "gpu", "machine.near_data_compute": True}
    sent = {}
    for gpus in (1, 8):
        m, work = plan(system, gpus, **joined)
        t = expected_traffic(m.settled, 1)
        task, device = ("Backward hand-off", "pcie") if system == "pcie" else ("Embedding update", "cxl")
        sent[gpus] = total(work[task, device].nbytes)
        assert sent[gpus] == pytest.approx(total(t.gpu_rows) * 64 * 4)
        passed = total(work["Embedding update", "near-data"].nbytes) - total(t.rows) * 64 * 4  # all rows have room
        assert passed == pytest.approx(0.0 if gpus == 1 else sent[8], abs=1)
    few = asked(system, 1, **{"data.batch_size": 4096 // 8})
    assert sent[8] == pytest.approx(8 * total(expected_traffic(settle(few), 1).rows) * 64 * 4)
    assert sent[1] < sent[8] < LOOKUPS * 64 * 4


def test_rows_without_room_in_the_scratchpad_are_updated_once_for_each_gpu_that_sends_a_gradient():
    """The expected numbers are near counted ones, and lie between those of no room and of room for all rows."""
    knobs = {"system": "cxl-d", "machine.num_gpus": 4, "policy.row_dedup": "gpu", "machine.near_data_compute": True}
    knobs |= {"run.batches": 20, "model.pooling": 8, "data.batch_size": 512}
    updated = {}
    for megabytes in (0.0, 0.005, 32.0):
        settled = settle(with_values(TINY, {**knobs, "machine.near_data_scratchpad_MB": megabytes}))
        for name, t in {"expected": expected_traffic(settled, 20), "counted": counted_traffic(settled)}.items():
            updated[name, megabytes] = float(np.mean(updated_rows(settled.scenario, t)))
            rows, sent = float(np.mean(t.rows)), float(np.mean(t.gpu_rows))
            if megabytes != 0.005:
                assert updated[name, megabytes] == pytest.approx(sent if not megabytes else rows, rel=0.01), (name, megabytes)
        assert updated["expected", megabytes] == pytest.approx(updated["counted", megabytes], rel=0.03)
    assert updated["counted", 32.0] < updated["counted", 0.005] < updated["counted", 0.0]


@each("near", [True, False])
def test_an_owner_has_memory_for_the_sums_and_gradients_of_all_other_samples(near):
    """One of eight GPUs holds seven eighths of a batch's vectors for others, and their gradients."""
    wide = {"model.num_tables": 300, "model.embedding_dim": 128, "model.bottom_mlp": (13, 128), "model.interaction": "concat"}
    knobs = {**wide, "machine.near_data_compute": near, "data.batch_size": 262_144, "model.num_embeddings": 10_000}
    settled = settle(asked("dram", 8, **knobs))
    own = sender_bytes(settled.scenario, settled.system, None)[0]
    assert own == pytest.approx(0.0 if near else 2 * 7 / 8 * 300 * 262_144 * 128 * 4)
    assert bool(settled.problems) != near, settled.problems


@each("lengths", ["fixed", "uneven"])
def test_rows_by_gpu_are_counted_from_the_ids_of_each_gpus_samples(lengths):
    knobs = {"system": "cxl", "machine.num_gpus": 4, "policy.row_dedup": "gpu", "machine.near_data_compute": True}
    knobs |= {"run.batches": 3, "model.pooling": 3, "data.batch_size": 130}
    knobs |= {"data.bag_length_cv": 0.7} if lengths == "uneven" else {}
    settled = settle(with_values(TINY, knobs))
    s, batches = settled.scenario, shared_source(settled.scenario, file=None)
    for n, counted in enumerate(counted_traffic(settled).gpu_rows.tolist()):
        ids, starts = batches.ids(n), batches.starts(n)
        ends = np.arange(s.model.num_tables * 130 + 1) * 3 if starts is None else starts
        by_gpu = [set() for _ in range(4)]
        for bag, (low, high) in enumerate(pairwise(ends)):
            by_gpu[bag % 130 // 33].update(ids[low:high].tolist())
        assert counted == sum(map(len, by_gpu))
    once = counted_traffic(settle(with_values(TINY, {**knobs, "machine.num_gpus": 1})))
    assert (once.gpu_rows == once.rows).all()


@each("system", ONE_NODE)
def test_more_gpus_than_a_node_has_and_targets_are_refused_with_a_remedy(system):
    limit = f"system={system} trains on one node of up to 8 GPUs"
    assert f"machine.num_gpus=16 is not possible: {limit}; set it to 8 or less." in estimate(asked(system, 16)).outcome
    two = estimate(asked(system, 8, **{"machine.gpus_per_node": 4})).outcome
    assert f"machine.gpus_per_node=4 divides 8 GPUs over 2 nodes, but {limit}; set it to 8." in two
    four = estimate(asked(system, 8, **{"machine.chassis": "gpu-4-pcie"})).outcome
    assert "machine.chassis=gpu-4-pcie has places for 4 GPUs, but a node has 8" in four and "lower machine.num_gpus to 4" in four
    target = estimate(asked(system, **{"machine.target_throughput": 1e5})).outcome
    assert f"machine.target_throughput is not possible: {limit}" in target


@each("system", CACHES)
def test_gpus_share_the_hosts_software_and_dram_and_divide_all_else_of_a_cache(system):
    knobs = {"policy.cache_load_factor": 0.2, "machine.step_jitter": 0.0}
    (_, one), (m, many) = plan(system, 1, **knobs), plan(system, 8, **knobs)
    host = {key: repr(w) for key, w in one.items() if key[1] == "host" and key[0] != "Training loop"}
    assert host == {key: repr(w) for key, w in many.items() if key[1] == "host" and key[0] != "Training loop"} and host
    miss = "Exchange" if system == "scratchpipe" else "Missing rows to GPU"
    assert total(many[miss, "pcie"].nbytes) == pytest.approx(total(one[miss, "pcie"].nbytes))
    assert isinstance(many["Pooled all-to-all", "network"], AllToAll) and isinstance(many["All-reduce", "network"], AllReduce)
    held, alone = (settle(asked(system, gpus, **knobs)).sizes.gpu_bytes for gpus in (8, 1))
    mlps = 2 * total(many["All-reduce", "network"].nbytes)
    uneven = m.settled.placement.balance.table_bytes
    assert held - mlps == pytest.approx((alone - mlps) / 8 * uneven.max() / uneven.mean())


@each("system", CACHES)
def test_a_cache_divides_its_tables_by_a_plan_like_other_caches(system):
    two = asked(system, 2, **{"policy.cache_load_factor": 0.2, "machine.framework": "none"})
    by_hand = estimate(with_values(two, {"policy.plan": ";".join("0" * 10)}))
    assert by_hand.ran and by_hand.results[STEP] > estimate(two).results[STEP]
    assert "policy.plan" in estimate(with_values(two, {"policy.plan": "9"})).outcome


def test_a_redo_logs_mlp_part_and_the_next_batch_wait_for_the_sum_and_an_undo_logs_does_not():
    waits = {}
    for system in SYSTEMS:
        m = ready_machine(asked(system, 4))
        tasks = {task.name: task for task in m.system.graph(m.settled, expected_traffic(m.settled, 1)).tasks}
        waits[system] = "MLP log" in tasks and "All-reduce" in tasks["MLP log"].predecessors
        later = tasks["Bottom MLP forward"].previous_batch_predecessors
        assert waits[system] or "All-reduce" in later
        assert tasks["All-reduce"].predecessors == ("Bottom MLP backward",)
    assert waits == {name: name in ("ssd", "pmem", "pcie", "cxl-d") for name in SYSTEMS}


def test_the_slowest_gpu_is_counted_once():
    even, uneven = (
        machine_of(settle(asked("cxl", 8, **{"machine.step_jitter": jitter}))).devices["gpu"] for jitter in (0.0, 0.05)
    )
    work = plan("cxl", 8)[1]["Top MLP", "gpu"]
    assert float(seconds(uneven, work) / seconds(even, work)) == pytest.approx(1 + 0.05 * np.sqrt(2 * np.log(8)))
    assert replace(even, rates=()) == replace(uneven, rates=())


@each(("pooling", "samples"), [(4, 512), (40, 2048)])
def test_repeats_without_room_are_expected_as_counted_for_rows_of_few_and_of_many_uses(pooling, samples):
    """The most popular rows of a large batch are used thousands of times, and have their places first."""
    knobs = {"system": "cxl-d", "machine.near_data_compute": True, "machine.near_data_scratchpad_MB": 0.004}
    knobs |= {"run.batches": 20, "model.pooling": pooling, "data.batch_size": samples}
    settled = settle(with_values(TINY, knobs))
    expected, counted = (float(np.mean(t.repeated_reads)) for t in (expected_traffic(settled, 20), counted_traffic(settled)))
    assert expected == pytest.approx(counted, rel=0.03) and counted > 0
