"""Stacks: a system on software that runs it, or that would have to be written.

A verdict compares machines of stacks. The software decides the loop, the precisions, and which policies and GPUs can be had.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

from ...core.catalog import part_names_of
from ...core.figures import exact
from ...errors import BadInput, nearest_hint
from ...hardware.software import EXISTING, NO_CODE, STATED_LOOP, STATES, Software, every_software, software_of, worst_state
from ...registry import variant_names
from ...scenario.scenario import KNOBS, Scenario

EXISTS, ANY, OWN_LOOP = "exists", "any", "ms"
FRAMEWORK, LAYERS, EXCHANGE = "machine.framework", "machine.matrix_precision", "machine.exchange_precision"
COPIES, ASSUMPTIONS, LOOP = "policy.replicated_rows", "machine.assume", "host.training-loop"
UNWRITTEN_LAYERS = ("fp16", "fp32")  # of software that would have to be written: MLPerf's published runs train so
SEQUENCE_WORDS = frozenset(("sequences", "attention.fused", "balanced-histories"))
MAX_LOOP_MS = 1e6


class Stack(NamedTuple):
    """A system on software.

    system: name of the system.
    software: name of the software, "" for software that would have to be written, or is the visitor's own.
    framework: the framework whose loop counts.
    """

    system: str
    software: str
    framework: str

    @property
    def part(self) -> Software | None:
        """The software of the catalogue; None for own or unwritten software."""
        return next((one for one in every_software() if one.name == self.software), None)

    @property
    def state(self) -> str:
        """The state of the software.

        Unwritten software is a paper's code where that runs the system.
        """
        if self.part:
            return self.part.state
        codes = [one for one in software_of(self.system) if not one.exists]
        return min((one.state for one in codes), key=STATES.index, default=NO_CODE)


@dataclass(frozen=True)
class SoftwareChoice:
    """The software that a verdict may use, as a text.

    text: "exists" for software that anybody can run, "any" also for software that would have to be written, the name of software
    or of a framework, or "ms=N" for own software with a loop of N ms a batch.
    """

    text: str = EXISTS

    def __post_init__(self) -> None:
        """Refuse a word that is no software; raises BadInput."""
        name, equals, _ = self.text.partition("=")
        if equals and name == OWN_LOOP:
            if not (isfinite(self.own_loop_ms or 0.0) and 0 < (self.own_loop_ms or 0.0) <= MAX_LOOP_MS):
                raise BadInput(f"software={self.text[:40]!r} is not possible; write ms=N with a number above 0, such as ms=2.5.")
        elif self.text not in known_names():
            raise BadInput(f"software={self.text[:60]!r} is not known; {nearest_hint(self.text, known_names(), 'software')}")

    @cached_property
    def own_loop_ms(self) -> float | None:
        """The ms of a batch of own software; None where none is meant."""
        name, equals, number = self.text.partition("=")
        if name != OWN_LOOP or not equals:
            return None
        return float(number) if re.fullmatch(r"[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?", number) else float("nan")

    @property
    def own_framework(self) -> str:
        """The framework whose loop own software has; "" where no own software is meant."""
        if self.own_loop_ms is not None:
            return STATED_LOOP
        names = {one.name for one in every_software()} | {one.framework for one in every_software()}
        return self.text if self.text not in (EXISTS, ANY, *names) else ""

    @property
    def words(self) -> str:
        """The choice in words."""
        if self.own_loop_ms is not None:
            return f"your own software, {exact(self.own_loop_ms, 'ms')} a batch"
        return {EXISTS: "software that exists", ANY: "any software, also what would have to be written"}.get(
            self.text, f"software {self.text}"
        )

    def allows(self, stack: Stack) -> bool:
        """Return whether a verdict may name a stack."""
        if self.text == ANY or self.own_framework:
            return True
        part = stack.part
        if part is None:
            return self.text == STATED_LOOP
        return part.state in EXISTING if self.text == EXISTS else self.text in (part.name, part.framework)


def known_names() -> tuple[str, ...]:
    """Return all words for a choice of software but ms=N."""
    able = (one.name for one in every_software() if one.runs)
    return tuple(dict.fromkeys((EXISTS, ANY, *able, *part_names_of("framework"))))


def stacks(scenario: Scenario, choice: SoftwareChoice, systems: Collection[str] = ()) -> tuple[Stack, ...]:
    """Return the stacks that a verdict compares, allowed ones and unwritten ones.

    Unwritten are those with software that would have to be written. `systems` limits the systems. Own software runs every system.
    """
    names = [name for name in variant_names("systems") if name in systems or not systems]
    if choice.own_framework:
        return tuple(Stack(name, "", choice.own_framework) for name in names)
    by_system = [[*_software_stacks(scenario, name), Stack(name, "", STATED_LOOP)] for name in names]
    return tuple(
        stack for several in by_system for stack in several if not stack.software or choice.text == ANY or choice.allows(stack)
    )


def allowed_stacks(scenario: Scenario, choice: SoftwareChoice) -> tuple[Stack, ...]:
    """Return the stacks that a verdict may name."""
    return tuple(stack for stack in stacks(scenario, choice) if choice.allows(stack))


def _software_stacks(scenario: Scenario, system: str) -> list[Stack]:
    """Return a system's stacks of the catalogue's software.

    Software is left out if other software with its loop, of no worse a state, runs all that it runs.
    """
    needs = {"sequences"} if scenario.model.interaction == "hstu" else set()
    able = [one for one in software_of(system) if needs <= one.policies and one.framework != STATED_LOOP]
    kept: list[Software] = []
    for one in able:
        if not any(_covers(other, one, bool(needs)) for other in kept):
            kept.append(one)
    return [Stack(system, one.name, one.framework) for one in kept]


def _covers(other: Software, software: Software, sequential: bool) -> bool:
    """Return whether other software with the same loop has all that software has for a model, sequential or not."""
    words = software.policies if sequential else software.policies - SEQUENCE_WORDS
    return (
        other.framework == software.framework
        and {*software.platforms} <= {*other.platforms}
        and words <= other.policies
        and worst_state(other.state, software.state) == software.state
    )


def fixed_knobs(stack: Stack, base: Scenario, choice: SoftwareChoice) -> dict[str, Any]:
    """Return the knobs that a stack decides: system, loop, exchange and copies of rows."""
    part = stack.part
    knobs: dict[str, Any] = {"system": stack.system, FRAMEWORK: stack.framework}
    if choice.own_loop_ms is not None:
        others = {name: number for name, number in base.machine.assume if name != LOOP}
        knobs[ASSUMPTIONS] = tuple({**others, LOOP: choice.own_loop_ms}.items())
    if part and part.exchange and base.machine.exchange_precision == KNOBS[EXCHANGE].default:
        knobs[EXCHANGE] = part.exchange[0]
    if part and "replicated-rows" not in part.policies:
        knobs[COPIES] = 0.0
    return knobs


def layer_precisions(stack: Stack, base: Scenario, choice: SoftwareChoice, asked: str) -> tuple[str, ...]:
    """Return the precisions of layers to use, the first that a machine has.

    `asked`: the precision that the question asks for, "" for that of the software's published runs. A scenario with another
    precision than the default keeps its own.
    """
    own = base.machine.matrix_precision
    if asked or own != KNOBS[LAYERS].default:
        return (asked or own,)
    if choice.own_framework and choice.own_loop_ms is None:
        return (own,)  # a framework of the catalogue that is no published software: as the scenario is
    return (stack.part.layers if stack.part else ()) or UNWRITTEN_LAYERS
