"""The page Sweep in a real browser: is a sweep run, drawn, picked from, filtered by dragging, and taken away?"""

import re

import pytest
from playwright.sync_api import expect

from engine.scenario.scenario import values
from engine.sweep import links
from tests.browser.looks import WAIT_MS, button, by_key
from tests.browser.test_explorer import downloaded, settled

FILE = "file emberpool-sweep-estimate."  # key of the buttons that save a sweep, without the ending
AXES = "axis=machine.cxl_bandwidth_GBps:8,16&axis=system:pmem,cxl"


def chart(page):
    """Return the one chart of the page, once it has been drawn."""
    found = page.get_by_test_id("stMain").get_by_test_id("stVegaLiteChart")
    expect(found).to_have_count(1, timeout=WAIT_MS)
    expect(found.locator("canvas, svg.marks").first).to_be_visible(timeout=WAIT_MS)
    return found


def standing(page):
    """Return where the one chart is, once it has not been drawn anew for half a second."""
    boxes = [None]
    while len(boxes) < 100:
        boxes.append(chart(settled(page)).bounding_box())
        if boxes[-1] and boxes[-1] == boxes[-2]:
            break
        page.wait_for_timeout(250)
    return boxes[-1]


def saved(page, ending):
    """Return the bytes of the sweep's file with this ending."""
    with page.expect_download() as waiting:
        button(page, FILE + ending).click()
    return waiting.value.path().read_bytes()


@pytest.mark.slow
def test_a_sweep_is_run_drawn_picked_from_and_taken_away(server, visit):
    page = visit(f"{server}/search?preset=tiny&{AXES}&v=1&model=0.2", viewport={"width": 1400, "height": 1800})
    expect(page.get_by_text("4 of 4 points finished, all done.")).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text(re.compile("^Best Step time: .* explains [0-9]+ % of the variance"))).to_be_visible(timeout=WAIT_MS)
    box = chart(settled(page)).bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.55 * box["height"])
    opening = by_key(page, "open in design").get_by_role("link")
    expect(opening).to_be_visible(timeout=WAIT_MS)
    place = values(links.open_link(opening.get_attribute("href")).scenario)
    said = page.get_by_text(re.compile("^Point [1-4]: CXL bandwidth")).inner_text()
    assert f"= {place['machine.cxl_bandwidth_GBps']:g}, " in said and said.endswith(f"= {place['system'].upper()}")
    button(page, "pin").click()
    expect(by_key(page, "chart-pins")).to_be_visible(timeout=WAIT_MS)

    rows = downloaded(settled(page), FILE + "csv")
    assert [(row["machine.cxl_bandwidth_GBps"], row["system"]) for row in rows] == [
        (bandwidth, system) for bandwidth in ("8.0", "16.0") for system in ("pmem", "cxl")
    ]
    report = saved(page, "html").decode()
    assert report.startswith("<!doctype html>") and "<script" not in report and report.count("<svg") >= 2
    assert saved(page, "parquet")[:4] == b"PAR1" and saved(page, "png")[:4] == b"\x89PNG"
    assert page.outside == []


@pytest.mark.slow
def test_a_box_over_the_front_keeps_its_points_and_one_over_a_scale_becomes_a_filter(server, visit):
    page = visit(
        f"{server}/search?preset=tiny&{AXES}&axis=data.batch_size:256,512,1024&v=1&model=0.2",
        viewport={"width": 1400, "height": 1600},
    )
    expect(page.get_by_text("12 of 12 points finished, all done.")).to_be_visible(timeout=WAIT_MS)
    in_the_box, filtered = re.compile("best of [0-9]+ points in the box"), re.compile("best of ([0-9]|1[01]) points, by")
    for view, left, right, says in (("Pareto", 0.2, 0.7, in_the_box), ("Parallel", 0.03, 0.2, filtered)):
        page.get_by_role("radio", name=view).click()
        for _ in range(4):  # a chart that is drawn anew under the mouse is dragged over again
            box = standing(page)
            page.mouse.move(box["x"] + left * box["width"], box["y"] + 0.25 * box["height"])
            page.mouse.down()
            page.mouse.move(box["x"] + right * box["width"], box["y"] + 0.95 * box["height"], steps=8)
            page.mouse.up()
            page.wait_for_timeout(3000)
            if settled(page).get_by_text(says).count():
                break
        expect(page.get_by_text(says)).to_be_visible(timeout=WAIT_MS)
    expect(page).to_have_url(re.compile("where=machine.cxl_bandwidth_GBps"), timeout=WAIT_MS)
