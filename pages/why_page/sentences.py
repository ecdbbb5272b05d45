"""The insights as sentences; all numbers in them come from the insights."""

from math import isinf

from engine.core.arithmetic import total
from engine.core.figures import count, exact, factor, figure, percent
from engine.core.graph import STAGES
from engine.insight.decomposition import SWAPPABLE_STEPS, Change, Decomposition
from engine.insight.relaxation import FASTEST, HUNDRED_BATCHES, SLACK, WIDEST_LINK, Relaxation
from engine.insight.saturation import GAIN, LOWEST, Saturation
from engine.registry import load_variant
from engine.units import GB
from pages.ui.numbers import milliseconds

MIN_ORDER_EFFECT, ROUNDING_SHARE = (
    0.005,
    1e-6,
)  # shares of the pmem step: smaller effects of order are left out, smaller losses are rounding
PAIR_SHARE = 0.5  # of a saving: if the other order takes more away from a step, the saving is its pair's
LIMIT = {"pmem": "PMEM", "cxl": "the CXL link"}


def headline(decomposition: Decomposition) -> str:
    """Return a sentence with the speed-up, and the step or pair of steps that saves most."""
    largest_step = max(decomposition.steps, key=lambda step: step.saved.seconds)
    if decomposition.speedup < 1:
        speedup_text = f"CXL is {factor(1 / decomposition.speedup)} slower than PMEM"
    else:
        speedup_text = (
            f"CXL is {factor(decomposition.speedup)} faster than PMEM"
            if decomposition.speedup >= 1.05
            else "CXL is hardly faster than PMEM"
        )
    if largest_step.saved.seconds <= 0:
        return f"{speedup_text}; no change saves time"
    savers = (
        _step_pair(decomposition, largest_step)
        if largest_step.order_gap > PAIR_SHARE * largest_step.saved.seconds
        else (largest_step,)
    )
    saved, names = total(step.saved.seconds for step in savers), " and ".join(_lower_first(step.name) for step in savers)
    return f"{speedup_text}; largest saving: {names}, {milliseconds(saved)} of {milliseconds(decomposition.start_cost.seconds)}"


def order_matters(decomposition: Decomposition) -> str:
    """Return a sentence on how much the steps' savings depend on their order."""
    swappable = [step for step in decomposition.steps if step.swapped]
    if not swappable:
        return "On this machine, no two of these changes can swap places."
    # Two steps that change places differ by the same; the last bits, which follow the processor, must not choose.
    largest = max(swappable, key=lambda step: round(step.order_gap / decomposition.start_cost.seconds, 9))
    if largest.order_gap <= MIN_ORDER_EFFECT * decomposition.start_cost.seconds:
        return f"The order matters little: no saving changes by more than {percent(MIN_ORDER_EFFECT)} of the step on PMEM."
    pair = _step_pair(decomposition, largest)
    neighbour = pair[1] if pair[0] is largest else pair[0]
    swapped_saving = (largest.swapped or largest).saved
    saving_before, saving_after = (largest.saved, swapped_saving) if pair[0] is largest else (swapped_saving, largest.saved)
    host = pair == decomposition.steps[:2]
    return (
        f"Order matters: {_lower_first(largest.name)} saves {milliseconds(saving_before.seconds)} before "
        f"{_lower_first(neighbour.name)}, but {milliseconds(saving_after.seconds)} after"
        + (": the change that comes first also takes the embedding work off the host CPU." if host else " it.")
    )


def _step_pair(decomposition: Decomposition, step: Change) -> tuple[Change, ...]:
    """Return the step and the neighbour that can trade places with it, in order."""
    position = decomposition.steps.index(step)
    first_position = position if position in SWAPPABLE_STEPS else position - 1
    return decomposition.steps[first_position : first_position + 2]


def cost_sentences(decomposition: Decomposition) -> tuple[str, ...]:
    """Return a sentence for each slower step: its exposed stages that grow and shrink."""
    slower = (step for step in decomposition.steps if step.saved.seconds < -ROUNDING_SHARE * decomposition.start_cost.seconds)
    return tuple(f"{step.name} costs {milliseconds(-step.saved.seconds)} here: {_stage_changes_text(step)}." for step in slower)


def refusal_sentences(decomposition: Decomposition) -> tuple[str, ...]:
    """Return a sentence for each step that cannot be taken."""
    return tuple(f"{step.name} is not possible: {step.refused}" for step in decomposition.steps if step.refused)


def _stage_changes_text(step: Change) -> str:
    """Return the exposed stages that a step changes, largest first."""
    stage_changes = sorted(zip(STAGES, step.saved.stages, strict=True), key=lambda stage_change: -abs(stage_change[1]))
    main_changes = [(stage, saved) for stage, saved in stage_changes if abs(saved) > 0.05 * abs(stage_changes[0][1])]
    return ", ".join(
        f"exposed {stage} {'shrinks' if saved > 0 else 'grows'} by {milliseconds(abs(saved))}" for stage, saved in main_changes
    )


def _lower_first(name: str) -> str:
    return name[0].lower() + name[1:]


def relaxation_sentence(relaxation: Relaxation) -> tuple[str, ...]:
    """Return sentences on the log's needed staleness, on the saving, and on bandwidths.

    The saving is by relaxing the log, and the bandwidths are those at which relaxing saves time.
    """
    present, rate, limit = (
        relaxation.present_log,
        figure(relaxation.present_log.rate / GB, "GB/s"),
        LIMIT[relaxation.present_log.limit],
    )
    log = f"At the {rate} of {limit} an MLP log takes {milliseconds(present.write_seconds)}"
    needs = f"a staleness of {batches_text(present.needed_bound)}"
    if not present.pays:
        need_sentence = f"{log}, and a strict log costs less than {percent(SLACK)} of a step: a relaxed log saves nothing."
    elif isinf(present.batches):
        need_sentence = (
            f"{log}, but {limit} is busy all the time beside the top MLP; {needs} makes the log of a batch small enough."
        )
    else:
        need_sentence = f"{log} and has {milliseconds(present.gate_seconds)} of each batch: the log needs {needs}."
    share = percent(abs(present.saved_seconds) / present.strict_step)
    verb = "saves" if present.saved_seconds >= 0 else "costs"
    bound = f"The staleness bound of {batches_text(relaxation.bound)}"
    bound_sentence = f"{bound} {verb} {milliseconds(abs(present.saved_seconds))} ({share}) of a strict step."
    slow_rate = relaxation.hundred_batches_rate
    slower = (
        f"Below {figure(slow_rate / GB, 'GB/s')} the log needs a staleness of {HUNDRED_BATCHES} batches or more."
        if slow_rate is not None
        else ""
    )
    return tuple(
        text
        for text in (
            need_sentence,
            bound_sentence if relaxation.bound and present.pays else "",
            _fast_log_sentence(relaxation),
            slower,
        )
        if text
    )


def needed_staleness(relaxation: Relaxation) -> str:
    """Return the sentence on the staleness with which the MLP log costs almost no time."""
    if not relaxation.present_log.pays:
        return f"A strict MLP log costs less than {percent(SLACK)} of a step here"
    needed = batches_text(relaxation.present_log.needed_bound)
    return f"With a staleness of {needed}, the MLP log costs less than {percent(SLACK)} of a step"


def relaxed_saving(relaxation: Relaxation) -> str:
    """Return the sentence on the time that the staleness bound saves."""
    present = relaxation.present_log
    if not (relaxation.bound and present.pays) or present.saved_seconds <= 0:
        return "A relaxed log saves no time here"
    return f"The relaxed log saves {milliseconds(present.saved_seconds)} of a step of {milliseconds(present.strict_step)}"


def batches_text(batches: int) -> str:
    """Return a number of batches as text, in singular or plural."""
    return count(batches, "batch", "batches")


def _fast_log_sentence(relaxation: Relaxation) -> str:
    if relaxation.sufficient_rate is None:
        last_point = [point for point in relaxation.curves if point.limit == relaxation.present_log.limit][-1]
        loss_text = milliseconds(last_point.strict_step - last_point.unlimited_step)
        return f"Even at {exact(FASTEST)} GB/s a strict log costs {loss_text} a batch, as it can only begin after the row log."
    return (
        f"From {figure(relaxation.sufficient_rate / GB, 'GB/s')} on, a strict log is as fast as a relaxed log."
        if relaxation.present_log.pays
        else ""
    )


def saturation_sentence(saturation: Saturation) -> str:
    """Return a sentence on the bandwidth beyond which a system's link has no more effect.

    It names the device that limits the step then, and the work that hides the link.
    """
    title = load_variant("systems", saturation.system).title
    if saturation.sufficient_bandwidth is None:
        limit_text, start_text = (
            f"each doubling of the CXL bandwidth saves {percent(GAIN)} or more",
            f"At {exact(WIDEST_LINK)} GB/s",
        )
    else:
        enough_text = (
            f"already at {exact(saturation.sufficient_bandwidth)} GB/s"
            if saturation.sufficient_bandwidth == LOWEST
            else f"from {figure(saturation.sufficient_bandwidth, 'GB/s')} on"
        )
        limit_text, start_text = f"{enough_text}, doubling the CXL bandwidth saves less than {percent(GAIN)}", "Then"
    exposed = f"{milliseconds(saturation.exposed_seconds)} of {milliseconds(saturation.step)}"
    pace = f"{saturation.stage} on {saturation.device} is exposed for {exposed}"
    waited = (
        f"a batch waits {milliseconds(saturation.wait_seconds)} for it" if saturation.wait_seconds else "no task waits for it"
    )
    link = f"the link's busier direction is busy for {milliseconds(saturation.busy_seconds)} and {waited}"
    parts = ", ".join(
        f"{milliseconds(link_task.busy_seconds - link_task.exposed_seconds)} of {link_task.task} {link_task.hidden_by}"
        for link_task in saturation.hidden_tasks[:2]
    )
    return f"{title}: {limit_text}. {start_text} {pace}; {link}" + (f"; hidden time: {parts}." if parts else ".")
