"""Notations of cells that no role reads: numbers of other countries and currencies, and JSON.

A guess leaves such columns out and says so, as their cells look like ids or like lists of ids.
"""

import re
from collections.abc import Sequence

BLANKS, SIGNS = r" \u00a0\u202f", r"$%\u00a2-\u00a5\u20a0-\u20cf"  # of currencies
CODES = "USD|EUR|GBP|JPY|CHF|INR|CNY|BRL|kr|SEK|NOK|DKK|PLN|CZK|HUF|R[$]"
NUMERALS = rf"[+-]?\d[\d.,'{BLANKS}]*"
UNIT = re.compile(rf"[+-]?([{SIGNS}]|{CODES})[{BLANKS}]?{NUMERALS}|{NUMERALS}([{SIGNS}]|[{BLANKS}]({CODES}))")
DECIMAL_COMMA = re.compile(rf"[+-]?(?:\d+|\d{{1,3}}(?:[.'{BLANKS}]\d{{3}})+)(?:,\d+)?")
THOUSANDS = re.compile(rf"[+-]?\d{{1,3}}(?:(?:,\d{{3}})*|(?:['{BLANKS}]\d{{3}})*)(?:\.\d+)?")
JSON = re.compile(r"""\s*(\{\s*(['"].*:.*)?\}|\[\s*\{.*\}\s*\])\s*""", re.S)
ADVICE = "write them as numbers such as 1234.5"


def _are_decimals(fractions: Sequence[str]) -> bool:
    """Return whether texts behind commas can be decimals: of one length, or without zeros that end them, as ids have."""
    return len({len(fraction) for fraction in fractions}) == 1 or (
        bool(fractions) and not any(fraction.endswith("0") and fraction != "0" for fraction in fractions)
    )


def foreign_notation(texts: Sequence[str]) -> str:
    """Return the notation of cells and what to write instead.

    The result is "" for cells that a role reads.
    The cells are not all plain numbers, and none is empty.
    """
    if all(map(JSON.fullmatch, texts)):
        return "are JSON, which is neither an id nor a list: write what is in it as columns"
    if all(map(UNIT.fullmatch, texts)):
        return f"are numbers with a sign: {ADVICE}"
    if all(map(DECIMAL_COMMA.fullmatch, texts)) and _are_decimals([text.split(",")[1] for text in texts if "," in text]):
        return f"are numbers with a comma, or lists of two ids: {ADVICE}, or write its name among ids"
    # Ids of three digits in each place are a list: of numbers some begin with one digit or two.
    if all(map(THOUSANDS.fullmatch, texts)) and any(re.match(r"[+-]?\d{1,2}(\D|$)", text) for text in texts):
        return f"are numbers with thousands apart, or lists of ids: {ADVICE}, or write its name among ids"
    return ""
