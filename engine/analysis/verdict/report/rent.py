"""Buying against renting: the verdict's machine at the published rents of its GPUs.

A rented machine is taken to train as fast as the bought one: its host and memory are the provider's. It is paid for the hours
in which it trains, electricity included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ....core import figures
from ....hardware.device import nodes
from ....hardware.devices.chassis import board_sizes
from ....insight.rents import ON_DEMAND, PROVIDER_KINDS, RESERVED, Rent, rents_of
from ....insight.running_costs import BILLION, training_cost
from ....units import HOUR
from ..aim import MIN_SHARE
from ..decide import SystemRow

MONTHS_OF_YEAR = 12
LONG_CONTRACT = 1.0  # years of a reserved contract from which on it stands for buying
Span = tuple[float, float]


@dataclass(frozen=True)
class RentComparison:
    """A machine that is bought, against the same GPUs rented on demand.

    gpu: the GPU's name. gpus: GPUs of the machine. gpus_rented: rented GPUs, of whole boards. board_gpus: GPUs of a board.
    rents: the on-demand rents. reserved: those of contracts of a year and more.
    usd_per_gpu_hour: the lowest and highest on-demand rent; kinds: the same by kind of provider.
    usd_per_billion: USD of a billion samples that count, at the lowest and highest rent.
    months: months after which buying is cheaper, at the highest and at the lowest rent, None for never; None without a price.
    service_months: months over which the bought machine is written off.
    """

    gpu: str
    gpus: int
    gpus_rented: int
    board_gpus: int
    rents: Sequence[Rent]
    reserved: Sequence[Rent]
    usd_per_gpu_hour: Span
    kinds: Mapping[str, Span]
    usd_per_billion: Span
    months: tuple[float | None, float | None] | None
    service_months: float


def rent_comparison(row: SystemRow) -> RentComparison | None:
    """Return buying a row's machine against renting its GPUs.

    Return None without GPUs, or without rents of them.
    """
    if row.scenario is None or not (gpus := row.parts.get(row.scenario.machine.gpu, 0)):
        return None
    machine, num_nodes = row.scenario.machine, nodes(row.scenario.machine)
    board_gpus = board_sizes(machine.gpu)[-1]  # providers rent out the largest
    rents = rents_of(machine.gpu, ON_DEMAND, board_gpus)
    if not rents:
        return None
    gpus_rented = num_nodes * ceil(gpus / num_nodes / board_gpus) * board_gpus
    low, high = _span(rents)
    batch_seconds = row.step / max(row.protection.share, MIN_SHARE)
    hours_per_billion = BILLION * batch_seconds / row.scenario.data.batch_size / HOUR
    hours = machine.training_hours_a_month
    electricity = training_cost(machine, None, row.watts, hours * HOUR).electricity
    savings = [rate * gpus_rented * hours - electricity for rate in (high, low)]
    fastest, slowest = (None if row.capital is None or saved <= 0 else row.capital / saved for saved in savings)
    by_kind = {kind: [rent for rent in rents if rent.provider_kind == kind] for kind in PROVIDER_KINDS}
    return RentComparison(
        gpu=machine.gpu,
        gpus=gpus,
        gpus_rented=gpus_rented,
        board_gpus=board_gpus,
        rents=rents,
        reserved=[rent for rent in rents_of(machine.gpu, RESERVED, board_gpus) if (rent.contract_years or 0.0) >= LONG_CONTRACT],
        usd_per_gpu_hour=(low, high),
        kinds={kind: _span(kind_rents) for kind, kind_rents in by_kind.items() if kind_rents},
        usd_per_billion=(low * gpus_rented * hours_per_billion, high * gpus_rented * hours_per_billion),
        months=None if row.capital is None else (fastest, slowest),
        service_months=MONTHS_OF_YEAR * machine.service_life_years,
    )


def _span(rents: Sequence[Rent]) -> Span:
    rates = [rent.usd_per_gpu_hour or 0.0 for rent in rents]
    return min(rates), max(rates)


def rent_content(row: SystemRow) -> dict[str, Any] | None:
    """Return buying against renting as a JSON-ready object; None without rents of the machine's GPUs."""
    compared = rent_comparison(row)
    if compared is None:
        return None
    dates = sorted(rent.date for rent in compared.rents)
    return {
        "gpu": compared.gpu,
        "usd_per_gpu_hour": _ends(compared.usd_per_gpu_hour),
        "provider_kinds": {kind: _ends(span) for kind, span in compared.kinds.items()},
        "reserved_usd_per_gpu_hour": _ends(_span(compared.reserved)) if compared.reserved else None,
        "dates": {"first": dates[0], "last": dates[-1]},
        "gpus_rented": compared.gpus_rented,
        "usd_per_billion": _ends(compared.usd_per_billion),
        "months": None if compared.months is None else _ends(compared.months),
        "sources": list(dict.fromkeys(rent.source for rent in (*compared.rents, *compared.reserved))),
    }


def _ends(span: Sequence[float | None]) -> dict[str, float | None]:
    return {"low": span[0], "high": span[1]}


def rent_sentence(row: SystemRow) -> str:
    """Return sentences on renting instead of buying; "" without rents of the row's GPUs."""
    compared = rent_comparison(row)
    if compared is None:
        return ""
    years = sorted({int(rent.date[:4]) for rent in compared.rents})
    dates = f"{years[0]} to {years[-1]}" if len(years) > 1 else f"{years[0]}"
    kinds = ", ".join(f"{_range(span)} at {kind}s" for kind, span in compared.kinds.items())
    boards = f" on whole boards of {compared.board_gpus}" if compared.board_gpus > 1 else ""
    if compared.gpus < compared.gpus_rented:
        boards += f", of which {figures.count(compared.gpus)} train{'s' * (compared.gpus == 1)}"
    contract = (
        f" A contract of a year and more costs {_range(_span(compared.reserved))} USD a GPU-hour." if compared.reserved else ""
    )
    return (
        f"Rented on demand at {_range(compared.usd_per_gpu_hour)} USD ({dates}) a GPU-hour ({kinds}), as "
        f"{figures.count(compared.gpus_rented, 'GPU')}{boards}, it is {_range(compared.usd_per_billion)} USD a billion samples"
        f"{_buying_words(compared)}.{contract} Host and memory are then the provider's, taken to train as fast."
    )


def _buying_words(compared: RentComparison) -> str:
    if compared.months is None:
        return ""
    fastest, slowest = compared.months
    if fastest == 0:
        return "; the machine is owned already"
    if fastest is None:
        return "; buying never pays"
    if slowest is None:
        return f"; buying pays after {_month_text(fastest)} months at the highest rent, never at the lowest"
    texts = " to ".join(dict.fromkeys(map(_month_text, (fastest, slowest))))
    life = "" if slowest <= compared.service_months else f", of {figures.exact(compared.service_months)} that it serves"
    return f"; buying pays after {texts} months{life}"


def _month_text(months: float) -> str:
    return figures.exact(round(months, 1 if months < 10 else 0))


def _range(span: Span) -> str:
    """Return "LOW to HIGH" with three digits, or one number where they are equal."""
    return " to ".join(dict.fromkeys(map(figures.figure, span)))
