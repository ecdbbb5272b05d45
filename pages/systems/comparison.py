"""What a comparison of training systems finds, in sentences: the fastest, by how much, and what else it costs."""

from collections.abc import Iterable, Mapping

from engine.core import figures
from engine.insight import running_costs
from engine.registry import load
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.systems.system import LogPolicy, log_policy
from pages.answers import question
from pages.answers.headline import NODES, RATE, model_name, node_comparison, node_count, system_title
from pages.ui.numbers import readable
from pages.ui.palette import known_by

STEP, ENERGY, COST = "Step time [ms]", "Energy per batch [J]", "Capital cost [USD]"
EQUAL = 1 + 5e-4
TELLING = 0.1  # of a difference: what is less is not worth a word
Results = Mapping[str, Result]


def that_ran(results: Results) -> dict[str, Result]:
    """Return the results of the systems that can run."""
    return {name: result for name, result in results.items() if result.ran}


def against(results: Results, scenario: Scenario) -> str:
    """Return the baseline that runs here: the sidebar system's own where it is compared, else the first of the compared."""
    ran = that_ran(results)
    return next((name for name in (question.baseline_system(scenario), *ran) if name in ran), "")


def headline(results: Results, scenario: Scenario) -> str:
    """Return which system is fastest, and by how much over the named baseline; over the slowest if it is the baseline."""
    ran = that_ran(results)
    model, base = model_name(scenario), against(results, scenario)
    if not ran:
        return f"None of these {len(results)} systems can train {model} here" if len(results) > 1 else f"{model} cannot run here"
    first, step = best(ran, STEP), min(values(ran, STEP).values())
    if len(ran) == 1:
        only = f", the only one of {len(results)} that can" if len(results) > 1 else ""
        return f"{system_title(first[0])} trains {model} in {readable(step, 'ms')} a batch{only}"
    if found := _by_nodes(ran, scenario):
        return found
    start = f"{_trains(first)} {model} fastest of {len(ran)}: {readable(step, 'ms')} a batch"
    other = _beaten(ran, first, base)
    most = ", the slowest" if base in first else ""
    return (
        f"{start}, {figures.factor(values(ran, STEP)[other] / step)} faster than {system_title(other)}{most}" if other else start
    )


def _beaten(ran: Results, first: list[str], base: str) -> str:
    """Return whom the fastest are compared with: the baseline, or the slowest where it is among them; "" if all are equal."""
    other = max(ran, key=values(ran, STEP).__getitem__) if base in first else base
    return "" if other in first else other


def why(results: Results, scenario: Scenario) -> str:
    """Return for what the beaten system waits more than the fastest, and for what that one waits; "" for a single system."""
    ran = that_ran(results)
    first = best(ran, STEP)
    other = _beaten(ran, first, against(results, scenario)) if len(ran) > 1 else ""
    if not first:
        return ""
    ours, step = _waits(ran[first[0]]), values(ran, STEP)[first[0]]
    longest = max(ours, key=ours.__getitem__, default="")
    itself = (
        f"waits longest for {longest}, {readable(ours[longest], 'ms')} of its {readable(step, 'ms')}"
        if longest
        else "waits for nothing"
    )
    if not other:
        return f"{system_title(first[0])} {itself}."
    more = {what: amount - ours.get(what, 0.0) for what, amount in _waits(ran[other]).items()}
    lost = sorted((what for what, amount in more.items() if amount > TELLING * sum(more.values())), key=lambda what: -more[what])
    told = listed(f"{readable(more[what], 'ms')} for {what}" for what in lost[:3])
    start = "Why" if scenario.machine.target_throughput is None else "In a batch on those nodes"
    fastest = f"{system_title(first[0])} {itself}."
    return f"{start}: {system_title(other)} waits longer, {told}; {fastest}" if told else fastest


def _waits(result: Result) -> dict[str, float]:
    """Return the exposed milliseconds of a batch by what is waited for: a stage on a device, or a task of no stage."""
    found: dict[str, float] = {}
    for row in result.breakdown:
        tasks = [
            one["Task"] for one in result.timeline if one["Stage"] == row["Stage"] and one["Device"].startswith(row["Device"])
        ]
        what = tasks[0] if row["Stage"] == "Other" and tasks else row["Stage"]
        name = f"{what} on {row['Device']}"
        found[name] = found.get(name, 0.0) + 1e3 * row["Exposed [s]"]
    return {name: amount for name, amount in found.items() if amount > 0}


def _by_nodes(ran: dict[str, Result], scenario: Scenario) -> str:
    """Return who reaches the throughput asked for on fewest nodes; "" where none is asked for."""
    target = scenario.machine.target_throughput
    able = {name: result for name, result in ran.items() if target and (result.results.get(RATE) or 0.0) >= target}
    if target is None or len(able) < 2:
        return ""
    first, count = best(able, NODES), values(able, NODES)
    start = f"{_trains(first)} {model_name(scenario)} at {readable(target, 'samples/s')}"
    if len(first) == len(able):
        return f"{start} on {node_count(able[first[0]])}{' each' * (len(first) > 1)}: none of these {len(able)} needs fewer"
    base = against(able, scenario)
    other = base if base not in first else max(able, key=count.__getitem__)
    compared = node_comparison(able[first[0]], able[other].results, other)
    return f"{start} on the fewest nodes, {figures.count(count[first[0]])}: {compared}"


def details(results: Results) -> list[str]:
    """Return what the headline leaves out: how well the fastest is known, which survives a power loss, which is frugal."""
    ran = that_ran(results)
    sized = any(result.scenario.machine.target_throughput is not None for result in ran.values())
    winners = best(ran, NODES if sized else STEP)
    found = [f"{system_title(name)} is known by its headline only." for name in winners if "headline" in known_by(name)]
    if len(ran) < 2:
        return found
    first, logged = best(ran, STEP), {name: result for name, result in ran.items() if policies(result.scenario).log}
    if logged and not set(first) & set(logged):
        fastest = best(logged, STEP)
        step = readable(values(logged, STEP)[fastest[0]], "ms")
        again = f"{titled(first)} start{'s' * (len(first) == 1)} again"
        found.append(f"After a power loss {again}; fastest that recovers: {titled(fastest)}, {step}.")
    for name, words, unit in ((ENERGY, "Least energy", "J a batch"), (COST, "Cheapest", "")):
        names = best(ran, name)
        unit = unit or running_costs.dollars(ran[names[0]].scenario if names else next(iter(ran.values())).scenario)
        also = running_costs.static_energy(ran[names[0]].results) if name == ENERGY and names else ""
        found += [f"{words}: {titled(names)}, {readable(values(ran, name)[names[0]], unit)}{also}."] if names else []
    left = [system for system in ran if system not in values(ran, COST)]
    return [*found, *([f"No price is published for a part of {titled(left)}: left out of Cheapest."] if left else [])]


def best(results: Results, name: str) -> list[str]:
    """Return the systems whose result of that name is lowest, all of them where several are equal."""
    known = values(results, name)
    least = min(known.values(), default=0.0)
    return [system for system, value in known.items() if value <= least * EQUAL]


def policies(scenario: Scenario) -> LogPolicy:
    """Return the policies in force under a scenario's system, which must be able to run."""
    return log_policy(scenario, load("systems", scenario.system))


def titled(names: Iterable[str]) -> str:
    """Return systems by their titles, as a sentence lists them."""
    return listed(map(system_title, names))


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence lists them."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def values(results: Results, name: str) -> dict[str, float]:
    """Return a result by system, of those that have it."""
    found = {system: result.results.get(name) for system, result in results.items()}
    return {system: value for system, value in found.items() if value is not None}


def _trains(names: list[str]) -> str:
    return f"{titled(names)} {'train' if len(names) > 1 else 'trains'}"
