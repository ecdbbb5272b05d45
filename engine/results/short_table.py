"""The short CSV table of results: changed knobs, headline results, and a link."""

from collections.abc import Iterable, Mapping, Sequence

from .. import version
from ..scenario.keys import texts
from ..scenario.scenario import KNOBS, Scenario, with_values
from ..sweep import links
from . import csv_table
from .result import Result

ALWAYS = ("system", "model.name")
HEADLINES = (
    "Step time [ms]",
    "Throughput [samples/s]",
    "Elapsed [s]",
    "Energy per batch [J]",
    "Energy [J]",
    "Checkpoint overhead [%]",
    "Effective training time ratio",
    "Lost batches",
    "Recovery time [s]",
    "PMEM modules",
    "Nodes",
    "Capital cost [USD]",
    "Loss",
    "AUC",
    "AUC error",
)


def short_csv_text(results: Iterable[Result], host: str = "") -> str:
    """Return results as CSV with LF line ends, a row for each result.

    The columns are system, model, the other knobs that differ from their defaults or between rows, those of HEADLINES that any
    row has, outcome, model version and link. Names of columns have the units. `csv_table.csv_text` has every knob and result.

    host: the explorer's address, which links begin with.
    """
    all_results = tuple(results)
    knob_texts = [texts(result.scenario) for result in all_results]
    paths = _differing_knobs([result.scenario for result in all_results], knob_texts)
    headlines = [name for name in HEADLINES if any(result.results.get(name) is not None for result in all_results)]
    header = [*paths, *headlines, "outcome", "model version", "link"]
    return csv_table.rows_text(
        header,
        (
            [
                *map(row.get, paths),
                *map(result.results.get, headlines),
                result.outcome,
                version.MODEL,
                host + links.link(result.scenario),
            ]
            for result, row in zip(all_results, knob_texts, strict=True)
        ),
    )


def _differing_knobs(scenarios: Sequence[Scenario], knob_texts: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the knobs that differ from the default, the named model's for a model, or between rows; ALWAYS first."""
    usual_by_model = {
        name: texts(with_values(Scenario(), {"model.name": name})) for name in {scenario.model.name for scenario in scenarios}
    }
    differing = {
        path
        for scenario, row in zip(scenarios, knob_texts, strict=True)
        for usual in (usual_by_model[scenario.model.name], knob_texts[0])
        for path, text in row.items()
        if text != usual[path]
    }
    return [*ALWAYS, *(path for path in KNOBS if path in differing and path not in ALWAYS)]
