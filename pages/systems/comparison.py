"""A comparison of training systems in sentences: the fastest, by which factor, at which cost."""

from collections.abc import Iterable, Mapping

from engine.core import figures
from engine.core.arithmetic import total
from engine.insight import running_costs
from engine.registry import load_variant
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.systems.system import LogPolicy, log_policy
from pages.answers import question
from pages.answers.headline import NODES, RATE, model_name, node_comparison, node_count, system_title
from pages.ui.numbers import result_text
from pages.ui.palette import known_by

STEP, ENERGY, COST = "Step time [ms]", "Energy per batch [J]", "Capital cost [USD]"
EQUAL = 1 + 5e-4
MIN_WAIT_SHARE = 0.1  # share of a difference: smaller parts are not mentioned
Results = Mapping[str, Result]


def results_that_ran(results: Results) -> dict[str, Result]:
    """Return the results of the systems that can run."""
    return {name: result for name, result in results.items() if result.ran}


def baseline_name(results: Results, scenario: Scenario) -> str:
    """Return the baseline system: the scenario's baseline if it can run, else the first system."""
    ran_results = results_that_ran(results)
    return next((name for name in (question.baseline_system(scenario), *ran_results) if name in ran_results), "")


def headline(results: Results, scenario: Scenario) -> str:
    """Return a sentence on the fastest system and its speed-up over the baseline.

    If the baseline is fastest, it is compared with the slowest system.
    """
    ran_results = results_that_ran(results)
    model, base = model_name(scenario), baseline_name(results, scenario)
    if not ran_results:
        return (
            f"None of these {figures.count(len(results), 'system')} can train {model} here"
            if len(results) > 1
            else f"{model} cannot run here"
        )
    fastest_systems, step = lowest_systems(ran_results, STEP), min(values(ran_results, STEP).values())
    if len(ran_results) == 1:
        only_text = f", the only system of {len(results)} that can run" if len(results) > 1 else ""
        return f"{system_title(fastest_systems[0])} trains {model} in {result_text(step, 'ms')} a batch{only_text}"
    if nodes_sentence := _nodes_sentence(ran_results, scenario):
        return nodes_sentence
    start = f"{_train_phrase(fastest_systems)} {model} fastest of {len(ran_results)}: {result_text(step, 'ms')} a batch"
    slower_system = _slower_system(ran_results, fastest_systems, base)
    if not slower_system:
        return start
    slowest_text = ", the slowest" if base in fastest_systems else ""
    ratio = figures.factor(values(ran_results, STEP)[slower_system] / step)
    return f"{start}, {ratio} faster than {system_title(slower_system)}{slowest_text}"


def _slower_system(ran_results: Results, fastest_systems: list[str], base: str) -> str:
    """Return the system that the fastest are compared with; "" if all are equal.

    That is the baseline, or the slowest where the baseline is among the fastest.
    """
    slower_system = max(ran_results, key=values(ran_results, STEP).__getitem__) if base in fastest_systems else base
    return "" if slower_system in fastest_systems else slower_system


def wait_sentence(results: Results, scenario: Scenario) -> str:
    """Return a sentence on the waits that slow a system, and the fastest system's longest wait.

    For a single system the sentence only has its longest wait.
    """
    ran_results = results_that_ran(results)
    fastest_systems = lowest_systems(ran_results, STEP)
    slower_system = _slower_system(ran_results, fastest_systems, baseline_name(results, scenario)) if len(ran_results) > 1 else ""
    if not fastest_systems:
        return ""
    fastest_waits, step = _waits(ran_results[fastest_systems[0]]), values(ran_results, STEP)[fastest_systems[0]]
    longest = max(fastest_waits, key=fastest_waits.__getitem__, default="")
    itself = (
        f"waits longest for {longest}, {result_text(fastest_waits[longest], 'ms')} of its {result_text(step, 'ms')}"
        if longest
        else "does not wait"
    )
    if not slower_system:
        return f"{system_title(fastest_systems[0])} {itself}."
    extra_waits = {cause: amount - fastest_waits.get(cause, 0.0) for cause, amount in _waits(ran_results[slower_system]).items()}
    main_causes = sorted(
        (cause for cause, amount in extra_waits.items() if amount > MIN_WAIT_SHARE * total(extra_waits.values())),
        key=lambda cause: -extra_waits[cause],
    )
    cause_texts = join_names(f"{result_text(extra_waits[cause], 'ms')} for {cause}" for cause in main_causes[:3])
    start = (
        "The reason"
        if scenario.machine.target_throughput is None
        else "The reason, in a batch on the nodes that each system needs"
    )
    fastest = f"{system_title(fastest_systems[0])} {itself}."
    return f"{start}: {system_title(slower_system)} waits longer, by {cause_texts}; {fastest}" if cause_texts else fastest


def _waits(result: Result) -> dict[str, float]:
    """Return the exposed milliseconds of a batch by stage and device.

    Tasks of no stage count by their own names.
    """
    waits: dict[str, float] = {}
    for row in result.breakdown:
        tasks = [
            task_row["Task"]
            for task_row in result.timeline
            if task_row["Stage"] == row["Stage"] and task_row["Device"].startswith(row["Device"])
        ]
        cause = tasks[0] if row["Stage"] == "Other" and tasks else row["Stage"]
        name = f"{cause} on {row['Device']}"
        waits[name] = waits.get(name, 0.0) + 1e3 * row["Exposed [s]"]
    return {name: amount for name, amount in waits.items() if amount > 0}


def _nodes_sentence(ran_results: dict[str, Result], scenario: Scenario) -> str:
    """Return which systems reach the target throughput on fewest nodes; "" without a target."""
    target = scenario.machine.target_throughput
    able = {name: result for name, result in ran_results.items() if target and (result.results.get(RATE) or 0.0) >= target}
    if target is None or len(able) < 2:
        return ""
    fewest_systems, count = lowest_systems(able, NODES), values(able, NODES)
    start = f"{_train_phrase(fewest_systems)} {model_name(scenario)} at {result_text(target, 'samples/s')}"
    if len(fewest_systems) == len(able):
        each_text = " each" * (len(fewest_systems) > 1)
        return (
            f"{start} on {node_count(able[fewest_systems[0]])}{each_text}: none of these "
            f"{figures.count(len(able), 'system')} needs fewer"
        )
    base = baseline_name(able, scenario)
    other_system = base if base not in fewest_systems else max(able, key=count.__getitem__)
    compared = node_comparison(able[fewest_systems[0]], able[other_system].results, other_system)
    return f"{start} on the fewest nodes, {figures.count(count[fewest_systems[0]])}: {compared}"


def details(results: Results) -> list[str]:
    """Return sentences on confidence, recovery after power losses, energy and price."""
    ran_results = results_that_ran(results)
    sized = any(result.scenario.machine.target_throughput is not None for result in ran_results.values())
    winners = lowest_systems(ran_results, NODES if sized else STEP)
    sentences = [
        f"Only the headline number of {system_title(name)} is published." for name in winners if "headline" in known_by(name)
    ]
    if len(ran_results) < 2:
        return sentences
    fastest_systems, logged = (
        lowest_systems(ran_results, STEP),
        {name: result for name, result in ran_results.items() if policies(result.scenario).log},
    )
    if logged and not set(fastest_systems) & set(logged):
        fastest = lowest_systems(logged, STEP)
        step = result_text(values(logged, STEP)[fastest[0]], "ms")
        restart_text = f"{join_titles(fastest_systems)} start{'s' * (len(fastest_systems) == 1)} again"
        sentences.append(
            f"After a power loss {restart_text}; of systems that recover, fastest: {join_titles(fastest)}, {step} a batch."
        )
    for name, words, unit in ((ENERGY, "Least energy", "J a batch"), (COST, "Cheapest", "")):
        names = lowest_systems(ran_results, name)
        unit = unit or running_costs.price_unit(
            ran_results[names[0]].scenario if names else next(iter(ran_results.values())).scenario
        )
        static_text = running_costs.static_energy_clause(ran_results[names[0]].results) if name == ENERGY and names else ""
        sentences += (
            [f"{words}: {join_titles(names)}, {result_text(values(ran_results, name)[names[0]], unit)}{static_text}."]
            if names
            else []
        )
    unpriced = [system for system in ran_results if system not in values(ran_results, COST)]
    return [
        *sentences,
        *([f"Cheapest leaves out {join_titles(unpriced)}, as no price is published for a part."] if unpriced else []),
    ]


def lowest_systems(results: Results, name: str) -> list[str]:
    """Return the systems with the lowest value of the named result; several if equal."""
    amounts = values(results, name)
    lowest = min(amounts.values(), default=0.0)
    return [system for system, amount in amounts.items() if amount <= lowest * EQUAL]


def lowest_sentence(results: Results, name: str, words: str) -> str:
    """Return a sentence on the systems with the lowest value of the named result.

    `words` describe the result.
    """
    names = lowest_systems(results_that_ran(results), name)
    return f"{join_titles(names)} {'have' if len(names) > 1 else 'has'} {words}"


def policies(scenario: Scenario) -> LogPolicy:
    """Return the log policies of a scenario's system; the scenario must be able to run."""
    return log_policy(scenario, load_variant("systems", scenario.system))


def join_titles(names: Iterable[str]) -> str:
    """Return the titles of systems joined for a sentence."""
    return join_names(map(system_title, names))


def join_names(names: Iterable[str]) -> str:
    """Return names joined for a sentence."""
    *other_names, last_name = names
    return f"{', '.join(other_names)} and {last_name}" if other_names else last_name


def values(results: Results, name: str) -> dict[str, float]:
    """Return a result by system, without systems that lack it."""
    amounts = {system: result.results.get(name) for system, result in results.items()}
    return {system: amount for system, amount in amounts.items() if amount is not None}


def _train_phrase(names: list[str]) -> str:
    return f"{join_titles(names)} {'train' if len(names) > 1 else 'trains'}"
