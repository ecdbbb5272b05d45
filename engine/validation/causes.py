"""Causes of misses: each is an experiment that changes knobs and moves the simulated value.

A miss is a simulated value outside of its tolerance. A cause counts if the changed knobs are plausible, explain enough of the
miss, and worsen no other number of the same set-up.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log

from ..core.figures import count, exact, figure, percent
from ..errors import CannotRun
from ..hardware.device import name_of
from ..scenario.presets import preset
from ..scenario.scenario import KNOBS, Scenario, values, with_values
from ..schedule.machine import machine_of, settle
from .claims import Claim, Knobs, PublishedRange, claims, error_percent, nearest_published

SET_UP = ("machine.gpu", "machine.host", "machine.framework")  # knobs that all numbers of one set-up share, beside their preset
EXPLAINED = 0.5  # of the log error, at least
NOISE = 0.05  # points of error that worsen nothing
Measure = Callable[[Claim], float]


def with_cause(claim: Claim) -> Claim:
    """Return a claim with the knobs of its cause, for both sides of its comparison."""
    return _claim_with_knobs(claim, claim.cause_knobs)


def _claim_with_knobs(claim: Claim, knobs: Knobs) -> Claim:
    return replace(claim, knobs=(*claim.knobs, *knobs))


def sibling_trials(name: str, claim: Claim) -> tuple[Claim, ...]:
    """Return the other published numbers of a claim's set-up, with the knobs of its cause."""
    return tuple(_claim_with_knobs(sibling, claim.cause_knobs) for sibling in _siblings(name, claim)) if claim.cause_knobs else ()


def objections(name: str, claim: Claim, measure: Measure) -> tuple[str, ...]:
    """Return the objections to a claim's cause, a clause each.

    Empty if the cause counts, or if the claim has no cause.
    """
    if not claim.cause_knobs or claim.published_range is None:
        return ()
    sources = f"{preset(name).description} {claim.source}"
    return (
        *implausible_knobs(_scenario(name, claim), claim.cause_knobs, sources),
        *unexplained_share(measure(claim), measure(with_cause(claim)), claim.published_range),
        *_worsened(name, claim, measure),
    )


def implausible_knobs(scenario: Scenario, knobs: Knobs, sources: str) -> Iterator[str]:
    """Yield a clause for each implausible value of a knob.

    A constant is implausible outside its range, a choice where `sources` do not name it.
    """
    catalogue_scenario = with_values(scenario, {"machine.assume": ()})
    for path, setting in knobs:
        if path == "machine.assume":
            yield from _out_of_range(catalogue_scenario, setting)
        elif KNOBS[path].kind != "choice" or _words(setting) not in _words(sources):
            yield f"{path}={setting} is no constant of the catalogue, and no choice that the set-up names"


def _out_of_range(scenario: Scenario, assumed: tuple[tuple[str, float], ...]) -> Iterator[str]:
    devices = machine_of(settle(scenario)).devices.values()
    constants = {name_of(device.name, constant): constant for device in devices for constant in device.constants}
    for name, number in assumed:
        constant = constants[name]
        if not constant.low <= number <= constant.high:
            yield f"{name}={number:g} lies outside {exact(constant.low)} to {exact(constant.high)} {constant.unit}"


def unexplained_share(simulated_value: float, caused: float, ends: PublishedRange) -> Iterator[str]:
    """Yield a clause where the cause leaves more than half of the log error unexplained.

    simulated_value, caused: the value without the cause, and with it. ends: the published range.
    """
    error_before, error_after = (_log_error(number, ends) for number in (simulated_value, caused))
    share = 1 - error_after / error_before if error_before else 0.0
    if not share >= EXPLAINED:
        yield f"it explains {percent(max(0.0, share))} of the log error, less than half"


def _log_error(simulated_value: float, ends: PublishedRange) -> float:
    nearest = nearest_published(simulated_value, ends)
    return abs(log(simulated_value / nearest)) if simulated_value > 0 and nearest > 0 else float("inf")


def _worsened(name: str, claim: Claim, measure: Measure) -> Iterator[str]:
    """Yield a clause if other numbers of the set-up get worse.

    The clause names the worst.
    """
    worse: list[tuple[float, str]] = []
    for sibling, trial in zip(_siblings(name, claim), sibling_trials(name, claim), strict=True):
        try:
            error_before, error_after = (
                abs(error_percent(measure(variant), sibling.published_range or (1, 1))) for variant in (sibling, trial)
            )
        except CannotRun:
            worse.append((float("inf"), f"{sibling.title!r} cannot run with it"))
            continue
        if not error_after <= error_before + NOISE:
            worse.append(
                (
                    error_after - error_before,
                    f"{sibling.title!r} is {percent(error_after / 100)} off with it and {percent(error_before / 100)} without",
                )
            )
    if worse:
        subject = f"{count(len(worse), 'number')} of the set-up get" if len(worse) > 1 else "another number of the set-up gets"
        yield f"{subject} worse: {max(worse)[1]}"


def _siblings(name: str, claim: Claim) -> tuple[Claim, ...]:
    """Return the other claims of the preset with the same GPU, host and training loop."""
    set_up = _set_up(name, claim)
    published_claims = (
        candidate
        for candidate in claims(name)
        if candidate.published and candidate.presets == (name,) and candidate.title != claim.title
    )
    return tuple(candidate for candidate in published_claims if _set_up(name, candidate) == set_up)


def _set_up(name: str, claim: Claim) -> tuple[object, ...]:
    knob_values = values(_scenario(name, claim))
    return tuple(knob_values[path] for path in SET_UP)


def _scenario(name: str, claim: Claim) -> Scenario:
    return with_values(preset(name).scenario, {"system": claim.system, **dict(claim.knobs)})


def _words(text: object) -> str:
    return str(text).replace("-", " ").replace("_", " ").casefold()


def cause_text(knobs: Knobs, caused: float, objected: tuple[str, ...]) -> str:
    """Return a cause as a clause: the changed knobs, the resulting number, and objections."""
    experiment = f"{', '.join(f'{path}={setting}' for path, setting in knobs)} gives {figure(caused)}"
    return f"{experiment}; this does not count: {'; '.join(objected)}" if objected else experiment
