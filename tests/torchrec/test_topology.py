"""Does a topology of TorchRec's become the machine that it describes, and the planner's with its bandwidths?"""

import json
from typing import Any

import pytest

from engine.errors import BadInput, BadKnob
from engine.scenario.presets import DEFAULT, preset
from engine.scenario.scenario import with_values
from engine.torchrec.answer import TorchRecRequest, read_request
from engine.torchrec.topology import RANGES, TorchRecTopology, read_topology
from tests.cases import each

START = preset(DEFAULT).scenario
GB = 1024**3 / 1000  # a GB/s in bytes a millisecond, as TorchRec counts
TABLES = json.dumps([{"num_embeddings": 10**6, "embedding_dim": 64, "name": f"t{table}"} for table in range(4)])
CALL = """Topology(world_size=16, compute_device="cuda", hbm_cap=80 * 1024**3, local_world_size=8,
    intra_host_bw=300 * 1024**3 / 1000, inter_host_bw=25 * 1024 * 1024 * 1024 / 1000,)"""
FACTORY = """TopologyFactory.create_topology(trainer_config=TrainerConfig(world_size=16, local_world_size=8),
    hardware_config=HardwareConfig(hbm_cap_bytes=80 * 1024**3, intra_host_bw=300 * 1024**3 / 1000,
    inter_host_bw=25 * 1024**3 / 1000, ddr_cap_bytes=None), kernel_config=KernelConfig(compute_device="cuda"))"""
FIELDS = {
    "world_size": 16,
    "local_world_size": 8,
    "hbm_cap": 80 * 2**30,
    "intra_host_bw": 300 * GB,
    "inter_host_bw": 25 * GB,
}
PRINTED = f"""world_size=16 
compute_device=cuda
devices=
\tdevice 0 DeviceHardware(rank=0, storage=Storage(hbm={80 * 2**30}, ddr=137438953472, ssd=0), perf=Perf(fwd_compute=0))
\tdevice 1 DeviceHardware(rank=1, storage=Storage(hbm={70 * 2**30}, ddr=137438953472, ssd=0), perf=Perf(fwd_compute=0))
local_world_size=8 
intra_group_size=16 
BasicCommsBandwidths: inter_host_bw={25 * GB}, intra_host_bw={300 * GB}
"""


def request(topology: str = "", **settings: Any) -> TorchRecRequest:
    return read_request(START, TABLES, topology, settings={name.replace("__", "."): value for name, value in settings.items()})


@each("text", [CALL, FACTORY, json.dumps(FIELDS)])
def test_a_topology_is_read_as_call_and_as_json(text: str) -> None:
    assert vars(read_topology(text)) == vars(TorchRecTopology(**FIELDS, stated_fields=frozenset(FIELDS)))


def test_a_printed_topology_has_its_least_memory_and_its_pod() -> None:
    found = read_topology(PRINTED)
    assert (found.world_size, found.local_world_size, found.pod_size, found.group_size) == (16, 8, 2, 16)
    assert (found.hbm_cap, found.ddr_cap) == (70 * 2**30, 128 * 2**30)
    assert (found.inter_host_bw, found.intra_host_bw) == pytest.approx((25 * GB, 300 * GB))


def test_what_a_topology_leaves_out_is_the_planners_default() -> None:
    found = read_topology('{"world_size": 4}')
    assert found.local_world_size == 4 and found.stated_fields == {"world_size", "local_world_size"}
    rates = found.hbm_mem_bw, found.ddr_mem_bw, found.hbm_to_ddr_mem_bw, found.intra_host_bw, found.inter_host_bw
    assert [rate / GB for rate in rates] == pytest.approx([897, 51, 32, 600, 12.5])


def test_the_machine_is_that_of_the_topology() -> None:
    more = {"ddr_cap": 64 * 2**30, "hbm_to_ddr_mem_bw": 50 * GB, "batch_size": 2048, "hbm_mem_bw": 3000 * GB}
    found = request(json.dumps({**FIELDS, "hbm_cap": 141 * 2**30, **more}))
    machine = found.scenario.machine
    assert (machine.num_gpus, machine.gpus_per_node, machine.gpu) == (16, 8, "h200")
    assert machine.host_dram_GiB == 512 and found.scenario.data.batch_size == 16 * 2048
    assert machine.network_bandwidth_GBps == pytest.approx(25 * 1.024**3)
    assert machine.pcie_bandwidth_GBps == pytest.approx(50 * 1.024**3)
    assert any("HBM bandwidth (hbm_mem_bw)" in said and "(intra_host_bw)" in said for said in found.sentences)
    assert found.topology.hbm_mem_bw == 3000 * GB


def test_a_gpu_of_as_much_memory_stays_and_settings_come_last() -> None:
    assert START.machine.gpu == "h100-sxm" and request(CALL).scenario.machine.gpu == "h100-sxm"
    assert request(CALL, machine__gpu="a100-80").scenario.machine.gpu == "a100-80"
    found = request(CALL, machine__num_gpus=8, data__batch_size=4096)
    assert (found.scenario.machine.num_gpus, found.topology.world_size, found.scenario.data.batch_size) == (8, 8, 4096)


def test_without_a_topology_eight_gpus_have_the_planners_batch() -> None:
    found = request()
    assert (found.scenario.system, found.scenario.machine.num_gpus, found.scenario.data.batch_size) == ("all-hbm", 8, 4096)
    assert sum("No topology" in said or "No batch size" in said for said in found.sentences) == 2
    kept = read_request(preset("torchrec-terabyte").scenario, TABLES, as_started=True).scenario
    assert (kept.system, kept.machine.num_gpus, kept.data.batch_size) == ("torchrec-uvm", 8, 16384)


@each(
    ("text", "said"),
    [
        ("", "neither JSON"),
        ("[1]", "neither JSON"),
        ("{", "not valid JSON"),
        ('{"a":' * 10**5, "nested too deeply"),
        ("{}", "world_size is missing"),
        ('{"world_size": 0}', "world_size is 0"),
        ('{"world_size": 1e9}', "world_size is 1000000000.0"),
        ('{"world_size": 2.5}', "whole number"),
        ('{"world_size": "8"}', "world_size is 8; write a number"),
        ('{"world_size": 8, "hbm_cap": -1}', "hbm_cap is -1"),
        ('{"world_size": 8, "hbm_capp": 1}', "did you mean hbm_cap"),
        ('{"world_size": 8, "local_world_size": 3}', "no multiple of local_world_size=3"),
        ('{"world_size": 8, "compute_device": "cpu"}', "only cuda"),
        ('{"world_size": 8, "inter_host_bw": 0}', "inter_host_bw is 0"),
        ('{"world_size": 8, "hbm_cap": 80}', "hbm_cap is 80 bytes, but hardware has 1 to 4,096 GB; write 85899345920 for 80 GB."),
        ('{"world_size": 8, "hbm_cap": "80GB"}', "hbm_cap is 80GB bytes, but hardware"),
        ('{"world_size": 8, "hbm_cap": 0}', "or leave it out"),
        (
            '{"world_size": 8, "inter_host_bw": 12.5}',
            "inter_host_bw is 12.5 bytes/ms, but hardware has 0.1 to 1,000 GB/s; write 13421772.8",
        ),
        ('{"world_size": 8, "bwd_compute_multiplier": 0}', "bwd_compute_multiplier is 0; write a number from 0.01 to 1,000."),
        ("Topology(world_size=8, compute_device='cuda', hbm_cap=HBM_CAP)", "hbm_cap is HBM_CAP, whose value"),
        ("Topology(8, 'cuda', custom_topology_data=CustomTopologyData({}, 8))", "custom_topology_data"),
    ],
)
def test_a_topology_that_cannot_be_meant_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_topology(text)
    assert said in str(refused.value)


@each(
    ("topology", "settings", "said"),
    [
        ({"world_size": 72}, {}, "machine.gpus_per_node would be 72, but the range is 1 to 64"),
        ({"world_size": 8, "inter_host_bw": 1000 * GB}, {}, "machine.network_bandwidth_GBps"),
        ({"world_size": 8}, {"machine.num_gpus": 12}, "no multiple of machine.gpus_per_node=8"),
        ({"world_size": 8}, {"model.embedding_dim": 32}, "follows from the tables"),
        ({"world_size": 8}, {"system": "cxl"}, "system=cxl has no plan that TorchRec can run; choose all-hbm"),
    ],
)
def test_a_machine_that_no_knob_can_have_is_refused(topology: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises((BadInput, BadKnob)) as refused:
        read_request(START, TABLES, json.dumps(topology), settings=settings)
    assert said in str(refused.value)


USUAL = {  # in GB or GB/s: the defaults of the planner, and machines of today
    "hbm_cap": (10, 32, 80, 141, 288),
    "ddr_cap": (16, 128, 2048),
    "hbm_mem_bw": (200, 897, 3350, 8000),
    "ddr_mem_bw": (25, 51, 500),
    "ssd_mem_bw": (100 / 1024, 7, 14),
    "hbm_to_ddr_mem_bw": (16, 32, 450),
    "intra_host_bw": (25, 600, 1800),
    "inter_host_bw": (1.25, 12.5, 50, 100),
}


@each("field", [*USUAL])
def test_a_capacity_or_bandwidth_in_another_unit_is_refused(field: str) -> None:
    size = 2**30 if field.endswith("_cap") else GB
    slips = (1, 1024) if field.endswith("_cap") else (1, 1000, 1000 * size)  # in GB or MB; in GB/s, MB/s or bytes a second
    for amount in USUAL[field]:
        assert vars(read_topology(json.dumps({"world_size": 8, field: amount * size})))[field] == pytest.approx(amount * size)
        for slip in slips:
            with pytest.raises(BadInput, match=f"Topology: {field} is .* hardware has"):
                read_topology(json.dumps({"world_size": 8, field: amount * slip}))


def test_tables_of_one_width_keep_the_interaction_and_those_of_unlike_widths_are_concatenated() -> None:
    alike = request().scenario.model
    assert (alike.interaction, alike.bottom_mlp[-1], alike.num_tables, alike.num_embeddings) == ("dot", 64, 4, (10**6,))
    mixed = json.dumps([{"num_embeddings": 10 * dim, "embedding_dim": dim, "name": str(dim)} for dim in (16, 64)])
    found = read_request(START, mixed)
    model = found.scenario.model
    assert (model.interaction, model.embedding_dim, model.num_embeddings) == ("concat", (16, 64), (160, 640))
    assert any("concatenated, which needs no projection" in said for said in found.sentences)
    asked = read_request(START, mixed, settings={"model.interaction": "dot"}).scenario.model
    assert (asked.interaction, asked.bottom_mlp[-1]) == ("dot", 64)


def test_lists_of_a_start_for_other_tables_are_left_out() -> None:
    own = {"data.zipf_exponents": (1.1,) * 25 + (1.2,), "data.bag_length_cv": (0.5,) * 26, "data.hottest_shares": (0.1,)}
    start = with_values(START, {"data.popularity": "zipf", "model.optimizer": ("sgd",) * 25 + ("adam",), **own})
    found = read_request(start, TABLES)
    data = found.scenario.data
    assert (data.zipf_exponents, data.bag_length_cv, data.hottest_shares) == ((), (), (0.1,))
    assert any("data.zipf_exponents, data.bag_length_cv" in said for said in found.sentences)
    assert found.scenario.model.optimizer == "sgd"


def test_pooling_factors_become_lookups_and_features_are_counted() -> None:
    two = json.dumps([{"num_embeddings": 9, "embedding_dim": 8, "name": "t", "feature_names": ["a", "b"]}])
    found = read_request(START, two, pooling='{"a": 3.4, "b": 2.2}')
    assert found.scenario.model.pooling == (6,) and found.scenario.model.features == 2 and found.pooling == ((3.4, 2.2),)
    assert request().scenario.model.features == 1


WHOLE = {"world_size": (1, 4096), "local_world_size": (1, 4096), "pod_size": (1, 4096), "batch_size": (1, 10**6)}


@each(("name", "low", "high"), [(name, *limits) for name, limits in WHOLE.items()])
def test_a_whole_number_of_a_topology_has_its_limits(name: str, low: int, high: int) -> None:
    ranks = {"world_size": high} if name != "batch_size" else {"world_size": 8}
    if name == "pod_size":
        ranks |= {"local_world_size": 1}
    assert getattr(read_topology(json.dumps(ranks | {name: low})), name) == low
    assert getattr(read_topology(json.dumps(ranks | {name: high})), name) == high
    for number in (low - 1, high + 1):
        with pytest.raises(BadInput, match=f"{name} is {number}; write a number from 1 to {high:,}"):
            read_topology(json.dumps(ranks | {name: number}))


@each("name", RANGES)
def test_a_rate_or_memory_of_a_topology_has_its_range(name: str) -> None:
    limits = RANGES[name]
    size = limits.unit.size if limits.unit else 1
    for number in (limits.low * size, limits.high * size):
        assert getattr(read_topology(json.dumps({"world_size": 8, name: number})), name) == number
    for number in (limits.low * size * (1 - 1e-9), limits.high * size * (1 + 1e-9)):
        with pytest.raises(BadInput, match=f"{name} is"):
            read_topology(json.dumps({"world_size": 8, name: number}))


@each(("number", "is_meant"), [(1, True), (4096, True), (0.9, False), (4097, False), (True, False)])
def test_a_number_that_is_plausible_in_the_spoken_unit_is_written_in_bytes(number: float, is_meant: bool) -> None:
    with pytest.raises(BadInput) as refused:
        read_topology(json.dumps({"world_size": 8, "hbm_cap": number}))
    assert ("; write a number of bytes from" in str(refused.value)) == (not is_meant)


@each(
    ("text", "said"),
    [('{"world_size": true}', "world_size is True"), ('{"world_size": 8, "pod_size": 3}', "not a multiple of pod_size=3")],
)
def test_ranks_and_pods_are_whole_numbers_that_divide(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_topology(text)


@each(("ranks", "bandwidth"), [(7, 600 * GB), (8, 600 * GB), (9, 12.5 * GB)])
def test_a_collective_within_a_node_has_the_nodes_bandwidth(ranks: int, bandwidth: float) -> None:
    assert read_topology('{"world_size": 16, "local_world_size": 8}').bandwidth(ranks, 8) == pytest.approx(bandwidth)


@each(("group", "pods"), [(16, 2), (8, 1)])
def test_a_printed_group_is_a_pod_of_nodes(group: int, pods: int) -> None:
    assert read_topology(PRINTED.replace("intra_group_size=16", f"intra_group_size={group}")).pod_size == pods
    without = PRINTED.replace("intra_group_size=16 \n", "").replace("local_world_size=8 \n", "")
    assert (read_topology(without).pod_size, read_topology(without).local_world_size) == (1, 16)
