"""Golden files: what outside links and scripts rely on, so that a change is seen and meant."""

from engine import knobs, links
from engine.presets import preset, preset_names
from engine.scenario import KNOBS


def test_golden_knobs_keep_their_names_defaults_and_ranges(golden):
    rows = (
        f"{path} = {knobs.write(knob, knob.default)}  ({knob.kind}, {knob.low} to {knob.high}, unit {knob.unit or 'none'})\n"
        for path, knob in KNOBS.items()
    )
    golden("knobs.txt", "".join(rows))


def test_golden_presets_keep_their_scenarios(golden):
    golden("presets.txt", "".join(f"{name} {links.link(preset(name).scenario)}\n" for name in preset_names()))
