"""Allowed parts: the parts that a machine may have, by availability or by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...core.catalog import availability, part_names_of
from ...core.part_files.lists import bare_name, owns
from ...errors import BadInput, nearest_hint
from ...scenario.machine import PARTS

ON_SALE = "on-sale"
STATES: Mapping[str, tuple[str, ...]] = {
    ON_SALE: ("on sale", "unknown"),  # a user's own part may have no state
    "announced": ("announced",),
    "discontinued": ("discontinued",),
    "all": ("on sale", "unknown", "announced", "discontinued"),
}
# The knobs of the machine whose parts are searched; every other part is the scenario's own.
SEARCHED_KINDS = ("gpu", "host", "pmem", "expander", "ssd", "near_data_logic", "chassis")
SYSTEM_PART_KINDS = ("gather-card", "embedding-server", "dram")  # kinds of parts that a system brings
PROTOTYPE = "trainingcxl"  # its parts belong to the paper's machine and were never for sale


@dataclass(frozen=True)
class AllowedParts:
    """The parts that may be used, as a text of states and names.

    A state is an availability, such as on sale. If a part is named without a state in the text, only named parts of its kind are
    allowed. `gpu=h200` allows no other GPU in any case. Parts of research must be named; parts of TrainingCXL's prototype are
    never allowed.

    owned: parts that are owned already, as in `machine.owned_parts`; they are allowed whatever their state.
    """

    text: str = ON_SALE
    owned: str = ""

    def __post_init__(self) -> None:
        """Refuse a word that is neither a state nor a part; raises BadInput."""
        for word in self.words:
            knob, equals, name = word.rpartition("=")
            if equals and knob not in SEARCHED_KINDS:
                raise BadInput(f"parts={word[:60]!r} is not a kind of part; {nearest_hint(knob, SEARCHED_KINDS, 'kinds')}")
            kinds = (knob,) if equals else SEARCHED_KINDS
            parts = dict.fromkeys(part for kind in kinds for part in PARTS[kind]())
            known_words = tuple(
                parts if equals else {**dict.fromkeys(STATES), **parts, **dict.fromkeys(part_names_of(*SYSTEM_PART_KINDS))}
            )
            if name == PROTOTYPE:
                raise BadInput(f"parts={word[:60]} belongs to TrainingCXL's prototype, which is not for sale; leave it out.")
            if name not in known_words and not any(PARTS[kind].scenario_name(name) for kind in kinds):
                raise BadInput(f"parts={word[:60]!r} is not a part of the catalogue; {nearest_hint(name, known_words)}")

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The states and names as written, without repeats."""
        words = (word.strip() for word in self.text.replace(";", ",").split(","))
        return tuple(dict.fromkeys(word for word in words if word)) or (ON_SALE,)

    def parts_of_knob(self, knob: str) -> tuple[str, ...]:
        """Return the allowed parts for a knob of the machine, in the catalogue's order."""
        parts = PARTS[knob]
        sole_parts = {bare_name(word.partition("=")[2]) for word in self.words if word.startswith(f"{knob}=")}
        if sole_parts:
            return tuple(name for name in parts() if name in sole_parts)
        named_parts = {bare_name(word) for word in self.words if word not in STATES and parts.scenario_name(word)}
        states = self.states if self.states or named_parts else STATES[ON_SALE]
        owned_names = {name for name in parts() if any(owns(self.owned, kind, name) for kind in parts.kinds)}
        allowed_names = {name for name in parts() if name in {*named_parts, *owned_names} or _state(knob, name) in states}
        return tuple(name for name in parts() if name in allowed_names and name != PROTOTYPE)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The states in the text, without names of parts."""
        return tuple(state for word in self.words for state in STATES.get(word, ()))

    def allows(self, name: str, state: str) -> bool:
        """Return whether a part that no knob chooses, such as a gather card, is allowed.

        name, state: the part's name, and its state of availability.
        """
        named_parts = {word.rpartition("=")[2] for word in self.words}
        return name in named_parts or state in (self.states or STATES[ON_SALE])


def _state(knob: str, name: str) -> str:
    """Return the state of a part that a knob chooses."""
    for kind in PARTS[knob].kinds:
        if name in part_names_of(kind):
            return availability(kind, name).state
    return ""


def narrow_parts(text: str, settings: Mapping[str, Any]) -> str:
    """Return the text of allowed parts, narrowed to parts that the user has set.

    A part that a knob is set to becomes the only one of its kind.
    """
    set_by_hand = {knob: settings[f"machine.{knob}"] for knob in SEARCHED_KINDS if settings.get(f"machine.{knob}")}
    return ",".join((text or ON_SALE, *(f"{knob}={name}" for knob, name in set_by_hand.items())))
