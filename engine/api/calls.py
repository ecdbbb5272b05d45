"""What a script asks: choose a scenario by name and knobs, estimate it, run it, size it, and go from and to links."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.enough.question import ask, baseline_of
from ..analysis.enough.smallest import enough as smallest
from ..analysis.enough.told import told
from ..analysis.verdict.allowed import narrowed
from ..analysis.verdict.decide import decide as decided
from ..analysis.verdict.report.asked import question_of
from ..analysis.verdict.report.content import content
from ..core.part_files.use import look
from ..core.process import open_streams
from ..errors import BadInput, BadKnob
from ..estimate import estimate as estimated
from ..estimates import estimates
from ..full_runs import runs
from ..insight.fitting.fit import fit_file, lookups_of
from ..insight.fitting.told import warnings as told_of_fit
from ..results.citations import bibtex
from ..results.result import Result
from ..run.shared_training import TrainingShelf, functional_class
from ..scenario import knobs as knob
from ..scenario.keys import How
from ..scenario.presets import DEFAULT, preset, preset_names
from ..scenario.scenario import KNOBS, Scenario, mended, with_values
from ..scenario.sequences import sequence_notes
from ..simulate import simulate
from ..sweep import links
from ..sweep.axes import Axis, parse
from ..sweep.questions import Questions
from ..sweep.sweep import Sweep
from . import amounts
from .bases import Base, opened, scenario_of
from .data_files import data_file
from .knob_values import path_of, settings, shown, split
from .table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

Data = Any  # a path, a pandas.DataFrame, or whatever speaks Arrow
MappingOfColumns = Mapping[str, Any] | None


def scenario(base: Base = DEFAULT, /, **knobs: Any) -> Scenario:
    """Return a preset, a scenario, a result's or a row's, with some knobs changed; raises BadInput with a sentence.

    >>> scenario("tiny", batches=20).run.batches
    20
    """
    look()
    return _changed(scenario_of(base), settings(knobs))


def _changed(start: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """Return a scenario with knobs changed; that its bottom MLP follows a new embedding dim is a warning."""
    whole, said = mended(start, changes)
    if said:
        warnings.warn(said, stacklevel=3)
    return with_values(start, whole)


def estimate(base: Base = DEFAULT, /, **knobs: Any) -> Table:
    """Estimate a scenario's steady state, or a grid of them, in milliseconds each; faults and training are left out.

    What cannot run is a row without numbers whose outcome says why; raises BadKnob for what no scenario can have.

    >>> estimate("tiny", system=["pmem", "cxl"]).frame["Training system"].tolist()
    ['pmem', 'cxl']
    """
    return _computed(_swept(base, knobs), "estimate", None, 1)


def run(base: Base = DEFAULT, /, *, data: Data = None, mapping: MappingOfColumns = None, jobs: int = 1, **knobs: Any) -> Table:
    """Run scenarios in full: real ids, gradients, faults; `jobs` are processes at once (joblib), -1 for one per core.

    `data` is a file of clicks or a frame of them, to train on; `mapping` says what its columns mean, with the keys of a
    mapping file. A frame without one needs a column named like a label: its texts, categories and lists are ids, numbers
    with a point dense, and whole numbers what they would be in a file. Points that share a training train once, with equal
    results for any number of jobs.

    >>> table = run("tiny", batches=30)
    >>> table[0].training[-1]["Batch"]
    29
    """
    count = amounts.workers(jobs)
    with data_file(data, mapping) as file:
        return _computed(_swept(base, knobs), "full", file, count)


def sweep(
    base: Base,
    /,
    *axes: str | Mapping[str, Any],
    sample: str | int = "grid",
    full: bool = False,
    data: Data = None,
    mapping: MappingOfColumns = None,
    jobs: int = 1,
    **knobs: Any,
) -> Table:
    """Estimate, or run in full, what axes span, written as on the command line; `sample` may be sobol:64, lhs:64 or random:64.

    An axis may also be a dict of lists, or a list among the knobs; these are the last axes.

    >>> len(sweep("tiny", "cxl_bandwidth_GBps=8:64", "system=pmem,cxl", sample="sobol:16"))
    16
    """
    look()
    in_full = amounts.switch("full", full)
    if data is not None and not in_full:
        raise BadInput("An estimate trains on no data; write full=True, or take ep.fit(FILE) as the base.")
    values, spanned = split(knobs, flat_lists=False)
    written = tuple(axis for one in axes for axis in _axes(one))
    points = Sweep(scenario_of(base), (*written, *spanned), tuple(values.items()), amounts.sampled(sample))
    count = amounts.workers(jobs)
    with data_file(data, mapping) as file:
        return _computed(points, "full" if in_full else "estimate", file, count)


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
    """Say in sentences the smallest PMEM and CXL link at most `within_percent` (10) slower than a baseline, or at `step_ms`.

    `within`, the same as a share, warns and goes in the next minor version.

    >>> sorted(enough("dlrm-kaggle"))[:2]
    ['bandwidth', 'both']
    """
    asked, target = scenario(base, **knobs), amounts.target(within_percent, within, step_ms)
    for sentence in sequence_notes(asked):
        warnings.warn(sentence, stacklevel=2)
    answer = smallest(ask(asked, baseline_of(asked, amounts.system("baseline", baseline)), target))
    return {name: sentence for name, sentence in vars(told(answer)).items() if sentence}


def decide(
    base: Base = DEFAULT,
    /,
    *,
    require: str | Sequence[str] = (),
    lose: str = "",
    objective: str = "",
    parts: str = "",
    prices: str | int = "",
    **knobs: Any,
) -> dict[str, Any]:
    """Decide which machine to buy, as the command `decide` does: its sentence, verdict and rows as one dictionary.

    `require` is written as on the command line: throughput=N, step-ms=X, as=SYSTEM, days=D:SAMPLES, budget=USD, one or several.
    A knob that names a part, such as gpu, leaves its kind no other.

    >>> decide("tiny", parts="gpu=h100-pcie")["verdict"]["feasible"]
    True
    """
    changes = settings(knobs)
    asked = Questions(
        require=(require,) if isinstance(require, str) else tuple(require),
        lose=lose,
        objective=objective,
        parts=narrowed(parts, changes),
        prices=str(prices),
    )
    look()
    start = scenario_of(base)
    for sentence in sequence_notes(start):
        warnings.warn(sentence, stacklevel=2)
    return content(decided(question_of(_changed(start, changes), asked)), DEFAULT)


def fit(file: Data, base: Base = DEFAULT, /, *, mapping: MappingOfColumns = None, **knobs: Any) -> Scenario:
    """Return a scenario whose tables and generated data are like a file's, a frame's or a trace's; reservations are warnings.

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
            raise BadInput("ep.fit(None) has no file to fit to; give a path or a frame.")
        found = fit_file(lookups_of(path))
    for sentence in told_of_fit(found):
        warnings.warn(sentence, stacklevel=2)
    return found.scenario(start)


def load(address: str) -> Scenario:
    """Open a link of the explorer; what it says beside the scenario, as that it was made by another version, is a warning.

    >>> load(link(scenario("tiny", batches=20))) == scenario("tiny", batches=20)
    True
    """
    look()
    return opened(address)


def link(base: Base, /, **knobs: Any) -> str:
    """Return the link that opens a scenario in the explorer, to be put behind its address."""
    return links.link(scenario(base, **knobs))


def cite(base: Base, /, **knobs: Any) -> str:
    """Return BibTeX of the works that a scenario's results come from.

    >>> cite(scenario("trainingcxl-rm1")).count("kwon2023trainingcxl")
    1
    """
    return bibtex(scenario(base, **knobs))


def presets() -> DataFrame:
    """Return the named scenarios: name, title, paper.

    >>> "dlrm-kaggle" in presets()["name"].tolist()
    True
    """
    from pandas import DataFrame

    return DataFrame([{"name": one.name, "title": one.title, "paper": one.paper} for one in map(preset, preset_names())])


def knobs() -> DataFrame:
    """Return every knob: path, title with unit, default, choices, help.

    >>> "machine.cxl_bandwidth_GBps" in knobs()["path"].tolist()
    True
    """
    from pandas import DataFrame

    look()
    rows = ((path, one.title, knob.write(one, one.default), ", ".join(one.allowed), one.help) for path, one in KNOBS.items())
    return DataFrame(rows, columns=["path", "title", "default", "choices", "help"])


def _swept(base: Base, knobs: Mapping[str, Any]) -> Sweep:
    """Return the grid that lists among the knobs span."""
    look()
    values, axes = split(knobs)
    return Sweep(scenario_of(base, 4), axes, tuple(values.items()))


def _axes(written: Any) -> tuple[Axis, ...]:
    """Return the axes of a text as on the command line, of a dict of lists, or of a list of such texts."""
    if isinstance(written, Mapping):
        values, axes = split(written)
        if values:
            raise BadKnob(f"The axis {next(iter(values))} has one value; give a list, or set the knob as a keyword.")
        return axes
    if isinstance(written, list | tuple) and all(isinstance(one, str) for one in written):
        return tuple(axis for one in written for axis in _axes(one))
    if not isinstance(written, str):
        raise BadInput(f"{shown(written)} is no axis; write a text such as 'system=pmem,cxl', or system=['pmem', 'cxl'].")
    name, sign, rest = re.match(r"([^=:]*)([=:]?)(.*)", written, re.DOTALL).groups()  # type: ignore[union-attr]
    return (parse(f"{path_of(name.strip())}={rest}" if sign else written),)


def _computed(points: Sweep, how: How, data: Path | None, jobs: int) -> Table:
    for refused in points.refused:
        raise BadKnob(refused.sentence)
    given = tuple(points)
    varied, around = tuple(axis.path for axis in points.axes), points.settings
    if how == "estimate":
        return Table((estimated(given[0]),) if len(given) == 1 else tuple(estimates(given)), how, varied, around)
    groups: dict[object, list[int]] = {}
    for index, one in enumerate(given):
        groups.setdefault(functional_class(one) or "alike", []).append(index)
    from joblib import Parallel, delayed

    if jobs != 1:
        open_streams()
    parts = Parallel(n_jobs=jobs)(delayed(_ran)([given[index] for index in group], data) for group in groups.values())
    placed = {
        index: one for group, part in zip(groups.values(), parts, strict=True) for index, one in zip(group, part, strict=True)
    }
    return Table(tuple(placed[index] for index in range(len(given))), how, varied, around)


def _ran(some: Sequence[Scenario], data: Path | None) -> list[Result]:
    """Run scenarios that may share a training."""
    if data is None and functional_class(some[0]) is None:
        return runs(some, tables=True)
    shelf: TrainingShelf = {}
    return [simulate(one, data, shelf=shelf) for one in some]
