"""A verdict for programs: one object, and a table with a row for each system."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from .... import version
from ....core import figures
from ....insight.quantities import POWER, number
from ....scenario import knobs
from ....scenario.scenario import KNOBS
from ....sweep import links
from ..decide import SystemRow, Verdict
from ..outlook.axes import AXES
from ..outlook.by_gpu import GpuRow, break_even_of, gpu_of
from ..outlook.outlook import NO_OUTLOOK, Outlook
from ..outlook.shortlist import Winner
from ..outlook.territory import Territory
from ..outlook.tipping import TippingPoint
from ..outlook.variants import VariedCase
from ..question import PRICES
from ..stacks import FRAMEWORK, SoftwareChoice
from .asked import link_of
from .bill import bill_content, bill_text, split_content
from .gpus import gpu_title
from .rent import rent_content
from .sentences import headline, inputs_sentence, notes, reason_sentence
from .software import loop_sentence, model_choice_sentence, other_software_sentence, software_state, unwritten_sentence

NESTED = ("machine", "not_on_sale", "split", "month", "lost_on_failure", "weeks")  # objects in a row's JSON
DEFAULT_CHOICE = SoftwareChoice()


def verdict_content(verdict: Verdict, base: str, outlook: Outlook = NO_OUTLOOK) -> dict[str, Any]:
    """Return a verdict as one JSON-ready object.

    base: the preset from which its link differs.
    """
    question, requirement = verdict.question, verdict.question.requirement
    best_row = verdict.best_row
    return {
        "link": link_of(question, base),
        "model_version": version.MODEL,
        "requirement": {"require": list(requirement.texts), "lose": requirement.loss_text},
        "objective": question.objective_in_force,
        "parts": list(question.parts.words),
        "software": question.software.text,
        "precision": question.layers or None,
        "prices": question.base.machine.prices,
        "space": _space(verdict),
        "inputs": inputs_sentence(question),
        "sentence": headline(verdict),
        "why": reason_sentence(verdict),
        "loop": (best_row and loop_sentence(best_row)) or None,
        "model_choice": (best_row and model_choice_sentence(best_row)) or None,
        "other_software": other_software_sentence(verdict, outlook.bands) or None,
        "unwritten": unwritten_sentence(verdict) or None,
        "buy_against_rent": best_row and rent_content(best_row),
        "notes": list(notes(verdict)),
        "verdict": None if best_row is None else row_content(best_row, base, outlook, question.software),
        "rows": [_row_of(row, verdict, base, outlook) for row in (*verdict.rows, *verdict.unwritten)],
        "by_gpu": [_gpu_content(one, base, question.software) for one in outlook.gpus],
        "what_if": [_varied(case) for case in outlook.cases],
        "tipping_points": [_tipping(point, point.changed_case) for point in outlook.tipping if point.changed_case],
        **({"map": _map(outlook.map)} if outlook.map else {}),
    }


def _row_of(row: SystemRow, verdict: Verdict, base: str, outlook: Outlook) -> dict[str, Any]:
    """Return a row of a verdict with its break-even: below that price of its GPU it would be the verdict."""
    content = row_content(row, base, outlook, verdict.question.software)
    return {**content, "break_even": _break_even(gpu_of(row), break_even_of(row, verdict))}


def _gpu_content(one: GpuRow, base: str, choice: SoftwareChoice) -> dict[str, Any]:
    """Return the row of a GPU; `break_even` is null where no price decides, or where none is known."""
    price = one.price
    return {
        "gpu": one.gpu,
        "title": gpu_title(one.gpu),
        "wins": one.wins,
        "row": row_content(one.row, base, choice=choice) if one.row else None,
        "reason": one.reason or None,
        "price_usd": price.value if price else None,
        "price_year": (price.year or None) if price else None,
        "price_source": price.source if price else None,
        "break_even": _break_even(one.gpu, one.break_even),
    }


def _break_even(gpu: str, usd: float | None) -> dict[str, Any] | None:
    return None if _finite(usd) is None else {"part": f"gpu/{gpu}", "usd_each": usd}


def _varied(case: VariedCase) -> dict[str, Any]:
    return {"what": case.name, "factor": case.factor, "case": case.case_text, **_winner(case.winner)}


def _winner(winner: Winner) -> dict[str, Any]:
    return {
        "system": winner.system or None,
        "family": winner.family or None,
        "value": _finite(winner.objective_value),
        "capital_usd": winner.capital,
        "throughput": winner.throughput,
    }


def _tipping(point: TippingPoint, case: VariedCase) -> dict[str, Any]:
    """Return a tipping point: the quantity now, the case from which another family wins, and that family."""
    return {
        "what": point.quantity,
        "direction": "up" if point.upwards else "down",
        "from": point.present_text,
        "to": case.case_text,
        "factor": case.factor,
        "verdict_after": case.winner.family or "nothing can be built",
        "system_after": case.winner.system or None,
    }


def _map(territory: Territory) -> dict[str, Any]:
    """Return a map as its axes and a cell for each pair of their values."""
    axes = {name: AXES[name] for name in (territory.column_axis, territory.row_axis)}
    return {
        "axes": [{"name": name, "title": axis.title, "values": list(axis.values)} for name, axis in axes.items()],
        "cells": [
            {
                territory.column_axis: axes[territory.column_axis].values[column],
                territory.row_axis: axes[territory.row_axis].values[row],
                "answered": cell.answered,
                **_winner(cell.winner),
            }
            for (column, row), cell in sorted(territory.cells.items())
        ],
    }


def _stops(stops: Mapping[str, tuple[Any, ...]]) -> dict[str, list[str]]:
    """Return the stops of each knob as `--set` takes them."""
    return {knob: [knobs.write(KNOBS[knob], stop) for stop in values] for knob, values in stops.items()}


def _space(verdict: Verdict) -> dict[str, dict[str, list[str]]]:
    """Return the stops of each knob by system, over all its software."""
    stops: dict[str, dict[str, tuple[Any, ...]]] = {}
    for stack, stack_stops in verdict.space.items():
        system_stops = stops.setdefault(stack.system, {FRAMEWORK: ()})
        for knob, values in {**stack_stops, FRAMEWORK: (stack.framework,)}.items():
            system_stops[knob] = tuple(dict.fromkeys((*system_stops.get(knob, ()), *values)))
    return {system: _stops(system_stops) for system, system_stops in stops.items()}


def row_content(
    row: SystemRow, base: str, outlook: Outlook = NO_OUTLOOK, choice: SoftwareChoice = DEFAULT_CHOICE
) -> dict[str, Any]:
    """Return a row as a JSON-ready object; a value that the row lacks is null."""
    results = row.result.results if row.result else {}
    guard = row.protection
    loss = {"batches": guard.lost_batches, "minutes": guard.lost_minutes, "worst_fault": guard.worst_fault}
    return {
        "system": row.system,
        "software": row.stack.software or None,
        "software_state": software_state(row, choice),
        "framework": row.stack.framework,
        "layers": row.scenario.machine.matrix_precision if row.scenario else None,
        "family": row.family,
        "medium": row.medium or None,
        "feasible": row.meets,
        "reason": row.reason or None,
        "machine": dict(row.parts),
        "not_on_sale": {name: state for name, state in row.states.items() if state not in ("on sale", "unknown")},
        "link": links.link(row.scenario, base) if row.scenario else None,
        "protection": guard.name if row.result else None,
        "weeks": {"low": row.delivery.low, "high": row.delivery.high} if row.delivery else None,
        "capital_usd": row.capital,
        "usd_per_billion_useful_samples": _finite(row.cost.total if row.cost else None),
        "split": split_content(row.cost),
        "usd_per_month": _finite(row.month.total if row.month else None),
        "month": split_content(row.month),
        "bill": bill_content(row.bill),
        "throughput": results.get("Throughput [samples/s]"),
        "step_ms": results.get("Step time [ms]"),
        "watts": results.get("Average power [W]"),  # at machine.energy_level, as `run` gives it
        "meter_watts": number(POWER, row.result) if row.result else None,
        "useful_share": guard.share if row.result else None,
        "lost_on_failure": loss if row.result else None,
        "share_of_draws": outlook.bands.share(row.stack) if outlook.bands else None,
    }


def verdict_table(verdict: Verdict, base: str) -> list[dict[str, Any]]:
    """Return the rows of a verdict for CSV, one value in each column."""
    flat_rows = []
    for row in (*verdict.rows, *verdict.unwritten):
        full_row = row_content(row, base, choice=verdict.question.software)
        flat = {name: cell for name, cell in full_row.items() if name not in NESTED} | {"bill": bill_text(row.bill)}
        machine = " + ".join(f"{count} x {name}" for name, count in full_row["machine"].items())
        weeks = full_row["weeks"] and " to ".join(dict.fromkeys(figures.exact(end) for end in full_row["weeks"].values()))
        flat_rows.append({**flat, "machine": machine, "weeks": weeks, PRICES: verdict.question.base.machine.prices})
    return flat_rows


def _finite(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None
