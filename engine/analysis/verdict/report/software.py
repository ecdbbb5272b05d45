"""Software of a verdict in sentences: its loop, other software, and software to be written."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....core import figures
from ....core.arithmetic import total
from ....errors import EmberpoolError
from ....estimates import step_seconds
from ....hardware.device import seconds
from ....hardware.software import FROZEN, STATE_WORDS, STATED_LOOP
from ....registry import load_variant
from ....scenario.scenario import Scenario, per_table, with_values
from ....schedule.machine import machine_of, run_timeline, settle
from ....systems.loop import NAME
from ....units import MS
from ..decide import TIE_FACTOR, SystemRow, Verdict
from ..outlook.bands import VerdictBands
from ..outlook.shortlist import leaders_by_software
from ..requirement import WORDS
from ..stacks import FRAMEWORK, SoftwareChoice, Stack

LARGE_LOOP_SHARE, ALL_LOOP_SHARE = 1 / 3, 0.8  # of a step: the answer speaks of the loop, and says that it decides
LARGE_CHOICE_SHARE = 1 / 2  # of a step: from there on it speaks of one choice of the model
SAME = 0.005  # relative: two values that differ by less are told as the same
INTERACTION, CROSS = "model.interaction", "cross"
OWN_SOFTWARE, UNWRITTEN = "your own software", "software that would have to be written"


def software_title(row: SystemRow, choice: SoftwareChoice) -> str:
    """Return the title of a row's software."""
    return stack_title(row.stack, choice)


def stack_title(stack: Stack, choice: SoftwareChoice) -> str:
    """Return the title of a stack's software."""
    part = stack.part
    if part:
        return part.title
    return OWN_SOFTWARE if choice.own_framework else UNWRITTEN


def software_state(row: SystemRow, choice: SoftwareChoice) -> str:
    """Return the state of a row's software; "own" for the visitor's own."""
    return "own" if choice.own_framework and not row.stack.software else row.stack.state


def software_words(row: SystemRow, choice: SoftwareChoice) -> str:
    """Return words for a row's software and precisions.

    For example "by TorchRec, layers in tf32 and rows in fp32".
    """
    if row.scenario is None:
        return f"by {software_title(row, choice)}"
    s, framework = row.scenario, row.scenario.machine.framework
    loop = f" (a loop of {figures.figure(stated_loop_ms(s), 'ms')} a step)" if framework == STATED_LOOP else ""
    return f"by {software_title(row, choice)}{loop}, {precision_words(s)}"


def precision_words(s: Scenario) -> str:
    """Return the precisions of a scenario's layers and rows in words."""
    rows = " and ".join(dict.fromkeys(per_table(s.model, "row_precision")))
    return f"layers in {s.machine.matrix_precision} and rows in {rows}"


def stated_loop_ms(s: Scenario) -> float:
    """Return the ms of a batch of a scenario with a fixed loop."""
    machine = machine_of(settle(s))
    return next(constant.value for constant in machine.devices["host"].constants if constant.name == "training loop")


def state_sentence(row: SystemRow, choice: SoftwareChoice) -> str:
    """Return a sentence on software that is not maintained, or does not exist.

    Return "" for maintained and own software.
    """
    part, state = row.stack.part, software_state(row, choice)
    if part and state == FROZEN:
        return f"{part.title} is {STATE_WORDS[state]} (last of {part.since})."
    if part and not part.exists:
        return f"{part.title} is {STATE_WORDS[state]}."
    if part is None and not choice.own_framework:
        return (
            "No software exists that trains so: it would have to be written, and its loop is a stated time, as that of a "
            "captured graph (range 0.1 to 3 ms)."
        )
    return ""


def loop_seconds(s: Scenario) -> float:
    """Return the seconds that the training loop itself takes for a batch; 0 without a loop."""
    machine = machine_of(settle(s))
    graph = run_timeline(machine).graph
    task = next((task for task in graph.tasks if task.name == NAME), None)
    return float(np.mean(seconds(machine.devices["host"], task.demands[0].work))) if task else 0.0


def loop_sentence(row: SystemRow) -> str:
    """Return sentences on software that takes much of a row's step.

    Return "" for at most a third of the step.
    Its time is that of its loop, or what a captured graph would save if that is more.
    """
    if row.scenario is None or row.scenario.machine.framework == STATED_LOOP:
        return ""
    (captured,) = step_seconds([with_values(row.scenario, {FRAMEWORK: STATED_LOOP})])
    loop = max(loop_seconds(row.scenario), row.step - captured)  # agreements and sparse updates are not in the loop's own time
    if loop <= LARGE_LOOP_SHARE * row.step:
        return ""
    share = min(1.0, loop / row.step)
    limit = "other hardware changes little" if share > ALL_LOOP_SHARE else "no other hardware makes a step shorter than that"
    loop_text, step_text = figures.figure(loop / MS, "ms"), figures.figure(row.step / MS, "ms")
    sentence = f"The software takes {loop_text} of a step of {step_text} ({figures.percent(share)}): {limit}."
    if captured < row.step * (1 - LARGE_LOOP_SHARE / 10):
        sentence += f" As a captured graph of 0.3 ms, the step would take {figures.figure(captured / MS, 'ms')}."
    return sentence


def model_choice_sentence(row: SystemRow) -> str:
    """Return a sentence on the model's choice that takes half of a step.

    Return "" without such a choice.
    """
    if row.scenario is None:
        return ""
    choices = list(_cheaper_models(row.scenario))
    steps = list(step_seconds([scenario for _, _, scenario in choices]))
    cheaper = [
        (step, *choice[:2])
        for step, choice in zip(steps, choices, strict=True)
        if step <= (1 - LARGE_CHOICE_SHARE) * row.step  # false for a model that cannot run
    ]
    if not cheaper:
        return ""
    step, subject, change = cheaper[0]  # the interaction first, on whose output the layers work
    share, cheaper_step, row_step = figures.percent(1 - step / row.step), step / MS, row.step / MS
    return (
        f"One choice of the model decides the machine: {subject}, {share} of the step. With {change} a step would take "
        f"{figures.figure(cheaper_step, 'ms')}, not {figures.figure(row_step, 'ms')}; ask again with it."
    )


def _cheaper_models(s: Scenario) -> Iterator[tuple[str, str, Scenario]]:
    """Yield a subject, a change in words and a scenario for each choice of the model that can be made cheaper."""
    features = int(total(per_table(s.model, "features"))) + 1
    changes: list[tuple[str, str, dict[str, Any]]] = []
    if s.model.interaction == "dot":
        pairs = figures.count(features * (features - 1) // 2)
        changes.append((f"the dot products of {pairs} pairs a sample", f"{INTERACTION}={CROSS}", {INTERACTION: CROSS}))
    for knob in ("bottom_mlp", "top_mlp"):
        widths = getattr(s.model, knob)
        for place in range(1 if knob == "bottom_mlp" else 0, len(widths) - 1):
            narrow = max(1, widths[place] // 8)
            layer = f"{'bottom' if knob == 'bottom_mlp' else 'top'} layer of {figures.count(widths[place])}"
            narrowed = (*widths[:place], narrow, *widths[place + 1 :])
            changes.append((f"the {layer} units", f"{figures.count(narrow)} units", {f"model.{knob}": narrowed}))
    for subject, words, change in changes:
        try:
            yield subject, words, with_values(s, change)
        except EmberpoolError:
            continue


def other_software_sentence(verdict: Verdict, bands: VerdictBands | None = None) -> str:
    """Return a sentence on the best row of each other software.

    It has the rows' bands as far as they are known. Return "" without other software.
    """
    best_row, choice = verdict.best_row, verdict.question.software
    if best_row is None or best_row.objective_value <= 0:
        return ""
    texts = []
    for row in leaders_by_software([row for row in verdict.rows if row.meets]):
        if row.stack.software != best_row.stack.software:
            ratio = row.objective_value / best_row.objective_value
            words = "the same" if abs(ratio - 1) < SAME else figures.times(ratio)
            texts.append(f"{software_title(row, choice)} {words}{_band_words(row, bands, verdict)}")
    amount = WORDS[verdict.question.objective_in_force].amount
    return f"By other software, at its best machine, the {amount} is: {', '.join(texts)}." if texts else ""


def _band_words(row: SystemRow, bands: VerdictBands | None, verdict: Verdict) -> str:
    """Return the band of a row in words, such as " (1.2 to 2.6 USD)"; "" if it is not known."""
    band = bands.rows.get(row.stack) if bands else None
    unit = {"cost": "USD a billion", "month": "USD a month"}.get(verdict.question.objective_in_force)
    if band is None or unit is None:
        return ""
    return f" ({figures.figure(band.low)} to {figures.figure(band.high, unit)})"


def unwritten_sentence(verdict: Verdict) -> str:
    """Return a sentence on the best machine whose software would have to be written.

    Return "" where it does not beat the verdict.
    """
    meeting = [row for row in verdict.unwritten if row.meets]
    if not meeting:
        return ""
    row, best_row = min(meeting, key=lambda meeting_row: (meeting_row.rank, meeting_row.stack)), verdict.best_row
    title = f"{row.family} ({load_variant('systems', row.system).title})"
    if best_row is None:
        return f"{title} would meet what is asked; its software would have to be written."
    ratio = best_row.objective_value / row.objective_value if row.objective_value else 1.0
    if ratio <= TIE_FACTOR:
        return ""
    word = WORDS[verdict.question.objective_in_force].better
    code = "of it there is a paper's code alone" if row.stack.state == "paper code" else "its software would have to be written"
    return f"{title} would be {figures.times(ratio)} {word}; {code}."
