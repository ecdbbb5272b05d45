"""The headline: the system's step time or number of nodes, compared with the baseline's."""

from collections.abc import Mapping

from engine.core.figures import count, factor, percent
from engine.registry import load_variant
from engine.results.result import Result
from engine.scenario.scenario import Scenario, with_values
from engine.systems.kernels.in_force import title_of
from engine.systems.traffic import table_bytes
from pages.answers import question
from pages.ui.numbers import result_text, size

SHAPE = ("num_tables", "num_embeddings", "embedding_dim", "pooling", "features", "bottom_mlp", "top_mlp", "interaction")
SAME_SHARE = 5e-4
STEP, ENERGY, NODES, RATE = "Step time [ms]", "Energy per batch [J]", "Nodes", "Throughput [samples/s]"


def headline(result: Result, other_results: Mapping[str, Result]) -> str:
    """Return the headline as one sentence; the result's outcome if the system cannot run."""
    step, energy = result.results.get(STEP), result.results.get(ENERGY)
    if not result.ran or not step or energy is None:
        return result.outcome
    title, model = title_of(result.scenario), model_name(result.scenario)
    baseline, sized = question.baseline_system(result.scenario), result.scenario.machine.target_throughput is not None
    base = other_results[baseline].results if baseline in other_results and result.scenario.system != baseline else {}
    start = _nodes_phrase(result, title) if sized else f"{title} trains {model} in {result_text(step, 'ms')} a batch"
    base_step, joules = base.get(STEP), base.get(ENERGY)
    if not base_step or not joules:
        return f"{start}, at {result_text(energy, 'J a batch' if sized else 'J')}"
    compared = node_comparison(result, base, baseline) if sized else f"{_pace_words(step, base_step)} {system_title(baseline)}"
    return f"{start}: {compared}, with {_energy_words(energy / joules)} energy"


def system_title(system: str) -> str:
    """Return the title of a training system."""
    return str(load_variant("systems", system).title)


def model_name(scenario: Scenario) -> str:
    """Return the name of the model, or the size of a model without a name."""
    named_model = with_values(Scenario(), {"model.name": scenario.model.name}).model
    if all(getattr(scenario.model, knob) == getattr(named_model, knob) for knob in SHAPE):
        return scenario.model.name
    tables = scenario.model.num_tables
    return f"your model ({count(tables, 'table')}, {size(table_bytes(scenario))})"


def _energy_words(ratio: float) -> str:
    """Return energy against the baseline's: "76.2 % less", "3.10 × the" from double on, or "the same"."""
    if abs(ratio - 1) < SAME_SHARE:
        return "the same"
    return f"{factor(ratio)} the" if ratio >= 2 else f"{percent(abs(1 - ratio))} {'less' if ratio <= 1 else 'more'}"


def _pace_words(step: float, base_step: float) -> str:
    if abs(base_step / step - 1) < SAME_SHARE:
        return "as fast as"
    return f"{factor(base_step / step)} faster than" if base_step >= step else f"{factor(step / base_step)} slower than"


def _nodes_phrase(result: Result, title: str) -> str:
    rate = result_text(result.results.get(RATE), "samples/s")
    return f"{title} trains {model_name(result.scenario)} on {node_count(result)} at {rate}"


def node_count(result: Result) -> str:
    """Return a result's number of nodes as text."""
    return count(result.results.get(NODES) or 1.0, "node")


def node_comparison(result: Result, base: Mapping[str, float | None], baseline: str) -> str:
    """Return a clause that compares a result's nodes with the baseline's.

    Both have the same throughput.
    """
    nodes, base_nodes = result.results.get(NODES) or 1.0, base.get(NODES) or 1.0
    if nodes == base_nodes:
        return f"as many nodes as {baseline} needs"
    if nodes < base_nodes:
        return f"{factor(base_nodes / nodes)} fewer than the {count(base_nodes, 'node')} of {baseline}"
    return f"{factor(nodes / base_nodes)} as many as the {count(base_nodes, 'node')} of {baseline}"
