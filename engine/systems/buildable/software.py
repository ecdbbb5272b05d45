"""Software of a settled machine: which software runs it, and what that software lacks."""

from ...core.figures import figure
from ...hardware.device import assumed_value
from ...hardware.framework import FRAMEWORKS
from ...hardware.software import FROZEN, STATE_WORDS, STATED_LOOP, STATES, Software, platforms_of, software_of
from ...scenario.scenario import Scenario
from ..kernels.mixed import chosen_kernels
from ..parts import kind_of
from ..system import Settled

SHARDING, KERNEL, EXCHANGE, PROTECTION = "sharding.", "kernel.", "exchange.", "protection."
NO_PROTECTION = "none"


def policy_words(settled: Settled, protection: str = NO_PROTECTION) -> tuple[str, ...]:
    """Return the words for the policies that software needs to train as a machine does.

    protection: the protection of the machine.
    """
    s, system = settled.scenario, settled.system
    kind = kind_of(system)
    words = {
        "replicated-rows": settled.placement.replicas.rows > 0,
        "stashing": s.policy.stashing != "off",
        "input-dedup": s.policy.input_dedup,
        "balanced-histories": s.policy.balanced_histories,
        "sequences": s.model.interaction == "hstu",
        "attention.fused": s.model.interaction == "hstu" and s.machine.attention == "fused",
        f"{PROTECTION}{protection}": protection != NO_PROTECTION and not settled.log_policy.log,
        f"{EXCHANGE}{s.machine.exchange_precision}": s.machine.exchange_precision != "fp32" and s.machine.num_gpus > 1,
    }
    if kind and kind.parts(s, system).number > 1:
        words[f"{SHARDING}{s.policy.sharding or kind.default_sharding}"] = True
    if system.kernel:
        words |= {f"{KERNEL}{kernel}": True for kernel in sorted(set(chosen_kernels(s)))}
    return tuple(word for word, is_needed in words.items() if is_needed)


def missing_words(software: Software, settled: Settled, protection: str = NO_PROTECTION) -> tuple[str, ...]:
    """Return what software lacks to train as a machine does; () if it can.

    Words are for systems, platforms, policies and protections.
    """
    with_gpus = "gpu" in settled.system.devices
    platforms = platforms_of(settled.scenario.machine, with_gpus)
    missing = () if {*platforms} & {*software.platforms} else platforms[:1]
    unlike = () if settled.scenario.system in software.runs else (settled.scenario.system,)
    return (*unlike, *missing, *software.lacks(policy_words(settled, protection)))


def _software_in_force(settled: Settled) -> Software | None:
    """Return the software with the scenario's framework that runs a machine, or None."""
    s: Scenario = settled.scenario
    same_loop = [one for one in software_of(s.system) if s.machine.framework in (one.framework, *one.older_loops)]
    able = [one for one in same_loop if not missing_words(one, settled)]
    return min(able, key=lambda one: STATES.index(one.state), default=None)


def software_sentence(settled: Settled) -> str:
    """Return a sentence on software that trains so, or on the assumed loop."""
    s, software = settled.scenario, _software_in_force(settled)
    framework = s.machine.framework
    if software:
        state = STATE_WORDS[software.state] + (f" since {software.since}" if software.state == FROZEN else "")
        return f"{software.title} trains so ({state})."
    loop_ms = assumed_value(s.machine, "host", FRAMEWORKS[framework].fixed)
    able = [one for one in software_of(s.system) if one.exists and not missing_words(one, settled)]
    if able:
        names = " or ".join(f"{one.title} (machine.framework={one.framework})" for one in able[:3])
        return f"No software with the loop machine.framework={framework} trains so; {names} does."
    if not loop_ms:
        return "No public software trains so; no time of a loop is added."
    loop = "a stated loop as of a captured graph" if framework == STATED_LOOP else f"the loop of {framework}"
    return f"No public software trains so; {loop} is assumed, at least {figure(loop_ms, 'ms')} a step."
