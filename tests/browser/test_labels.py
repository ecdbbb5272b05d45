"""Is every label of every chart whole, inside its picture and apart from the others, wide and narrow, small and large?"""

from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from engine.registry import load_variant, variant_names
from tests.browser.ink import NOTES, Label, Picture, faults, open_sections, pictures, wait_for_charts
from tests.browser.looks import WAIT_MS, button, wait_for_page
from tests.cases import draw

WIDTHS, HEIGHT = (1440, 820, 420), 1000
VIEWS = ("heat-map", "lines", "pareto", "parallel", "what-matters")
TWO_AXES = "preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16,32,64&axis=system:pmem,dram,cxl-d,cxl-b,cxl"
LONGEST = sorted(variant_names("systems"), key=lambda name: len(load_variant("systems", name).title))[-8:]
LONG_NAMES = f"preset=tiny&axis=system:{','.join(LONGEST)}&axis=policy.protection:undo,periodic-overlapped"
DECADES = "preset=tiny&axis=machine.cxl_bandwidth_GBps:0.1,1,10,100,1000&axis=data.batch_size:16,256,4096"
MANY = f"preset=tiny&axis=machine.cxl_bandwidth_GBps:{','.join(map(str, range(2, 34, 2)))}&axis=system:dram,cxl-d,cxl-b,cxl"
HUGE = "preset=dlrm-terabyte&model.num_tables=200&model.num_embeddings=200000000&model.embedding_dim=128"  # 20 TB


@dataclass(frozen=True)
class Look:
    """A page of a scenario: its link, how many charts it draws at least, and what is pressed first: buttons, then sections."""

    link: str
    charts: int
    press: tuple[str, ...] = ()
    sections: bool = False


# From small to large.
SCENARIOS = {
    "a tiny model": (
        Look("design?preset=tiny", 20, ("run",), sections=True),
        Look("data?preset=tiny", 5),
        Look("failures?preset=tiny", 6),
        Look("decide?preset=tiny", 2),
    ),
    "runs with faults": (
        Look("design?preset=tiny&faults.power_loss_at_seconds=0.228", 10, ("run",)),
        Look("design?preset=tiny&system=dram&faults.gpu_crash_at_seconds=0.012", 10, ("run",)),
    ),
    "a click log's model": (
        Look("design?preset=dlrm-kaggle", 7),
        Look("data?preset=dlrm-kaggle", 5),
        Look("decide?preset=dlrm-kaggle", 2),
    ),
    "a paper's model": (Look("design?preset=trainingcxl-rm1", 18, sections=True), Look("data?preset=trainingcxl-rm1", 5)),
    "all papers": (Look("evidence", 8),),
    "many nodes": (
        Look("design?preset=meta-856", 7, sections=True),
        Look("decide?preset=meta-856", 1),
        Look("data?preset=meta-856", 4),
    ),
    "drives": (
        Look("design?preset=mtrains-capacity", 7),
        Look("decide?preset=mtrains-capacity", 1),
        Look("data?preset=mtrains-capacity", 4),
    ),
    "systems that do not fit": (Look("design?preset=dlrm-terabyte&system=all-hbm&machine.num_gpus=1", 3),),
    "a sweep of two axes": tuple(Look(f"search?{TWO_AXES}&view={view}", 1) for view in VIEWS),
    "a sweep over decades": (
        *(Look(f"search?{DECADES}&view={view}", 1) for view in VIEWS),
        *(Look(f"search?{MANY}&view={view}", 1) for view in VIEWS),
    ),
    "long names": tuple(Look(f"search?{LONG_NAMES}&view={view}", 1) for view in VIEWS),
    "a campaign": (Look("failures?preset=dlrm-kaggle&faults.machines=64", 6),),
    "a model of 20 TB": (Look(f"design?{HUGE}", 7), Look(f"data?{HUGE}", 4), Look(f"failures?{HUGE}", 6)),
}


def looked_at(page, server, look):
    """Open a page and press what is to be pressed; return whenever all its charts have been drawn."""
    page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
    page.goto(f"{server}/{look.link}")
    wait_for_page(page)
    charts = page.get_by_test_id("stMain").get_by_test_id("stVegaLiteChart").locator("svg.marks, canvas.marks")
    expect(charts.first).to_be_visible(timeout=WAIT_MS)
    for key in look.press:
        button(page, key).first.click()
        wait_for_page(page)
    if look.sections:
        open_sections(page)
    wait_for_all(page, look)


def wait_for_all(page, look):
    """Wait until as many charts are drawn as the look has; a window of another width draws them again."""
    page.wait_for_function(
        "least => document.querySelectorAll('[data-testid=stVegaLiteChart] .marks').length >= least",
        arg=look.charts,
        timeout=WAIT_MS,
    )
    wait_for_charts(page)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", draw(list(SCENARIOS), 5))
def test_every_label_is_whole_inside_its_picture_and_apart_from_others(server, visit, scenario):
    page, found, measured = visit(f"{server}/start"), [], 0
    page.add_init_script(NOTES)
    for look in SCENARIOS[scenario]:
        looked_at(page, server, look)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            wait_for_all(page, look)
            shown = pictures(page)
            named = [picture for picture in shown if not picture.name.startswith("strip")]  # most strips have no words
            assert len(shown) >= look.charts and all(picture.labels for picture in named)
            measured += len(shown)
            found += [f"{look.link}, {width} px wide, {fault}" for picture in shown for fault in faults(picture)]
    print(f"{measured} pictures of {scenario}")
    assert not found, f"{len(found)} labels in {measured} pictures:\n" + "\n".join(found)


def box(text, left, top, right, bottom):
    return Label(text, ((left, top), (right, top), (right, bottom), (left, bottom)))


def test_a_label_outside_one_cut_and_two_in_one_place_are_told_and_a_halo_is_not():
    turned = Label("slanted", ((60.0, 60.0), (80.0, 40.0), (86.0, 46.0), (66.0, 66.0)))
    good = (box("a", 0, 0, 20, 10), box("b", 21, 0, 40, 10), box("halo", 50, 0, 60, 10), box("halo", 50, 0, 60, 10), turned)
    beside = box("in the corner of its box", 60, 40, 66, 46)  # which the slanted letters leave free
    assert not [*faults(Picture("fine", (0, 0, 100, 100), (*good, beside)))]
    bad = (
        *good,
        box("out", 90, 20, 104, 30),
        box("over", 10, 2, 30, 12),
        box("nam…", 0, 70, 20, 80),
        box("under", 70, 44, 80, 54),
    )
    assert [*faults(Picture("bad", (0, 0, 100, 100), bad))] == [
        "bad: 'out' stands 4.0 px out of the picture",
        "bad: 'nam…' is cut short",
        "bad: 'a' and 'over' overprint each other",
        "bad: 'b' and 'over' overprint each other",
        "bad: 'slanted' and 'under' overprint each other",
    ]
