"""The answer in sentences, each from the machines that were estimated: what is enough, why, and what else would do."""

from dataclasses import dataclass
from math import inf, isfinite, nan

from ...core import figures
from ...estimates import steady_states
from ...hardware.devices.chassis import CHASSIS, USUAL
from ...insight.decomposition import BOUND, NEAR, RELAXED
from ...insight.knob_stops import CAPACITY, capacity
from ...insight.running_costs import dollars, static_energy
from ...scenario.machine import RECORDED
from ...scenario.scenario import KNOBS, with_values
from ...schedule.evaluate import NotScheduled
from ...schedule.machine import machine_of, settle
from ...schedule.steady_state import Steady
from ...systems.buildable import does_not_fit
from ...units import MS
from .drawn import Band, Bands
from .ladder import links_of, modules_of
from .question import Candidate, Question
from .smallest import Enough, Found
from .wording import longer, lowered, ms, size, spread, times, verb

NO_BANDS = Bands(None, None, None)
CHANGE = 0.01  # of the step: less is not worth a sentence


@dataclass(frozen=True)
class Told:
    """One or a few sentences each; "" where there is nothing to say."""

    now: str
    capacity: str
    bandwidth: str
    both: str
    chassis: str
    why: str
    near_data: str
    relaxed_lookup: str
    staleness: str


def told(answer: Enough, bands: Bands = NO_BANDS) -> Told:
    """Say the answer, with its bands where they are given."""
    q = answer.question
    system = q.scenario.system
    return Told(
        now=_now(q),
        capacity=_alone(q, answer.capacity, bands.capacity, "its link", "capacity", " modules")
        or f"System {system} uses no PMEM, so {KNOBS[CAPACITY].label} does not apply.",
        bandwidth=_alone(q, answer.bandwidth, bands.bandwidth, "its memory", "link", " GB/s")
        or f"System {system} uses no CXL link, so its bandwidth does not apply.",
        both=_both(answer, bands.both),
        chassis=_chassis(answer),
        why=_why(answer),
        near_data=_choice(answer, NEAR),
        relaxed_lookup=_choice(answer, RELAXED),
        staleness=_staleness(answer),
    )


def _now(q: Question) -> str:
    base = q.baseline.scenario
    against = (
        f"the target is {ms(q.goal)}"
        if q.target.milliseconds is not None
        else (f"the baseline, system {base.system}, takes {ms(q.reference)}, so the target is {ms(q.goal)}")
    )
    if not q.own.ran:
        return f"As it is it cannot run: {q.own.outcome} For a batch {against}."
    own = (q.own.results["Step time [ms]"] or 0.0) * MS
    met = "which it meets" if own <= q.goal else f"of which it takes {figures.figure(own / q.goal)} times as much"
    return f"A batch takes {ms(own)}; {against}, {met}."


def _alone(q: Question, found: Found | None, band: Band | None, kept: str, what: str, unit: str) -> str:
    if found is None:
        return ""
    machine, sure = found.machine, spread(band, unit if found.meets else " times")
    if not machine.result.ran:
        return f"With {kept} as it is, no {what} can run: {machine.result.outcome}"
    sized = size(q, machine, sure if found.meets else "", carded=True)
    if found.meets:
        said = f"With {kept} as it is, {sized} {verb(q, machine, 'meet')} the target: {ms(machine.seconds)}."
    else:
        most = (
            figures.count(modules_of(q.scenario), "module")
            if what == "capacity"
            else figures.figure(links_of(q.scenario)[-1], "GB/s")
        )
        said = (
            f"With {kept} as it is, no {what} up to {most} meets the target: {sized} {verb(q, machine, 'come')} as near as "
            f"{times(q, machine, sure)}. {machine.result.finding}"
        )
    if found.worse is None:
        return said
    best, large = found.worse
    return f"{said} More is worse here: {size(q, large)} {verb(q, large, 'take')} {longer(best, large)} than {size(q, best)}."


def _both(answer: Enough, band: Band | None) -> str:
    q, machine = answer.question, answer.both.machine
    if not machine.result.ran:
        return f"No machine in range can run: {machine.result.outcome}"
    unit = (" GB/s" if machine.modules is None else " modules") if answer.both.meets else " times"
    aim, sure = q.target.against(q.baseline.scenario.system), spread(band, unit)
    sized = (size(q, machine, sure if answer.both.meets else "") or "the machine as it is") + _switched(answer)
    if answer.both.meets:
        static = static_energy(machine.result.results)
        spent = f"{machine.spent}, {ms(machine.seconds)} and {figures.figure(machine.joules, 'J a batch')}{static}"
        return f"{'Cheapest' if isfinite(machine.dollars) else 'Smallest'} {aim}: {sized}: {spent}."
    return f"No machine in range is {aim}: the nearest, {sized}, takes {times(q, machine, sure)}. {machine.result.finding}"


def _chassis(answer: Enough) -> str:
    """Return which other chassis the machine needs, or why no chassis takes its parts; "" where it is fine or a paper's own."""
    machine = answer.both.machine.result
    if not machine.ran or machine.scenario.machine.prices == RECORDED:
        return ""
    settled = settle(machine.scenario)
    lacking, own = does_not_fit(settled), CHASSIS[settled.scenario.machine.chassis or USUAL]
    if not lacking:
        return ""
    for name, other in sorted(CHASSIS.items(), key=lambda each: each[1].price.value if each[1].price else inf):
        if other.gpus.value and not does_not_fit(settle(with_values(machine.scenario, {"machine.chassis": name}))):
            more = other.price.value - own.price.value if other.price and own.price else nan
            return (
                f"Its parts need the chassis {name}, for {figures.figure(more, 'USD')} more."
                if more == more
                else f"Its parts need {name}."
            )
    return f"But it cannot be built: {lacking[0][0].lower() + lacking[0][1:]}"


def _switched(answer: Enough) -> str:
    """Name the switches of the answer, each with its place."""
    places = [f"{lowered(path)} {'on' if answer.both.machine.changes[path] else 'off'}" for path in answer.toggled]
    return f", with {' and '.join(places)}" if places else ""


def _why(answer: Enough) -> str:
    """Say what one rung less would cost, and what twice the memory would save."""
    q, found = answer.question, answer.both
    if not found.meets or found.machine.modules is None:
        return ""
    said, best, less = [], found.machine, found.below
    if less is None:
        said.append("It is the least there is.")
    elif not less.result.ran:
        said.append(f"With fewer modules it cannot run: {less.result.outcome}")
    else:
        cause = _cause(q, best, less)
        said.append(
            f"With {figures.count(less.modules or 0, 'module')} the step of {ms(less.seconds)} misses the target"
            f"{cause and ', since '}{cause}."
        )
    twice = capacity(q.scenario, min(2 * (best.modules or 1), modules_of(q.scenario)))
    (more,) = steady_states([with_values(q.scenario, {**best.changes, CAPACITY: twice})])
    if not isinstance(more, NotScheduled):
        saved = 1 - more.step / best.seconds
        changed = f"shorten the step by {figures.percent(saved)}" if saved >= CHANGE else "change the step by less than 1 %"
        said.append(
            f"Twice as many modules would {changed if saved > -CHANGE else f'lengthen the step by {figures.percent(-saved)}'}."
        )
    return " ".join(said)


def _choice(answer: Enough, path: str) -> str:
    """Say whether a switch must be on or off, what it does on the cheapest machine, and from where on it costs time."""
    if path not in answer.toggled:
        return ""
    q, best, flipped, label = answer.question, answer.both.machine, answer.toggled[path], KNOBS[path].label
    is_on = bool(dict(best.changes)[path])
    others = [one for choice, one in answer.choices.items() if dict(choice)[path] is not is_on]
    other = min(others, key=lambda one: (not one.meets, one.machine.dollars if one.meets else one.machine.seconds))
    way, back = ("on", "off") if is_on else ("off", "on")
    if not other.machine.result.ran:
        verdict = f"{label} has to be {way}: with it {back} no machine runs, since {other.machine.result.outcome}"
    elif other.meets:
        verdict = (
            f"{label} {'is not needed' if is_on else 'may be on'}: with it {back}, {size(q, other.machine) or 'the machine'} "
            f"{verb(q, other.machine, 'meet')} the target{_dearer(other.machine, best)}."
        )
    elif answer.both.meets:
        verdict = f"{label} {'is needed' if is_on else 'has to be off'}: with it {back} no machine gets nearer than "
        verdict += f"{times(q, other.machine)}."
    else:
        verdict = f"{label} {way} comes nearest; with it {back} no machine gets nearer than {times(q, other.machine)}."
    return " ".join(filter(None, (verdict, _flip(q, best, flipped, back), _slower(answer, path))))


def _dearer(one: Candidate, best: Candidate) -> str:
    """Say how much more a machine costs than the best, a clause; "" where either has no price."""
    if not (isfinite(one.dollars) and isfinite(best.dollars)):
        return ""
    more = one.dollars - best.dollars
    return f" for {figures.figure(more, dollars(best.result.scenario))} more" if round(more) else " at the same price"


def _flip(q: Question, best: Candidate, flipped: Candidate, back: str) -> str:
    if not (best.result.ran and flipped.result.ran):
        return ""
    slow, fast = (flipped, best) if flipped.seconds > best.seconds else (best, flipped)
    if slow.seconds < (1 + CHANGE) * fast.seconds:
        return "On the machine above it changes the step by less than 1 %."
    cause = _cause(q, fast, slow)
    why = f": {cause}" if cause and slow is flipped else ""
    return f"On the machine above, {back}, the step takes {ms(flipped.seconds)} instead of {ms(best.seconds)}{why}."


def _slower(answer: Enough, path: str) -> str:
    count = answer.slower_from[path]
    if count is None:
        return ""
    start = f"From {figures.count(count, 'module')} on" if count > 1 else "At any capacity"
    link = "" if answer.both.machine.gbps is None else f" over a link of {figures.figure(answer.both.machine.gbps, 'GB/s')}"
    return f"{start}{link} it costs time."


def _staleness(answer: Enough) -> str:
    q, tried = answer.question, {bound: one for bound, one in answer.staleness.items() if one.result.ran}
    if not tried:
        return ""
    enough = min((bound for bound, one in tried.items() if one.seconds <= q.goal), default=None)
    strict, best = min(tried), min(tried.values(), key=lambda one: one.seconds)
    label, slow = KNOBS[BOUND].label, f"a strict log's step takes {ms(tried[strict].seconds)}"
    if enough is None:
        saved = 1 - best.seconds / tried[strict].seconds
        bound = figures.count(max(tried), "batch", "batches")
        return f"{label} up to {bound} does not meet the target; it saves at most {figures.percent(saved)} of a strict step."
    if enough == strict:
        return f"{label} is not needed: {slow}."
    return f"{label} of at least {figures.count(enough, 'batch', 'batches')} is needed: {slow}."


def _cause(q: Question, fast: Candidate, slow: Candidate) -> str:
    """Return which exposed part grows most from one machine to the other, if any does by a thousandth of the step."""
    found = steady_states([with_values(q.scenario, one.changes) for one in (fast, slow)])
    before, after = (_exposed(one) for one in found if isinstance(one, Steady))
    grown = {cell: seconds - before.get(cell, 0.0) for cell, seconds in after.items()}
    (stage, device), most = max(grown.items(), key=lambda pair: pair[1])
    if most < CHANGE / 10 * slow.seconds:
        return ""
    title = machine_of(settle(with_values(q.scenario, slow.changes))).devices[device].title.split(",")[0]
    return f"{stage} on {title} is exposed for {ms(most)} longer"


def _exposed(one: Steady) -> dict[tuple[str, str], float]:
    return {(stage, device): exposed for stage, device, _, exposed, _ in one.cells}
