"""The Python code of a page's question, as text that runs as it stands."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..scenario import knobs
from ..scenario.machine import own_parts
from ..scenario.presets import preset, root_of
from ..scenario.scenario import KNOBS, Scenario, values, with_values
from ..sweep import link_parts, links
from ..sweep.links import NO_QUESTIONS
from ..sweep.questions import LinkQuestions
from .knob_values import keyword

MOST_LETTERS = 200  # of a knob's value: a longer list is left in the link


def estimate_code(scenario: Scenario, base: str) -> str:
    """Return code that estimates a scenario, and says how to run it in full.

    base: the preset from which the scenario was made.
    """
    lines = ["table = ep.estimate(scenario)  # ep.run(scenario) trains it in full", "print(table.frame.T)"]
    return _code(_scenario_lines(scenario, base), lines)


def run_code(scenario: Scenario, base: str) -> str:
    """Return code that runs a scenario in full, with its faults."""
    lines = ["table = ep.run(scenario)", "print(table.frame.T)", "print(*table[0].ledger, sep='\\n')"]
    return _code(_scenario_lines(scenario, base), lines)


def failures_code(scenario: Scenario, base: str) -> str:
    """Return code for the losses of a month by protection."""
    return _code(_scenario_lines(scenario, base), ["losses = ep.failures(scenario)", "print(losses)"])


def decision_code(scenario: Scenario, base: str, questions: LinkQuestions) -> str:
    """Return code that decides which machine to buy, under the requirements of `questions`."""
    named: dict[str, Any] = {
        "require": list(questions.require),
        "lose": questions.lose,
        "objective": questions.objective,
        "parts": questions.parts,
        "prices": questions.prices,
    }
    arguments = ["scenario", *(f"{name}={text!r}" for name, text in named.items() if text)]
    lines = [*_call("answer = ep.decide", arguments), "print(answer['sentence'])"]
    return _code(_scenario_lines(scenario, base), lines)


def sweep_code(scenario: Scenario, base: str, axes: Sequence[str], questions: LinkQuestions = NO_QUESTIONS) -> str:
    """Return code that computes the points of a sweep.

    Without axes, it is code that estimates the scenario.
    """
    if not axes:
        return estimate_code(scenario, base)
    arguments = ["scenario", *map(repr, axes)]
    arguments += [f"sample={questions.sample!r}"] if questions.sample else []
    arguments += ["full=True"] if questions.mode == "full" else []
    lines = [*_call("table = ep.sweep", arguments), "print(table.frame)"]
    return _code(_scenario_lines(scenario, base, axes), lines)


def _code(*blocks: Iterable[str]) -> str:
    """Return code that imports Emberpool and then has some blocks of lines."""
    return "\n\n".join("\n".join(block) for block in (["import emberpool as ep"], *blocks)) + "\n"


def _scenario_lines(scenario: Scenario, base: str, axes: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines that make the scenario: a preset with changed knobs, or the link.

    The link is used where it must carry own parts or long lists.
    """
    root = root_of(base)
    settings = dict(_changed(scenario, root))
    has_parts = any(own_parts(scenario.machine)) or any(link_parts.link_parts_of(scenario, axes))
    if has_parts or any(len(text) > MOST_LETTERS for text in settings.values()):
        yield f"scenario = ep.load({links.link(scenario, root, axes=axes)!r})"
    else:
        yield from _call("scenario = ep.scenario", [repr(root), *(f"{keyword(path)}={text}" for path, text in settings.items())])


def _changed(scenario: Scenario, root: str) -> Iterator[tuple[str, str]]:
    """Yield path and Python text of each knob that differs from a preset; the model's name comes before its knobs."""
    start = preset(root).scenario
    if scenario.model.name != start.model.name:
        start = with_values(start, {"model.name": scenario.model.name})
        yield "model.name", repr(scenario.model.name)
    start_values = values(start)
    for path, setting in values(scenario).items():
        if setting != start_values[path]:
            yield path, repr(setting if isinstance(setting, bool | int | float | None) else knobs.write(KNOBS[path], setting))


def _call(function: str, arguments: Sequence[str]) -> list[str]:
    """Return the lines of a call: one line if it is short, else a line for each argument."""
    line = f"{function}({', '.join(arguments)})"
    return [line] if len(line) <= 80 else [f"{function}(", *(f"    {argument}," for argument in arguments), ")"]
