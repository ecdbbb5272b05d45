"""Rents of GPUs at cloud providers, each with its date and source, read from `rents.csv`.

A rent is that of the provider's whole machine: GPUs, host, memory and electricity. Rows without a part of the catalogue are
context: rents of machines without GPUs, and of GPUs that the catalogue lacks.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

ProviderKind = Literal["hyperscaler", "specialist", "marketplace"]
RentKind = Literal["on-demand", "spot", "reserved"]
PROVIDER_KINDS: tuple[ProviderKind, ...] = get_args(ProviderKind)
RENT_KINDS: tuple[RentKind, ...] = get_args(RentKind)
ON_DEMAND, RESERVED = RENT_KINDS[0], RENT_KINDS[2]


@dataclass(frozen=True)
class Rent:
    """A rent, as a source states it.

    gpu: the GPU in the source's words. part: its name in the catalogue, "" for context.
    provider, provider_kind: who rents it out. offer: the provider's name of the machine, "" for a rate of a GPU alone.
    gpus: GPUs of the offered machine, None where the source states a rate alone.
    usd_per_gpu_hour: USD an hour and GPU; None where usd_per_machine_hour, USD an hour of a machine without GPUs, is stated.
    kind: on-demand, spot or reserved. contract_years: years of the shortest reserved contract, 0 for days; None if not reserved.
    date: year, month or day of the rent. source: where it is published. note: a remark on the row.
    """

    gpu: str
    part: str
    provider: str
    provider_kind: ProviderKind
    offer: str
    gpus: int | None
    usd_per_gpu_hour: float | None
    usd_per_machine_hour: float | None
    kind: RentKind
    contract_years: float | None
    date: str
    source: str
    note: str

    def is_of_whole_boards(self, board_gpus: int) -> bool:
        """Return whether the offer is of whole boards; a rate without an offer is, too."""
        return self.gpus is None or self.gpus % board_gpus == 0


@cache
def rents() -> tuple[Rent, ...]:
    """Return all known rents in the file's order."""
    lines = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    return tuple(_rent(row) for row in csv.DictReader(lines))


def _rent(row: dict[str, Any]) -> Rent:
    """Return the rent of a row of texts; "" is no number."""
    amounts = {name: float(row[name]) if row[name] else None for name in AMOUNTS}
    return Rent(**{**row, **amounts, "gpus": int(row["gpus"]) if row["gpus"] else None})


AMOUNTS = ("usd_per_gpu_hour", "usd_per_machine_hour", "contract_years")


def rents_of(part: str, kind: RentKind, board_gpus: int) -> Sequence[Rent]:
    """Return the rents of one kind for whole boards of a GPU of the catalogue.

    board_gpus: number of GPUs of a board.
    """
    return [
        rent
        for rent in rents()
        if part and rent.part == part and rent.kind == kind and rent.usd_per_gpu_hour and rent.is_of_whole_boards(board_gpus)
    ]
