"""The headline: how fast the chosen system trains the model, and how it compares with the baseline."""

from collections.abc import Mapping

from engine.registry import load
from engine.result import Result
from pages.parts.estimates import baseline
from pages.parts.numbers import readable

STEP, ENERGY = "Step time [ms]", "Energy per batch [J]"


def headline(result: Result, others: Mapping[str, Result]) -> str:
    """Return one sentence; for what cannot run, the outcome."""
    step, energy = result.results.get(STEP), result.results.get(ENERGY)
    if not result.ran or not step or energy is None:
        return result.outcome
    title = load("systems", result.scenario.system).title
    start = f"{title} trains {result.scenario.model.name} in {readable(step)} ms a batch"
    against = baseline(result.scenario)
    base = others[against].results if against in others else {}
    before, joules = base.get(STEP), base.get(ENERGY)
    if not before or not joules or result.scenario.system == against:
        return f"{start}, at {readable(energy)} J"
    pace = f"{before / step:.1f}× faster" if before >= step else f"{step / before:.1f}× slower"
    saving = 1 - energy / joules
    return f"{start}: {pace} than {against}, with {abs(saving):.0%} {'less' if saving >= 0 else 'more'} energy"
