"""Buying against renting: are dollars and months those worked out by hand, by whole boards, and silent without rents?"""

import csv
import re
from dataclasses import replace
from functools import partial

import pytest

from engine.analysis.verdict.decide import SystemRow, Verdict, decide
from engine.analysis.verdict.outlook.outlook import NO_OUTLOOK
from engine.analysis.verdict.report.content import verdict_content
from engine.analysis.verdict.report.rent import rent_comparison, rent_content, rent_sentence
from engine.analysis.verdict.space import GPUS, GPUS_PER_NODE
from engine.commands import decide as command
from engine.core.catalog import part_names_of
from engine.hardware.devices.chassis import board_sizes
from engine.insight import rents as known
from engine.insight.rents import ON_DEMAND, PROVIDER_KINDS, RENT_KINDS, Rent, rents, rents_of
from engine.scenario.scenario import with_values
from tests import ROOT
from tests.analysis.verdict.test_decide import model, question
from tests.cases import each

BATCH, STEP, WATTS, CAPITAL = 1024, 1e-3, 10_000.0, 200_000.0
PAID = {"machine.electricity_USD_per_kWh": 0.1, "data.batch_size": BATCH, "machine.training_hours_a_month": 730.0}


@pytest.fixture(scope="module")
def verdict() -> Verdict:
    """The verdict on a small model with SXM boards alone, whose rents are known."""
    return decide(question(model(), parts="gpu=h100-sxm,host=server"), ("all-hbm", "cpu-only"))


@pytest.fixture
def row(verdict: Verdict) -> SystemRow:
    """A machine of eight GPUs with round numbers; half of its samples count."""
    (found,) = (row for row in verdict.rows if row.system == "all-hbm")
    assert found.scenario is not None
    return replace(
        found,
        scenario=with_values(found.scenario, PAID),
        parts={"h100-sxm": 8},
        step=STEP,
        watts=WATTS,
        capital=CAPITAL,
        protection=found.protection._replace(share=0.5),
    )


@pytest.fixture
def two_rents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rents of 2 USD at a specialist and 3 USD at a hyperscaler, beside rows that must not count."""
    rate = partial(Rent, "H100 SXM", "h100-sxm", usd_per_machine_hour=None, contract_years=None, note="")
    rows = (
        rate("A", "specialist", "8x", 8, 2.0, kind="on-demand", date="2025-11", source="a"),
        rate("B", "hyperscaler", "", None, 3.0, kind="on-demand", date="2026", source="b"),
        rate("C", "marketplace", "1x", 1, 0.5, kind="on-demand", date="2026", source="part of a board"),
        rate("D", "hyperscaler", "8x", 8, 0.4, kind="spot", date="2026", source="spot"),
        replace(rate("E", "specialist", "", None, 1.5, kind="reserved", date="2026", source="e"), contract_years=1.0),
        replace(rate("F", "specialist", "", None, 9.0, kind="reserved", date="2026", source="days"), contract_years=0.0),
        replace(rate("G", "specialist", "", None, 9.0, kind="on-demand", date="2026", source="context"), part=""),
    )
    monkeypatch.setattr(known, "rents", lambda: rows)


def test_a_machine_of_round_numbers_costs_what_a_hand_works_out(row: SystemRow, two_rents: None) -> None:
    # A month: 8 x 2 x 730 = 11,680 and 8 x 3 x 730 = 17,520 USD of rent; 10 kW x 730 h x 0.1 = 730 USD of electricity.
    # A billion samples: 1e9 / 1024 ms / 0.5 = 1,953.125 s = 0.542535 h, times 16 or 24 USD an hour.
    content = rent_content(row)
    assert content == {
        "gpu": "h100-sxm",
        "usd_per_gpu_hour": {"low": 2.0, "high": 3.0},
        "provider_kinds": {"hyperscaler": {"low": 3.0, "high": 3.0}, "specialist": {"low": 2.0, "high": 2.0}},
        "reserved_usd_per_gpu_hour": {"low": 1.5, "high": 1.5},
        "dates": {"first": "2025-11", "last": "2026"},
        "gpus_rented": 8,
        "usd_per_billion": {"low": pytest.approx(8.680556), "high": pytest.approx(13.020833)},
        "months": {"low": pytest.approx(200_000 / 16_790), "high": pytest.approx(200_000 / 10_950)},
        "sources": ["a", "b", "e"],
    }
    text = rent_sentence(row)
    assert "at 2.00 to 3.00 USD (2025 to 2026) a GPU-hour (3.00 at hyperscalers, 2.00 at specialists), as 8 GPUs" in text
    assert "it is 8.68 to 13.0 USD a billion samples; buying pays after 12 to 18 months. A contract" in text


def test_rent_is_paid_for_the_hours_in_which_the_machine_trains(row: SystemRow, two_rents: None) -> None:
    assert row.scenario is not None
    half = replace(row, scenario=with_values(row.scenario, {"machine.training_hours_a_month": 365.0}))
    whole_months, half_months = (rent_content(one)["months"] for one in (row, half))  # type: ignore[index]
    assert half_months["low"] == pytest.approx(2 * whole_months["low"])
    assert "of 60 that it serves" not in rent_sentence(half)
    assert "24 to 37 months." in rent_sentence(half)
    dear = replace(half, capital=2e6)
    assert "238 to 365 months, of 60 that it serves." in rent_sentence(dear)


@each(
    ("kilowatts", "months", "words"),
    [
        (160.0, {"low": pytest.approx(200_000 / (17_520 - 11_680)), "high": None}, "after 34 months at the highest rent, never"),
        (240.0, {"low": None, "high": None}, "; buying never pays."),
    ],
)
def test_buying_never_pays_where_rent_is_at_most_the_electricity(row, two_rents, kilowatts, months, words):
    thirsty = replace(row, watts=1e3 * kilowatts)
    assert rent_content(thirsty)["months"] == months
    assert words in rent_sentence(thirsty)


@each(("gpus", "nodes", "rented"), [(1, 1, 8), (8, 1, 8), (8, 2, 16), (24, 3, 24), (12, 1, 16)])
def test_a_board_is_rented_whole(row, two_rents, gpus, nodes, rented):
    assert row.scenario is not None
    knobs = {GPUS: gpus, GPUS_PER_NODE: gpus // nodes}
    compared = rent_comparison(replace(row, scenario=with_values(row.scenario, knobs), parts={"h100-sxm": gpus}))
    assert compared and compared.gpus_rented == rented
    assert compared.usd_per_billion[0] == pytest.approx(8.680556 * rented / 8)


def test_cards_are_rented_singly(row: SystemRow, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Rent("H100", "h100-pcie", "A", "specialist", "1x", 1, 2.0, None, "on-demand", None, "2026", "a", "")
    monkeypatch.setattr(known, "rents", lambda: (card,))
    assert row.scenario is not None
    small = with_values(row.scenario, {"machine.gpu": "h100-pcie", "machine.chassis": None, GPUS: 3, GPUS_PER_NODE: 3})
    compared = rent_comparison(replace(row, scenario=small, parts={"h100-pcie": 3}))
    assert compared and compared.gpus_rented == 3
    assert "as 3 GPUs, it is" in rent_sentence(replace(row, scenario=small, parts={"h100-pcie": 3}))


def test_no_line_without_gpus_or_without_rents_and_no_months_without_a_price(verdict, row, two_rents):
    hosts = next(one for one in verdict.rows if one.system == "cpu-only")
    assert hosts.result is not None and rent_comparison(hosts) is None and rent_sentence(hosts) == ""
    assert rent_content(replace(row, scenario=None)) is None
    unpriced = replace(row, capital=None)
    assert rent_content(unpriced)["months"] is None and "buying" not in rent_sentence(unpriced)
    known_to_none = replace(row, parts={"v100": 8}, scenario=with_values(row.scenario, {"machine.gpu": "v100"}))
    assert rent_content(known_to_none) is None


def test_the_whole_answer_has_the_verdicts_rent_or_null(verdict: Verdict) -> None:
    content, best = verdict_content(verdict, "dlrm-kaggle"), verdict.best_row
    assert best is not None and content["buy_against_rent"] == rent_content(best)
    by_system = {row.system: replace(verdict, rows=(row,)) for row in verdict.rows}
    assert verdict_content(by_system["cpu-only"], "dlrm-kaggle")["buy_against_rent"] is None
    rented = verdict_content(by_system["all-hbm"], "dlrm-kaggle")["buy_against_rent"]
    assert rented["gpus_rented"] % 8 == 0 and rented["usd_per_gpu_hour"]["low"] < rented["usd_per_gpu_hour"]["high"]


def test_the_command_says_the_line_once_and_only_with_rents(verdict: Verdict) -> None:
    for row in verdict.rows:
        said = command._text(replace(verdict, rows=(row,)), "dlrm-kaggle", NO_OUTLOOK)
        assert said.count("Rented on demand at") == (row.system == "all-hbm")


def test_the_table_of_rents_is_whole_and_names_parts_of_the_catalogue_where_it_can() -> None:
    rows = rents()
    with (ROOT / "engine" / "insight" / "rents.csv").open(newline="", encoding="utf-8") as file:
        assert len(rows) == sum(1 for _ in csv.reader(file)) - 1 > 100
    dated = re.compile(r"20\d\d(-[01]\d(-[0-3]\d)?)?")
    for rent in rows:
        assert rent.provider_kind in PROVIDER_KINDS and rent.kind in RENT_KINDS and dated.fullmatch(rent.date), rent
        assert rent.source and (rent.usd_per_gpu_hour is None) != (rent.usd_per_machine_hour is None)
        assert (rent.contract_years is None) == (rent.kind != "reserved")
        assert not rent.part or (rent.usd_per_gpu_hour and 0.1 < rent.usd_per_gpu_hour < 20)
    gpus = {rent.part for rent in rows if rent.part}
    assert {"h100-sxm", "h200", "b200", "mi300x", "a100-80", "v100"} <= gpus & {*part_names_of("gpu")}
    for gpu in gpus & {*part_names_of("gpu")}:
        on_demand = rents_of(gpu, ON_DEMAND, board_sizes(gpu)[-1])
        assert on_demand, gpu
        assert max(rent.usd_per_gpu_hour or 0 for rent in on_demand) >= min(rent.usd_per_gpu_hour or 0 for rent in on_demand)
    boards = {gpu: board_sizes(gpu) for gpu in ("h100-sxm", "b200", "mi300x", "h100-pcie", "gh200", "a100-80-mig-1g")}
    assert boards == {"h100-sxm": (4, 8), "b200": (8,), "mi300x": (8,), "h100-pcie": (1,), "gh200": (1,), "a100-80-mig-1g": (1,)}
