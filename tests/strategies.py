"""Hypothesis strategies that follow a knob's declaration: any value it can take, and any scenario."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from engine.core.part_files.lists import LISTING
from engine.errors import EmberpoolError
from engine.registry import variant_names
from engine.scenario.knobs import NAME, Knob
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from tests.machines import TINY


def knob_values(knob: Knob) -> st.SearchStrategy[Any]:
    """Return every value that `knob` can take, None included where it is optional."""
    low, high = knob.low, knob.high
    integer = st.integers(int(low or 0), int(high or 0)) if low is not None else st.integers()
    real = st.floats(low, high, allow_nan=False)
    by_kind: dict[str, st.SearchStrategy[Any]] = {
        "float": real,
        "int": st.sampled_from(knob.allowed_numbers) if knob.allowed_numbers else integer,
        "floats": st.lists(real, max_size=4).map(tuple),
        "ints": st.lists(integer, min_size=1, max_size=4).map(tuple),
        "widths": st.lists(integer, min_size=1, max_size=4).map(tuple),
        "choice": st.sampled_from(knob.allowed or ("",)),
        "switch": st.booleans(),
        "text": st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="\ufffd"), max_size=30),
        "assumptions": st.dictionaries(st.from_regex(NAME, fullmatch=True), real, max_size=4).map(
            lambda assumptions: tuple(sorted(assumptions.items()))
        ),
    }
    if parts := knob.parts:
        entries = st.lists(st.sampled_from(parts.words()), max_size=4, unique=True)
        return entries.map(lambda names: parts.settled(knob.path, LISTING.join(names)))
    return st.none() | by_kind[knob.kind] if knob.optional else by_kind[knob.kind]


def _variant(base: Scenario, changes: dict[str, Any]) -> Scenario:
    try:
        return with_values(base, changes)
    except EmberpoolError:
        return base


def changes(paths: Sequence[str] = sorted(KNOBS)) -> st.SearchStrategy[dict[str, Any]]:
    """Return values for up to three knobs, by path."""
    change = st.sampled_from(paths).flatmap(lambda path: st.tuples(st.just(path), knob_values(KNOBS[path])))
    return st.lists(change, max_size=3).map(dict)


def under_any_system(paths: Sequence[str] = sorted(KNOBS), **knobs: Any) -> st.SearchStrategy[Scenario]:
    """Return the smallest preset under any system, with some changes."""
    tiny = with_values(TINY, knobs)
    bases = st.sampled_from(variant_names("systems")).map(lambda system: with_values(tiny, {"system": system}))
    return st.builds(_variant, bases, changes(paths))


scenarios = st.builds(_variant, st.sampled_from(preset_names()).map(lambda name: preset(name).scenario), changes())
