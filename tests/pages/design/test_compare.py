"""The page Compare: does a link say which systems, is each told truly, and do timelines and bytes agree with the results?"""

from dataclasses import replace

import altair
import pytest

from engine.core.graph import STAGES
from engine.estimate import estimate
from engine.registry import load_variant, variant_names
from engine.sweep import links
from pages.answers import estimates
from pages.systems import compare_charts, compare_tables, comparison
from pages.ui import knob_widgets, palette, tables
from tests import apps
from tests.apps import address, fields, text
from tests.cases import each
from tests.machines import scenario

STEP = "Step time [ms]"
MIXED = ("cxl", "all-hbm", "hotline", "bagpipe")
TITLES = palette.system_titles()


def opened(page="compare", **query):
    return apps.opened(page, {key.replace("__", "."): value for key, value in query.items()})


def titled(systems):
    return tuple(TITLES[system] for system in systems)


def results_of(name, *systems):
    return {system: estimates.estimate_of(scenario(name, system)) for system in systems}


def test_the_page_compares_the_family_and_its_table_holds_the_estimates():
    app = opened(preset="optane-kaggle")
    found = app.dataframe[0].value.set_index("Training system")
    assert not app.exception and tuple(found.index) == titled(palette.family("cxl")) and "axis" not in dict(address(app))
    for system in palette.family("cxl"):
        assert found[STEP][TITLES[system]] == estimate(scenario("optane-kaggle", system)).results[STEP]
    assert found["Step time, change"]["DRAM"] == "same" and found["Step time, change"]["CXL"] == "+3.18 %"
    assert "DRAM trains dlrm-kaggle fastest of 7: 0.234 ms a batch" in text(app.markdown)
    assert "After a power loss DRAM starts again; of systems that recover, fastest: CXL, 0.242 ms a batch." in text(app.markdown)


def test_a_link_brings_systems_of_any_family_and_the_address_keeps_them():
    app = opened(preset="dlrm-kaggle", axis="system:bagpipe,cxl,hotline,all-hbm")
    found = app.dataframe[0].value
    assert tuple(found["Training system"]) == titled(MIXED) and dict(address(app))["axis"] == "system:" + ",".join(MIXED)
    assert links.open_link(app.code[0].value).axes == ("system:" + ",".join(MIXED),)
    assert dict(zip(found["Training system"], found["Known by"], strict=True))["Hotline"] == "its headline only"


def test_a_choice_of_systems_is_kept_over_other_pages_and_none_goes_back_to_the_family():
    app = opened(preset="dlrm-kaggle")
    app.multiselect(key="systems to compare").set_value(["cxl", "pmem"]).run()
    assert dict(address(app))["axis"] == "system:pmem,cxl" and len(app.dataframe[0].value) == 2
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/design.py").run()
    app.session_state["systems section"] = True
    app.run()
    assert tuple(app.dataframe[0].value["Training system"]) == ("PMEM", "CXL")
    app.multiselect(key="systems to compare").set_value([]).run()
    assert tuple(app.dataframe[0].value["Training system"]) == titled(palette.family("cxl")) and "axis" not in dict(address(app))


def test_the_family_follows_the_sidebar_until_systems_are_chosen():
    app = opened(preset="dlrm-kaggle")
    app.selectbox(key="knob system").set_value("fae").run()
    assert set(app.dataframe[0].value["Training system"]) == set(titled(palette.family("fae")))
    app.multiselect(key="systems to compare").set_value(["fae", "cxl"]).run()
    app.selectbox(key="knob system").set_value("bagpipe").run()
    assert tuple(app.dataframe[0].value["Training system"]) == ("CXL", "FAE")


def test_a_link_leads_to_a_sweep_over_the_same_systems():
    app = opened(preset="optane-rm1", axis="system:pmem,cxl", data__seed="7")
    (leads,) = app.get("link_button")
    found = links.open_link(leads.proto.url)
    assert leads.proto.url.startswith("/search?") and found.axes == ("system:pmem,cxl",)
    assert found.scenario == scenario("optane-rm1", "cxl", **{"data.seed": 7})


def test_systems_that_cannot_run_are_told_with_the_remedy_and_the_rest_is_drawn():
    app = opened(preset="hotline-kaggle", machine__num_gpus="16", axis="system:cxl,hotline")
    sentence = "Cannot run: CXL. GPUs 16 is not possible: CXL trains on one node of up to 8 GPUs; set it to 8 or less."
    assert sentence in text(app.caption)
    assert tuple(app.dataframe[0].value["Training system"]) == ("Hotline",) and "the only system of 2 that can run" in text(
        app.markdown
    )
    none = opened(preset="dlrm-kaggle", machine__pmem_capacity_GB="1", machine__pmem_module_GB="1", axis="system:pmem,cxl")
    assert (
        "None of these 2 systems can train dlrm-kaggle here" in text(none.markdown) and not none.dataframe and not none.exception
    )


@each(
    ("systems", "own", "sentence"),
    [
        (("pmem", "cxl"), "cxl", "CXL trains dlrm-kaggle fastest of 2: 0.242 ms a batch, 4.52 × faster than PMEM"),
        (("cxl", "dram"), "cxl", "DRAM trains dlrm-kaggle fastest of 2: 0.234 ms a batch, 1.03 × faster than CXL, the slowest"),
        (
            ("all-hbm", "cpu-gpu"),
            "all-hbm",
            "All in HBM trains dlrm-kaggle fastest of 2: 0.243 ms a batch, 3.45 × faster than CPU-GPU, the slowest",
        ),
        (
            ("all-hbm", "torchrec-uvm"),
            "all-hbm",
            "All in HBM and TorchRec, UVM caching train dlrm-kaggle fastest of 2: 0.243 ms a batch",
        ),
        (("cxl",), "cxl", "CXL trains dlrm-kaggle in 0.242 ms a batch"),
    ],
)
def test_the_finding_names_the_fastest_and_whom_it_beats(systems, own, sentence):
    assert comparison.headline(results_of("optane-kaggle", *systems), scenario("optane-kaggle", own)) == sentence


def test_the_table_tells_each_systems_own_loss_and_a_chosen_policy_changes_it():
    shown = compare_tables.table(results_of("dlrm-kaggle", "pmem", "cxl", "dram"), "pmem")
    assert list(shown[compare_tables.POLICY]) == [
        "loses the batch",
        "loses the batch, and up to 100 batches of the MLP",
        "starts again",
    ]
    for early, lost in ((False, "loses the batch"), (True, "loses the batch, equal up to rounding")):
        asked = scenario("dlrm-kaggle", "cxl", **{"policy.mlp_staleness_bound_batches": 0, "policy.relaxed_lookup": early})
        shown = compare_tables.table({"cxl": estimates.estimate_of(asked)}, "cxl")
        assert list(shown[compare_tables.POLICY]) == [lost]


def test_timelines_stand_on_one_clock_and_span_each_systems_step():
    found = results_of("dlrm-kaggle", *MIXED)
    lanes = compare_tables.timelines(found)
    for system, result in found.items():
        mine = lanes[lanes.system == system]
        own, tasks = mine[mine.part == system], mine[mine.part != system]
        assert own.start.item() == tasks.start.min() == 0.0 and own.end.item() == result.results[STEP] >= tasks.end.max()
        assert tasks.end.max() > 0.9 * result.results[STEP] and set(tasks.part) <= set(STAGES)
        used = {one.device for one in compare_tables.data_moves_of(result.scenario)}
        assert {lane.split("|")[1].split(" ")[0] for lane in tasks.lane} <= used
    assert lanes[lanes.part == "hotline"].says.item().endswith("headline only")
    update = lanes[(lanes.system == "cxl") & (lanes.task == "Embedding update")]
    assert {lane.split("|")[1] for lane in update.lane} == {"pmem", "near-data", "cxl in"}
    assert update.moves.iloc[0] == "pmem updated 98.8 kB, near-data pooled 312 kB, cxl in 213 kB"


def test_a_step_that_dwarfs_all_others_is_cut_and_says_so():
    found = results_of("dlrm-kaggle", "cxl", "dram", "pcie")
    slow = replace(found["cxl"], results={**found["cxl"].results, STEP: 50.0})
    lanes = compare_tables.timelines({**found, "cxl": slow})
    assert lanes[lanes.lane == "cxl"].says.item() == "cxl, 50.0 ms (cut)"
    assert lanes.end.max() == pytest.approx(tables.CUT_RATIO * found["pcie"].results[STEP])


def test_the_map_of_bytes_sums_what_the_tasks_move():
    found = results_of("dlrm-kaggle", *MIXED)
    places, tasks = compare_tables.bytes_moved(found), compare_tables.tasks_moved(found)
    for system in MIXED:
        total = tasks[tasks["Training system"] == system]["Bytes per batch [B]"].sum()
        assert places[places["first"] == system].metric.sum() == pytest.approx(total) and total > 0


@pytest.mark.parametrize("name", ["timelines", "bytes_moved"])
def test_a_chart_is_valid_and_draws_only_columns_that_its_table_has(name):
    spec, frame = getattr(compare_charts, name)(), getattr(compare_tables, name)(results_of("dlrm-kaggle", *MIXED))
    altair.LayerChart.from_dict({**spec, "data": {"values": []}}).to_dict()
    assert fields(spec) <= {*frame.columns, "figure"} and len(frame) > 10


def test_a_fastest_system_that_is_known_by_its_headline_only_is_told_as_such():
    assert comparison.details(results_of("optane-kaggle", "hotline"))[0] == "Only the headline number of Hotline is published."
    assert (
        comparison.details(results_of("optane-kaggle", "hotline", "cpu-gpu"))[0]
        == "Only the headline number of Hotline is published."
    )
    assert not any("headline" in one for one in comparison.details(results_of("optane-kaggle", "hotline", "dram")))


def test_every_system_has_a_colour_of_its_own_across_families():
    assert len(set(palette.SYSTEMS.values())) == len(palette.SYSTEMS) and set(palette.SYSTEMS) <= set(variant_names("systems"))


@each("system", variant_names("systems"))
def test_a_system_known_by_its_headline_only_says_so_wherever_it_is_listed(system):
    only = load_variant("systems", system).confidence == "headline only"
    assert knob_widgets.title(system).endswith(" (headline only)") == only
    assert (palette.known_by(system) == "its headline only") == only
    assert set(tables.stage_rows(results_of("dlrm-kaggle", system), system).known) == {palette.known_by(system)}
