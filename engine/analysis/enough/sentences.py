"""The answer in sentences, each from estimated machines: the smallest machine, the reason, and alternatives."""

from dataclasses import dataclass
from math import inf, isfinite, nan

from ...core import figures
from ...estimates import steady_states
from ...hardware.device import expanders, nodes
from ...hardware.devices.chassis import CHASSIS, DEFAULT_CHASSIS
from ...hardware.devices.pmem import module_bytes
from ...insight.decomposition import BOUND, NEAR_DATA, RELAXED
from ...insight.knobs.stops import CAPACITY, capacity_of_modules
from ...insight.running_costs import price_unit, static_energy_clause
from ...registry import load_variant
from ...scenario.machine import RECORDED
from ...scenario.scenario import KNOBS, with_values
from ...schedule.evaluate import NotScheduled
from ...schedule.machine import machine_of, settle
from ...schedule.steady_state import Steady
from ...systems.buildable import does_not_fit
from ...systems.sizing import NUM_EXPANDERS
from ...units import GB, MS
from .bands import Bands, DrawBand
from .ladder import card_link, links_of, modules_of
from .question import Candidate, TargetQuestion
from .smallest import SmallestMachine, SmallestMachines

NO_BANDS = Bands(None, None, None)
SAME_RATE_FACTOR = 1.02  # times: a link is named by a card that is at most so much faster
CHANGE = 0.01  # of the step: less is not worth a sentence


@dataclass(frozen=True)
class AnswerSentences:
    """The answer in sentences; a field is "" where there is nothing to say.

    present: the scenario's own machine.
    capacity: the smallest capacity.
    bandwidth: the slowest link.
    cheapest: the cheapest machine.
    chassis: the chassis that the machine's parts need.
    reason: why a smaller machine is too slow, and the effect of twice the memory.
    near_data: the effect of switching near-data compute.
    relaxed_lookup: the effect of switching relaxed lookup.
    staleness: the effect of the bound of the MLP log's staleness.
    """

    present: str
    capacity: str
    bandwidth: str
    cheapest: str
    chassis: str
    reason: str
    near_data: str
    relaxed_lookup: str
    staleness: str

    def texts(self) -> dict[str, str]:
        """The sentences that are not "", by field name, for programs."""
        by_name = {
            "now": self.present,
            "capacity": self.capacity,
            "bandwidth": self.bandwidth,
            "both": self.cheapest,
            "chassis": self.chassis,
            "why": self.reason,
            "near_data": self.near_data,
            "relaxed_lookup": self.relaxed_lookup,
            "staleness": self.staleness,
        }
        return {name: text for name, text in by_name.items() if text}


def answer_sentences(answer: SmallestMachines, bands: Bands = NO_BANDS) -> AnswerSentences:
    """Return an answer in sentences, with the bands if they are given."""
    q = answer.question
    system = q.scenario.system
    return AnswerSentences(
        present=_present_sentence(q),
        capacity=_one_knob_sentence(q, answer.capacity, bands.capacity, "its link", "capacity", " modules")
        or f"System {system} uses no PMEM, so {KNOBS[CAPACITY].label} does not apply.",
        bandwidth=_one_knob_sentence(q, answer.bandwidth, bands.bandwidth, "its memory", "link", " GB/s")
        or f"System {system} uses no CXL link, so its bandwidth does not apply.",
        cheapest=_both_knobs_sentence(answer, bands.cheapest),
        chassis=_chassis(answer),
        reason=_reason_sentences(answer),
        near_data=_switch_sentences(answer, NEAR_DATA),
        relaxed_lookup=_switch_sentences(answer, RELAXED),
        staleness=_staleness(answer),
    )


def _present_sentence(q: TargetQuestion) -> str:
    base = q.baseline.scenario
    target_clause = (
        f"the target is {ms(q.goal)}"
        if q.target.milliseconds is not None
        else (f"the baseline, system {base.system}, takes {ms(q.reference)}, so the target is {ms(q.goal)}")
    )
    if not q.own_result.ran:
        return f"The machine as it is cannot run: {q.own_result.outcome} For the time of a batch, {target_clause}."
    own_seconds = (q.own_result.results["Step time [ms]"] or 0.0) * MS
    met_clause = "which it meets" if own_seconds <= q.goal else f"of which it takes {figures.times(own_seconds / q.goal)} as much"
    return f"A batch takes {ms(own_seconds)}; {target_clause}, {met_clause}."


def _one_knob_sentence(
    q: TargetQuestion, smallest: SmallestMachine | None, band: DrawBand | None, fixed_part: str, searched_part: str, unit: str
) -> str:
    if smallest is None:
        return ""
    machine, band_text = smallest.machine, band_words(band, unit if smallest.meets else " times")
    if not machine.result.ran:
        return f"With {fixed_part} unchanged, no {searched_part} can run: {machine.result.outcome}"
    sized = machine_words(q, machine, band_text if smallest.meets else "", carded=True)
    if smallest.meets:
        sentence = f"With {fixed_part} unchanged, {sized} {verb_form(q, machine, 'meet')} the target: {ms(machine.seconds)}."
    else:
        limit = (
            figures.count(modules_of(q.scenario), "module")
            if searched_part == "capacity"
            else figures.figure(links_of(q.scenario)[-1], "GB/s")
        )
        sentence = (
            f"With {fixed_part} unchanged, no {searched_part} up to {limit} meets the target: {sized} "
            f"{verb_form(q, machine, 'come')} nearest with {times_words(q, machine, band_text)}. {machine.result.finding}"
        )
    if smallest.larger_but_slower is None:
        return sentence
    best_machine, larger_machine = smallest.larger_but_slower
    longer_step = f"{verb_form(q, larger_machine, 'take')} {longer_words(best_machine, larger_machine)}"
    return (
        f"{sentence} More is worse here: {machine_words(q, larger_machine)} {longer_step} than {machine_words(q, best_machine)}."
    )


def _both_knobs_sentence(answer: SmallestMachines, band: DrawBand | None) -> str:
    q, machine = answer.question, answer.cheapest.machine
    if not machine.result.ran:
        return f"No machine in range can run: {machine.result.outcome}"
    unit = (" GB/s" if machine.modules is None else " modules") if answer.cheapest.meets else " times"
    aim, band_text = q.target.target_text(q.baseline.scenario.system), band_words(band, unit)
    sized = (machine_words(q, machine, band_text if answer.cheapest.meets else "") or "the machine as it is") + _switched(answer)
    if answer.cheapest.meets:
        static = static_energy_clause(machine.result.results)
        spent = f"{machine.price_text}, {ms(machine.seconds)} and {figures.figure(machine.joules, 'J a batch')}{static}"
        return f"{'Cheapest' if isfinite(machine.dollars) else 'Smallest'} {aim}: {sized}: {spent}."
    slower = times_words(q, machine, band_text)
    return f"No machine in range is {aim}: the nearest, {sized}, takes {slower}. {machine.result.finding}"


def _chassis(answer: SmallestMachines) -> str:
    """Return a sentence on the chassis that the machine needs; "" where it fits or is a paper's own."""
    machine = answer.cheapest.machine.result
    if not machine.ran or machine.scenario.machine.prices == RECORDED:
        return ""
    settled = settle(machine.scenario)
    problems, chassis = does_not_fit(settled), CHASSIS[settled.scenario.machine.chassis or DEFAULT_CHASSIS]
    if not problems:
        return ""
    for name, other_chassis in sorted(
        CHASSIS.items(), key=lambda named_chassis: named_chassis[1].price.value if named_chassis[1].price else inf
    ):
        if other_chassis.gpus.value and not does_not_fit(settle(with_values(machine.scenario, {"machine.chassis": name}))):
            extra_price = other_chassis.price.value - chassis.price.value if other_chassis.price and chassis.price else nan
            return (
                f"Its parts need the chassis {name}, for {figures.figure(extra_price, 'USD')} more."
                if extra_price == extra_price
                else f"Its parts need {name}."
            )
    return f"But no chassis has room for its parts: {problems[0][0].lower() + problems[0][1:]}"


def _switched(answer: SmallestMachines) -> str:
    """Return the switches of the answer in words, each on or off."""
    places = [f"{lowered_label(path)} {'on' if answer.cheapest.machine.changes[path] else 'off'}" for path in answer.switched]
    return f", with {' and '.join(places)}" if places else ""


def _reason_sentences(answer: SmallestMachines) -> str:
    """Return sentences on the machine with one rung less, and with twice the memory."""
    q, smallest = answer.question, answer.cheapest
    if not smallest.meets or smallest.machine.modules is None:
        return ""
    sentences, machine, smaller = [], smallest.machine, smallest.next_smaller
    if smaller is None:
        sentences.append("No smaller number of modules is possible.")
    elif not smaller.result.ran:
        sentences.append(f"With fewer modules it cannot run: {smaller.result.outcome}")
    else:
        cause = _cause(q, machine, smaller)
        sentences.append(
            f"With {figures.count(smaller.modules or 0, 'module')} the step of {ms(smaller.seconds)} misses the target"
            f"{cause and ', since '}{cause}."
        )
    twice = capacity_of_modules(q.scenario, min(2 * (machine.modules or 1), modules_of(q.scenario)))
    (doubled,) = steady_states([with_values(q.scenario, {**machine.changes, CAPACITY: twice})])
    if not isinstance(doubled, NotScheduled):
        saved = 1 - doubled.step / machine.seconds
        change_clause = f"shorten the step by {figures.percent(saved)}" if saved >= CHANGE else "change the step by less than 1 %"
        sentences.append(
            "Twice as many modules would "
            f"{change_clause if saved > -CHANGE else f'lengthen the step by {figures.percent(-saved)}'}."
        )
    return " ".join(sentences)


def _switch_sentences(answer: SmallestMachines, path: str) -> str:
    """Return sentences on a switch: its needed state, its effect, and where it costs time."""
    if path not in answer.switched:
        return ""
    q, machine, flipped_machine, label = answer.question, answer.cheapest.machine, answer.switched[path], KNOBS[path].label
    is_on = bool(dict(machine.changes)[path])
    other_choices = [smallest for choice, smallest in answer.choices.items() if dict(choice)[path] is not is_on]
    best_other = min(
        other_choices,
        key=lambda smallest: (not smallest.meets, smallest.machine.dollars if smallest.meets else smallest.machine.seconds),
    )
    state, other_state = ("on", "off") if is_on else ("off", "on")
    if not best_other.machine.result.ran:
        verdict = f"{label} has to be {state}: with it {other_state} no machine runs, since {best_other.machine.result.outcome}"
    elif best_other.meets:
        verdict = (
            f"{label} {'is not needed' if is_on else 'may be on'}: with it {other_state}, "
            f"{machine_words(q, best_other.machine) or 'the machine'} "
            f"{verb_form(q, best_other.machine, 'meet')} the target{_extra_price_clause(best_other.machine, machine)}."
        )
    elif answer.cheapest.meets:
        verdict = f"{label} {'is needed' if is_on else 'has to be off'}: with it {other_state} no machine gets nearer than "
        verdict += f"{times_words(q, best_other.machine)}."
    else:
        verdict = f"{label} {state} comes nearest to the target; with it {other_state} no machine gets nearer than "
        verdict += f"{times_words(q, best_other.machine)}."
    return " ".join(filter(None, (verdict, _flip_sentence(q, machine, flipped_machine, other_state), _slower(answer, path))))


def _extra_price_clause(machine: Candidate, cheapest_machine: Candidate) -> str:
    """Return the extra price of a machine over the cheapest, a clause; "" where either has no price."""
    if not (isfinite(machine.dollars) and isfinite(cheapest_machine.dollars)):
        return ""
    extra_price = machine.dollars - cheapest_machine.dollars
    return (
        f" for {figures.figure(extra_price, price_unit(cheapest_machine.result.scenario))} more"
        if round(extra_price)
        else " at the same price"
    )


def _flip_sentence(q: TargetQuestion, machine: Candidate, flipped_machine: Candidate, other_state: str) -> str:
    if not (machine.result.ran and flipped_machine.result.ran):
        return ""
    slow, fast = (flipped_machine, machine) if flipped_machine.seconds > machine.seconds else (machine, flipped_machine)
    if slow.seconds < (1 + CHANGE) * fast.seconds:
        return "On the machine above it changes the step by less than 1 %."
    cause = _cause(q, fast, slow)
    cause_clause = f": {cause}" if cause and slow is flipped_machine else ""
    steps = f"{ms(flipped_machine.seconds)} instead of {ms(machine.seconds)}"
    return f"On the machine above, {other_state}, the step takes {steps}{cause_clause}."


def _slower(answer: SmallestMachines, path: str) -> str:
    count = answer.slower_from[path]
    if count is None:
        return ""
    start = f"From {figures.count(count, 'module')} on" if count > 1 else "At any capacity"
    link = (
        "" if answer.cheapest.machine.gbps is None else f" over a link of {figures.figure(answer.cheapest.machine.gbps, 'GB/s')}"
    )
    return f"{start}{link} it costs time."


def _staleness(answer: SmallestMachines) -> str:
    q, ran_by_bound = answer.question, {bound: machine for bound, machine in answer.staleness.items() if machine.result.ran}
    if not ran_by_bound:
        return ""
    min_bound = min((bound for bound, machine in ran_by_bound.items() if machine.seconds <= q.goal), default=None)
    strict, fastest = min(ran_by_bound), min(ran_by_bound.values(), key=lambda machine: machine.seconds)
    label, slow = KNOBS[BOUND].label, f"a strict log's step takes {ms(ran_by_bound[strict].seconds)}"
    if min_bound is None:
        saved = 1 - fastest.seconds / ran_by_bound[strict].seconds
        bound = figures.count(max(ran_by_bound), "batch", "batches")
        return (
            f"{label} up to {bound} does not meet the target; compared with a strict log, it shortens the step by at most "
            f"{figures.percent(saved)}."
        )
    if min_bound == strict:
        return f"{label} is not needed: {slow}."
    return f"{label} of at least {figures.count(min_bound, 'batch', 'batches')} is needed: {slow}."


def _cause(q: TargetQuestion, fast: Candidate, slow: Candidate) -> str:
    """Return a clause on the exposed part that grows most from `fast` to `slow`; "" below 0.1 % of the step."""
    states = steady_states([with_values(q.scenario, machine.changes) for machine in (fast, slow)])
    fast_exposed, slow_exposed = (_exposed(state) for state in states if isinstance(state, Steady))
    grown = {cell: seconds - fast_exposed.get(cell, 0.0) for cell, seconds in slow_exposed.items()}
    (stage, device), growth = max(grown.items(), key=lambda pair: pair[1])
    if growth < CHANGE / 10 * slow.seconds:
        return ""
    title = machine_of(settle(with_values(q.scenario, slow.changes))).devices[device].title.split(",")[0]
    return f"{stage} on {title} is exposed for {ms(growth)} longer"


def _exposed(state: Steady) -> dict[tuple[str, str], float]:
    return {(stage, device): exposed for stage, device, _, exposed, _ in state.cells}


def machine_words(q: TargetQuestion, machine: Candidate, sure: str = "", carded: bool = False) -> str:
    """Return words for a machine's modules, its link, or both.

    `sure` is text on the band, added to the first of them. `carded` adds the slowest card that carries the link.
    """
    words = []
    if machine.modules is not None:
        module_GB = module_bytes(q.scenario.machine) / GB
        node_clause = f" on each of {figures.count(nodes(q.scenario.machine), 'node')}" if nodes(q.scenario.machine) > 1 else ""
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
    """Return a verb as singular or plural for a machine's parts: "meets" or "meet"."""
    is_plural = (machine.modules or 1) > 1 or (machine.gbps and (machine.modules or _links(q, machine) > 1))
    return word if is_plural else f"{word}s"


def times_words(q: TargetQuestion, machine: Candidate, sure: str = "") -> str:
    """Return words for a machine's step as a multiple of the reference, with a band."""
    base = load_variant("systems", q.baseline.scenario.system).title
    reference_text = f"{base}'s step" if q.target.milliseconds is None else "the target"
    return f"{figures.times(machine.seconds / q.reference)} {reference_text}{_bracketed(ms(machine.seconds), sure)}"


def longer_words(best_machine: Candidate, large: Candidate) -> str:
    """Return words for how many percent longer the larger machine's step is."""
    return f"{figures.percent(large.seconds / best_machine.seconds - 1)} longer"


def band_words(band: DrawBand | None, unit: str) -> str:
    """Return words for a band; "" for None."""
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
    """Return seconds as a text in milliseconds."""
    return figures.figure(seconds / MS, "ms")
