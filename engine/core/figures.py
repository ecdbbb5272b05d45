"""Numbers as text for readers: three significant digits and a unit with a fitting prefix.

Pages, sentences and the command line use the same functions: `figure`, `percent` and `factor` for measured and computed numbers,
`with_error` for numbers with a standard error, `exact` for numbers that a user wrote, and `count` for whole numbers with a noun.
"""

import re
from decimal import Decimal
from itertools import dropwhile
from math import floor, isfinite, log10

from ..units import DAY, HOUR, MINUTE

NO_NUMBER, NOISE = "n/a", 1e-6
DIGITS = 3
UNIT = re.compile(r"(?P<prefix>[nµmkMGTPE]?)(?P<base>s|B|J|W|Wh|Hz|FLOPS?)(?P<rest>(?:/| a | per ).*)?")
BINARY_UNIT = re.compile(r"(?P<prefix>[KMGTP])(?P<base>iB)(?P<rest>(?:/| a | per ).*)?")
PREFIXES = {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY_PREFIXES = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
WORDS = {1e6: "million", 1e9: "billion", 1e12: "trillion"}
FEWEST_IN_WORDS = 1e7
LONG_TIMES = ((365 * DAY, "years"), (DAY, "days"), (HOUR, "h"), (MINUTE, "min"))
MIN_IN_UNIT, MAX_IN_UNIT = 0.1, 1000.0  # limits in a unit, beyond which a unit with another prefix fits better


def figure(number: float | None, unit: str = "") -> str:
    """Return a number with three significant digits and a unit with a fitting prefix.

    Examples: "3.15 s", "8.39 PB", "27,100 USD"; None is "n/a".
    A unit of time, bytes, energy, power or rate keeps its prefix while the number is from 0.1 to 1,000.
    """
    if number is None or number != number:
        return NO_NUMBER
    if not isfinite(number):
        return f"{'-' * (number < 0)}∞ {unit}".rstrip()
    seconds = number * PREFIXES[unit[:-1]] if unit in ("s", "ms") else 0.0
    if long_time := next(((seconds / length, name) for length, name in LONG_TIMES if abs(seconds) >= 2 * length), None):
        return f"{_digits(long_time[0])} {long_time[1]}"
    if unit_match := UNIT.fullmatch(unit):
        return _prefixed(number, unit_match, {k: v for k, v in PREFIXES.items() if v >= 1 or unit_match["base"] != "B"})
    if unit_match := BINARY_UNIT.fullmatch(unit):
        return _prefixed(number, unit_match, BINARY_PREFIXES)
    size = max((word for word in WORDS if abs(_rounded(number)) >= max(word, FEWEST_IN_WORDS)), default=1.0)
    return f"{_digits(number / size)} {WORDS.get(size, '')} {unit}".replace("  ", " ").rstrip()


def with_error(number: float | None, error: float | None) -> str:
    """Return a measured number with its standard error, such as "0.7645 ± 0.0012".

    The error has two digits if its first two digits are 10 to 35, else one digit (the rule of the Particle Data Group). The
    number has as many decimal places as the error. Without an error, the number is written as by `figure`.
    """
    if number is None or not error or not isfinite(number) or not isfinite(error):
        return figure(number)
    places = decimals(error)
    return f"{round(number, places):z,.{max(places, 0)}f} ± {round(error, places):,.{max(places, 0)}f}"


def decimals(error: float) -> int:
    """Return the number of decimal places for a number with the positive standard error `error`.

    The result is negative if the last certain digit is left of the decimal point.
    """
    digits, _, power = f"{error:.1e}".partition("e")
    return (float(digits) <= 3.5) - int(power)


def percent(share: float | None) -> str:
    """Return a share as a percentage with three significant digits: "99 %", "0.53 %".

    Only a share of exactly 1 is written "100 %".
    """
    if share is None or share != share:
        return NO_NUMBER
    if abs(share) < NOISE:
        return "0 %"
    texts = (f"{100 * share:.{digits}g}" for digits in range(DIGITS, 8))
    text = next(dropwhile(lambda digits_text: float(digits_text) == 100 and abs(1 - share) >= NOISE / 100, texts), "100")
    return f"{float(text):,.10g} %"


def factor(ratio: float) -> str:
    """Return a ratio with three significant digits: "4.28 ×"."""
    return f"{_ratio(ratio)} ×"


def times(ratio: float) -> str:
    """Return a ratio for a sentence with three significant digits: "4.28 times", "1.003 times"."""
    return f"{_ratio(ratio)} times"


def excess(ratio: float) -> str:
    """Return how far a ratio above 1 exceeds a limit: "0.3 % above", and "2.45 times" from twofold on."""
    return times(ratio) if ratio >= 2 else f"{percent(ratio - 1)} above"


def of_the_time(share: float) -> str:
    """Return the share of the time for which something is busy: "83 % of the time".

    Overlapping tasks can ask for more than all of the time.
    """
    return f"{percent(share)} of the time" if share <= 1 else f"all of the time, as its tasks need {percent(share)} of it"


def count(number: float, noun: str = "", plural: str = "") -> str:
    """Return a whole number with its noun: "1 batch", "4,000 batches".

    The plural is the noun with an ending, as in "rows", "batches" and "copies", unless `plural` is given.
    """
    return f"{number:z,.0f} {noun if number == 1 else plural or _plural(noun)}".rstrip()


def ordinal(number: int) -> str:
    """Return a whole number as its place in a series: "1st", "64th", "1,000th"."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{count(number)}{ending}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else noun + "s" * bool(noun)


def cents(usd: float) -> str:
    """Return an amount of money to the cent: "7,219.20"."""
    return f"{usd:,.2f}"


def exact(number: float, unit: str = "") -> str:
    """Return a number that a user wrote with all its digits, in groups.

    Examples: "0.5", "25.83 GB/s", "1,024".
    """
    if not isfinite(number):
        return figure(number, unit)
    text = f"{number:z,.0f}" if number == round(number) and abs(number) < 1e15 else f"{number:,.10g}"
    return f"{text} {unit}".rstrip()


def in_groups(number: float) -> str:
    """Return a number with all its digits in groups: "12,345.678", "5,000,000".

    The text reads back as the same number.
    """
    return f"{Decimal(repr(number or 0)):,}".removesuffix(".0")


def signed(number: float, unit: str = "") -> str:
    """Return a difference with its sign: "+0.530 ms", "-12.0 points"."""
    text = figure(number, unit)
    return f"{'+' * (number > 0 and text != figure(0, unit))}{text}"


def duration(seconds: float) -> str:
    """Return a waiting time in rounded units, such as "12 s" or "3 min"."""
    if seconds < 1.5:
        return "a moment"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _prefixed(number: float, unit: re.Match[str], prefixes: dict[str, float]) -> str:
    """Return a number under the prefix that leaves it between 1 and 1,000, or under its own where that is readable."""
    own_prefix, base = unit["prefix"], f"{unit['base']}{unit['rest'] or ''}"
    size = abs(_rounded(number))
    if number and not MIN_IN_UNIT <= size < MAX_IN_UNIT:
        base_number = number * prefixes[own_prefix]
        fitting = [name for name, prefix_size in prefixes.items() if abs(_rounded(base_number / prefix_size)) >= 1]
        name = fitting[-1] if fitting else next(iter(prefixes))
        return f"{_digits(base_number / prefixes[name])} {name}{base}"
    return f"{_digits(number)} {own_prefix}{base}"


def _rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def _ratio(ratio: float) -> str:
    """Return a ratio in three digits, or in as many as tell it from 1."""
    differs = isfinite(ratio) and abs(ratio - 1) >= NOISE
    return _digits(ratio, next((n for n in range(DIGITS, 9) if float(f"{ratio:.{n}g}") != 1), DIGITS) if differs else DIGITS)


def _digits(number: float, digits: int = DIGITS) -> str:
    """Return significant digits in groups, zeros at the end kept: "1.00", "27,100", "0.00120"."""
    rounded = float(f"{number:.{digits}g}")
    decimals = digits - 1 - floor(log10(abs(rounded))) if rounded else 0
    text = f"{rounded:z,.{min(max(decimals, 0), 12)}f}"
    return text if float(text.replace(",", "")) else "0"
