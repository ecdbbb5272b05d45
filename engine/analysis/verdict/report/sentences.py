"""The verdict in sentences: the machine, the reason, the next best, left-out parts."""

from collections.abc import Iterable, Iterator, Mapping

from ....core import figures
from ....core.arithmetic import total
from ....hardware.framework import agreement_sentences
from ....registry import load_variant
from ....scenario.machine import HOURS
from ....scenario.scenario import per_table
from ....systems.kernels.in_force import title_of
from ..decide import TIE_FACTOR, SystemRow, Verdict
from ..delivery import delivery_sentence, weeks_text
from ..families import CACHED_DRAM, CXL, DRIVES, HBM, HOST, PERSISTENT, SERVERS
from ..outlook.bands import MIN_SURE_SHARE, VerdictBands
from ..outlook.tipping import TippingPoint
from ..outlook.variants import POPULARITIES, QUANTITIES, VariedCase
from ..protected import NO_PROTECTION
from ..question import VerdictQuestion
from ..requirement import WORDS, Requirement
from ..stacks import SoftwareChoice, Stack
from .bill import billion_words, month_words, price_words
from .software import SAME, software_words, stack_title, state_sentence

FAMILY_ADVICE: Mapping[str, str] = {
    HBM: "Keep the tables in HBM",
    CACHED_DRAM: "Keep the tables in DRAM and hot rows in HBM",
    HOST: "Keep the tables in host DRAM",
    CXL: "Keep the tables in CXL memory",
    PERSISTENT: "Keep the tables in persistent memory",
    DRIVES: "Keep the tables on drives",
    SERVERS: "Keep the tables on embedding servers",
}
MONEY_SUBJECTS = {"cost": "A billion samples cost", "month": "A month costs", "capital": "The machine costs"}
NO_MACHINE = "no machine that meets what is asked"
MIN_DRAW_SHARE = 0.01  # share of draws; a smaller share is not reported


def inputs_sentence(question: VerdictQuestion) -> str:
    """Return a sentence with the inputs of a verdict."""
    model, data_knobs = question.base.model, question.base.data
    rows_by_table, equal_rows = model.num_embeddings, len(model.num_embeddings) == 1
    rows = figures.count(rows_by_table[0], "row") if equal_rows else f"{figures.count(total(rows_by_table), 'row')} in all"
    requirements_text = ", ".join(requirements(question.requirement)) or "no speed or budget required"
    dims, optimizers = per_table(model, "embedding_dim"), dict.fromkeys(per_table(model, "optimizer"))
    width_text = f" × {dims[0]}" if len({*dims}) == 1 else f", {min(dims)} to {max(dims)} wide"
    return (
        f"Computed for {figures.count(model.num_tables, 'table')} of {rows}{width_text}, "
        f"{figures.count(total(per_table(model, 'pooling')), 'lookup')} a sample, popularity {data_knobs.popularity}, "
        f"{' and '.join(optimizers)}, "
        f"batches of {figures.count(data_knobs.batch_size)}; {requirements_text}; "
        f"{question.software.words}; {figures.exact(question.base.machine.training_hours_a_month, 'h')} of training a month, "
        f"prices of {question.base.machine.prices}."
    )


def requirements(requirement: Requirement) -> tuple[str, ...]:
    """Return each limit of a requirement as words, such as "at most 50,000 USD"."""
    title = load_variant("systems", requirement.as_fast_as).title if requirement.as_fast_as else ""
    batches, minutes = requirement.lost_batches, requirement.lost_minutes
    loss_text = "nothing" if batches == 0 else f"at most {figures.count(batches or 0, 'batch', 'batches')}"
    loss_text = loss_text if minutes is None else f"at most {figures.exact(minutes, 'min')}"
    days, samples = figures.exact(requirement.days or 0.0), figures.figure(requirement.samples, "samples")
    phrases = (
        (requirement.throughput, f"at least {figures.figure(requirement.throughput, 'samples/s')}"),
        (requirement.step_ms, f"at most {figures.figure(requirement.step_ms, 'ms')} a batch"),
        (requirement.as_fast_as, f"as fast as {title}"),
        (requirement.days, f"{samples} in {days} days"),
        (requirement.budget, f"at most {figures.exact(requirement.budget or 0.0, 'USD')}"),
        (requirement.weeks, f"delivery in {weeks_text(requirement.weeks or 0.0)}"),
        (requirement.loss_text or None, f"{loss_text} lost in a failure"),
    )
    return tuple(phrase for limit, phrase in phrases if limit is not None)


def row_title(row: SystemRow) -> str:
    """Return the title of a row's system, with its tables' kernels if they differ."""
    return title_of(row.scenario) if row.scenario else str(load_variant("systems", row.system).title)


def machine_words(row: SystemRow) -> str:
    """Return words for a row's machine: its GPUs, nodes, memory and chassis.

    For example "16 × h100-sxm (2 × 8), 512 GiB of DRAM each, in 2 × gpu-8-sxm".
    """
    if row.scenario is None or row.sized_scenario is None:
        return "no machine"
    machine, count = row.sized_scenario.machine, row.nodes
    chassis, gpus = machine.chassis or "", row.parts.get(machine.gpu, 0)
    part_texts = [_spread(gpus, machine.gpu, count)] if gpus else []
    dimms = [name for name in row.parts if " GiB " in name]
    dram = f"{figures.exact(machine.host_dram_GiB or 0.0, 'GiB')} of DRAM{' each' if count > 1 else ''}"
    unlisted_parts = (chassis, machine.gpu, machine.host, *dimms)
    part_texts += [_spread(number, name, count) for name, number in row.parts.items() if name not in unlisted_parts]
    return f"{', '.join((*part_texts, dram))}, in {figures.count(count)} × {chassis} with {machine.host} CPUs"


def unavailable_sentence(row: SystemRow) -> str:
    """Return sentences on parts that are bought used, or cannot be bought.

    Return "" for none.
    """
    used = [item.part for item in row.bill if item.bought and item.price and item.price.used]
    others = ((name, state) for name, state in row.states.items() if name not in used)
    unavailable = [f"{name} is {state}" for name, state in others if state not in ("on sale", "unknown")]
    sentences = [f"Bought used, as it is no longer sold new: {', '.join(used)}."] * bool(used)
    sentences += [f"Cannot be bought: {', '.join(unavailable)}."] * bool(unavailable)
    return " ".join(sentences)


def _spread(number: int, name: str, nodes: int) -> str:
    """Return the number of a part in words, over several nodes also the number in each."""
    node_note = f" ({figures.count(nodes)} × {figures.count(number // nodes)})" if nodes > 1 and number % nodes == 0 else ""
    return f"{figures.count(number)} × {name}{node_note}"


def cost_words(row: SystemRow) -> str:
    """Return words for a machine's speed, price and month, with the year of the dollars."""
    if row.scenario is None or row.cost is None or row.capital is None:
        return "no published price"
    pace = row.result.results["Throughput [samples/s]"] if row.result else None
    return f"{figures.figure(pace or 0.0, 'samples/s')} for {price_words(row)}; {month_words(row)}"


def headline(verdict: Verdict) -> str:
    """Return the verdict in one sentence, or a sentence that no machine meets the requirement."""
    best_row = verdict.best_row
    if best_row is None:
        return _no_machine_sentence(verdict)
    machine = f"{machine_words(best_row)}{protection_words(best_row)}"
    software = software_words(best_row, verdict.question.software)
    costs = cost_words(best_row)
    if not verdict.question.requirement.is_of_speed and (billion := billion_words(best_row)):
        costs = f"{costs}, {billion}"
    return f"{FAMILY_ADVICE[best_row.family]}: {row_title(best_row)} on {machine}, {software}; {costs}."


def full_use_sentence(verdict: Verdict) -> str:
    """Return a sentence on a sample's cost at full use.

    Return "" where no speed is asked for.
    """
    best_row = verdict.best_row
    if best_row is None or not verdict.question.requirement.is_of_speed or not (billion := billion_words(best_row)):
        return ""
    return f"At full use it costs {billion}; samples beyond those asked for are counted as worth nothing."


def protection_words(row: SystemRow) -> str:
    """Return words for the protection of a row's machine, "" without one."""
    name = row.protection.name
    return "" if name == NO_PROTECTION else f", protected by {load_variant('protections', name).title}"


def unstruck_words(verdict: Verdict) -> str:
    """Return a sentence that costs contain no failures; "" where a failure has a rate."""
    struck = any(row.protection.worst_fault for row in verdict.rows if row.result)
    return "" if struck else "No failure has a rate, so the costs contain no failures."


def reason_sentence(verdict: Verdict) -> str:
    """Return sentences on why the verdict beats the next family, and on tied families."""
    best_row = verdict.best_row
    if best_row is None:
        return ""
    other_rows = [row for row in verdict.families if row.family != best_row.family]
    tied_rows = [row for row in other_rows if row.meets and row.objective_value <= TIE_FACTOR * best_row.objective_value]
    next_row = next((row for row in other_rows if row not in tied_rows), None)
    tie_sentence = f"Equal within 2 %: {', '.join(_family_and_machine(row) for row in tied_rows)}. " if tied_rows else ""
    if next_row is None:
        return tie_sentence.rstrip()
    if not next_row.meets:
        return f"{tie_sentence}No other family meets the requirement; the nearest is {next_row.family}: {next_row.reason}"
    ratio, amount = _ratio(next_row.objective_value, best_row.objective_value), WORDS[verdict.question.objective_in_force].amount
    more = f"has {figures.times(ratio)} the {amount}" if ratio else f"has a {amount}, and the machine of owned parts has none"
    sentence = f"{tie_sentence}{_family_and_machine(next_row)} {more}"
    price_ratio, speed_ratio = _ratio(next_row.capital, best_row.capital), best_row.step / next_row.step
    if verdict.question.objective_in_force in ("cost", "month") and price_ratio:
        price_words, speed_words = _ratio_words(price_ratio, "as much", "less"), _ratio_words(speed_ratio, "as fast", "slower")
        sentence += f": its machine costs {price_words} and trains {speed_words}"
    return f"{sentence}."


def _ratio_words(ratio: float, as_much: str, less: str) -> str:
    """Return a ratio in words: 2 times as much, or 3 times less."""
    if abs(ratio - 1) < 0.005:
        return as_much
    return f"{figures.times(ratio)} {as_much}" if ratio > 1 else f"{figures.times(1 / ratio)} {less}"


def _family_and_machine(row: SystemRow) -> str:
    return f"{row.family} ({row_title(row)} on {machine_words(row)})"


def draw_share_sentence(verdict: Verdict, bands: VerdictBands) -> str:
    """Return sentences on the share of draws in which the verdict wins.

    A share under 60 % is called a tie.
    """
    best_row = verdict.best_row
    if best_row is None:
        return ""
    share, choice = bands.share(best_row.stack), verdict.question.software
    rivals = sorted(
        ((band.share, stack) for stack, band in bands.rows.items() if stack != best_row.stack and band.share >= MIN_DRAW_SHARE),
        reverse=True,
    )
    rival_text = ", ".join(f"{_stack_words(stack, choice)} ({figures.percent(part)})" for part, stack in rivals[:2])
    sentence = (
        f"Best in {figures.percent(share)} of {bands.samples} random draws of constants and prices, for this popularity of rows"
    )
    sentence += f"; else {rival_text}." if rival_text else "."
    best_band = bands.rows.get(best_row.stack)
    if best_band and (subject := MONEY_SUBJECTS.get(verdict.question.objective_in_force)):
        sentence += f" {subject} {figures.figure(best_band.low)} to {figures.figure(best_band.high, 'USD')} in 9 of 10."
    return (
        (f"A tie. {sentence} Prices and rates within their plausible ranges decide which machine is the best.")
        if share < MIN_SURE_SHARE
        else sentence
    )


def _stack_words(stack: Stack, choice: SoftwareChoice) -> str:
    return f"{load_variant('systems', stack.system).title} by {stack_title(stack, choice)}"


def popularity_words(verdict: Verdict, cases: Iterable[VariedCase]) -> str:
    """Return a sentence on the cheapest machine under other popularities of rows, or ""."""
    best_row, own_popularity, cases = verdict.best_row, verdict.question.base.data.popularity, [*cases]
    met_cases = [case for case in cases if case.name == "popularity" and case.winner.meets]
    unmet_popularities = [case.case_text for case in cases if case.case_text in POPULARITIES and not case.winner.meets]
    if not met_cases or best_row is None:
        return ""
    amount, values = WORDS[verdict.question.objective_in_force].amount, [case.winner.objective_value for case in met_cases]
    if best_row.objective_value:
        ratios = (value / best_row.objective_value for value in (min(values), max(values)))
        ends = (figures.times(1.0 if abs(ratio - 1) < SAME else ratio) for ratio in ratios)
        spread_words = f"{' to '.join(dict.fromkeys(ends)).replace(' times to', ' to')} the {amount}"
    else:  # all parts are owned
        spread_words = f"a {amount} of up to {figures.figure(max(values), 'USD')}"
    spread = f"under the other popularities the cheapest machine has {spread_words}"
    popularities_by_family: dict[str, list[str]] = {}
    for case in met_cases:
        if case.winner.family != best_row.family:
            price = "" if case.winner.capital is None else f" for {figures.figure(case.winner.capital, 'USD')}"
            popularities_by_family.setdefault(f"{case.winner.family}{price}", []).append(case.case_text)
    if unmet_popularities:
        popularities_by_family[NO_MACHINE] = unmet_popularities
    if popularities_by_family:
        changes_text = "; ".join(f"{' or '.join(names)}: {family}" for family, names in popularities_by_family.items())
        return (
            f"The verdict depends on the popularity of rows, here as in {own_popularity}: {changes_text}. "
            f"{spread[0].upper()}{spread[1:]}."
        )
    return f"The verdict is the same for every popularity of rows: here as in {own_popularity}, {spread}."


def unpriced_sentence(verdict: Verdict) -> str:
    """Return a sentence on the GPUs that were left out because they have no price.

    The GPU of the scenario is named as such. Return "" without such GPUs.
    """
    gpu, names = verdict.question.base.machine.gpu, ", ".join(verdict.unpriced)
    own = f" {gpu} is the GPU of the scenario: machine.quotes can give a price." if gpu in verdict.unpriced else ""
    if not names:
        return ""
    where = "The whole answer has a row for each GPU, with the price below which it would win."
    return f"Left out, as no price is published: {names}. {where}{own}"


def popularity_changes(verdict: Verdict, cases: Iterable[VariedCase]) -> Iterator[str]:
    """Yield a sentence for each family that wins under other popularities of rows."""
    popularities: dict[str, list[str]] = {}
    for case in cases:
        family = case.winner.family if case.winner.meets else NO_MACHINE
        if verdict.best_row and case.case_text in POPULARITIES and family != verdict.best_row.family:
            popularities.setdefault(family, []).append(case.case_text)
    for family, names in popularities.items():
        yield f"With the popularity of rows of {' or '.join(names)}, the best family is {family}."


def tipping_words(points: Iterable[TippingPoint]) -> Iterator[str]:
    """Yield a sentence for each tipping point, then on quantities that change no verdict."""
    unmoved_ends: dict[str, int] = {}
    widest = {quantity.name: quantity.steps[-1] for quantity in QUANTITIES}
    for point in points:
        if point.changed_case is None:
            unmoved_ends[point.quantity] = unmoved_ends.get(point.quantity, 0) + 1
        else:
            way, family_after = (
                "above" if point.upwards else "below",
                point.changed_case.winner.family or "nothing that can be built",
            )
            quantity = point.quantity[0].upper() + point.quantity[1:]
            yield f"{quantity}: {way} {point.changed_case.case_text}, the best family is {family_after}."
    for factor in sorted({*widest.values()}, reverse=True):
        if unmoved := [name for name, count in unmoved_ends.items() if count == 2 and widest.get(name) == factor]:
            yield (
                f"The verdict stays the same from 1/{figures.count(factor)} to {figures.count(factor)} times: "
                f"{', '.join(unmoved)}."
            )


def notes(verdict: Verdict) -> Iterator[str]:
    """Yield the notes on a verdict: ties, unavailable or unpriced parts, dates of prices."""
    best_row = verdict.best_row
    if best_row is not None:
        yield from filter(None, [state_sentence(best_row, verdict.question.software), ties_sentence(verdict)])
        yield from filter(None, [unavailable_sentence(best_row), headline_only_sentence(best_row)])
        if best_row.scenario is not None:
            yield from filter(None, [delivery_words(verdict)])
            yield from agreement_sentences(best_row.scenario.machine)
    if verdict.unpriced:
        yield unpriced_sentence(verdict)
    hours = verdict.question.base.machine.training_hours_a_month
    trains_always = hours >= HOURS
    hours_text = "all the time, which favours large machines" if trains_always else f"{figures.exact(hours, 'h')} a month"
    yield f"The machine is assumed to train {hours_text}."


def delivery_words(verdict: Verdict) -> str:
    """Return a sentence on the delivery of the verdict's GPUs, or ""."""
    row = verdict.best_row
    return delivery_sentence(row.scenario, verdict.question.requirement.weeks) if row and row.scenario else ""


def headline_only_sentence(row: SystemRow) -> str:
    """Return a sentence that a system's inner workings are not published, or ""."""
    system = load_variant("systems", row.system)
    if system.confidence == "source":
        return ""
    return f"{system.title} is known from its headline results alone: its inner workings are assumed."


def ties_sentence(verdict: Verdict) -> str:
    """Return a sentence on rows that beat the verdict by less than 2 %, or "".

    It says why the verdict is preferred.
    """
    best_row = verdict.best_row
    better = [
        row for row in verdict.rows if best_row and row.meets and row.objective_value < best_row.objective_value * (1 - 1e-9)
    ]
    if best_row is None or not better:
        return ""
    names = " and ".join(load_variant("systems", row.system).title for row in better)
    max_saving = max(1 - row.objective_value / best_row.objective_value for row in better)
    reason = (
        "known from headlines alone"
        if load_variant("systems", better[0].system).confidence != "source"
        else "of more kinds of parts"
    )
    objective_word = WORDS[verdict.question.objective_in_force].amount
    verb, saving = "have" if len(better) > 1 else "has", figures.percent(max_saving)
    return f"{names} {verb} up to {saving} less {objective_word}, a tie, but {reason}."


def _no_machine_sentence(verdict: Verdict) -> str:
    nearest_row = next((row for row in verdict.rows if row.result is not None), None)
    requirements_text = " and ".join(requirements(verdict.question.requirement)) or "what is asked"
    if nearest_row is None:
        limits = next((row.reason for row in verdict.rows), "")
        return f"No machine for this model can be built of the allowed parts. {limits}"
    return (
        f"No machine of the allowed parts meets what is asked: {requirements_text}. The nearest is {row_title(nearest_row)} on "
        f"{machine_words(nearest_row)}: {nearest_row.reason}"
    )


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None
