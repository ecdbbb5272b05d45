"""Prices: of which year is each dollar, how wide is a price of another year, and what becomes of a part without one?"""

import json
import re
from math import inf, isnan

import numpy as np
import pytest

from engine.__main__ import main
from engine.analysis.choice import COST, cheapest
from engine.analysis.enough.question import Target, baseline_of, make_question
from engine.analysis.enough.sentences import answer_sentences
from engine.analysis.enough.smallest import find_smallest
from engine.analysis.objective import read_constraint, read_objectives
from engine.analysis.pareto import front_sentence, ranks
from engine.analysis.uncertainty import bands, draws, find_turning_points, tornado, uncertain_constants
from engine.core import catalog
from engine.core.constants import Constant
from engine.core.figures import figure
from engine.core.part_files import tables
from engine.core.part_files.supply import DELIVERY
from engine.errors import BadFile, BadKnob, CannotRun
from engine.estimate import estimate
from engine.hardware.devices.gpu import ACCELERATORS
from engine.hardware.money.prices import ELECTRICITY, electricity, with_year
from engine.insight.knobs.strips import stop_of_estimate
from engine.insight.running_costs import assumptions, price_note, price_unit, running_costs, swept_price_unit
from engine.results.csv_table import constants_in_use
from engine.scenario.machine import RECORDED, YEARS
from engine.scenario.presets import preset
from engine.scenario.renamed import implied_settings
from engine.scenario.scenario import KNOBS, values, with_values
from engine.systems.system import constants
from pages.systems import comparison
from tests import apps
from tests.cases import each
from tests.hardware.test_catalog import TEXT, shelf
from tests.insight.test_bills import OPTANE, bill, on_board, on_sale

__all__ = ["shelf"]
PRICE = Constant("price", 10, "USD/GB", 8, 16, "stated", "a list", year=2022)
DATED = PRICE.with_years({2026: (14, 12, 30, "secondary", "a shop")})
BOARD = (  # of which only an eight-GPU server has a GPU of one's own
    "The machine has 8 × priceless, since SXM boards are sold whole, here in gpu-8-sxm: 1 trains, and 7 are idle, "
    "counted at 105 W each."
)
KAGGLE = with_values(preset("optane-kaggle").scenario, {"machine.prices": "2026"})


def test_a_price_of_its_own_year_is_as_it_stands():
    assert PRICE.in_year(2022) is PRICE
    assert (DATED.in_year(2026).value, DATED.in_year(2026).low, DATED.in_year(2026).high) == (14, 12, 30)


def test_the_nearest_year_counts_of_two_as_near_the_later_and_each_year_widens_the_range_by_a_quarter():
    before, between, late = DATED.in_year(2019), DATED.in_year(2024), DATED.in_year(2025)
    assert (before.value, between.value, late.value) == (10, 14, 14)
    assert (before.low, before.high) == pytest.approx((8 / 1.25**3, 16 * 1.25**3))
    assert (between.low, between.high) == pytest.approx((12 / 1.25**2, 30 * 1.25**2))
    assert (late.low, late.high) == pytest.approx((12 / 1.25, 30 * 1.25))
    assert before.source == "a list; price of 2022, range widened for 3 years"
    assert late.source == "a shop; price of 2026, range widened for 1 year"


def test_every_price_of_the_catalogue_has_a_year_and_nothing_else_has():
    for name, text in TEXT.items():
        for key, table in catalog.loads(text).items():
            if isinstance(table, dict) and key not in (tables.AVAILABILITY, DELIVERY):
                assert (table["unit"] in tables.MONEY) == ("year" in table), name


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("year = 2023\n", "", "lacks year of price"),
        ("year = 2023\n", "year = 23\n", r"price of the year '23'; write a whole number from 2000 to 2100"),
        ("[price.years]\n2026 = ", "years = 7 # ", "which is no table"),
        ("[price.years]\n", "[price.years]\n2023 = {}\n", "of 2023 twice"),
        ("[price.years]\n", "[price.years]\nlast = {}\n", "of the year 'last'"),
        ("[price.years]\n", "[price.years]\n2025 = { value = 1 }\n", r"lacks low of price\.years\.2025"),
    ],
)
def test_a_price_without_its_year_or_with_a_wrong_one_is_refused(shelf, old, new, says):
    shelf("gpu/other", TEXT["gpu/a100-80"].replace(old, new))
    with pytest.raises(BadFile, match=says):
        ACCELERATORS["other"]
    with pytest.raises(BadKnob, match=r"machine\.gpu='other' is a part whose file has an error"):
        with_values(KAGGLE, {"machine.gpu": "other"})


def test_ranges_of_bands_and_tornado_are_those_of_the_year():
    now, then = (with_values(KAGGLE, {"machine.prices": year}) for year in ("2026", RECORDED))
    assert (constants(now)["gpu.price"].high, constants(then)["gpu.price"].high) == (18000, 17000)
    assert constants(now)["chassis.price"].high == pytest.approx(50000 * 1.25**3)
    assert uncertain_constants(now)["chassis.price"].low == pytest.approx(10000 / 1.25**3)
    assert max(draw["gpu.price"] for draw in draws(now)) > 17000 >= max(draw["gpu.price"] for draw in draws(then))
    singly = {"machine.prices": "2023", "machine.chassis": "two-socket"}  # as papers buy it
    near = constants(with_values(KAGGLE, singly))  # of which every price is the one on record
    for name, price in constants(then).items():
        if price.year:
            wider = 1.25 ** (2023 - price.year)
            assert (near[name].value, near[name].low, near[name].high) == (price.value, price.low / wider, price.high * wider)
    (wide, narrow) = (bands(one, 16)[COST] for one in (now, then))
    assert wide[1] - wide[0] > narrow[1] - narrow[0] and wide[1] > narrow[1]
    assert tornado(now, COST)[0].width > tornado(then, COST)[0].width


def test_an_assumption_beats_the_year():
    assumed = {"machine.assume": (("gpu.price", 5.0),)}
    costs = [estimate(with_values(KAGGLE, {"machine.prices": year, **assumed})).results[COST] for year in ("2022", "2026")]
    assert costs == pytest.approx([bill(on_board(OPTANE), year) - 4 * 12000 + 4 * 5 for year in (2022, 2026)])


def test_dollars_say_their_year_or_the_years_of_the_parts_that_are_paid():
    recorded = with_values(KAGGLE, {"machine.prices": RECORDED})
    assert price_unit(KAGGLE) == "USD (2026)" and price_unit(recorded) == "USD of 2019 to 2023"
    assert price_note(KAGGLE).startswith("A part without a price of 2026 has the nearest year's, of 2019 to 2023")
    assert price_note(recorded) == "" and constants_in_use(recorded)["pmem.price [year]"] == 2019
    assert swept_price_unit(recorded, ["machine.prices"]) == "USD of each point's machine.prices"
    assert swept_price_unit(recorded, ["machine.gpu"], [("machine.prices", "2024")]) == "USD (2024)"
    assert with_year("5 USD, 3 USD/GB, 7 USD (2026), Capital cost [USD], 2 USD.", "USD (2024)") == (
        "5 USD (2024), 3 USD/GB, 7 USD (2026), Capital cost [USD], 2 USD (2024)."
    )


def test_dram_of_2026_costs_what_it_does_in_2026():
    dram = with_values(KAGGLE, {"system": "dram", "machine.chassis": "two-socket"})
    costs = {year: estimate(with_values(dram, {"machine.prices": year})).results[COST] for year in ("2022", "2026", RECORDED)}
    gigabytes = 16 * 16 + 6 * 16  # DIMMs of 16 GB in the channels of a host and of an expander
    assert costs["2022"] == costs[RECORDED]
    assert costs["2026"] - costs["2022"] == pytest.approx(gigabytes * (14.1 - 11.13))


@each("year", YEARS)
def test_electricity_is_of_2023_and_wider_in_every_other_year(year):
    found, apart = electricity(with_values(KAGGLE, {"machine.prices": year}).machine), abs(int(year) - 2023)
    assert found.value == 0.081
    assert (found.low, found.high) == pytest.approx((0.058 / 1.25**apart, 0.19 * 1.25**apart))


def test_electricity_and_service_life_are_knobs_of_running_costs():
    own = running_costs(estimate(KAGGLE))
    dear = running_costs(estimate(with_values(KAGGLE, {"machine.electricity_USD_per_kWh": 0.162})))
    short = running_costs(estimate(with_values(KAGGLE, {"machine.service_life_years": 2.5})))
    assert dear.electricity_month == pytest.approx(2 * own.electricity_month) and ELECTRICITY.value == 0.081
    seconds = 1e9 / estimate(KAGGLE).results["Throughput [samples/s]"]
    assert short.per_billion_samples - own.per_billion_samples == pytest.approx(own.capital * seconds / (5 * 12 * 730 * 3600))
    assert "2.5 years" in assumptions(with_values(KAGGLE, {"machine.service_life_years": 2.5}))


@pytest.fixture
def unpriced(shelf):
    """Return the default scenario with a GPU that nobody has a price of."""
    text = TEXT["gpu/h100-sxm"]
    at = text.index("[price]")
    shelf("gpu/priceless", text[:at] + text[text.index("[kernel-launch]") :])
    return with_values(KAGGLE, {"machine.gpu": "priceless"})


def test_without_a_price_there_is_no_money_and_the_part_is_named(unpriced):
    found = estimate(unpriced)
    assert found.ran and found.results[COST] is None
    assert found.warnings == (
        "GPU priceless has no published price, so no costs are shown; machine.quotes can give a price.",
        BOARD,
    )
    costs = running_costs(found)
    assert costs.capital is None and costs.per_billion_samples is None and costs.electricity_month > 0
    assert isnan(stop_of_estimate(1, "1", found).dollars) and stop_of_estimate(1, "1", found).seconds > 0
    assert COST not in bands(unpriced) and "Step time [ms]" in bands(unpriced)
    assert "gpu.price" not in constants(unpriced)
    given = estimate(with_values(unpriced, {"machine.assume": (("gpu.price", 30000.0),)}))
    assert given.results[COST] == pytest.approx(bill(on_board(OPTANE, 8), 2026) - 8 * 12000 + 8 * 30000)
    assert given.warnings == (BOARD,)


def test_a_tornado_of_money_without_a_price_is_refused(unpriced):
    for ask_for in (
        lambda: tornado(unpriced, COST),
        lambda: find_turning_points(unpriced, with_values(KAGGLE, {"system": "dram"}), COST),
    ):
        with pytest.raises(CannotRun, match="or a part has no published price"):
            ask_for()


def test_what_has_no_price_is_never_the_cheapest(unpriced):
    step = read_constraint("Step time [ms]<=5")
    found = cheapest({"Step time [ms]": [1.0, 2.0, 3.0], COST: [None, 9.0, 8.0]}, (step,))
    assert found.index == 2 and found.sentence.endswith("8.00 USD. 1 more have no price and are left out.")
    rows = {"Step time [ms]": np.array([1.0, 2.0, 3.0]), COST: np.array([np.nan, 9.0, 8.0])}
    wanted = read_objectives(f"Step time [ms],{COST}")
    assert front_sentence(rows, wanted, ranks(rows, wanted)).endswith(" 1 more have no price and are left out.")
    results = {"dram": estimate(with_values(KAGGLE, {"system": "dram"})), "cxl": estimate(unpriced)}
    said = comparison.details(results)
    assert "Cheapest: DRAM" in " ".join(said) and said[-1] == "Cheapest leaves out CXL, as no price is published for a part."


def test_enough_answers_without_a_price_and_says_so(unpriced):
    question = make_question(unpriced, baseline_of(unpriced, "dram"), Target(0.5))
    answer = find_smallest(question)
    assert answer.cheapest.machine.dollars == inf
    said = answer_sentences(answer)
    assert ": no published price, " in said.cheapest or "No machine in range" in said.cheapest
    assert "inf" not in " ".join(vars(said).values()) and "nan" not in " ".join(vars(said).values())


@pytest.mark.slow
def test_the_command_enough_says_years_and_what_has_no_price(capsys):
    assert main(["enough", "--preset", "dlrm-kaggle", "--set", "machine.gpu=b300", "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["prices"] == "2026" and said["costs"]["Cheapest"]["usd_of"] == "USD (2026)"
    assert said["costs"]["Cheapest"]["capital_usd"] is None and "no published price" in said["sentences"]["both"]
    assert main(["enough", "--preset", "dlrm-kaggle", "--set", "machine.gpu=b300"]) == 0
    text = capsys.readouterr().out
    assert "Smallest: GPU b300 has no published price, so no costs are shown" in text and "Cheapest" not in text
    assert re.search(r"Wh a month for [0-9.,]+ USD \(2026\)\.", text)


def test_run_says_the_year_of_its_dollars(capsys):
    assert main(["run", "--preset", "tiny", "--estimate"]) == 0
    said = capsys.readouterr().out
    assert "Capital cost" in said and figure(bill(on_board(OPTANE), 2026), "USD (2026)") in said and "of 2019 to 2023" in said
    assert main(["run", "--preset", "tiny", "--estimate", "--set", "machine.prices=recorded"]) == 0
    assert figure(bill(OPTANE), "USD of 2019 to 2023") in capsys.readouterr().out


def test_a_tile_says_the_year_of_its_dollars():
    app = apps.opened("design", {"preset": "dlrm-kaggle"})
    tiles = {one.label: one.value for one in app.metric}
    assert tiles["Capital cost"] == figure(bill(on_board(on_sale(1)), 2026), "USD (2026)")
    assert tiles["Electricity a month"].endswith("USD (2026)") and tiles["Per billion samples"].endswith("USD (2026)")


@pytest.mark.slow
@each("page", ["design", "compare", "search"], few=3)
def test_pages_do_without_a_price_and_say_so(page):
    app = apps.opened(page, {"machine.gpu": "b300"})
    apps.ANSWERS.found()
    app = app.run()
    assert not app.exception
    said = apps.text([*app.markdown, *app.caption])
    assert page == "search" or "GPU b300 has no published price" in said or "no price is published for a part" in said
    assert " nan " not in said and " inf " not in said
    if page == "design":
        tiles = {one.label: one.value for one in app.metric}
        assert tiles["Capital cost"] == tiles["Per billion samples"] == "n/a"
        assert "no published price" in said and "The baseline " in said


@each("link", [1, 7, 8], few=3)
def test_a_link_of_before_meant_recorded_prices_and_says_so(link):
    own = values(KAGGLE).__getitem__
    said = {path: (text, why) for path, text, why in implied_settings(link, "dlrm-kaggle", {}, (), own)}
    assert ("machine.prices" in said) == (link < 8)
    assert link == 8 or said["machine.prices"] == (RECORDED, "dollars, at the years of their sources,")
    assert "machine.prices" not in {one[0] for one in implied_settings(link, "dlrm-kaggle", {"machine.prices": "2024"}, (), own)}
    paper = values(preset("optane-rm1").scenario).__getitem__
    assert "machine.prices" not in {one[0] for one in implied_settings(7, "optane-rm1", {}, (), paper)}


def test_the_choices_of_the_knob_are_recorded_and_the_years():
    assert KNOBS["machine.prices"].allowed == (RECORDED, *map(str, range(2019, 2027)))
