"""The verdict in sentences: what to buy and why, the next best, what limits the others, and what was left out."""

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from ....core import figures
from ....insight.running_costs import dollars, price_note, running_dollars
from ....registry import load
from ....scenario.machine import HOURS
from ....scenario.scenario import per_table
from ....systems.kernels.in_force import title_of
from ..decide import SAME, Row, Verdict, VerdictQuestion
from ..families import CACHED, CXL, DRIVES, HBM, HOST, PERSISTENT, SERVERS
from ..outlook.bands import SURE, VerdictBands
from ..outlook.tipping import TippingPoint
from ..outlook.variants import POPULARITIES, QUANTITIES, Varied
from ..protected import NONE
from ..requirement import Requirement

KEEP: Mapping[str, str] = {
    HBM: "Keep the tables in HBM",
    CACHED: "Keep the tables in DRAM and hot rows in HBM",
    HOST: "Keep the tables in host DRAM",
    CXL: "Keep the tables in CXL memory",
    PERSISTENT: "Keep the tables in persistent memory",
    DRIVES: "Keep the tables on drives",
    SERVERS: "Keep the tables on embedding servers",
}
NO_MACHINE = "no machine that meets what is asked"
SOME = 0.01  # of draws: less is not told
LEAST_WORDS = {"cost": "cost a sample", "capital": "price", "energy": "energy a sample", "time": "time a sample"}


def inputs(question: VerdictQuestion) -> str:
    """Return the inputs that a verdict is computed from, in words."""
    model, data = question.base.model, question.base.data
    each, alike = model.num_embeddings, len(model.num_embeddings) == 1
    rows = figures.count(each[0], "row") if alike else f"{figures.count(sum(each), 'row')} in all"
    asked = ", ".join(requirements(question.requirement)) or "no speed or budget required"
    dims, optimizers = per_table(model, "embedding_dim"), dict.fromkeys(per_table(model, "optimizer"))
    wide = f" × {dims[0]}" if len({*dims}) == 1 else f", {min(dims)} to {max(dims)} wide"
    return (
        f"Computed for {figures.count(model.num_tables, 'table')} of {rows}{wide}, "
        f"{figures.count(sum(per_table(model, 'pooling')), 'lookup')} a sample, popularity {data.popularity}, "
        f"{' and '.join(optimizers)}, "
        f"batches of {figures.count(data.batch_size)}; {asked}; "
        f"{figures.exact(question.base.machine.training_hours_a_month)} hours of training a month, "
        f"prices of {question.base.machine.prices}."
    )


def requirements(requirement: Requirement) -> tuple[str, ...]:
    """Return each thing that is asked of a machine in words: "at least 601,000 samples/s", "at most 50,000 USD"."""
    title = load("systems", requirement.like).title if requirement.like else ""
    batches, minutes = requirement.lost_batches, requirement.lost_minutes
    lost = "nothing" if batches == 0 else f"at most {figures.count(batches or 0, 'batch', 'batches')}"
    lost = lost if minutes is None else f"at most {figures.exact(minutes, 'min')}"
    days, samples = figures.exact(requirement.days or 0.0), figures.figure(requirement.samples, "samples")
    phrases = (
        (requirement.throughput, f"at least {figures.figure(requirement.throughput, 'samples/s')}"),
        (requirement.step_ms, f"at most {figures.figure(requirement.step_ms, 'ms')} a batch"),
        (requirement.like, f"as fast as {title}"),
        (requirement.days, f"{samples} in {days} days"),
        (requirement.budget, f"at most {figures.exact(requirement.budget or 0.0, 'USD')}"),
        (requirement.lose or None, f"{lost} lost in a failure"),
    )
    return tuple(phrase for value, phrase in phrases if value is not None)


def row_title(row: Row) -> str:
    """Return the title of a row's system, with its kernels by table where tables have other ones than its own."""
    return title_of(row.scenario) if row.scenario else str(load("systems", row.system).title)


def machine_words(row: Row) -> str:
    """Return a row's machine in words, totals taken apart: "16 × h100-sxm (2 × 8), 512 GiB of DRAM each, in 2 × gpu-8-sxm"."""
    if row.scenario is None or row.sized is None:
        return "no machine"
    machine, count = row.sized.machine, row.nodes
    chassis, gpus = machine.chassis or "", row.parts.get(machine.gpu, 0)
    told = [_spread(gpus, machine.gpu, count)] if gpus else []
    dimms = [name for name in row.parts if " GiB " in name]
    dram = f"{figures.exact(machine.host_dram_GiB or 0.0, 'GiB')} of DRAM{' each' if count > 1 else ''}"
    aside = (chassis, machine.gpu, machine.host, *dimms)
    told += [_spread(number, name, count) for name, number in row.parts.items() if name not in aside]
    return f"{', '.join((*told, dram))}, in {figures.count(count)} × {chassis} with {machine.host} CPUs"


def not_on_sale(row: Row) -> str:
    """Return which parts of a row's machine cannot be bought today, "" for none."""
    gone = [f"{name} is {state}" for name, state in row.states.items() if state not in ("on sale", "unknown")]
    return f"Cannot be bought: {', '.join(gone)}." if gone else ""


def _spread(number: int, name: str, nodes: int) -> str:
    """Return how many of a part there are, over several nodes also how many in each."""
    apart = f" ({figures.count(nodes)} × {figures.count(number // nodes)})" if nodes > 1 and number % nodes == 0 else ""
    return f"{figures.count(number)} × {name}{apart}"


def money(row: Row) -> str:
    """Return what a row's machine costs, and a billion samples on it, with the year of the dollars."""
    if row.scenario is None or row.cost is None or row.capital is None:
        return "no published price"
    pace = row.result.results["Throughput [samples/s]"] if row.result else None
    cost = f"{figures.figure(row.cost.total, running_dollars(row.scenario))} a billion samples"
    return f"{figures.figure(pace or 0.0, 'samples/s')} for {figures.figure(row.capital, dollars(row.scenario))}, {cost}"


def headline(verdict: Verdict) -> str:
    """Return the verdict in one sentence, or that nothing meets the requirement, with the nearest miss."""
    best = verdict.best
    if best is None:
        return _none(verdict)
    return f"{KEEP[best.family]}: {row_title(best)} on {machine_words(best)}{guarded(best)}; {money(best)}."


def guarded(row: Row) -> str:
    """Return what protects a row's machine, "" where nothing does."""
    name = row.protected.name
    return "" if name == NONE else f", protected by {load('protections', name).title}"


def unstruck_words(verdict: Verdict) -> str:
    """Return that failures are not counted, where none has a rate."""
    struck = any(row.protected.worst_fault for row in verdict.rows if row.result)
    return "" if struck else "No failure has a rate, so none is counted."


def why(verdict: Verdict) -> str:
    """Return why the verdict beats the next family: how price and speed of the two machines compare; which families are level."""
    best = verdict.best
    if best is None:
        return ""
    others = [row for row in verdict.families if row.family != best.family]
    level = [row for row in others if row.meets and row.value <= SAME * best.value]
    other = next((row for row in others if row not in level), None)
    told = f"Level within 2 %: {', '.join(_on(row) for row in level)}. " if level else ""
    if other is None:
        return told.rstrip()
    if not other.meets:
        return f"{told}No other family meets the requirement; the nearest is {other.family}: {other.reason}"
    times = other.value / best.value if best.value else inf
    said = f"{told}{_on(other)} has {figures.figure(times)} times the {LEAST_WORDS[verdict.question.objective]}"
    dear, fast = _ratio(other.capital, best.capital), best.step / other.step
    if verdict.question.objective == "cost" and dear:
        said += f": its machine costs {_times(dear, 'as much', 'less')} and trains {_times(fast, 'as fast', 'slower')}"
    return f"{said}."


def _times(ratio: float, as_much: str, less: str) -> str:
    """Return a ratio in words: 2 times as much, or 3 times less."""
    if abs(ratio - 1) < 0.005:
        return as_much
    return f"{figures.figure(ratio)} times {as_much}" if ratio > 1 else f"{figures.figure(1 / ratio)} times {less}"


def _on(row: Row) -> str:
    return f"{row.family} ({row_title(row)} on {machine_words(row)})"


def sureness(verdict: Verdict, bands: VerdictBands) -> str:
    """Return in which share of draws the verdict is the best, what wins the others, and that it is a tie under 60 %."""
    best = verdict.best
    if best is None:
        return ""
    share = bands.share(best.system)
    others = sorted(
        ((one.share, system) for system, one in bands.rows.items() if system != best.system and one.share >= SOME), reverse=True
    )
    told = ", ".join(f"{load('systems', system).title} ({figures.percent(part)})" for part, system in others[:2])
    said = f"Best in {figures.percent(share)} of {bands.samples} draws of constants and prices, for this popularity of rows"
    said += f"; else {told}." if told else "."
    own = bands.rows.get(best.system)
    if own and verdict.question.objective == "cost":
        said += f" A billion samples cost {figures.figure(own.low)} to {figures.figure(own.high, 'USD')} in 9 of 10."
    return f"A tie. {said} What decides it are prices and rates within their ranges." if share < SURE else said


def popularity_words(verdict: Verdict, cases: Iterable[Varied]) -> str:
    """Return what the cheapest machine is where rows are popular otherwise; "" where that was not asked."""
    best, own, cases = verdict.best, verdict.question.base.data.popularity, [*cases]
    asked = [one for one in cases if one.name == "popularity" and one.winner.meets]
    unmet = [case.told for case in cases if case.told in POPULARITIES and not case.winner.meets]
    if not asked or best is None:
        return ""
    least, most = (end(one.winner.value / best.value for one in asked) for end in (min, max))
    times = f"{figures.figure(least)} to {figures.figure(most)} times"
    spread = f"under the other popularities the cheapest machine has {times} the {LEAST_WORDS[verdict.question.objective]}"
    moved: dict[str, list[str]] = {}
    for one in asked:
        if one.winner.family != best.family:
            price = "" if one.winner.capital is None else f" for {figures.figure(one.winner.capital, 'USD')}"
            moved.setdefault(f"{one.winner.family}{price}", []).append(one.told)
    if unmet:
        moved[NO_MACHINE] = unmet
    if moved:
        others = "; ".join(f"{' or '.join(names)}: {family}" for family, names in moved.items())
        return f"It depends on how popular rows are, here as in {own}: {others}. {spread[0].upper()}{spread[1:]}."
    return f"It holds however popular rows are: here as in {own}, {spread}."


def left_out(verdict: Verdict) -> str:
    """Return which GPUs were left out for lack of a price; "" for none."""
    return f"Left out, having no published price: {', '.join(verdict.unpriced)}." if verdict.unpriced else ""


def popularity_changes(verdict: Verdict, cases: Iterable[Varied]) -> Iterator[str]:
    """Yield under which popularities of rows another family wins, or no machine meets the requirement."""
    popularities: dict[str, list[str]] = {}
    for case in cases:
        family = case.winner.family if case.winner.meets else NO_MACHINE
        if verdict.best and case.told in POPULARITIES and family != verdict.best.family:
            popularities.setdefault(family, []).append(case.told)
    for family, names in popularities.items():
        yield f"Popularity of rows: as in {' or '.join(names)} it is {family}."


def tipping_words(points: Iterable[TippingPoint]) -> Iterator[str]:
    """Yield where the verdict changes, one sentence a tipping point, and along which quantities it does not."""
    still: dict[str, int] = {}
    widest = {quantity.name: quantity.steps[-1] for quantity in QUANTITIES}
    for one in points:
        if one.at is None:
            still[one.quantity] = still.get(one.quantity, 0) + 1
        else:
            way, after = "above" if one.upwards else "below", one.at.winner.family or "nothing that can be built"
            yield f"{one.quantity[0].upper() + one.quantity[1:]}: {way} {one.at.told} it is {after}."
    for factor in sorted({*widest.values()}, reverse=True):
        if unmoved := [name for name, count in still.items() if count == 2 and widest.get(name) == factor]:
            yield f"No change from 1/{figures.count(factor)} to {figures.count(factor)} times: {', '.join(unmoved)}."


def notes(verdict: Verdict) -> Iterator[str]:
    """Yield what a reader must know of a verdict: ties, parts that cannot be bought or priced, dates of prices."""
    best = verdict.best
    if best is not None:
        yield from filter(None, [ties(verdict)])
        yield from filter(None, [not_on_sale(best), headline_only(best)])
        if best.scenario is not None:
            yield from filter(None, [price_note(best.scenario)])
    if verdict.unpriced:
        yield left_out(verdict)
    hours = verdict.question.base.machine.training_hours_a_month
    always = hours >= HOURS
    taken = "all the time, which favours large machines" if always else f"{figures.exact(hours)} hours a month"
    yield f"It is taken to train {taken}."


def headline_only(row: Row) -> str:
    """Return that a system's inner workings are not published, "" where they are."""
    system = load("systems", row.system)
    if system.confidence == "source":
        return ""
    return f"{system.title} is known from its headline results alone: its inner workings are assumed."


def ties(verdict: Verdict) -> str:
    """Return which rows are better by so little that the plainer system is named; "" for none."""
    best = verdict.best
    better = [row for row in verdict.rows if best and row.meets and row.value < best.value * (1 - 1e-9)]
    if best is None or not better:
        return ""
    names = " and ".join(load("systems", row.system).title for row in better)
    most = max(1 - row.value / best.value for row in better)
    why_not = (
        "known from headlines alone" if load("systems", better[0].system).confidence != "source" else "of more kinds of parts"
    )
    what = LEAST_WORDS[verdict.question.objective]
    return f"{names} {'have' if len(better) > 1 else 'has'} up to {figures.percent(most)} less {what}, a tie, but {why_not}."


def _none(verdict: Verdict) -> str:
    near = next((row for row in verdict.rows if row.result is not None), None)
    asked = " and ".join(requirements(verdict.question.requirement)) or "what is asked"
    if near is None:
        limits = next((row.reason for row in verdict.rows), "")
        return f"Nobody can build a machine for this model of the parts that may be used. {limits}"
    return (
        f"No machine of the parts that may be used gives {asked}. The nearest is {row_title(near)} on "
        f"{machine_words(near)}: {near.reason}"
    )


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
