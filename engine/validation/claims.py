"""Published claims: one is a number of a paper, checked as its preset is read, and the difference that still passes."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import chain
from math import isfinite
from typing import Any

from ..core.figures import exact
from ..core.graph import STAGES
from ..errors import BadFile, nearest
from ..registry import every, load, names
from ..results.metrics import metrics
from ..scenario.knobs import AUTO
from ..scenario.presets import Preset, preset, preset_names
from ..scenario.scenario import KNOBS, from_file

FORMS: Mapping[str, Callable[[float, float], float]] = {
    "value": lambda ours, base: ours,
    "speed-up": lambda ours, base: base / ours,
    "saving [%]": lambda ours, base: 100 * (1 - ours / base),
    "gain [%]": lambda ours, base: 100 * (base / ours - 1),
    "ratio": lambda ours, base: ours / base,
}
KINDS = ("calibrated", "predicted", "headline", "counterfactual")
# What a published number was to the model: a constant was fitted to it, its shape or set-up was, or it was not used at all.
IN_SAMPLE, OUT_OF_SAMPLE = "in sample", "out of sample"
SAMPLES = ("calibrated", IN_SAMPLE, OUT_OF_SAMPLE)
WORKLOAD, FAULTS = "Workload and caches", "Faults and checkpoints"  # families of what is no training system's
AGGREGATES = ("mean", "geomean")
Ends = tuple[float, float]  # of a published range; equal where one number is published
Knobs = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Claim:
    """One published number: `metric` is a result's name, or a stage's for its exposed milliseconds.

    `form` compares with the same preset under system `baseline`; `aggregate` (mean, or geomean of this/baseline)
    goes over `presets`. `knobs` change the preset for both, `baseline_knobs` for the baseline alone. The tolerance is
    absolute, in the claim's own unit, or in percent of the published value; a counterfactual has a limit instead.
    `estimated` claims the steady state that the estimate gives, for caches that a short run would not fill. A published
    value needs a `sample` (a calibrated one has it by its kind). A published range reaches from `published` to `published_to`
    and is its own tolerance. `family` is the system's own where it is not given.
    `sample_reason` says why a number that nothing was fitted to is in sample, `tolerance_note` how its tolerance came about.
    `not_counted` says why no family's median has the number, which another one `counts_with` or which is an identity.
    `cause_knobs` are an experiment: changes on both sides that move a miss towards the published value.
    """

    title: str
    metric: str
    system: str
    presets: tuple[str, ...]
    kind: str
    source: str
    published: float | None = None
    tolerance: float | None = None
    tolerance_percent: float | None = None
    form: str = "value"
    baseline: str = ""
    aggregate: str = "mean"
    knobs: Knobs = ()
    baseline_knobs: Knobs = ()
    at_most: float | None = None
    at_least: float | None = None
    estimated: bool = False
    sample: str = ""
    family: str = ""
    cause_knobs: Knobs = ()
    published_to: float | None = None
    sample_reason: str = ""
    tolerance_note: str = ""
    not_counted: str = ""
    counts_with: str = ""

    @property
    def ends(self) -> Ends | None:
        """The published range, both ends equal where it is one number; None for a prediction."""
        if self.published is None:
            return None
        return self.published, self.published if self.published_to is None else self.published_to

    @property
    def allowed(self) -> float | None:
        """The largest difference from the published value that passes; None for a prediction."""
        if self.published is None:
            return None
        return self.tolerance if self.tolerance is not None else abs(self.published) * (self.tolerance_percent or 0.0) / 100


def nearest_published(ours: float, ends: Ends) -> float:
    """Return the published value that ours is held against: ours itself inside a range, else the nearest end."""
    return min(max(ours, ends[0]), ends[1])


def error_percent(ours: float, ends: Ends) -> float:
    """Return how far ours is from the nearest published value, in percent of that."""
    return 100 * (ours / nearest_published(ours, ends) - 1)


def ends_text(ends: Ends, form: str = ".4g") -> str:
    """Return a published value as text, a range with both its ends."""
    return "-".join(format(end, form) for end in dict.fromkeys(ends))


def claims(name: str) -> tuple[Claim, ...]:
    """Return the claims of a preset; raises BadFile where one is not well formed."""
    found = tuple(_claim(preset(name), number, entry) for number, entry in enumerate(preset(name).claims, 1))
    for title, times in Counter(claim.title for claim in found).items():
        if times > 1:
            raise BadFile(f"presets/{name}.toml has {times} claims called {title!r}; give each a title of its own.")
    return found


def families() -> tuple[str, ...]:
    """Return what claims are scored by: the families of the training systems, then what is no system's."""
    return (*dict.fromkeys(system.family for system in every("systems").values()), WORKLOAD, FAULTS)


def _claim(owner: Preset, number: int, entry: Mapping[str, Any]) -> Claim:
    where = f"presets/{owner.name}.toml, claim {number}"
    if not isinstance(entry, Mapping):
        raise BadFile(f"{where} is {entry!r}, not a table; begin each claim with [[claims]].")
    given = {"title": entry.get("metric"), "presets": (owner.name,), "system": owner.scenario.system, **entry}
    known = {field.name: field.default is MISSING for field in fields(Claim)}
    for name in given:
        if name not in known:
            raise BadFile(f"{where} has an unknown entry {name!r}; {nearest(name, tuple(known))}")
    for name, required in known.items():
        if required and given.get(name) is None:
            raise BadFile(f"{where} lacks {name!r}; a claim has {', '.join(name for name in known if known[name])}.")
    if not isinstance(given["presets"], list | tuple):
        raise BadFile(f"{where}: presets={given['presets']!r} is not a list of presets.")
    for name in ("knobs", "baseline_knobs", "cause_knobs"):
        if not isinstance(given.get(name, {}), Mapping):
            raise BadFile(f"{where}: {name}={given[name]!r} is not a table of knobs.")
        given[name] = tuple((path, _value(path, value)) for path, value in given.get(name, {}).items())
    claim = Claim(**{**_classed(given), "presets": tuple(given["presets"])})
    for problem in chain(_unknown_words(claim), _contradictions(claim)):
        raise BadFile(f"{where}: {problem}")
    return claim


def _classed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Add what follows where it is not given: a calibrated claim's sample, and the family of the system."""
    sample = "calibrated" if given.get("kind") == "calibrated" and given.get("published") is not None else ""
    family = load("systems", given["system"]).family if given["system"] in names("systems") else ""
    return {"sample": sample, "family": family, **given}


def _value(path: str, value: Any) -> Any:
    """Return the value that a claim gives a knob; a list may be a text, as in hbm*74;uvm."""
    by_table = path in KNOBS and KNOBS[path].by_table
    return from_file(path, value) if by_table and isinstance(value, str) else None if value == AUTO else _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _unknown_words(claim: Claim) -> Iterator[str]:
    systems = names("systems")
    allowed: Mapping[str, tuple[str, ...]] = {
        "kind": KINDS,
        "sample": ("", *SAMPLES),
        "family": ("", *families()),
        "form": tuple(FORMS),
        "aggregate": AGGREGATES,
        "metric": (*STAGES, *(metric.name for metric in metrics())),
        "system": systems,
        "baseline": ("", *systems),
    }
    words = [(name, getattr(claim, name), known) for name, known in allowed.items()]
    for name, word, known in [*words, *(("presets", word, preset_names()) for word in claim.presets)]:
        if word not in known:
            yield f"{name}={word!r} is not known; {nearest(str(word), [word for word in known if word])}"
    for path, _ in (*claim.knobs, *claim.baseline_knobs, *claim.cause_knobs):
        if path not in KNOBS:
            yield f"{path!r} is not a knob; {nearest(path, tuple(KNOBS), 'knobs')}"
    for name in ("published", "published_to", "tolerance", "tolerance_percent", "at_most", "at_least"):
        number = getattr(claim, name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number)):
            yield f"{name}={number!r} is not a finite number."


def _contradictions(claim: Claim) -> Iterator[str]:
    if (claim.kind == "counterfactual") != (claim.at_most is not None or claim.at_least is not None):
        yield "a counterfactual, and nothing else, has a limit; give `at_most` or `at_least`."
    if claim.kind == "counterfactual" and claim.published is not None:
        yield "a counterfactual has a limit instead of a published value; leave `published` out."
    if claim.form != "value" and not claim.baseline:
        yield f"a {claim.form} needs a baseline system; give `baseline`."
    if claim.form == "value" and (claim.baseline or claim.baseline_knobs or claim.aggregate == "geomean"):
        yield "baseline and geomean have no effect on form='value'; choose another form, or leave them out."
    if not claim.presets:
        yield "presets is empty; leave it out for this preset alone."
    if claim.published_to is not None and (claim.published is None or not claim.published < claim.published_to):
        yield "a range reaches from `published` up to a larger `published_to`."
    tolerances = [number for number in (claim.tolerance, claim.tolerance_percent) if number is not None]
    if claim.published is None and (tolerances or claim.kind == "calibrated"):
        yield "nothing is published to be calibrated to, or to be tolerant about; give `published`."
    elif claim.published is not None:
        yield from _useless(claim, len(tolerances))
    yield from _misplaced(claim)


def _misplaced(claim: Claim) -> Iterator[str]:
    """What a published value was to the model is said of each, and of nothing else."""
    if (claim.published is None) == bool(claim.sample):
        yield f"a published value, and nothing else, needs a `sample`: {', '.join(SAMPLES)}."
    elif claim.published is not None and (claim.kind == "calibrated") != (claim.sample == "calibrated"):
        yield f"kind={claim.kind!r} and sample={claim.sample!r} contradict each other; a calibrated claim is both."
    if claim.sample_reason and claim.sample != IN_SAMPLE:
        yield f"`sample_reason` explains {IN_SAMPLE!r} alone; leave it out, or give that sample."
    if claim.tolerance_note and not claim.allowed:
        yield "there is no tolerance to note anything about; leave `tolerance_note` out."
    if claim.not_counted and claim.published is None:
        yield "nothing is published that could count; leave `not_counted` out."
    if claim.counts_with and not claim.not_counted:
        yield "say in `not_counted` why the number counts with another one."
    if claim.cause_knobs and claim.published is None:
        yield "nothing is published that could be missed; leave `cause_knobs` out."


def _useless(claim: Claim, tolerances: int) -> Iterator[str]:
    """A tolerance must let something pass, and must not let everything pass; a range has none."""
    if claim.published_to is not None:
        if tolerances:
            yield "a published range is its own tolerance; leave `tolerance` and `tolerance_percent` out."
        return
    allowed, size = claim.allowed or 0.0, abs(claim.published or 0.0)
    if tolerances != 1:
        yield "a published value needs exactly one of `tolerance` (in its own unit) and `tolerance_percent`."
    elif allowed <= 0:
        yield f"a tolerance of {exact(allowed)} lets nothing pass; make it positive, and absolute where 0 is published."
    elif 0 < size <= allowed:
        yield f"a tolerance of {exact(allowed)} around {exact(size)} lets even 0 pass; lower it below the published value."
