"""Can every system's work be done by every part that a knob can choose?"""

from engine.estimate import estimate
from engine.registry import names
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from tests.cases import each

PARTS = [
    (path, part) for path, knob in KNOBS.items() if path[:8] == "machine." and knob.kind == "choice" for part in knob.allowed
]


@each("system", names("systems"), few=7)
def test_a_system_runs_on_every_part_or_says_why_not(system):
    base = with_values(preset("tiny").scenario, {"system": system, "run.training": False})
    for path, part in PARTS:
        result = estimate(with_values(base, {path: part}))
        assert result.ran or result.outcome.endswith(".")
        assert not result.ran or result.results["Step time [ms]"] > 0
