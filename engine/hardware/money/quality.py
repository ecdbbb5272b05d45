"""The quality of a bill's prices: the share that is old or unsourced."""

from collections.abc import Iterable
from typing import NamedTuple

from ...core.arithmetic import total
from ...core.figures import percent
from .bill import BillItem

OLD_YEARS = 1  # a price of a year further away is old, or that of a later market
LARGE_SHARE = 0.5  # of the money: from there on an answer says so
UNSOURCED = "unsourced"


class PriceQuality(NamedTuple):
    """The quality of the prices of a bill.

    share: share of the money at old or unsourced prices. years: first and last year of old prices, (0, 0) without any.
    unsourced: whether any of that money is at prices without a source.
    """

    share: float
    years: tuple[int, int]
    unsourced: bool


def price_quality(items: Iterable[BillItem], year: int) -> PriceQuality:
    """Return the quality of a bill's prices in a year."""
    paid = [(item.usd, item.price) for item in items if item.usd and item.price]
    other = [(usd, price) for usd, price in paid if price.year and abs(price.year - year) > OLD_YEARS]
    weak = other + [(usd, price) for usd, price in paid if price.confidence == UNSOURCED and (usd, price) not in other]
    years = sorted({price.year for _, price in other})
    money = total(usd for usd, _ in paid)
    return PriceQuality(
        total(usd for usd, _ in weak) / money if money else 0.0,
        (years[0], years[-1]) if years else (0, 0),
        any(price.confidence == UNSOURCED for _, price in weak),
    )


def quality_words(items: Iterable[BillItem], year: int) -> str:
    """Return words such as "92 % of it at prices of 2023 or without a source".

    Return "" where most of the money is at recent prices with a source.
    """
    quality = price_quality(items, year)
    if quality.share <= LARGE_SHARE:
        return ""
    first, last = quality.years
    old = f"of {first}" if first == last else f"of {first} to {last}"
    words = [old] * bool(first) + ["without a source"] * quality.unsourced
    return f"{percent(quality.share)} of it at prices {' or '.join(words)}"
