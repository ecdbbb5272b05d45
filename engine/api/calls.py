"""The functions of a script: choose, estimate, run and size scenarios, open links."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.enough.question import baseline_of, make_question
from ..analysis.enough.sentences import answer_sentences
from ..analysis.enough.smallest import find_smallest as smallest
from ..core.part_files.use import look_at_folder
from ..core.process import open_streams
from ..errors import BadInput, BadKnob
from ..estimate import estimate as estimated
from ..estimates import estimates
from ..full_runs import full_runs
from ..insight.fitting.fit import fit_file, lookups_of
from ..insight.fitting.histories.fit import window_of
from ..insight.fitting.reports import fit_warnings
from ..results.citations import bibtex
from ..results.result import Result
from ..run.shared_training import TrainingShelf, functional_class
from ..scenario import knobs as knob
from ..scenario.keys import Fidelity
from ..scenario.presets import DEFAULT
from ..scenario.scenario import KNOBS, Scenario, fit_bottom_mlp, with_values
from ..scenario.sequences import sequence_notes
from ..simulate import simulate
from ..sweep import links
from ..sweep.axes import Axis, parse
from ..sweep.questions import LinkQuestions
from ..sweep.sweep import Sweep
from . import amounts
from .bases import Base, open_link, scenario_of
from .data_files import data_file
from .knob_values import path_of, settings, short_text, split_axes
from .table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

ClickData = Any  # a path, a pandas.DataFrame, or an object with Arrow's interface
MappingOfColumns = Mapping[str, Any] | None


def scenario(base: Base = DEFAULT, /, **knobs: Any) -> Scenario:
    """Return the scenario of a base, with the named knobs changed; raises BadInput.

    >>> scenario("tiny", batches=20).run.batches
    20
    """
    look_at_folder()
    return _with_settings(scenario_of(base), settings(knobs))


def _with_settings(start: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """Return a scenario with knobs changed.

    Warns if the bottom MLP follows a new embedding dim.
    """
    mended_changes, note = fit_bottom_mlp(start, changes)
    if note:
        warnings.warn(note, stacklevel=3)
    return with_values(start, mended_changes)


def estimate(base: Base = DEFAULT, /, **knobs: Any) -> Table:
    """Estimate a scenario's steady state, or a grid of them, in milliseconds each.

    Faults and training are left out. A scenario that cannot run is a row without numbers whose outcome says why.
    Raises BadKnob for impossible values.

    >>> estimate("tiny", system=["pmem", "cxl"]).frame["Training system"].tolist()
    ['pmem', 'cxl']
    """
    return _compute_table(_swept(base, knobs), "estimate", None, 1)


def run(
    base: Base = DEFAULT, /, *, data: ClickData = None, mapping: MappingOfColumns = None, jobs: int = 1, **knobs: Any
) -> Table:
    """Run scenarios in full, with real ids, gradients and faults.

    `jobs` are processes at once (joblib), -1 for one per core. `data` is a file or a frame of clicks to train on; `mapping`
    gives the meaning of its columns, with the keys of a mapping file. A frame without a mapping needs a column named like a
    label: texts, categories and lists are ids, numbers with a point are dense, and whole numbers are read as in a file. Points
    that need the same training share it; results are equal for any number of jobs.

    >>> table = run("tiny", batches=30)
    >>> table[0].training[-1]["Batch"]
    29
    """
    count = amounts.workers(jobs)
    with data_file(data, mapping) as file:
        return _compute_table(_swept(base, knobs), "full", file, count)


def sweep(
    base: Base,
    /,
    *axes: str | Mapping[str, Any],
    sample: str | int = "grid",
    full: bool = False,
    data: ClickData = None,
    mapping: MappingOfColumns = None,
    jobs: int = 1,
    **knobs: Any,
) -> Table:
    """Estimate, or run in full, the points that axes span.

    Axes are texts as on the command line, dicts of lists, or lists among the knobs, which are the last axes.
    `sample` may be sobol:64, lhs:64 or random:64. `full` runs the points in full, with `data`, `mapping` and `jobs` as for `run`.

    >>> len(sweep("tiny", "cxl_bandwidth_GBps=8:64", "system=pmem,cxl", sample="sobol:16"))
    16
    """
    look_at_folder()
    in_full = amounts.switch_of("full", full)
    if data is not None and not in_full:
        raise BadInput("An estimate does not read data; write full=True for a full run, or take ep.fit(FILE) as the base.")
    values, spanned = split_axes(knobs, flat_lists=False)
    argument_axes = tuple(axis for argument in axes for axis in _axes(argument))
    points = Sweep(scenario_of(base), (*argument_axes, *spanned), tuple(values.items()), amounts.sampling_of(sample))
    count = amounts.workers(jobs)
    with data_file(data, mapping) as file:
        return _compute_table(points, "full" if in_full else "estimate", file, count)


def enough(
    base: Base = DEFAULT,
    /,
    *,
    baseline: str = "dram",
    within_percent: float | None = None,
    step_ms: float | None = None,
    within: float | None = None,
    **knobs: Any,
) -> dict[str, str]:
    """Return sentences on the smallest PMEM and CXL link that reach a target, by name.

    The target is a step at most `within_percent` (default 10) slower than the baseline's, or at most `step_ms`. `within` is the
    old form of `within_percent`, as a share; it warns, and is removed in the next minor version.

    >>> sorted(enough("dlrm-kaggle"))[:2]
    ['bandwidth', 'both']
    """
    base_scenario, target = scenario(base, **knobs), amounts.target(within_percent, within, step_ms)
    for sentence in sequence_notes(base_scenario):
        warnings.warn(sentence, stacklevel=2)
    answer = smallest(make_question(base_scenario, baseline_of(base_scenario, amounts.system("baseline", baseline)), target))
    return answer_sentences(answer).texts()


def decide(
    base: Base = DEFAULT,
    /,
    *,
    require: str | Sequence[str] = (),
    lose: str = "",
    objective: str = "",
    parts: str = "",
    prices: str | int = "",
    software: str = "",
    precision: str = "",
    **knobs: Any,
) -> dict[str, Any]:
    """Decide which machine to buy; return sentence, verdict and rows as a dictionary.

    `require` has one limit or several, as on the command line: throughput=N, step-ms=X, as=SYSTEM, days=D:SAMPLES, budget=USD,
    weeks=N (of delivery).
    A knob that names a part, such as gpu, allows no other part of the same kind. `software` is exists, any (also software that
    would have to be written), a name or ms=N; `precision` is that of the layers.

    >>> decide("tiny", parts="gpu=h100-pcie")["verdict"]["feasible"]
    True
    """
    from ..analysis.verdict.allowed import narrow_parts  # late: scripts that decide nothing import faster
    from ..analysis.verdict.decide import decide as decided
    from ..analysis.verdict.report.asked import read_question
    from ..analysis.verdict.report.content import verdict_content

    changes = settings(knobs)
    questions = LinkQuestions(
        require=(require,) if isinstance(require, str) else tuple(require),
        lose=lose,
        objective=objective,
        parts=narrow_parts(parts, changes),
        prices=str(prices),
        software=software,
        precision=precision,
    )
    look_at_folder()
    start = scenario_of(base)
    for sentence in sequence_notes(start):
        warnings.warn(sentence, stacklevel=2)
    return verdict_content(decided(read_question(_with_settings(start, changes), questions)), DEFAULT)


def fit(file: ClickData, base: Base = DEFAULT, /, *, mapping: MappingOfColumns = None, **knobs: Any) -> Scenario:
    """Return a scenario whose tables and data resemble those of a file, frame or trace.

    Warns where the fit may be wrong. Histories that the file's format or `mapping` states become sequences, cut at the base's
    `history_cap` if it has one.

    >>> from pathlib import Path
    >>> table = Path("clicks.csv").write_text("click,user\\n" + "".join(f"{i % 2},{i * i % 97}\\n" for i in range(4000)))
    >>> mapping = Path("clicks.csv.toml").write_text('label = "click"\\nids = ["user"]')
    >>> with warnings.catch_warnings(action="ignore"):
    ...     fit("clicks.csv", "tiny").model.num_tables
    1
    """
    start = scenario(base, **knobs)
    with data_file(file, mapping) as path:
        if path is None:
            raise BadInput("ep.fit(None) has no file to fit; give a path or a frame.")
        workload_fit = fit_file(lookups_of(path, histories=True), window=window_of(start))
    for sentence in fit_warnings(workload_fit):
        warnings.warn(sentence, stacklevel=2)
    return workload_fit.scenario(start)


def load(address: str) -> Scenario:
    """Return the scenario of an explorer's link.

    Warns of the link's notes, such as another model version.
    >>> load(link(scenario("tiny", batches=20))) == scenario("tiny", batches=20)
    True
    """
    look_at_folder()
    return open_link(address)


def link(base: Base, /, **knobs: Any) -> str:
    """Return the link that opens a scenario in the explorer.

    Append it to the explorer's address.
    """
    return links.link(scenario(base, **knobs))


def cite(base: Base, /, **knobs: Any) -> str:
    """Return BibTeX of the works on which a scenario's results are based.

    >>> cite(scenario("trainingcxl-rm1")).count("kwon2023trainingcxl")
    1
    """
    return bibtex(scenario(base, **knobs))


def knobs() -> DataFrame:
    """Return every knob: path, title with unit, default, choices, help.

    >>> "machine.cxl_bandwidth_GBps" in knobs()["path"].tolist()
    True
    """
    from pandas import DataFrame

    look_at_folder()
    rows = (
        (path, definition.title, knob.write(definition, definition.default), ", ".join(definition.allowed), definition.help)
        for path, definition in KNOBS.items()
    )
    return DataFrame(rows, columns=["path", "title", "default", "choices", "help"])


def _swept(base: Base, knobs: Mapping[str, Any]) -> Sweep:
    """Return the sweep of a base over the axes that lists among the knobs span."""
    look_at_folder()
    values, axes = split_axes(knobs)
    return Sweep(scenario_of(base, 4), axes, tuple(values.items()))


def _axes(argument: Any) -> tuple[Axis, ...]:
    """Return the axes of an argument.

    It is a text as on the command line, a dict of lists, or a list of texts.
    """
    if isinstance(argument, Mapping):
        values, axes = split_axes(argument)
        if values:
            raise BadKnob(
                f"The axis {next(iter(values))} has one value; give a list of values, or set the knob with a keyword argument."
            )
        return axes
    if isinstance(argument, list | tuple) and all(isinstance(text, str) for text in argument):
        return tuple(axis for text in argument for axis in _axes(text))
    if not isinstance(argument, str):
        raise BadInput(
            f"{short_text(argument)} is not an axis; write a text such as 'system=pmem,cxl', or system=['pmem', 'cxl']."
        )
    name, sign, rest = re.match(r"([^=:]*)([=:]?)(.*)", argument, re.DOTALL).groups()  # type: ignore[union-attr]
    return (parse(f"{path_of(name.strip())}={rest}" if sign else argument),)


def _compute_table(points: Sweep, method: Fidelity, data_path: Path | None, jobs: int) -> Table:
    for refused in points.refused:
        raise BadKnob(refused.sentence)
    points_list = tuple(points)
    varied, set_knobs = tuple(axis.path for axis in points.axes), points.settings
    if method == "estimate":
        return Table(
            (estimated(points_list[0]),) if len(points_list) == 1 else tuple(estimates(points_list)), method, varied, set_knobs
        )
    groups: dict[object, list[int]] = {}
    for index, point in enumerate(points_list):
        groups.setdefault(functional_class(point) or "alike", []).append(index)
    from joblib import Parallel, delayed

    if jobs != 1:
        open_streams()
    parts = Parallel(n_jobs=jobs)(
        delayed(_run_group)([points_list[index] for index in group], data_path) for group in groups.values()
    )
    result_by_index = {
        index: result
        for group, part in zip(groups.values(), parts, strict=True)
        for index, result in zip(group, part, strict=True)
    }
    return Table(tuple(result_by_index[index] for index in range(len(points_list))), method, varied, set_knobs)


def _run_group(scenarios: Sequence[Scenario], data_path: Path | None) -> list[Result]:
    """Return the results of full runs that may share a training."""
    if data_path is None and functional_class(scenarios[0]) is None:
        return full_runs(scenarios, tables=True)
    shelf: TrainingShelf = {}
    return [simulate(point, data_path, shelf=shelf) for point in scenarios]
