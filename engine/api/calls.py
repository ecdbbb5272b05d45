"""What a script asks: choose a scenario by name and knobs, estimate it, run it, size it, and go from and to links."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.enough.question import Target, ask, baseline_of
from ..analysis.enough.smallest import enough as smallest
from ..analysis.enough.told import told
from ..errors import BadKnob
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
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import KNOBS, Scenario, known, with_values
from ..simulate import simulate
from ..sweep import links
from ..sweep.axes import Axis, parse
from ..sweep.sweep import Sweep, sampling
from .table import Table

if TYPE_CHECKING:
    from pandas import DataFrame


def scenario(base: str | Scenario = "dlrm-kaggle", /, **knobs: Any) -> Scenario:
    """Return a preset, or a scenario, with some knobs changed; raises BadKnob with a sentence.

    >>> scenario("tiny", batches=20).run.batches
    20
    """
    start = preset(base).scenario if isinstance(base, str) else base
    return with_values(start, {_path(name): _value(_path(name), value) for name, value in knobs.items()})


def estimate(base: str | Scenario = "dlrm-kaggle", /, **knobs: Any) -> Table:
    """Estimate a scenario's steady state, or a grid of them, in milliseconds each; faults and training are left out.

    What cannot run is a row without numbers whose outcome says why; raises BadKnob for what no scenario can have.

    >>> estimate("tiny", system=["pmem", "cxl"]).frame["Training system"].tolist()
    ['pmem', 'cxl']
    """
    return _computed(_swept(base, knobs), "estimate", None, 1)


def run(base: str | Scenario = "dlrm-kaggle", /, *, data: str | Path | None = None, jobs: int = 1, **knobs: Any) -> Table:
    """Run scenarios in full: real ids, gradients, faults; `data` is a file of clicks, `jobs` are processes at once (joblib).

    Points that share a training train once. Results are the same for any number of jobs.

    >>> table = run("tiny", batches=30)
    >>> table[0].training[-1]["Batch"]
    29
    """
    return _computed(_swept(base, knobs), "full", Path(data) if data else None, jobs)


def sweep(base: str | Scenario, /, *axes: str, sample: str = "grid", full: bool = False, jobs: int = 1, **knobs: Any) -> Table:
    """Estimate, or run in full, what axes span, written as on the command line; `sample` may be sobol:64, lhs:64 or random:64.

    >>> len(sweep("tiny", "cxl_bandwidth_GBps=8:64", "system=pmem,cxl", sample="sobol:16"))
    16
    """
    named = (f"{_path(name.strip())}={rest}" for name, _, rest in (axis.partition("=") for axis in axes))
    found = Sweep(scenario(base, **knobs), tuple(map(parse, named)), sampling=sampling(sample))
    return _computed(found, "full" if full else "estimate", None, jobs)


def enough(
    base: str | Scenario = "dlrm-kaggle",
    /,
    *,
    baseline: str = "dram",
    within: float = 0.1,
    step_ms: float | None = None,
    **knobs: Any,
) -> dict[str, str]:
    """Say in sentences the smallest PMEM and CXL link at most `within` (0.1 is 10 %) slower than a baseline, or at `step_ms`.

    >>> sorted(enough("dlrm-kaggle"))[:2]
    ['bandwidth', 'both']
    """
    one = scenario(base, **knobs)
    answer = smallest(ask(one, baseline_of(one, baseline), Target(within, step_ms)))
    return {name: sentence for name, sentence in vars(told(answer)).items() if sentence}


def fit(file: str | Path, base: str | Scenario = "dlrm-kaggle", /, **knobs: Any) -> Scenario:
    """Return a scenario whose tables and generated data are like a data file's, or a trace's; each reservation is a warning.

    >>> from pathlib import Path
    >>> table = Path("clicks.csv").write_text("click,user\\n" + "".join(f"{i % 2},{i * i % 97}\\n" for i in range(4000)))
    >>> mapping = Path("clicks.csv.toml").write_text('label = "click"\\nids = ["user"]')
    >>> with warnings.catch_warnings(action="ignore"):
    ...     fit("clicks.csv", "tiny").model.num_tables
    1
    """
    found = fit_file(lookups_of(Path(file)))
    for sentence in told_of_fit(found):
        warnings.warn(sentence, stacklevel=2)
    return found.scenario(scenario(base, **knobs))


def load(address: str) -> Scenario:
    """Open a link of the explorer; what it says beside the scenario, as that it was made by another version, is a warning.

    >>> load(link(scenario("tiny", batches=20))) == scenario("tiny", batches=20)
    True
    """
    opened = links.read(address)
    if opened.banner:
        warnings.warn(opened.banner, stacklevel=2)
    if opened.axes:
        warnings.warn(f"The link sweeps {', '.join(opened.axes)}; this is its base.", stacklevel=2)
    return opened.scenario


def link(one: Scenario) -> str:
    """Return the link that opens a scenario in the explorer, to be put behind its address."""
    return links.link(one)


def cite(one: Scenario) -> str:
    """Return BibTeX of the works that a scenario's results come from.

    >>> cite(scenario("trainingcxl-rm1")).count("kwon2023trainingcxl")
    1
    """
    return bibtex(one)


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

    rows = ((path, one.title, knob.write(one, one.default), ", ".join(one.allowed), one.help) for path, one in KNOBS.items())
    return DataFrame(rows, columns=["path", "title", "default", "choices", "help"])


def _swept(base: str | Scenario, knobs: Mapping[str, Any]) -> Sweep:
    """Return the grid that lists among the knobs span."""
    given = {_path(name): _listed(value) for name, value in knobs.items()}
    axes = tuple(Axis(path, tuple(_value(path, one) for one in held)) for path, held in given.items() if isinstance(held, list))
    set_ = {path: _value(path, held) for path, held in given.items() if not isinstance(held, list)}
    start = preset(base).scenario if isinstance(base, str) else base
    return Sweep(with_values(start, set_), axes)


def _computed(points: Sweep, how: How, data: Path | None, jobs: int) -> Table:
    for refused in points.refused:
        raise BadKnob(refused.sentence)
    given = tuple(points)
    varied = tuple(axis.path for axis in points.axes)
    if how == "estimate":
        return Table((estimated(given[0]),) if len(given) == 1 else tuple(estimates(given)), how, varied)
    groups: dict[object, list[int]] = {}
    for at, one in enumerate(given):
        groups.setdefault(functional_class(one) or "alike", []).append(at)
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=jobs)(delayed(_ran)([given[at] for at in places], data) for places in groups.values())
    placed = dict(zip((at for places in groups.values() for at in places), (one for some in found for one in some), strict=True))
    return Table(tuple(placed[at] for at in range(len(given))), how, varied)


def _ran(some: Sequence[Scenario], data: Path | None) -> list[Result]:
    """Run scenarios that may share a training."""
    if data is None and functional_class(some[0]) is None:
        return runs(some, tables=True)
    shelf: TrainingShelf = {}
    return [simulate(one, data, shelf=shelf) for one in some]


def _path(name: str) -> str:
    """Return the path of a knob by any of its names; raises BadKnob naming the nearest."""
    dotted = name.replace("__", ".")
    if dotted in KNOBS:
        return dotted
    found = [path for path in KNOBS if path.rpartition(".")[2] == dotted]
    if len(found) > 1:
        raise BadKnob(f"{name!r} is the last part of {' and '.join(found)}; write one of them, with __ for the point.")
    return found[0] if found else known(dotted).path


def _listed(value: Any) -> Any:
    """Return numpy's arrays, pandas' columns and ranges as lists, and their numbers as Python's."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, range) else value


def _value(path: str, value: Any) -> Any:
    """Return a value as its knob takes it: text is read as in links."""
    value = _listed(value)
    return knob.parse(KNOBS[path], value) if isinstance(value, str) else value
