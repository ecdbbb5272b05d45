"""Bills: is a machine's price the sum of its parts, counted by hand, at the prices that the parts' files say?"""

import re
from tomllib import loads

import pytest

from engine.analysis.choice import COST
from engine.estimate import estimate
from engine.scenario.machine import RECORDED
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine
from tests.cases import each
from tests.hardware.test_catalog import TEXT

GIB = 1.073741824  # GB
OF_128 = 1.71  # times the price of a GB of DRAM in modules of 64 GB
OF_96 = 1.14  # times the price of a GB of DDR5 in modules of 64 GB
DRAM, SERVERS = "dram/ddr4-3200", "embedding-server/two-socket"
CARD, MODULES = "cxl-link/generation-5:card-price", "media/optane-100"


def paid(part, year=None):
    """Return the USD of one, or of one GB, that a part's file says: of its source's year, or of the nearest that it has."""
    name, _, key = part.partition(":")
    table = loads(TEXT[name])[key or "price"]
    prices = {table["year"]: table["value"], **{int(of): dated["value"] for of, dated in table.get("years", {}).items()}}
    return table["value"] if year is None else prices[min(prices, key=lambda of: (abs(of - year), -of))]


def bill(parts, year=None):
    """Return the USD of so many parts, or GB of them, by name."""
    return sum(count * paid(part, year) for part, count in parts.items())


def node(gpus, gpu, chassis, gib, host="host/server", dram=DRAM, **more):
    """Return the parts of one node: GPUs, CPUs, their chassis, and like DIMMs of so many GiB."""
    return {f"gpu/{gpu}": gpus, host: 1, f"chassis/{chassis}": 1, dram: gib, **more}


def both(*bills):
    """Return the parts of several bills together."""
    return {part: sum(one.get(part, 0) for one in bills) for one in bills for part in one}


def times(count, parts):
    return {part: count * number for part, number in parts.items()}


# Host DRAM holds twice the GPUs' memory in all 16 channels, or in those that a preset says: 160 GB take 16 × 16 or 6 × 32 GiB.
OPTANE = node(1, "a100-80", "two-socket", 256, **{MODULES: 6 * 128, CARD: 1, "near-data/fpga": 1})
ALONE = node(1, "a100-80", "two-socket", 6 * 32)
# Four V100 have 128 GB, which 6 × 64 GiB hold twice; eight A100 have 640 GB, which take 6 × 256 GiB.
FOUR = node(4, "v100", "gpu-4-pcie", 6 * 64)
A100_NODE = node(8, "a100-80", "gpu-8-sxm", 16 * 96)
TIERS = node(8, "a100-80", "gpu-8-sxm", 512, **{MODULES: 4 * 128, "drive/p5800x": 8 * 1600})

SEQUENCES = node(8, "mi350x", "gpu-8-sxm", 32 * 128 * OF_128)  # the GPUs hold 2,146 GiB; larger modules cost more a GB


def on_sale(modules, gpu="h100-sxm", logic=1):
    """Return a machine of which all but the logic can be bought; each module has a card of its own, with `logic` in it."""
    card = {"media/nv-cmm": 32, CARD: 1, **({"near-data/fpga": logic} if logic else {})}
    return node(1, gpu, "two-socket", 256, "host/amx-2023", "dram/ddr5-4800", **times(modules, card))


def on_board(parts, gpus=4):
    """Return a machine of one SXM GPU as it is sold: with all GPUs of a board, in a chassis for them."""
    gpu = next(part for part in parts if part.startswith("gpu/"))
    others = {part: count for part, count in parts.items() if part != "chassis/two-socket"}
    return {**others, gpu: gpus, f"chassis/gpu-{gpus}-sxm": 1}


def prototype(modules):
    """Return the prototype, on which every configuration runs: host DRAM, expander DRAM and modules of 16 GB, and a drive."""
    return {
        "gpu-replay/trainingcxl": 1,
        "host/trainingcxl": 1,
        "chassis/trainingcxl": 1,
        DRAM: 2 * 64,
        "media/trainingcxl": modules * 16,
        CARD: 1,
        "near-data/fpga": 1,
        "drive/trainingcxl": 1000,
    }


def cards(count):
    """Return so many network cards, one a GPU, each with a switch port and cables; all networks have the same prices."""
    return {f"network/roce:{key}": count for key in ("network-card-price", "switch-port-price", "cable-price")}


# By preset, from what its file says; two nodes of the tiers reach their target, as before prices had years.
BILLS = {
    "a100-terabyte": node(1, "a100-80", "two-socket", 1024),
    "bagpipe-kaggle": both(
        times(8, node(1, "v100", "two-socket", 6 * 16)), cards(8), {SERVERS: 1, f"{SERVERS}:memory-price": 6 * 16}
    ),
    "cached-embedding-avazu": ALONE,
    "cached-embedding-kaggle": ALONE,
    "cached-embedding-terabyte": ALONE,
    "distributed-embeddings-colossal": both(times(128, A100_NODE), cards(1024)),
    "distributed-embeddings-jumbo": both(times(16, A100_NODE), cards(128)),
    "distributed-embeddings-large": both(times(4, A100_NODE), cards(32)),
    "distributed-embeddings-medium": A100_NODE,
    "distributed-embeddings-small": node(1, "a100-80", "two-socket", 256),
    "distributed-embeddings-tiny": node(1, "a100-80", "two-socket", 256),
    "cxl-memory": on_sale(4, "h100-pcie", logic=0),  # 100 GB in modules of 32
    "dlrm-v4-cxl": node(1, "mi350x", "two-socket", 1024, **{MODULES: 6 * 128, CARD: 1}),
    "dlrm-v4-mi350x": SEQUENCES,
    "dlrm-v4-uvm": SEQUENCES,
    "dlrm-kaggle": on_sale(1),  # 2.3 GB
    "dlrm-terabyte": on_sale(4),  # 105 GB in modules of 32
    "fae-kaggle": FOUR,
    "hotline-kaggle": {**FOUR, "gather-card/alveo": 1},
    "meta-856": both(times(2, TIERS), cards(16)),
    "mtrains-capacity": both(times(2, TIERS), cards(16)),
    "nvidia-hstu": both(times(2, node(8, "h100-sxm", "gpu-8-sxm", 16 * 96)), cards(16)),
    "optane-kaggle": OPTANE,
    "optane-rm1": OPTANE,
    "optane-rm2": OPTANE,
    "optane-rm3": OPTANE,
    "optane-rm4": OPTANE,
    "proactive-cold": both(times(2, node(8, "a100-80", "gpu-8-sxm", 1024)), cards(16)),
    "scratchpipe-kaggle": ALONE,
    "tiny": OPTANE,
    "torchrec-cache": node(2, "h100-sxm", "two-socket", 16 * 32),
    "torchrec-terabyte": node(8, "a100-80", "gpu-8-sxm", 12 * 128 * OF_128),
    "trainingcxl-rm1": prototype(1),
    "trainingcxl-rm2": prototype(4),  # 61 GB
    "trainingcxl-rm3": prototype(1),
    "trainingcxl-rm4": prototype(1),
}
# USD of those bills, so that a changed price is seen.
TOTALS = {
    "a100-terabyte": 33397.12,
    "bagpipe-kaggle": 142680.32,
    "cached-embedding-avazu": 24136.96,
    "cached-embedding-kaggle": 24136.96,
    "cached-embedding-terabyte": 24136.96,
    "distributed-embeddings-colossal": 23828439.04,
    "distributed-embeddings-jumbo": 2978554.88,
    "distributed-embeddings-large": 744638.72,
    "distributed-embeddings-medium": 159095.68,
    "distributed-embeddings-small": 24849.28,
    "distributed-embeddings-tiny": 24849.28,
    "cxl-memory": 54449.60,
    "dlrm-v4-cxl": 51505.12,
    "dlrm-v4-mi350x": 323956.30,
    "dlrm-v4-uvm": 323956.30,
    "dlrm-kaggle": 56569.60,
    "dlrm-terabyte": 72949.60,
    "fae-kaggle": 28273.92,
    "hotline-kaggle": 32273.92,
    "meta-856": 420693.12,
    "mtrains-capacity": 420693.12,
    "nvidia-hstu": 620319.36,
    "optane-kaggle": 33957.28,
    "optane-rm1": 33957.28,
    "optane-rm2": 33957.28,
    "optane-rm3": 33957.28,
    "optane-rm4": 33957.28,
    "proactive-cold": 360922.24,
    "scratchpipe-kaggle": 24136.96,
    "tiny": 33957.28,
    "torchrec-cache": 70698.56,
    "torchrec-terabyte": 171233.61,
    "trainingcxl-rm1": 9229.64,
    "trainingcxl-rm2": 9517.64,
    "trainingcxl-rm3": 9229.64,
    "trainingcxl-rm4": 9229.64,
}
EXPLORATIONS = {"cxl-memory", "dlrm-kaggle", "dlrm-terabyte", "tiny"}


@each("name", preset_names())
def test_recorded_prices_are_those_of_the_parts_by_hand(name):
    scenario = preset(name).scenario
    assert scenario.machine.prices == ("2026" if name in EXPLORATIONS else RECORDED)
    found = estimate(with_values(scenario, {"machine.prices": RECORDED})).results[COST]
    assert found == pytest.approx(bill(BILLS[name]), abs=1e-6) and round(found, 2) == TOTALS[name]


def test_a_node_of_eight_gpus_costs_its_parts_in_either_year():
    """All tables in HBM: eight H100 in their chassis, CPUs, and 16 DIMMs of 96 GiB for twice their 640 GB; one node, no cards."""
    asked = {"system": "all-hbm", "machine.num_gpus": 8}
    parts = node(8, "h100-sxm", "gpu-8-sxm", OF_96 * 16 * 96, "host/amx-2023", "dram/ddr5-4800")
    for year in (2025, 2026):
        scenario = with_values(preset("dlrm-kaggle").scenario, {**asked, "machine.prices": str(year)})
        devices = ready_machine(scenario).devices
        assert sum(device.price for device in devices.values()) == pytest.approx(bill(parts, year))
        assert estimate(scenario).results[COST] == pytest.approx(bill(parts, year))
    assert set(devices) >= {"host", "gpu", "chassis", "dram"} and not {"expander-dram", "pmem", "cxl"} & set(devices)


@each("network", ["infiniband", "roce", "efa"])
def test_each_gpu_of_several_nodes_has_a_card_a_switch_port_and_cables_and_of_one_node_none(network):
    asked = {"system": "all-hbm", "machine.network": network, "machine.prices": RECORDED}
    for gpus in (8, 16):
        devices = ready_machine(with_values(preset("dlrm-kaggle").scenario, {**asked, "machine.num_gpus": gpus})).devices
        assert devices["network"].price == (gpus * (1500 + 563 + 1320) if gpus > 8 else 0)
        assert len(devices["network"].bill) == (3 if gpus > 8 else 0)


@each(("gb", "count"), [(2.0, 1), (256.0, 1), (257.0, 2), (1000.0, 4)])
def test_dram_on_cards_costs_its_cards_with_controllers_and_logic(gb, count):
    """A card has 256 GB, paid by GB; its controller is the link's, and a chip of logic stands on each."""
    rows = gb * 1e9 / (26 * (16 * 4 + 4))  # words of 4 B, and one of Adagrad's
    asked = {"system": "dram", "machine.expander": "cmm-d-256", "model.num_tables": 26, "model.num_embeddings": int(rows)}
    scenario = with_values(preset("dlrm-kaggle").scenario, {**asked, "machine.prices": "2026"})
    parts = node(1, "h100-sxm", "two-socket", 256, "host/amx-2023", "dram/ddr5-4800")
    parts = {**on_board(parts), "expander/cmm-d-256": count * 256, CARD: count, "near-data/fpga": count}
    devices = ready_machine(scenario).devices
    assert sum(device.price for device in devices.values()) == pytest.approx(bill(parts, 2026))
    assert devices["expander-dram"].idle_watts == pytest.approx(
        count * loads(TEXT["expander/cmm-d-256"])["memory-power"]["value"]
    )
    assert devices["cxl"].title.startswith(f"CXL link, {f'{count} x ' if count > 1 else ''}25.8")


CARDS = {"system": "dram", "machine.expander": "cmm-d-256"}
FULL = {"model.num_embeddings": 400_000_000, "model.num_tables": 10_000}  # 272 TB
TOO_MANY = [
    ({**CARDS, "machine.expander_dram_GiB": 1000.0, "machine.num_expanders": 2}, r"1000 is more than the 477 GiB of 2 cmm"),
    ({**CARDS, **FULL}, r"1,024 cmm-d-256 of 256 GB cannot hold 272 TB of embedding tables; choose a larger"),
    ({**CARDS, **FULL, "model.num_tables": 100, "machine.num_expanders": 1}, r"cannot hold .*set machine\.expander_dram_GiB and"),
    (
        {**FULL, "model.num_tables": 1500},
        r"num_expanders=1024 is less than the 1,276 modules of nv-cmm, each of which needs its own link",
    ),
]


def test_cards_are_whole_as_modules_are():
    scenario = with_values(preset("dlrm-kaggle").scenario, {**CARDS, "machine.expander_dram_GiB": 1000.0})
    machine = ready_machine(scenario).scenario.machine
    assert (machine.num_expanders, machine.expander_dram_GiB) == (5, pytest.approx(5 * 256 / GIB))


@each(("knobs", "says"), TOO_MANY)
def test_more_than_cards_or_links_hold_is_refused(knobs, says):
    found = estimate(with_values(preset("dlrm-kaggle").scenario, knobs))
    assert not found.ran and re.search(says, found.outcome)
