"""What can be bought: does every part say whether, since when and in which form, and does each new one train?"""

import json

import pytest

from engine.__main__ import main
from engine.commands.listing import LISTS
from engine.core import catalog
from engine.core.part_files import tables
from engine.core.part_files.tables import Availability
from engine.errors import BadFile
from engine.estimate import estimate
from engine.hardware.devices.dram import MEMORY
from engine.hardware.devices.gpu import ACCELERATORS
from engine.hardware.devices.pmem import MEDIA
from engine.registry import all_variants
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.systems.system import constants
from pages.ui.knob_widgets import help_text
from tests.cases import each
from tests.hardware.test_catalog import KNOB, TEXT, shelf

__all__ = ["shelf"]
BOUGHT = (
    "gpu",
    "gpu-replay",
    "media",
    "expander",
    "drive",
    "dram",
    "host",
    "chassis",
    "gather-card",
    "near-data",
    "embedding-server",
)
KAGGLE = preset("optane-kaggle").scenario
SYSTEMS = {"gpu": "all-hbm", "media": "cxl", "drive": "ssd", "host": "cpu-gpu"}
CHOSEN = [f"{kind}/{name}" for kind in KNOB for name in catalog.part_names_of(kind)]


@each("kind", BOUGHT)
def test_every_part_that_one_buys_says_whether_it_can_be_bought(kind):
    for name in catalog.part_names_of(kind):
        found = catalog.availability(kind, name)
        assert found.state in tables.STATES and found.since and found.source, name


def test_the_states_are_those_of_the_parts():
    mark = {name: catalog.availability("media", name).mark for name in catalog.part_names_of("media")}
    assert mark["optane-100"] == "discontinued since 2022-07" and mark["nv-cmm"] == ""
    assert mark["cxl-flash"] == "announced since 2024" and mark["trainingcxl"] == "research since 2023"
    assert Availability().mark == Availability("on sale", "2024", "a list").mark == ""


@each("name", catalog.part_names_of("gpu"))
def test_a_gpu_says_its_form_and_has_no_tf32_where_its_file_has_none(name):
    assert catalog.form("gpu", name) in tables.FORMS
    assert (ACCELERATORS[name].tf32_peak.value > 0) == ("[tf32-peak]" in TEXT[f"gpu/{name}"])


OPTANE, H100 = "media/optane-100", "gpu/h100-sxm"
WRONG = [
    (OPTANE, 'state = "discontinued"', 'state = "gone"', r"availability\.state = 'gone'; did you mean"),
    (OPTANE, 'since = "2022-07"', 'since = "July"', r"availability\.since = 'July'; write a year or a month"),
    (OPTANE, 'since = "2022-07"', 'since = "2022-13"', r"availability\.since = '2022-13'; write a year or a month"),
    (OPTANE, 'since = "2022-07"\n', "", r"lacks since in \[availability\]; this table has state, since and source"),
    (OPTANE, 'since = "2022-07"', 'until = "2022-07"', "'until' of availability, which is not known"),
    (OPTANE, "[availability]", "[availability]\nprice = 3", "'price' of availability, which is not known"),
    (H100, 'form = "SXM"\n', "", 'does not say its form; write form = "SXM" or another of SXM, PCIe, superchip and OAM'),
    (H100, 'form = "SXM"', 'form = "sxm"', "says form = 'sxm'; write form"),
]


@each("case", WRONG)
def test_a_wrong_availability_or_form_is_refused_by_what_to_write(case):
    name, old, new, says = case
    text = TEXT[name].replace(old, new)
    assert text != TEXT[name]
    parsed, path = catalog.loads(text), catalog.FOLDERS[0] / f"{name}.toml"
    with pytest.raises(BadFile, match=says):
        (MEDIA if name == OPTANE else ACCELERATORS)._parsed(path, parsed)


def test_a_part_of_ones_own_may_leave_it_open(shelf):
    text = TEXT["drive/pm9a3"]
    at = text.index("[availability]")
    shelf("drive/mine", text[:at] + text[text.index("[read-latency]") :])
    assert catalog.availability("drive", "mine") == Availability("unknown", "", "")
    assert estimate(with_values(KAGGLE, {"system": "ssd", "machine.ssd": "mine"})).ran


@each("part", CHOSEN)
def test_every_part_trains_and_its_numbers_are_in_use(part):
    kind, _, name = part.partition("/")
    knobs = {"system": SYSTEMS[kind], KNOB[kind]: name}
    scenario = with_values(KAGGLE, knobs | ({"model.num_embeddings": 10_000} if kind == "gpu" else {}))
    found = estimate(scenario)
    assert found.ran, found.outcome
    assert found.results["Step time [ms]"] > 0
    priced = "[price]" in TEXT[part]
    assert (found.results["Capital cost [USD]"] is not None) == priced
    assert any(f"{name} has no published price" in warning for warning in found.warnings) != priced
    assert constants(scenario)


def test_a_medium_says_its_own_link_and_others_have_none():
    lanes = {name: (MEDIA[name].lanes.value, MEDIA[name].generation.value) for name in MEDIA}
    assert lanes.pop("nv-cmm") == lanes.pop("cxl-flash") == (8, 5) and set(lanes.values()) == {(0, 0)}
    assert "pmem.link-lanes" not in constants(KAGGLE)
    assert "pmem.link-lanes" in constants(with_values(KAGGLE, {"machine.pmem": "nv-cmm"}))


def test_ddr5_is_faster_by_its_transfers_and_a_channel_of_twelve_reads_what_was_measured():
    peaks = [MEMORY[f"ddr5-{speed}"].channel.value for speed in (4800, 5600, 6400)]
    assert peaks == pytest.approx([4800 * 8 / 1000, 5600 * 8 / 1000, 6400 * 8 / 1000])
    fast = MEMORY["ddr5-6400"]
    assert 12 * fast.channel.value * fast.efficiency.value == pytest.approx(497, rel=0.005)
    assert 768 * fast.background.value == pytest.approx(132, rel=0.005)
    assert 12 * fast.channel.value * fast.efficiency.low < 439


def test_a_slice_of_a_gpu_has_its_share_of_it():
    whole, slice_ = ACCELERATORS["a100-80"], ACCELERATORS["a100-80-mig-3g"]
    assert slice_.bandwidth.value == pytest.approx(whole.bandwidth.value / 2, rel=1e-3)
    assert slice_.memory.value == whole.memory.value / 2
    assert slice_.peak.value == pytest.approx(whole.peak.value * 42 / 108, rel=1e-3)
    assert ACCELERATORS["copa-a100"].bandwidth.value == pytest.approx(1.6 * whole.bandwidth.value, rel=1e-3)


def test_lists_say_availability_form_and_prices_by_year(capsys):
    assert main(["list", "devices", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    parts = {one["name"]: one for one in listed["gpu"]["parts"]}
    assert parts["h200"]["form"] == "SXM" and parts["mi300x"]["availability"]["state"] == "on sale"
    (price,) = (one for one in listed["dram"]["constants"] if one["part"] == "ddr4-3200" and one["name"] == "price")
    assert price["year"] == 2022 and dict(price["years"])[2026]["value"] == 14.1
    assert {kind for one in all_variants("devices").values() for kind in one.kinds} == set(BOUGHT)
    assert main(["list", "devices"]) == 0
    told = capsys.readouterr().out
    assert "discontinued since 2022-07: recalled: Intel ends Optane" in told and "price of 2022" in told
    assert "machine.prices=2026" in told
    assert {one["bought"] for one in LISTS["parts"][0]() if one["name"] == "micron-9650"} == {"announced since 2026-02"}


def test_the_help_of_a_choice_names_what_is_not_on_sale():
    assert "optane-100 discontinued since 2022-07" in help_text(KNOBS["machine.pmem"])
    assert "nv-cmm" not in help_text(KNOBS["machine.pmem"]) and "Not on sale" not in help_text(KNOBS["machine.num_gpus"])
    assert "micron-9650 announced since 2026-02" in help_text(KNOBS["machine.ssd"])
