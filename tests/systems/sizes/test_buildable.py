"""Buildable: is a machine refused for just the part that ran out, fits with that many, and are its parts those it pays for?"""

from engine.core import catalog
from engine.core.figures import figure
from engine.core.part_files import tables
from engine.core.part_files.known import DIGEST_SEPARATOR
from engine.hardware.devices.dram import DIMMS_GiB, like_dimms
from engine.hardware.devices.expander_dram import EXPANDERS, card_lanes
from engine.hardware.devices.pmem import HOST_LIST
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine
from engine.systems.buildable import does_not_fit, parts_of, states_of
from engine.systems.buildable.contents import GENERIC
from engine.systems.capacity import fit
from engine.systems.sizing import max_dram_GiB
from tests.cases import each
from tests.parts.conftest import folder, shipped

__all__ = ["folder"]
# One PCIe card and two Xeons in a server of two sockets, with modules behind CXL, and Optane beside its own processors.
OURS = {
    "machine.gpu": "h100-pcie",
    "machine.host": "amx-2023",
    "machine.pmem": "nv-cmm",
    "machine.near_data_compute": False,
    "machine.cxl_switch_hops": 0,
}
OPTANE = {"machine.host": "avx512-2019", "machine.pmem": "optane-100"}
LARGE = {"machine.gpu": "h100-sxm", "machine.chassis": "gpu-8-sxm", "machine.host_dram_GiB": 2048}
FOUR = {"machine.chassis": "gpu-4-pcie"}
STORE = {"machine.ssd": "gen5"}


def settled(system, **knobs):
    """Return a small question on a machine, settled; `_` stands for the point in a knob's path."""
    own = {"system": system, "run.training": False, **OURS, **knobs}
    return fit(with_values(preset("optane-kaggle").scenario, own))


def said(system, *knobs):
    """Return what does not fit of a machine with some knobs."""
    return does_not_fit(settled(system, **{path: value for one in knobs for path, value in one.items()}))


def of(path, value):
    return {f"machine.{path}": value}


RULES = [
    # rule: system, knobs, those that fit, those with one more, and what is said of these
    (
        "all-hbm",
        {},
        of("num_gpus", 2),
        of("num_gpus", 3) | of("chassis", "two-socket"),
        "3 GPUs of a node need 3 places; two-socket has 2.",
    ),
    (
        "cxl",
        {},
        of("host", "amx-2023") | of("pmem_capacity_GB", 128.0),
        of("host", "server") | of("pmem_capacity_GB", 128.0),
        "4 nv-cmm need a host of PCIe 5; server has PCIe 4.",
    ),
    (
        "dram",
        of("expander", "cmm-d-256"),
        of("host", "amx-2023"),
        of("host", "server"),
        "1 cmm-d-256 needs a host of PCIe 5; server has PCIe 4.",
    ),
    ("all-hbm", FOUR, of("num_gpus", 4), of("num_gpus", 5), "5 GPUs of a node need 5 places; gpu-4-pcie has 4."),
    (
        "all-hbm",
        LARGE | of("gpus_per_node", 9),
        of("num_gpus", 8),
        of("num_gpus", 9),
        "9 GPUs of a node need 9 places in one chassis; the largest chassis has 8.",
    ),
    (
        "all-hbm",
        {},
        of("gpu", "h100-pcie"),
        of("gpu", "h100-sxm"),
        "1 h100-sxm needs 1 place for SXM; two-socket has 0, and 2 for PCIe.",
    ),
    (
        "all-hbm",
        LARGE | of("num_gpus", 2),
        of("gpu", "mi300x"),
        of("gpu", "h100-pcie"),
        "2 h100-pcie need 2 places for PCIe; gpu-8-sxm has 0, and 8 for SXM or OAM.",
    ),
    (
        "all-hbm",
        of("chassis", "trainingcxl")
        | of("host", "trainingcxl")
        | of("host_dram_GiB", 64)
        | of("assume", (("chassis.supply-rating", 2000),)),
        of("gpu", "h100-sxm"),
        of("gpu", "gh200"),
        "1 gh200 needs 1 place for superchips, with boards of their own; trainingcxl has 0.",
    ),
    (
        "cpu-gpu",
        of("chassis", "one-socket") | of("host_dram_channels", 12),
        of("assume", (("host.sockets", 1),)),
        {},
        "amx-2023 needs 2 sockets; one-socket has 1.",
    ),
    ("cpu-gpu", {}, of("host_dram_channels", 16), of("host_dram_channels", 17), "Host DRAM needs 17 channels; amx-2023 has 16."),
    (
        "cpu-gpu",
        of("host_dram_channels", 16),
        of("host_dram_GiB", 8192),
        of("host_dram_GiB", 8193),
        "8,193 GiB of host DRAM need larger DIMMs; 32 of 256 GiB are 8,192 GiB.",
    ),
    (
        "cpu-gpu",
        of("chassis", "one-socket") | of("assume", (("host.sockets", 1),)),
        of("host_dram_channels", 12),
        of("host_dram_channels", 13),
        "13 DIMMs of DRAM need 13 DIMM slots; one-socket has 12.",
    ),
    (
        "pmem",
        OPTANE,
        of("pmem_capacity_GB", 16 * 128),
        of("pmem_capacity_GB", 17 * 128),
        "17 modules of optane-100 need 17 DIMM slots beside DRAM; two sockets have 16.",
    ),
    (
        "pmem",
        OPTANE | of("host_dram_GiB", 24 * 256) | of("host_dram_channels", 12),
        of("pmem_capacity_GB", 8 * 128),
        of("pmem_capacity_GB", 9 * 128),
        "24 DIMMs of DRAM and 9 modules of optane-100 need 33 DIMM slots; two-socket has 32.",
    ),
    (
        "pmem",
        OPTANE | of("pmem_capacity_GB", 768),
        {},
        of("host", "amx-2023"),
        "6 modules of optane-100 need 6 DIMM slots beside avx512-2019 or server; amx-2023 has 0.",
    ),
    (
        "cxl",
        of("pmem_capacity_GB", 128),
        {},
        OPTANE,
        "1 generic CXL expander of optane-100 is not on sale; a medium with a link of its own is.",
    ),
    (
        "dram",
        {},
        of("expander", "cmm-d-256"),
        of("num_expanders", 2),
        "2 generic CXL expanders of DRAM are not on sale; a card of machine.expander is.",
    ),
    (
        "cxl",
        of("assume", (("chassis.free-PCIe-lanes", 72),)),
        of("pmem_capacity_GB", 8 * 32),
        of("pmem_capacity_GB", 9 * 32),
        "9 nv-cmm need 9 expander bays; two-socket has 8.",
    ),
    (
        "dram",
        FOUR | of("expander", "cmm-d-256"),
        of("num_expanders", 4),
        of("num_expanders", 5),
        "5 cmm-d-256 need 5 expander bays; gpu-4-pcie has 4.",
    ),
    (
        "dram",
        of("expander", "hyperscale-pair"),
        of("num_expanders", 4),
        of("num_expanders", 5),
        "5 hyperscale-pair need 80 PCIe lanes; two-socket has 64 free.",
    ),
    ("ssd", FOUR | STORE, of("num_ssds", 8), of("num_ssds", 9), "9 gen5 need 9 drive bays; gpu-4-pcie has 8."),
    (
        "ssd",
        STORE | LARGE | of("assume", (("chassis.drive-bays", 20),)),
        of("num_ssds", 8),
        of("num_ssds", 9),
        "9 gen5 need 36 PCIe lanes; gpu-8-sxm has 32 free.",
    ),
    (
        "cxl",
        of("near_data_compute", True),
        of("pmem_capacity_GB", 2 * 32),
        of("pmem_capacity_GB", 3 * 32),
        "3 nv-cmm and 3 fpga near data need 72 PCIe lanes; two-socket has 64 free.",
    ),
    (
        "hotline",
        {},
        of("assume", (("chassis.free-PCIe-lanes", 16),)),
        of("assume", (("chassis.free-PCIe-lanes", 15),)),
        "1 gather card needs 16 PCIe lanes; two-socket has 15 free.",
    ),
    (
        "remote-no-cache",
        of("host_dram_channels", 16),
        of("server_dram_GiB", 8192),
        of("server_dram_GiB", 8193),
        "8,193 GiB of an embedding server need larger DIMMs; 32 of 256 GiB are 8,192 GiB.",
    ),
    (
        "mtrains",
        OPTANE | STORE | of("num_ssds", 8) | of("pmem_capacity_GB", 4 * 128) | of("host_dram_GiB", 12 * 32),
        of("assume", (("chassis.DIMM-slots", 16), ("chassis.drive-bays", 8))),
        of("assume", (("chassis.DIMM-slots", 15), ("chassis.drive-bays", 8))),
        "12 DIMMs of DRAM and 4 modules of optane-100 need 16 DIMM slots; two-socket has 15.",
    ),
    (
        "mtrains",
        OPTANE | STORE | of("num_ssds", 8) | of("pmem_capacity_GB", 4 * 128),
        of("assume", (("chassis.drive-bays", 8),)),
        of("assume", (("chassis.drive-bays", 7),)),
        "8 gen5 need 8 drive bays; two-socket has 7.",
    ),
]


@each(("system", "base", "fits", "breaks", "sentence"), RULES)
def test_a_machine_fits_with_what_there_is_and_is_refused_with_one_part_more(system, base, fits, breaks, sentence):
    assert said(system, base, fits) == ()
    assert said(system, base, breaks) == (sentence,)


def test_the_supplies_feed_gpus_at_their_limit_cpus_in_full_work_and_the_rest_at_rest():
    own = settled("all-hbm", **of("num_gpus", 2))
    devices = ready_machine(own.scenario).devices
    rest = sum(device.idle_watts for name, device in devices.items() if name not in ("gpu", "host"))
    need = 2 * 350 + 700 + rest
    assert said("all-hbm", of("num_gpus", 2), of("assume", (("chassis.supply-rating", need + 1e-6),))) == ()
    (short,) = said("all-hbm", of("num_gpus", 2), of("assume", (("chassis.supply-rating", need - 1e-6),)))
    parts, supplies = "GPUs, CPUs and all other parts of a node", "the supplies of two-socket"
    assert short == f"{parts} need {figure(need, 'W')}; {supplies} give {figure(need, 'W')}."


def test_each_node_is_counted_by_itself():
    many = LARGE | of("num_gpus", 16)
    assert said("all-hbm", many) == () and parts_of(settled("all-hbm", **many))["gpu-8-sxm"] == 2
    (short,) = said("all-hbm", many, of("assume", (("chassis.supply-rating", 5000),)))
    assert "the supplies of gpu-8-sxm give 5.00 kW" in short


def test_the_parts_of_two_nodes_are_all_that_they_pay_for():
    found = parts_of(
        settled("mtrains", **LARGE, **STORE, **of("num_gpus", 16), **of("num_ssds", 2), **of("pmem_capacity_GB", 256))
    )
    assert found == {"gpu-8-sxm": 2, "amx-2023": 2, "h100-sxm": 16, "64 GiB ddr5-4800": 64, "nv-cmm": 16, "gen5": 4}


def test_servers_cards_and_logic_stand_among_the_parts():
    servers = parts_of(settled("remote-no-cache", **of("embedding_servers", 3)))
    assert servers["embedding-server"] == 3 and servers["two-socket"] == 1
    assert parts_of(settled("hotline"))["gather-card"] == 1
    near = parts_of(settled("dram", **of("near_data_compute", True), **of("expander", "cmm-d-256"), **of("num_expanders", 4)))
    assert near["fpga"] == near["cmm-d-256"] == 4 and GENERIC not in near
    behind = parts_of(settled("dram", **of("num_expanders", 2), **of("expander_dram_GiB", 6 * 64)))
    assert behind[GENERIC] == 2 and behind["64 GiB ddr4-3200"] == 6


@each("system", variant_names("systems"))
def test_each_device_that_is_paid_for_is_a_part_and_each_part_has_a_state(system):
    own = settled(system)
    found, states = parts_of(own), states_of(own)
    priced = {name for name, device in ready_machine(own.scenario).devices.items() if device.price} - {"cxl", "network"}
    assert len(found) - (GENERIC in found) == len(priced) and all(number > 0 for number in found.values())
    assert {label.rpartition(" ")[2] for label in found if label != GENERIC} == {*states}
    assert {*states.values()} <= {*tables.STATES}


def test_states_are_those_of_the_parts_files():
    assert states_of(settled("pmem", **OPTANE)) == {
        "avx512-2019": "discontinued",
        "ddr4-2933": catalog.availability("dram", "ddr4-2933").state,
        "two-socket": "on sale",
        "h100-pcie": "on sale",
        "optane-100": "discontinued",
    }


def test_parts_of_one_name_and_several_kinds_are_told_apart():
    own = fit(preset("trainingcxl-rm1").scenario)
    kinds = {label.partition(" ")[0] for label in parts_of(own) if label.endswith(" trainingcxl")}
    assert kinds == {"gpu-replay", "host", "chassis", "media", "drive"} and "trainingcxl" not in parts_of(own)


@each("name", preset_names())
def test_a_papers_machine_has_parts_whether_it_can_be_built_or_not(name):
    own = fit(preset(name).scenario)
    assert parts_of(own) and all(sentence.endswith(".") and ";" in sentence for sentence in does_not_fit(own))


@each("channels", [2, 12, 16, 24])
def test_like_dimms_are_those_of_which_automatic_sizes_are_made(channels):
    for gib in (1, 64, 500, 1536, 5000):
        dimms = like_dimms(channels, gib)
        assert like_dimms(channels, float(dimms.capacity)) == dimms and dimms.number in (channels, 2 * channels)
        assert dimms.capacity >= gib or dimms.capacity == max_dram_GiB(channels)
    assert like_dimms(channels, 2 * max_dram_GiB(channels)) == (2 * channels, DIMMS_GiB[-1])


def test_hosts_of_media_are_hosts_of_the_catalogue():
    for name in catalog.part_names_of("media"):
        assert {*catalog.list_words("media", name, HOST_LIST)} <= {*catalog.part_names_of("host")}


def test_cards_take_the_lanes_of_their_files_or_eight():
    assert {name: card_lanes(name) for name in EXPANDERS if card_lanes(name) != 8} == {"hyperscale-pair": 16}


def test_parts_of_ones_own_are_counted_by_their_own_numbers(folder):
    folder.put("chassis/wide", shipped("chassis/two-socket").replace('["PCIe"]', '["SXM"]'))
    folder.put("media/crystal", shipped("media/optane-100").replace('["avx512-2019", "server"]', '["abacus"]'))
    folder.put("host/abacus", shipped("host/server"))
    folder.put("gpu/mine", shipped("gpu/h100-sxm"))
    folder.elsewhere(folder.path)
    own = of("chassis", "wide") | of("gpu", "mine") | of("pmem", "crystal") | of("host", "abacus") | of("pmem_capacity_GB", 768)
    assert said("pmem", own) == ()
    assert said("pmem", own, of("gpu", "h100-pcie")) == ("1 h100-pcie needs 1 place for PCIe; wide has 0, and 2 for SXM.",)
    assert said("pmem", own, of("host", "server")) == ("6 modules of crystal need 6 DIMM slots beside abacus; server has 0.",)
    found = parts_of(settled("pmem", **own))
    assert {"wide": 1, "mine": 1, "crystal": 6, "abacus": 1}.items() <= found.items()
    assert not any(DIGEST_SEPARATOR in name for name in (*found, *states_of(settled("pmem", **own))))
