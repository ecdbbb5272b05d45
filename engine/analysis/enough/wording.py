"""Words of sentences for a machine, its step and a band."""

from math import isfinite

from ...core import figures
from ...hardware.device import expanders, nodes
from ...hardware.devices.pmem import module_bytes
from ...registry import load_variant
from ...scenario.scenario import KNOBS
from ...systems.sizing import NUM_EXPANDERS
from ...units import GB, MS
from .drawn import DrawBand
from .ladder import card_link
from .question import Candidate, TargetQuestion

SAME_RATE_FACTOR = 1.02  # times: a link is named by a card that is at most so much faster


def machine_words(q: TargetQuestion, machine: Candidate, sure: str = "", carded: bool = False) -> str:
    """Return a machine's modules, link or both in words, with the first one's band.

    `sure` is the band.
    `carded` adds the slowest card that carries the link.
    """
    words = []
    if machine.modules is not None:
        module_GB = module_bytes(q.scenario.machine) / GB
        node_clause = f" on each of {nodes(q.scenario.machine)} nodes" if nodes(q.scenario.machine) > 1 else ""
        total = f"{figures.exact(machine.modules * module_GB)} GB" if machine.modules > 1 else ""
        words.append(
            f"{figures.count(machine.modules)} × {figures.exact(module_GB)} GB of PMEM{_bracketed(total, sure)}{node_clause}"
        )
    if machine.gbps is not None:
        card, count = card_link(q.scenario, machine.gbps) if carded else None, _links(q, machine)
        links = (
            f"{count} CXL links of {figures.figure(machine.gbps, 'GB/s')} each"
            if count > 1
            else f"a CXL link of {figures.figure(machine.gbps, 'GB/s')}"
        )
        is_same_rate = card and card[1] <= SAME_RATE_FACTOR * machine.gbps
        card_text = "" if not card else card[0] if is_same_rate else f"{card[0]} has {figures.figure(card[1], 'GB/s')}"
        words.append(f"{links}{_bracketed(card_text, '' if words else sure)}")
    return " and ".join(words)


def _links(q: TargetQuestion, machine: Candidate) -> int:
    return int(machine.changes.get(NUM_EXPANDERS) or expanders(q.scenario.machine))


def _bracketed(*words: str) -> str:
    inner = "; ".join(filter(None, words))
    return f" ({inner})" if inner else ""


def verb_form(q: TargetQuestion, machine: Candidate, word: str) -> str:
    """Return a verb in the form for a machine's parts, such as meet or meets."""
    is_plural = (machine.modules or 1) > 1 or (machine.gbps and (machine.modules or _links(q, machine) > 1))
    return word if is_plural else f"{word}s"


def times_words(q: TargetQuestion, machine: Candidate, sure: str = "") -> str:
    """Return a machine's step as a multiple of the reference, with its band `sure`."""
    base = load_variant("systems", q.baseline.scenario.system).title
    reference_text = f"{base}'s step" if q.target.milliseconds is None else "the target"
    return f"{figures.figure(machine.seconds / q.reference)} times {reference_text}{_bracketed(ms(machine.seconds), sure)}"


def longer_words(best_machine: Candidate, large: Candidate) -> str:
    """Return the percent by which the larger machine's step is longer."""
    return f"{figures.percent(large.seconds / best_machine.seconds - 1)} longer"


def band_words(band: DrawBand | None, unit: str) -> str:
    """Return a band in words; "" for None."""
    if band is None:
        return ""
    low, high = (_end_text(end, unit) for end in (band.low, band.high))
    if isfinite(band.low) and not isfinite(band.high):
        return f"{low} or more, some beyond its range, in 9 of 10 draws"
    same_unit = low.split()[1:] == high.split()[1:] or unit == " modules"
    ends = low if low == high else f"{low.split()[0] if same_unit else low} to {high}"
    return f"{ends} in 9 of 10 draws"


def _end_text(number: float, unit: str) -> str:
    if not isfinite(number):
        return "more than is in range"
    if unit == " modules":
        return figures.count(number, "module")
    return figures.figure(number, unit.strip())


def lowered_label(path: str) -> str:
    """Return a knob's label as it stands within a sentence."""
    label = KNOBS[path].label
    return label[0].lower() + label[1:]


def ms(seconds: float) -> str:
    """Return seconds as milliseconds."""
    return figures.figure(seconds / MS, "ms")
