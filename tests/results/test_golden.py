"""Golden files: what outside links and scripts rely on, so that a change is seen and meant."""

from engine import registry, version
from engine.estimate import estimate
from engine.scenario import knobs
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, with_values
from engine.sweep import links


def test_golden_knobs_keep_their_names_defaults_and_ranges(golden):
    rows = (
        f"{path} = {knobs.write(knob, knob.default)}  ({knob.kind}, {knob.low} to {knob.high}, unit {knob.unit or 'none'})\n"
        for path, knob in KNOBS.items()
    )
    golden("knobs.txt", "".join(rows))


def test_golden_presets_keep_their_scenarios(golden):
    found = ((name, links.link(preset(name).scenario).partition("&arithmetic=")[0]) for name in preset_names())
    golden("presets.txt", "".join(f"{name} {link}\n" for name, link in found))


def test_golden_estimates_move_only_with_the_model_version(golden):
    """A change here is a change of results: bump engine.version.MODEL, or stores and links serve old numbers as new."""
    rows = [f"model version {version.MODEL}\n"]
    for name in preset_names():
        asked = preset(name).scenario
        family = registry.load_variant("systems", asked.system).family
        for system in (
            one for one in registry.variant_names("systems") if registry.load_variant("systems", one).family == family
        ):
            found = estimate(with_values(asked, {"system": system}))
            if not found.ran:
                rows.append(f"{name} {system} cannot run\n")
                continue
            results = found.results
            rows.append(f"{name} {system} {results['Step time [ms]']:.6g} ms {results['Energy per batch [J]']:.6g} J\n")
    golden("estimates.txt", "".join(rows))
