"""Causes of misses: whether an experiment that moves a miss counts as its cause, and the objections where it does not.

A cause counts if its value is plausible, explains enough of the miss, and worsens no other number of the same set-up.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log

from ..core.figures import exact, figure, percent
from ..errors import CannotRun
from ..hardware.device import name_of
from ..scenario.presets import preset
from ..scenario.scenario import KNOBS, Scenario, values, with_values
from ..schedule.machine import machine_of, settle
from .claims import Claim, Ends, Knobs, claims, error_percent, nearest_published

SET_UP = ("machine.gpu", "machine.host", "machine.framework")  # equal in numbers of one set-up, beside their preset
EXPLAINED = 0.5  # of the log error, at least
NOISE = 0.05  # points of error that worsen nothing
Measure = Callable[[Claim], float]


def with_cause(claim: Claim) -> Claim:
    """Return the claim under its cause's knobs, on both sides."""
    return _under(claim, claim.cause_knobs)


def _under(claim: Claim, knobs: Knobs) -> Claim:
    return replace(claim, knobs=(*claim.knobs, *knobs))


def trials(name: str, claim: Claim) -> tuple[Claim, ...]:
    """Return the other published numbers of a claim's set-up under its cause's knobs."""
    return tuple(_under(other, claim.cause_knobs) for other in _siblings(name, claim)) if claim.cause_knobs else ()


def objections(name: str, claim: Claim, measure: Measure) -> tuple[str, ...]:
    """Return why a claim's cause does not count, a clause each; none if it does, or if there is no cause."""
    if not claim.cause_knobs or claim.ends is None:
        return ()
    sources = f"{preset(name).description} {claim.source}"
    return (
        *implausible(_scenario(name, claim), claim.cause_knobs, sources),
        *unexplained(measure(claim), measure(with_cause(claim)), claim.ends),
        *_worsened(name, claim, measure),
    )


def implausible(scenario: Scenario, knobs: Knobs, sources: str) -> Iterator[str]:
    """Yield a clause for each value that is outside its constant's range, and for each that is no choice named in `sources`."""
    plain = with_values(scenario, {"machine.assume": ()})
    for path, setting in knobs:
        if path == "machine.assume":
            yield from _out_of_range(plain, setting)
        elif KNOBS[path].kind != "choice" or _words(setting) not in _words(sources):
            yield f"{path}={setting} is no constant of the catalogue, and no choice that the set-up names"


def _out_of_range(scenario: Scenario, assumed: tuple[tuple[str, float], ...]) -> Iterator[str]:
    devices = machine_of(settle(scenario)).devices.values()
    known = {name_of(device.name, constant): constant for device in devices for constant in device.constants}
    for name, number in assumed:
        constant = known[name]
        if not constant.low <= number <= constant.high:
            yield f"{name}={number:g} lies outside {exact(constant.low)} to {exact(constant.high)} {constant.unit}"


def unexplained(ours: float, caused: float, ends: Ends) -> Iterator[str]:
    """Yield a clause where the cause leaves more than half of the log error."""
    before, after = (_log_error(number, ends) for number in (ours, caused))
    share = 1 - after / before if before else 0.0
    if not share >= EXPLAINED:
        yield f"it explains {percent(max(0.0, share))} of the log error, less than half"


def _log_error(ours: float, ends: Ends) -> float:
    nearest = nearest_published(ours, ends)
    return abs(log(ours / nearest)) if ours > 0 and nearest > 0 else float("inf")


def _worsened(name: str, claim: Claim, measure: Measure) -> Iterator[str]:
    """Yield a clause where other numbers of the set-up get worse, with the one that does most."""
    worse: list[tuple[float, str]] = []
    for sibling, trial in zip(_siblings(name, claim), trials(name, claim), strict=True):
        try:
            before, after = (abs(error_percent(measure(each), sibling.ends or (1, 1))) for each in (sibling, trial))
        except CannotRun:
            worse.append((float("inf"), f"{sibling.title!r} cannot run with it"))
            continue
        if not after <= before + NOISE:
            worse.append(
                (after - before, f"{sibling.title!r} is {percent(after / 100)} off with it and {percent(before / 100)} without")
            )
    if worse:
        many = f"{len(worse)} numbers of the set-up get" if len(worse) > 1 else "another number of the set-up gets"
        yield f"{many} worse: {max(worse)[1]}"


def _siblings(name: str, claim: Claim) -> tuple[Claim, ...]:
    """Return the other published numbers of the preset on the same GPU, host and training loop."""
    own = _set_up(name, claim)
    others = (other for other in claims(name) if other.published and other.presets == (name,) and other.title != claim.title)
    return tuple(other for other in others if _set_up(name, other) == own)


def _set_up(name: str, claim: Claim) -> tuple[object, ...]:
    chosen = values(_scenario(name, claim))
    return tuple(chosen[path] for path in SET_UP)


def _scenario(name: str, claim: Claim) -> Scenario:
    return with_values(preset(name).scenario, {"system": claim.system, **dict(claim.knobs)})


def _words(text: object) -> str:
    return str(text).replace("-", " ").replace("_", " ").casefold()


def cause_text(knobs: Knobs, caused: float, objected: tuple[str, ...]) -> str:
    """Return a cause as a clause: the experiment, the number it gives, and why it does not count where it does not."""
    experiment = f"{', '.join(f'{path}={setting}' for path, setting in knobs)} gives {figure(caused)}"
    return f"{experiment}; does not count: {'; '.join(objected)}" if objected else experiment
