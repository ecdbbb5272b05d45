"""The GPUs of a verdict in words: their best machines and break-even prices."""

from collections.abc import Iterable, Iterator
from math import isfinite

from ....core import figures
from ....core.catalog import part_content
from ..outlook.by_gpu import GpuRow
from .sentences import machine_words, row_title


def gpu_title(gpu: str) -> str:
    """Return the title of a GPU, "" for ""."""
    return str(part_content("gpu", gpu)["title"]) if gpu else ""


def break_even_words(one: GpuRow) -> str:
    """Return words for a GPU's break-even, such as "wins below 31,200 USD a GPU".

    Return "" where no price decides.
    """
    if one.break_even is None or not isfinite(one.break_even):
        return ""
    return f"{'loses above' if one.wins else 'wins below'} {figures.figure(one.break_even, 'USD')} a GPU"


def price_text(one: GpuRow) -> str:
    """Return the price of a GPU with its year."""
    if one.price is None:
        return "no published price"
    year = f" of {one.price.year}" if one.price.year else ""
    return f"{figures.figure(one.price.value, 'USD')}{year}{', used' * one.price.used}"


def gpu_lines(gpus: Iterable[GpuRow]) -> Iterator[str]:
    """Yield a line for each GPU: price, break-even, and best machine or reason."""
    for one in gpus:
        machine = f"{row_title(one.row)} on {machine_words(one.row)}" if one.row else ""
        facts = [price_text(one), break_even_words(one), one.reason]
        yield f"{one.gpu:12}{'; '.join(filter(None, facts))}{f' ({machine})' if machine else ''}"
