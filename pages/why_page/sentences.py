"""The insights in words: each sentence is made from the values it tells, and from nothing else."""

from math import isinf

from engine.core.figures import count, exact, factor, figure, percent
from engine.core.graph import STAGES
from engine.insight.decomposition import SWAPPED, Change, Decomposition
from engine.insight.relaxation import FASTEST, HUNDRED, SLACK, WIDEST, Relaxation
from engine.insight.saturation import GAIN, LOWEST, Saturation
from engine.registry import load
from engine.units import GB
from pages.ui.numbers import milliseconds

HARDLY, NOTHING = 0.005, 1e-6  # shares of the pmem step: below them an order is not told, a loss is rounding
EITHER = 0.5  # of a saving: if the other order takes more away from a step, the saving is its pair's
LIMIT = {"pmem": "PMEM", "cxl": "the CXL link"}


def headline(found: Decomposition) -> str:
    """Return the finding: the whole, and the step that saves most of it, or the pair of which either would."""
    most = max(found.steps, key=lambda step: step.saved.seconds)
    if found.speedup < 1:
        whole = f"CXL is {factor(1 / found.speedup)} slower than PMEM"
    else:
        whole = f"CXL is {factor(found.speedup)} faster than PMEM" if found.speedup >= 1.05 else "CXL is hardly faster than PMEM"
    if most.saved.seconds <= 0:
        return f"{whole}; no step saves time"
    both = _pair(found, most) if most.apart > EITHER * most.saved.seconds else (most,)
    saved, names = sum(step.saved.seconds for step in both), " and ".join(_lower(step.name) for step in both)
    return f"{whole}; largest saving: {names}, {milliseconds(saved)} of {milliseconds(found.start.seconds)}"


def order_matters(found: Decomposition) -> str:
    """Return how much the steps' savings hang on their order."""
    both = [step for step in found.steps if step.swapped]
    if not both:
        return "No two of these steps can be taken in another order on this machine."
    # Two steps that change places differ by the same; the last bits, which follow the processor, must not choose.
    largest = max(both, key=lambda step: round(step.apart / found.start.seconds, 9))
    if largest.apart <= HARDLY * found.start.seconds:
        return f"The other order of steps changes none of them by more than {percent(HARDLY)} of the step on PMEM."
    pair = _pair(found, largest)
    neighbour = pair[1] if pair[0] is largest else pair[0]
    other = (largest.swapped or largest).saved
    first, then = (largest.saved, other) if pair[0] is largest else (other, largest.saved)
    host = pair == found.steps[:2]
    return (
        f"Order matters: {_lower(largest.name)} saves {milliseconds(first.seconds)} before {_lower(neighbour.name)}, but "
        f"{milliseconds(then.seconds)} after"
        + (": whichever comes first also takes the embedding work off the host CPU." if host else " it.")
    )


def _pair(found: Decomposition, step: Change) -> tuple[Change, ...]:
    """Return the step and the neighbour with which it can change places, in the order they are taken."""
    at = found.steps.index(step)
    first = at if at in SWAPPED else at - 1
    return found.steps[first : first + 2]


def costs(found: Decomposition) -> tuple[str, ...]:
    """Return a sentence for each step that makes a batch slower: which exposed stages grow and shrink."""
    slower = (step for step in found.steps if step.saved.seconds < -NOTHING * found.start.seconds)
    return tuple(f"{step.name} costs {milliseconds(-step.saved.seconds)} here: {_moved(step)}." for step in slower)


def refusals(found: Decomposition) -> tuple[str, ...]:
    """Return a sentence for each step that cannot be taken."""
    return tuple(f"{step.name} is not taken: {step.refused}" for step in found.steps if step.refused)


def _moved(step: Change) -> str:
    """Return the exposed stages that a step changes, largest first."""
    moved = sorted(zip(STAGES, step.saved.stages, strict=True), key=lambda item: -abs(item[1]))
    seen = [(stage, saved) for stage, saved in moved if abs(saved) > 0.05 * abs(moved[0][1])]
    return ", ".join(
        f"exposed {stage} {'shrinks' if saved > 0 else 'grows'} by {milliseconds(abs(saved))}" for stage, saved in seen
    )


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def relaxation_sentence(found: Relaxation) -> tuple[str, ...]:
    """Return the finding: what the log needs now, what relaxing it saves, and at which log bandwidths that changes."""
    now, rate, limit = found.now, figure(found.now.rate / GB, "GB/s"), LIMIT[found.now.limit]
    log = f"At the {rate} of {limit} an MLP log takes {milliseconds(now.writing)}"
    needs = f"a staleness of {counted(now.needed)}"
    if not now.pays:
        first = f"{log}, and a strict one costs less than {percent(SLACK)} of a step: relaxing it pays nothing."
    elif isinf(now.batches):
        first = f"{log} and gets no time beside the top MLP, as {limit} is busy throughout; {needs} spreads it thin enough."
    else:
        first = f"{log} and gets {milliseconds(now.gate)} of each batch: it needs {needs}."
    share = percent(abs(now.saved) / now.strict)
    verb = "saves" if now.saved >= 0 else "costs"
    own = f"The bound of {counted(found.bound)} {verb} {milliseconds(abs(now.saved))} ({share}) of a strict step."
    below = found.hundreds_below
    slower = f"Below {figure(below / GB, 'GB/s')} it needs {HUNDRED} batches and more." if below is not None else ""
    return tuple(text for text in (first, own if found.bound and now.pays else "", _faster(found), slower) if text)


def counted(batches: int) -> str:
    """Return a number of batches in words that agree."""
    return count(batches, "batch", "batches")


def _faster(found: Relaxation) -> str:
    if found.enough is None:
        last = [one for one in found.curves if one.limit == found.now.limit][-1]
        left = milliseconds(last.strict - last.unlimited)
        return f"Even at {exact(FASTEST)} GB/s a strict log costs {left} a batch, as it can only begin after the row log."
    return (
        f"From {figure(found.enough / GB, 'GB/s')} on, a strict log is as fast and relaxing pays nothing."
        if found.now.pays
        else ""
    )


def saturation_sentence(found: Saturation) -> str:
    """Return the finding for one system: where the link stops to matter, what then does, and what hides the link."""
    title = load("systems", found.system).title
    if found.enough is None:
        where, then = (
            f"each doubling of the CXL link, as far as it goes, saves {percent(GAIN)} or more",
            f"At {exact(WIDEST)} GB/s",
        )
    else:
        least = f"already at {exact(found.enough)} GB/s" if found.enough == LOWEST else f"from {figure(found.enough, 'GB/s')} on"
        where, then = f"{least}, doubling the CXL link saves less than {percent(GAIN)}", "Then"
    pace = f"{found.stage} on {found.device} is exposed for {milliseconds(found.exposed)} of {milliseconds(found.step)}"
    waited = f"waited for {milliseconds(found.waits)}" if found.waits else "nobody waits for it"
    link = f"the link is busy for {milliseconds(found.busy)} and {waited}"
    parts = ", ".join(f"{milliseconds(one.busy - one.exposed)} of {one.task} {one.hidden_by}" for one in found.hidden[:2])
    return f"{title}: {where}. {then} {pace}; {link}" + (f"; hidden are {parts}." if parts else ".")
