"""In force: does every automatic knob say its value and why, and does giving that value change nothing?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.in_force import automatic_caption, find_automatic_value, modules_text
from engine.campaign import fault_stream
from engine.campaign.simulate import campaign_terms
from engine.core.figures import figure
from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.estimates import estimates
from engine.faults.fault import class_mtbf
from engine.insight.knobs.effect import equal_results
from engine.insight.knobs.stops import CAPACITY, knob_stops, settled_if_possible
from engine.insight.knobs.strips import four_digits
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, with_values
from tests.cases import each

OPTIONAL = tuple(path for path, knob in KNOBS.items() if knob.optional)
PLACES = (
    ("dlrm-kaggle", {}),
    ("optane-rm2", {"machine.pmem": "optane-200", "machine.cxl_lanes": 4, "model.optimizer": "adagrad"}),
    ("tiny", {"model.embedding_dim": (4, 2, 4), "model.optimizer": ("adagrad", "sgd", "adam")}),
    ("optane-rm4", {"faults.rates": "llama3", "faults.machines": 512, "policy.protection": "check-n-run"}),
)


def outcome(scenario):
    """Return what follows from a scenario: its estimate or refusal, its faults, and its campaign's checkpoints."""
    (found,) = estimates([scenario])
    try:
        every = campaign_terms(scenario, scenario.policy.protection)[0].plan.step
    except EmberpoolError:
        every = None
    return found.results, found.outcome, every


@each("system", variant_names("systems"), few=3)
@each(("name", "knobs"), PLACES)
def test_every_automatic_knob_says_what_is_in_force_and_giving_it_changes_nothing(system, name, knobs):
    base = with_values(preset(name).scenario, {**knobs, "system": system, **dict.fromkeys(OPTIONAL)})
    before = outcome(base)
    for path in OPTIONAL:
        found, told = find_automatic_value(base, path), automatic_caption(base, path)
        assert len(found.reason) > 5 and told.startswith("auto: ") and told.endswith(f"{found.reason}."), path
        if found.setting is None:
            continue
        given = with_values(base, {path: found.setting})
        assert find_automatic_value(given, path) == found, path
        after = outcome(given)
        assert equal_results(before[0], after[0]) and (before[1].split("=")[0], before[2]) == (
            after[1].split("=")[0],
            after[2],
        ), path


CARD = "of card cmm-d-256, as many as hold the tables."
LINKS = [
    ({}, "machine.cxl_bandwidth_GBps", "auto: 25.83 GB/s; the link of a module of nv-cmm."),
    ({}, "machine.cxl_latency_ns", "auto: 100 ns; the link of a module of nv-cmm."),
    ({"machine.pmem": "optane-100"}, "machine.cxl_bandwidth_GBps", "auto: 51.66 GB/s; what 16 lanes of generation 5 carry."),
    ({"machine.pmem": "optane-100"}, "machine.cxl_latency_ns", "auto: 250 ns; the usual one, without a card."),
    ({"system": "dram"}, "machine.cxl_bandwidth_GBps", "auto: 25.8 GB/s; the link of card cmm-d-256."),
    ({"system": "dram"}, "machine.expander_dram_GiB", f"auto: 238.4 GiB; 1 × 256 GB {CARD}"),
]


@each(("knobs", "path", "told"), LINKS)
def test_a_link_in_force_is_that_of_the_module_or_card_that_brings_it(knobs, path, told):
    """A lane of PCIe 5 carries 3.94 GB/s raw, of which 82 % are payload: eight of them 25.8 GB/s."""
    assert (
        automatic_caption(with_values(preset("dlrm-kaggle").scenario, {"machine.expander": "cmm-d-256", **knobs}), path) == told
    )


def test_a_rate_and_a_checkpoint_period_in_force_are_those_of_faults_and_campaigns():
    base = with_values(Scenario(), {"faults.rates": "llama3", "faults.machines": 2048})
    hours = find_automatic_value(base, "faults.gpu_crash_mtbf_hours").setting
    assert hours == pytest.approx(16384 * 1296 / 262)
    assert class_mtbf(with_values(base, {"faults.gpu_crash_mtbf_hours": hours}), "gpu-crash") == pytest.approx(hours * 3600)
    hazards = fault_stream.hazards_of(base)
    best, _ = campaign_terms(base, "periodic-full", hazards)
    given, _ = campaign_terms(
        base, "periodic-full", hazards, 60 * find_automatic_value(base, "policy.checkpoint_minutes").setting
    )
    assert given.plan == best.plan
    none = find_automatic_value(with_values(base, {"policy.protection": "undo"}), "policy.checkpoint_minutes")
    assert none.setting is None and "no period" in none.reason


def test_a_system_without_the_part_has_no_value_and_says_so():
    assert find_automatic_value(with_values(Scenario(), {"system": "dram"}), CAPACITY).setting is None
    assert "uses no persistent memory" in automatic_caption(with_values(Scenario(), {"system": "dram"}), CAPACITY)
    assert modules_text(with_values(Scenario(), {"system": "dram", CAPACITY: 512.0})) == ""


@each(
    ("system", "knobs", "told"),
    [
        ("cxl-d", {"machine.pmem": "nv-cmm"}, ("25.83 GB/s; the link of a module of nv-cmm", "100 ns; the link of a module")),
        ("cxl-d", {"machine.pmem": "nv-cmm", CAPACITY: 96.0}, ("3; a module of nv-cmm has a link of its own",)),
        ("cxl-d", {}, ("51.66 GB/s; what 16 lanes of generation 5 carry", "250 ns; the usual one", "1; the usual one")),
        (
            "dram",
            {"machine.expander": "ddr5-card"},
            ("the link of card ddr5-card", "those of card ddr5-card", "as many cards as hold the tables"),
        ),
        ("cxl-d", {"machine.expander": "ddr5-card"}, ("250 ns; the usual one", "1; the usual one")),
    ],
)
def test_links_are_those_of_the_modules_or_cards_that_bring_them(system, knobs, told):
    """Eight lanes of generation 5 carry half of what the 16 of a plain expander do."""
    base = with_values(preset("optane-kaggle").scenario, {"system": system, **knobs})
    paths = ("cxl_bandwidth_GBps", "cxl_latency_ns", "num_expanders", "expander_dram_channels")
    said = " ".join(automatic_caption(base, f"machine.{path}") for path in paths)
    assert all(one in said for one in told), said


@pytest.mark.parametrize(
    ("asked", "modules", "told"),
    [
        (128.0, 1, "1 × 128 GB = 128 GB"),
        (500.0, 4, "500 GB rounded up to 4 × 128 GB = 512 GB"),
        (512.0, 4, "4 × 128 GB = 512 GB"),
    ],
)
def test_capacity_is_whole_modules_and_what_they_bring_stands_beside_it(asked, modules, told):
    """A module of Optane's first series reads 6.6 GB/s and idles at 5.2 W."""
    scenario = with_values(Scenario(), {CAPACITY: asked, "machine.prices": "recorded"})
    assert (
        automatic_caption(scenario, CAPACITY)
        == f"{told}, {figure(6.6 * modules, 'GB/s')} read, {figure(5.2 * modules, 'W')} idle."
    )
    found = estimate(scenario)
    assert found.results["PMEM modules"] == modules
    whole = asked == 128 * modules
    assert found.warnings == (
        () if whole else ("machine.pmem_capacity_GB=500 is rounded up to whole modules: 4 × 128 GB, which are 512 GB.",)
    )
    assert equal_results(found.results, estimate(with_values(scenario, {CAPACITY: 128.0 * modules})).results)


@each(("medium", "module"), [("optane-100", 128), ("battery-dram", 32), ("cxl-flash", 1000), ("optane-100", 512)])
def test_the_capacitys_stops_are_doublings_of_a_module_and_each_costs_just_its_modules(medium, module):
    base = with_values(Scenario(), {"machine.pmem": medium, "machine.pmem_module_GB": float(module), CAPACITY: float(module)})
    found = knob_stops(settled_if_possible(base), KNOBS[CAPACITY])
    assert found[:4] == [module, 2 * module, 4 * module, 8 * module] and found[-1] <= KNOBS[CAPACITY].high
    for power, capacity in enumerate(found[:6]):
        assert estimate(with_values(base, {CAPACITY: capacity})).results["PMEM modules"] == 2**power


def test_what_dense_layers_and_dot_products_take_by_themselves_is_said_with_its_reason():
    tiny = preset("tiny").scenario
    mixed = with_values(tiny, {"model.embedding_dim": (4, 2, 4), "model.optimizer": ("adam", "sgd", "sgd")})
    assert automatic_caption(mixed, "model.projection_dim") == "auto: 4; that of the widest table."
    assert automatic_caption(mixed, "model.dense_optimizer") == "auto: adam; that of the first table."
    assert automatic_caption(tiny, "model.projection_dim") == "auto: 4; that of all tables."
    assert automatic_caption(tiny, "model.dense_optimizer") == "auto: rowwise-adagrad; that of the tables."
    concat = with_values(mixed, {"model.interaction": "concat"})
    assert automatic_caption(concat, "model.projection_dim") == "auto: interaction concat takes vectors of any width."


@given(st.integers(0, 10**14) | st.floats(1e-6, 1e12))
def test_an_automatic_number_reads_back_whole_or_in_four_digits(number):
    told = float(four_digits(number).replace(",", ""))
    assert told == number if number == round(number) else told == pytest.approx(number, rel=5.1e-4)
