"""Published claims: numbers of papers, each with the difference that is tolerated."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from itertools import chain
from math import isfinite
from typing import Any

from ..core.figures import exact
from ..core.graph import STAGES
from ..errors import BadFile, nearest_hint
from ..registry import all_variants, load_variant, variant_names
from ..results.metrics import all_metrics
from ..scenario.knobs import AUTO
from ..scenario.own_presets import Preset
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import KNOBS, from_file

FORMS: Mapping[str, Callable[[float, float], float]] = {
    "value": lambda simulated_value, base: simulated_value,
    "speed-up": lambda simulated_value, base: base / simulated_value,
    "saving [%]": lambda simulated_value, base: 100 * (1 - simulated_value / base),
    "gain [%]": lambda simulated_value, base: 100 * (base / simulated_value - 1),
    "ratio": lambda simulated_value, base: simulated_value / base,
}
KINDS = ("calibrated", "predicted", "headline", "counterfactual")
# The model's use of a published number: a constant was fitted to it, a shape or set-up was, or the number was not used.
IN_SAMPLE, OUT_OF_SAMPLE = "in sample", "out of sample"
SAMPLES = ("calibrated", IN_SAMPLE, OUT_OF_SAMPLE)
WORKLOAD, FAULTS = "Workload and caches", "Faults and checkpoints"  # families of claims about no training system
AGGREGATES = ("mean", "geomean")
PublishedRange = tuple[float, float]  # of a published range; equal where one number is published
Knobs = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Claim:
    """One published number, or a prediction, about one preset or several.

    title: the claim's name, unique in its preset.
    metric: a result's name, or a stage's name for its exposed milliseconds.
    system: the training system.
    presets: the presets over which `aggregate` goes.
    kind: one of KINDS.
    source: where the number is published.
    published: the published value, or the lower end of a range; None for a prediction.
    tolerance: the difference that passes, in the claim's own unit.
    tolerance_percent: the difference that passes, in percent of the published value.
    form: the comparison with the same preset under `baseline`; one of FORMS.
    baseline: the system to compare with.
    aggregate: the mean over the presets, or the geomean of this/baseline.
    knobs: changes of the preset for both systems.
    baseline_knobs: changes of the preset for the baseline only.
    at_most, at_least: the limit of a counterfactual, which has no tolerance.
    estimated: whether the estimate's steady state is claimed, for caches that a short run would not fill.
    sample: one of SAMPLES; each published value needs one, a calibrated one has it by its kind.
    family: the family that is scored, by default the system's.
    cause_knobs: changes of both systems that move a miss towards the published value.
    published_to: the upper end of a published range, which is its own tolerance.
    sample_reason: why a number to which nothing was fitted is in sample.
    tolerance_note: the origin of the tolerance.
    not_counted: why no family's median includes the number.
    counts_with: another number that counts for this one; empty for an identity.
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
    def published_range(self) -> PublishedRange | None:
        """The published range, both ends equal where it is one number; None for a prediction."""
        if self.published is None:
            return None
        return self.published, self.published if self.published_to is None else self.published_to

    @property
    def allowed_difference(self) -> float | None:
        """The largest difference from the published value that passes; None for a prediction."""
        if self.published is None:
            return None
        return self.tolerance if self.tolerance is not None else abs(self.published) * (self.tolerance_percent or 0.0) / 100


def nearest_published(simulated_value: float, ends: PublishedRange) -> float:
    """Return the published value nearest to a simulated one.

    A published value may be a range. The result is the simulated value if it lies inside the range, else an end of the range.
    """
    return min(max(simulated_value, ends[0]), ends[1])


def error_percent(simulated_value: float, ends: PublishedRange) -> float:
    """Return the difference of a simulated value from the nearest published one, in percent."""
    return 100 * (simulated_value / nearest_published(simulated_value, ends) - 1)


def ends_text(ends: PublishedRange, form: str = ".4g") -> str:
    """Return a published value as text, a range with both its ends."""
    return "-".join(format(end, form) for end in dict.fromkeys(ends))


def claims(name: str) -> tuple[Claim, ...]:
    """Return the claims of a preset; raises BadFile where a claim is not well formed."""
    preset_claims = tuple(_claim(preset(name), number, table) for number, table in enumerate(preset(name).claims, 1))
    for title, times in Counter(claim.title for claim in preset_claims).items():
        if times > 1:
            raise BadFile(f"presets/{name}.toml has {times} claims called {title!r}; give each claim its own title.")
    return preset_claims


def families() -> tuple[str, ...]:
    """Return the families by which claims are scored: families of training systems first."""
    return (*dict.fromkeys(system.family for system in all_variants("systems").values()), WORKLOAD, FAULTS)


def _claim(owner: Preset, number: int, table: Mapping[str, Any]) -> Claim:
    location = f"presets/{owner.name}.toml, claim {number}"
    if not isinstance(table, Mapping):
        raise BadFile(f"{location} is {table!r}, not a table; begin each claim with [[claims]].")
    claim_fields = {"title": table.get("metric"), "presets": (owner.name,), "system": owner.scenario.system, **table}
    is_required = {field.name: field.default is MISSING for field in fields(Claim)}
    for name in claim_fields:
        if name not in is_required:
            raise BadFile(f"{location} has an unknown entry {name!r}; {nearest_hint(name, tuple(is_required))}")
    for name, required in is_required.items():
        if required and claim_fields.get(name) is None:
            raise BadFile(
                f"{location} lacks {name!r}; a claim has {', '.join(name for name in is_required if is_required[name])}."
            )
    if not isinstance(claim_fields["presets"], list | tuple):
        raise BadFile(f"{location}: presets={claim_fields['presets']!r} is not a list of presets.")
    for name in ("knobs", "baseline_knobs", "cause_knobs"):
        if not isinstance(claim_fields.get(name, {}), Mapping):
            raise BadFile(f"{location}: {name}={claim_fields[name]!r} is not a table of knobs.")
        claim_fields[name] = tuple((path, _knob_setting(path, setting)) for path, setting in claim_fields.get(name, {}).items())
    claim = Claim(**{**_with_defaults(claim_fields), "presets": tuple(claim_fields["presets"])})
    for problem in chain(_unknown_words(claim), _contradictions(claim)):
        raise BadFile(f"{location}: {problem}")
    return claim


def _with_defaults(claim_fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add a claim's defaults: the sample of a calibrated claim, the system's family."""
    sample = "calibrated" if claim_fields.get("kind") == "calibrated" and claim_fields.get("published") is not None else ""
    family = load_variant("systems", claim_fields["system"]).family if claim_fields["system"] in variant_names("systems") else ""
    return {"sample": sample, "family": family, **claim_fields}


def _knob_setting(path: str, setting: Any) -> Any:
    """Return a knob's value in a claim.

    A list may be a text, as in hbm*74;uvm.
    """
    by_table = path in KNOBS and KNOBS[path].by_table
    return from_file(path, setting) if by_table and isinstance(setting, str) else None if setting == AUTO else _frozen(setting)


def _frozen(setting: Any) -> Any:
    return tuple(_frozen(member) for member in setting) if isinstance(setting, list) else setting


def _unknown_words(claim: Claim) -> Iterator[str]:
    systems = variant_names("systems")
    allowed: Mapping[str, tuple[str, ...]] = {
        "kind": KINDS,
        "sample": ("", *SAMPLES),
        "family": ("", *families()),
        "form": tuple(FORMS),
        "aggregate": AGGREGATES,
        "metric": (*STAGES, *(metric.name for metric in all_metrics())),
        "system": systems,
        "baseline": ("", *systems),
    }
    words = [(name, getattr(claim, name), vocabulary) for name, vocabulary in allowed.items()]
    for name, word, vocabulary in [*words, *(("presets", word, preset_names()) for word in claim.presets)]:
        if word not in vocabulary:
            yield f"{name}={word!r} is not known; {nearest_hint(str(word), [word for word in vocabulary if word])}"
    for path, _ in (*claim.knobs, *claim.baseline_knobs, *claim.cause_knobs):
        if path not in KNOBS:
            yield f"{path!r} is not a knob; {nearest_hint(path, tuple(KNOBS), 'knobs')}"
    for name in ("published", "published_to", "tolerance", "tolerance_percent", "at_most", "at_least"):
        number = getattr(claim, name)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number)):
            yield f"{name}={number!r} is not a finite number."


def _contradictions(claim: Claim) -> Iterator[str]:
    if (claim.kind == "counterfactual") != (claim.at_most is not None or claim.at_least is not None):
        yield "only a counterfactual has a limit; give `at_most` or `at_least` to it and to no other kind."
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
        yield "without a published number, nothing can be calibrated or have a tolerance; give `published`."
    elif claim.published is not None:
        yield from _useless_tolerance(claim, len(tolerances))
    yield from _misplaced_notes(claim)


def _misplaced_notes(claim: Claim) -> Iterator[str]:
    """Yield problems of a claim's `sample` and of its notes.

    A published value needs a sample, a prediction has none.
    """
    if (claim.published is None) == bool(claim.sample):
        yield f"a published number, and only that, has a `sample`; choose it from {', '.join(SAMPLES)}."
    elif claim.published is not None and (claim.kind == "calibrated") != (claim.sample == "calibrated"):
        yield f"kind={claim.kind!r} and sample={claim.sample!r} contradict each other; a calibrated claim is both."
    if claim.sample_reason and claim.sample != IN_SAMPLE:
        yield f"`sample_reason` explains only the sample {IN_SAMPLE!r}; leave it out, or give that sample."
    if claim.tolerance_note and not claim.allowed_difference:
        yield "`tolerance_note` needs a tolerance; leave `tolerance_note` out."
    if claim.not_counted and claim.published is None:
        yield "`not_counted` needs a published number; leave `not_counted` out."
    if claim.counts_with and not claim.not_counted:
        yield "say in `not_counted` why the number counts with another one."
    if claim.cause_knobs and claim.published is None:
        yield "`cause_knobs` needs a published number; leave `cause_knobs` out."


def _useless_tolerance(claim: Claim, tolerances: int) -> Iterator[str]:
    """Yield problems of the tolerance: some values must pass, but not all.

    A range has none.
    """
    if claim.published_to is not None:
        if tolerances:
            yield "a published range is already a tolerance; leave `tolerance` and `tolerance_percent` out."
        return
    allowed, size = claim.allowed_difference or 0.0, abs(claim.published or 0.0)
    if tolerances != 1:
        yield "a published value needs exactly one of `tolerance` (in its own unit) and `tolerance_percent`."
    elif allowed <= 0:
        yield f"a tolerance of {exact(allowed)} can never be met; make it positive, and absolute where 0 is published."
    elif 0 < size <= allowed:
        yield f"a tolerance of {exact(allowed)} around {exact(size)} would accept even 0; lower it below the published value."
