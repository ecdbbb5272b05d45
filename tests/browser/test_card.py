"""The card of the product: four knobs, a run with a fault and the same fault elsewhere, in counted actions."""

import re

import pytest
from playwright.sync_api import expect

from pages.full_run import fault_axis, fault_points
from tests.browser.looks import WAIT_MS, button, by_key, field, wait_for_page

pytestmark = pytest.mark.slow
CAPACITY, LINK, NEAR, BOUND = "pmem_capacity_GB", "cxl_bandwidth_GBps", "near_data_compute", "mlp_staleness_bound_batches"
LINE = re.compile(r"Step: .+\. Energy: .+\. Price: .+\.|Against a strict log: step .+, energy ")


def card(page, knob):
    return page.locator(f"[class*='st-key-strip-'][class*='{knob}']").first


def test_the_four_knobs_are_moved_and_read_in_eight_actions(server, visit):
    page, actions = visit(f"{server}/design"), 0
    wait_for_page(page)
    answer = page.locator(".st-key-answer")
    expect(answer).to_contain_text("dlrm-dcnv2")
    for knob in (CAPACITY, LINK, NEAR, BOUND):
        assert LINE.search(card(page, knob).inner_text()), card(page, knob).inner_text()
    for path, value in ((f"machine.{CAPACITY}", "256"), (f"machine.{LINK}", "8"), (f"policy.{BOUND}", "0")):
        before = answer.inner_text()
        field(page, f"knob {path}").fill(value)
        page.keyboard.press("Enter")
        actions += 2
        expect(answer).not_to_have_text(before, timeout=WAIT_MS)
        wait_for_page(page)
    before = answer.inner_text()
    card(page, NEAR).get_by_text("Near-data compute", exact=True).click()
    expect(answer).not_to_have_text(before, timeout=WAIT_MS)
    assert actions + 1 <= 8
    page.wait_for_url(re.compile(f"{CAPACITY}=256.*{LINK}=8"), timeout=WAIT_MS)


def test_what_a_power_loss_costs_is_read_after_four_actions(server, visit):
    page = visit(f"{server}/design?preset=tiny&run.batches=400")
    wait_for_page(page)
    button(page, fault_axis.ADD_FAULT).click()
    page.wait_for_url(re.compile("faults.power_loss_at_seconds="), timeout=WAIT_MS)
    wait_for_page(page)
    button(page, "run").click()
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text(
        re.compile(r"power was lost at .+ until it ran again \(detect .+, restart .+\)"), timeout=WAIT_MS
    )
    tiles = page.locator(".st-key-tiles-run")
    for words in (r"Outages\s*2\.50 min", r"Held-out AUC\s*0\.\d+", r"Energy of outages\s*[\d.]+ kJ"):
        expect(tiles).to_contain_text(re.compile(words))
    expect(page.locator("[class*='st-key-chart-']").filter(has_text="Outages took").first).to_be_visible(timeout=WAIT_MS)


def test_the_same_fault_at_other_values_takes_two_actions(server, visit):
    page = visit(f"{server}/design?preset=tiny&run.batches=400")
    wait_for_page(page)
    by_key(page, fault_points.SECTION).get_by_text("The same fault at other values of a knob").click()
    button(page, fault_points.RUN).click()
    chart = page.locator("[class*='st-key-chart-fault-points']")
    expect(chart).to_contain_text(re.compile("The fault costs 2.50 min each over PMEM capacity"), timeout=WAIT_MS)


def test_two_knobs_make_a_map_in_place(server, visit):
    page = visit(f"{server}/design")
    wait_for_page(page)
    page.get_by_text("Two knobs at once").click()
    expect(page.locator("[class*='st-key-chart-two-knobs']")).to_contain_text("Step time is least", timeout=WAIT_MS)
