"""Money of a verdict: bills, months, the row of each GPU, and the price of a GPU at which the verdict changes."""

import json
from csv import DictReader
from dataclasses import replace
from io import StringIO
from math import isfinite
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.decide import SystemRow, SystemSearch, Verdict, decide
from engine.analysis.verdict.families import HBM
from engine.analysis.verdict.outlook.by_gpu import GpuRow, gpu_of, gpu_rows
from engine.analysis.verdict.outlook.outlook import Outlook
from engine.analysis.verdict.protected import CandidateProtection, protections
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.asked import link_of, read_question
from engine.analysis.verdict.report.bill import bill_content, bill_text
from engine.analysis.verdict.report.content import verdict_content, verdict_table
from engine.analysis.verdict.report.sentences import full_use_sentence, headline, unavailable_sentence
from engine.analysis.verdict.requirement import Objective, read_requirement
from engine.analysis.verdict.stacks import SoftwareChoice, Stack
from engine.core.constants import Constant
from engine.errors import BadInput
from engine.estimate import estimate
from engine.hardware.money.bill import BillItem
from engine.results import csv_table
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.sweep.links import open_link
from engine.sweep.questions import LinkQuestions
from tests.analysis.verdict.test_decide import model
from tests.cases import each
from tests.hardware.test_catalog import TEXT, shelf

__all__ = ["shelf"]
SYSTEMS, HOST = ("all-hbm", "torchrec-uvm", "cpu-only"), "host=amx-2023"
CARDS = f"h100-pcie,h100-nvl,l40s,{HOST}"
QUOTES, OWNED = "machine.quotes", "machine.owned_parts"


def asked(*require: str, parts: str = CARDS, objective: Objective = "cost", **knobs: object) -> VerdictQuestion:
    """Return a question about a small model."""
    scenario = with_values(model(), {path.replace("__", "."): value for path, value in knobs.items()})
    return VerdictQuestion(scenario, read_requirement(require), objective, AllowedParts(parts), SoftwareChoice("lean"))


def by_gpu(question: VerdictQuestion) -> tuple[Verdict, dict[str, GpuRow]]:
    """Return the verdict on a question, and its row of each GPU."""
    verdict = decide(question, SYSTEMS)
    return verdict, {one.gpu: one for one in gpu_rows(verdict, SystemSearch(question, SYSTEMS).aim)}


def quoted(question: VerdictQuestion, gpu: str, usd: float) -> VerdictQuestion:
    """Return a question with a quote for a GPU."""
    return replace(question, scenario=with_values(question.scenario, {QUOTES: f"gpu/{gpu}:{usd!r}"}))


def winner(question: VerdictQuestion) -> str:
    """Return the GPU of a question's verdict, "" where no machine meets it."""
    best = decide(question, SYSTEMS).best_row
    return gpu_of(best) if best else ""


def hundredth(require: tuple[str, ...], objective: Objective, parts: str) -> None:
    """Check that a quote a hundredth to either side of each break-even changes the verdict."""
    question = asked(*require, objective=objective, parts=parts)
    _, rows = by_gpu(question)
    assert sum(one.wins for one in rows.values()) == 1
    decided = [one for one in rows.values() if one.break_even is not None and isfinite(one.break_even)]
    assert len(decided) >= 2
    for one in decided:
        assert one.price is None or one.wins == (one.price.value <= one.break_even)
        assert winner(quoted(question, one.gpu, 0.99 * one.break_even)) == one.gpu
        assert winner(quoted(question, one.gpu, 1.01 * one.break_even)) != one.gpu


def test_a_quote_a_hundredth_to_either_side_of_a_break_even_changes_the_verdict():
    hundredth(("throughput=2e6",), "cost", CARDS)


@pytest.mark.slow
@each(
    ("require", "objective"),
    [((), "cost"), (("throughput=2e6", "budget=150000"), "cost"), (("throughput=2e6",), "capital")],
)
def test_a_quote_near_a_break_even_changes_the_verdict_of_any_question(require: tuple[str, ...], objective: Objective):
    hundredth(require, objective, CARDS)


def test_a_gpu_of_ones_own_without_a_price_has_a_break_even_that_a_quote_confirms(shelf):
    shelf("gpu/priceless", TEXT["gpu/h100-nvl"])
    question = asked(parts=f"h100-pcie,priceless,{HOST}")
    verdict, rows = by_gpu(question)
    (name,) = [name for name in rows if name.startswith("priceless")]
    one = rows[name]
    assert verdict.unpriced == (name,) and gpu_of(verdict.best_row) == "h100-pcie"
    assert one.price is None and one.break_even is not None and one.row.capital is None and not one.reason
    assert winner(quoted(question, name, 0.99 * one.break_even)) == name
    assert winner(quoted(question, name, 1.01 * one.break_even)) == "h100-pcie"
    told = next(told for told in verdict_content(verdict, "dlrm-kaggle", Outlook(gpus=(one,)))["by_gpu"])
    assert told["break_even"] == {"part": f"gpu/{name}", "usd_each": one.break_even}
    assert told["row"]["capital_usd"] is None and told["reason"] is None


def test_a_row_of_the_verdict_says_below_which_price_of_its_gpu_it_would_win():
    question = asked("throughput=2e6")
    verdict = decide(question, (*SYSTEMS, "torchrec-uvm"))
    told = {row["system"]: row for row in verdict_content(verdict, "dlrm-kaggle")["rows"]}
    best = verdict.best_row
    assert best is not None and told[best.system]["break_even"] is None
    other = told["torchrec-uvm"]
    part, usd = other["break_even"]["part"], other["break_even"]["usd_each"]
    gpu = part.removeprefix("gpu/")
    cheap = decide(quoted(question, gpu, 0.5 * usd), ("torchrec-uvm",)).best_row
    assert cheap is not None and cheap.objective_value < best.objective_value


@pytest.mark.slow
def test_a_quote_for_one_gpu_moves_no_other_gpus_row():
    two = f"h100-pcie,h100-sxm,{HOST}"
    _, plain = by_gpu(asked(parts=two))
    _, rows = by_gpu(quoted(asked(parts=two), "h100-sxm", 20000.0))
    assert rows["h100-sxm"].row.capital < plain["h100-sxm"].row.capital and rows["h100-sxm"].price.value == 20000
    for name in plain.keys() - {"h100-sxm"}:
        assert (rows[name].row.parts, rows[name].row.capital, rows[name].row.objective_value, rows[name].price) == (
            plain[name].row.parts,
            plain[name].row.capital,
            plain[name].row.objective_value,
            plain[name].price,
        )


@pytest.mark.slow
@each("objective", ["energy", "time"])
def test_no_price_decides_where_energy_or_time_is_least(objective: Objective):
    _, rows = by_gpu(asked(objective=objective, parts=f"h100-pcie,h200,{HOST}"))
    assert all(one.break_even is None and one.row is not None for one in rows.values())


@pytest.mark.slow
def test_every_gpu_on_sale_has_a_row_a_break_even_or_one_reason():
    question = asked(parts=f"on-sale,{HOST}")
    _, rows = by_gpu(question)
    assert {*rows} == {*question.allowed.parts_of_knob("gpu")} >= {"h200", "b200", "mi300x", "mi350x", "b300", "l40s", "gb200"}
    for one in rows.values():
        assert one.row is not None or one.reason
    assert "Superchips" in rows["gb200"].reason and rows["gb200"].row is None


def test_a_bill_sums_to_the_price_to_the_cent_in_json_and_csv():
    verdict = decide(asked(faults__power_loss_mtbf_hours=100.0), SYSTEMS)
    content, table = verdict_content(verdict, "dlrm-kaggle"), verdict_table(verdict, "dlrm-kaggle")
    text = csv_table.rows_text(list(table[0]), (list(row.values()) for row in table))
    for row, told, cells in zip((*verdict.rows, *verdict.unwritten), content["rows"], DictReader(StringIO(text)), strict=True):
        if row.capital is None:
            continue
        assert sum(item["count"] * item["usd_each"] for item in told["bill"]) == pytest.approx(told["capital_usd"], abs=0.005)
        assert cells["bill"] == bill_text(row.bill) and float(cells["capital_usd"]) == told["capital_usd"]
        amounts = [part.split(" x ")[0].replace(",", "") for part in cells["bill"].split("; ")]
        usd = [part.split(" at ")[1].removesuffix(" USD") for part in cells["bill"].split("; ")]
        paid = sum(float(number) * float(each_usd) for number, each_usd in zip(amounts, usd, strict=True))
        assert paid == pytest.approx(row.capital, abs=0.005)
        assert all(item["year"] and item["source"] for item in told["bill"])


@each("require", [("throughput=2e6",), ("days=30:1e12",), ("step-ms=5",)])
def test_where_a_speed_is_asked_for_nothing_is_dearer_a_month_than_what_meets_it(require: tuple[str, ...]):
    question = asked(*require)
    assert question.objective_in_force == "month"
    verdict = decide(question, SYSTEMS)
    best = verdict.best_row
    assert best is not None and best.month is not None
    months = [row.month.total for row in verdict.rows if row.meets and row.month]
    assert best.month.total <= 1.02 * min(months) and best.objective_value == best.month.total
    assert "a month (" in headline(verdict) and "a billion samples" not in headline(verdict)
    assert "At full use it costs" in full_use_sentence(verdict) and full_use_sentence(decide(asked(), SYSTEMS)) == ""


def test_a_month_is_the_purchase_over_the_service_life_and_the_electricity_of_its_hours():
    best = decide(asked(machine__training_hours_a_month=365.0), SYSTEMS).best_row
    assert best is not None and best.month is not None and best.capital is not None
    assert best.month.capital == pytest.approx(best.capital / 60)
    assert best.month.electricity == pytest.approx(best.watts / 1000 * 365 * 0.081)
    assert best.cost is not None and best.result is not None
    samples = best.result.results["Throughput [samples/s]"] * 3600 * 365
    assert best.month.total / samples * 1e9 == pytest.approx(best.cost.total)


def test_a_price_of_all_parts_of_a_kind_at_once_is_refused_with_the_remedy():
    with pytest.raises(BadInput, match=r"machine\.assume=gpu\.price .* write a quote for one: machine\.quotes=gpu/h200:USD"):
        read_question(with_values(model(), {"machine.assume": (("gpu.price", 3.0),)}), LinkQuestions())


def test_a_quote_survives_a_link():
    question = quoted(asked(), "h200", 31000.5)
    opened = open_link(link_of(question, "dlrm-kaggle"))
    assert opened.scenario.machine.quotes == "gpu/h200:31000.5"
    assert read_question(opened.scenario, opened.questions).base == question.base


OWN = "gpu/a100-80:4;chassis/gpu-4-sxm:1"


def test_an_owned_box_may_be_used_though_it_cannot_be_bought_and_no_more_of_it_than_is_owned():
    verdict = decide(asked(machine__owned_parts=OWN), SYSTEMS)
    best = verdict.best_row
    assert best is not None and gpu_of(best) == "a100-80" and best.parts["a100-80"] <= 4
    assert "a100-80" not in best.states and "Cannot be bought" not in headline(verdict)
    free = [item for item in best.bill if item.part in ("a100-80", "gpu-4-sxm")]
    assert [item.usd for item in free] == [0.0, 0.0] and best.parts["a100-80"] == 4  # the whole board
    more = decide(asked("throughput=3e7", machine__owned_parts=OWN), SYSTEMS)
    for row in more.rows:
        assert row.parts.get("a100-80", 0) <= 4


@pytest.mark.slow
def test_more_that_is_owned_is_never_dearer():
    costs = [
        decide(asked(machine__owned_parts=owned), SYSTEMS).best_row.objective_value
        for owned in ("", "gpu/a100-80:1", OWN, "gpu/a100-80:8;chassis/gpu-4-sxm:2", "a100-80;gpu-4-sxm")
    ]
    assert costs == sorted(costs, reverse=True)


def test_a_used_part_is_said_to_be_bought_used_and_not_that_it_cannot_be_bought():
    used = Constant("price", 12000, "USD", 8000, 18000, "secondary", "a market", year=2026, used=True)
    item = BillItem("gpu", "a100-80", 2, used)
    row = SystemRow(Stack("all-hbm", "", "lean"), HBM, bill=(item,), states={"a100-80": "discontinued", "p5800x": "discontinued"})
    assert unavailable_sentence(row) == (
        "Bought used, as it is no longer sold new: a100-80. Cannot be bought: p5800x is discontinued."
    )
    assert bill_content(row.bill)[0]["used"] and not bill_content([replace(item, price=None)])[0]["used"]
    owned = replace(row, bill=(replace(item, owned=2.0),), states={})
    assert unavailable_sentence(owned) == ""


@each("command", ["run", "enough", "campaign"])
def test_every_command_says_one_bill_that_sums_to_the_price(command: str, tmp_path: Path):
    more = {"run": ["--estimate"], "enough": [], "campaign": ["--mtbf", "gpu-crash=24", "--protection", "undo", "--seeds", "1"]}
    assert main([command, "--preset", "optane-kaggle", *more[command], "--json", str(tmp_path / "told.json")]) == 0
    told = json.loads((tmp_path / "told.json").read_text())
    bill = told["costs"]["As it is"]["bill"] if command == "enough" else told["bill"]
    capital = estimate(preset("optane-kaggle").scenario).results["Capital cost [USD]"]
    assert sum(item["count"] * item["usd_each"] for item in bill) == pytest.approx(capital, abs=0.005)


def test_every_line_of_a_csv_has_its_cells_under_the_same_headings():
    verdict = decide(
        asked(parts=f"h100-sxm,{HOST}"), (*SYSTEMS, "hotline")
    )  # weeks of one, none of another, no machine of the third
    table = verdict_table(verdict, "dlrm-kaggle")
    assert {row.result is None for row in (*verdict.rows, *verdict.unwritten)} == {True, False}
    assert len({tuple(line) for line in table}) == 1
    for row, line in zip((*verdict.rows, *verdict.unwritten), table, strict=True):
        assert line["capital_usd"] == row.capital and line["system"] == row.system
    assert {line["weeks"] for line in table} == {"36 to 52", None}


def test_a_month_is_what_is_paid_and_samples_that_failures_undo_do_not_count_to_a_throughput():
    knobs = {"faults__power_loss_mtbf_hours": 0.5}
    best = decide(asked("throughput=2e6", **knobs), SYSTEMS).best_row
    assert best is not None and best.month is not None and best.capital is not None and best.result is not None
    assert best.protection.share < 0.999
    assert best.month.total == pytest.approx(best.capital / 60 + best.watts / 1000 * 730 * 0.081) and best.month.failures == 0
    assert best.result.results["Throughput [samples/s]"] * best.protection.share >= 2e6 * (1 - 1e-9)


def test_the_fastest_setting_of_equal_parts_is_named_where_it_costs_hardly_more_a_month():
    question = asked("throughput=1e5", parts=f"h100-pcie,{HOST}")
    search = SystemSearch(question, ("all-hbm",))
    (stack,) = search.space
    best = search.row(stack)
    (candidate,) = search.candidates.estimate(stack, [best.setting])
    equal = [one for _, one in search.candidates.known(stack) if one.bill == candidate.bill and not one.problem]
    assert candidate.step == min(one.step for one in equal) < max(one.step for one in equal)


def test_a_gpu_without_a_price_asked_for_alone_is_named_with_the_remedy(shelf):
    shelf("gpu/priceless", TEXT["gpu/h100-nvl"])
    verdict = decide(asked(parts=f"gpu=priceless,{HOST}"), ("all-hbm",))
    assert verdict.best_row is None
    assert "No price is published of priceless; a quote gives one: machine.quotes=gpu/priceless:USD." in headline(verdict)


def test_a_gpu_that_no_allowed_software_runs_on_keeps_its_price_and_says_why():
    question = replace(asked(parts=f"mi300x,h100-pcie,{HOST}"), software=SoftwareChoice("hugectr"))
    _, rows = by_gpu(question)
    assert (rows["mi300x"].row, rows["mi300x"].reason) == (None, "No allowed software runs on this GPU.")
    assert rows["mi300x"].price is not None and rows["mi300x"].price.value == 12500


def test_a_row_of_a_gpu_without_a_price_has_none_in_its_bill():
    verdict, rows = by_gpu(asked(parts=f"h100-pcie,h100-nvl,{HOST}"))
    told = verdict_content(verdict, "dlrm-kaggle", Outlook(gpus=(rows["h100-nvl"],)))["by_gpu"][0]["row"]
    (gpu,) = [item for item in told["bill"] if item["part"] == "gpu/h100-nvl"]
    assert (told["capital_usd"], gpu["usd_each"], gpu["sourced"]) == (None, None, False)


def test_owned_drives_are_used_for_a_protection():
    (row,) = decide(asked(faults__power_loss_mtbf_hours=24.0, machine__ssd="gen5"), ("all-hbm",)).rows
    assert row.scenario is not None
    bought, owned = (
        next(guard for guard in protections(scenario, settle(scenario)) if guard.name == "periodic-ssd")
        for scenario in (row.scenario, with_values(row.scenario, {OWNED: "drive/gen5:16"}))
    )
    assert [(item.kind, item.part) for item in bought.bill] == [("drive", "gen5")]
    assert bought.price == bought.bill[0].usd and (bought.price or 0) > 0
    assert owned.price == 0.0 and owned.bill[0].owned == bought.bill[0].count


def test_a_machine_whose_failures_undo_too_much_is_said_to_train_what_counts():
    search = SystemSearch(asked("throughput=2e6", parts=f"gpu=h100-pcie,{HOST}"), ("all-hbm",))
    (stack,) = search.space
    row = search.row(stack, quickly=True)
    (candidate,) = search.candidates.estimate(stack, [row.setting])
    counted = 0.5 * 2e6 / (search.aim.batch_size / candidate.step)  # so that half of what is asked for counts
    reason = search._limit(row.scenario, candidate, CandidateProtection(share=counted))
    assert reason == "It trains 1,000,000 of the required 2,000,000 samples/s, 50 %."
