"""The headline: how fast the chosen system trains the model, or on how many nodes, and how it compares with the baseline."""

from collections.abc import Mapping

from engine.core.figures import count, factor, percent
from engine.registry import load
from engine.results.result import Result
from engine.scenario.scenario import Scenario, with_values
from engine.systems.kernels.in_force import title_of
from engine.systems.traffic import table_bytes
from pages.answers import question
from pages.ui.numbers import readable, size

SHAPE = ("num_tables", "num_embeddings", "embedding_dim", "pooling", "features", "bottom_mlp", "top_mlp", "interaction")
SAME = 5e-4
STEP, ENERGY, NODES, RATE = "Step time [ms]", "Energy per batch [J]", "Nodes", "Throughput [samples/s]"


def headline(result: Result, others: Mapping[str, Result]) -> str:
    """Return one sentence; for what cannot run, the outcome."""
    step, energy = result.results.get(STEP), result.results.get(ENERGY)
    if not result.ran or not step or energy is None:
        return result.outcome
    title, model = title_of(result.scenario), model_name(result.scenario)
    against, sized = question.baseline_system(result.scenario), result.scenario.machine.target_throughput is not None
    base = others[against].results if against in others and result.scenario.system != against else {}
    start = _on_nodes(result, title) if sized else f"{title} trains {model} in {readable(step, 'ms')} a batch"
    before, joules = base.get(STEP), base.get(ENERGY)
    if not before or not joules:
        return f"{start}, at {readable(energy, 'J a batch' if sized else 'J')}"
    compared = node_comparison(result, base, against) if sized else f"{_pace(step, before)} {system_title(against)}"
    return f"{start}: {compared}, with {_share(energy / joules)} energy"


def system_title(system: str) -> str:
    """Return a training system's own title."""
    return str(load("systems", system).title)


def model_name(scenario: Scenario) -> str:
    """Return the model's name, or for one's own model its size: its preset's name would mislead."""
    like = with_values(Scenario(), {"model.name": scenario.model.name}).model
    if all(getattr(scenario.model, knob) == getattr(like, knob) for knob in SHAPE):
        return scenario.model.name
    tables = scenario.model.num_tables
    return f"your model ({count(tables, 'table')}, {size(table_bytes(scenario))})"


def _share(ratio: float) -> str:
    """Return energy against the baseline's in words: "76.2 % less", or "3.10 × the" from double on."""
    return f"{factor(ratio)} the" if ratio >= 2 else f"{percent(abs(1 - ratio))} {'less' if ratio <= 1 else 'more'}"


def _pace(step: float, before: float) -> str:
    if abs(before / step - 1) < SAME:
        return "as fast as"
    return f"{factor(before / step)} faster than" if before >= step else f"{factor(step / before)} slower than"


def _on_nodes(result: Result, title: str) -> str:
    rate = readable(result.results.get(RATE), "samples/s")
    return f"{title} trains {model_name(result.scenario)} on {node_count(result)} at {rate}"


def node_count(result: Result) -> str:
    """Return a result's count of nodes in words."""
    return count(result.results.get(NODES) or 1.0, "node")


def node_comparison(result: Result, base: Mapping[str, float | None], against: str) -> str:
    """Return a result's count of nodes compared with that of `against`, at the same target throughput."""
    ours, theirs = result.results.get(NODES) or 1.0, base.get(NODES) or 1.0
    if ours == theirs:
        return f"as many as {against} needs"
    if ours < theirs:
        return f"{factor(theirs / ours)} fewer than the {count(theirs)} of {against}"
    return f"{factor(ours / theirs)} as many as the {count(theirs)} of {against}"
