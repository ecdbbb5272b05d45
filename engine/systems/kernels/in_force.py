"""The system in force if tables have kernels of their own.

A table is looked up in HBM, or in host memory by the GPU or by the host.
"""

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from ...errors import BadKnob
from ...registry import load_variant, variant_names
from ...scenario.scenario import Scenario
from ..system import System
from .mixed import HOST, MIXED, TITLES, UVM_CACHE, chosen_kernels


def system_in_force(s: Scenario) -> System:
    """Return a scenario's system, changed to the chosen kernels of its tables.

    A system with a fixed place for lookups is returned unchanged.
    """
    system: System = load_variant("systems", s.system)
    if s.policy.kernel == "auto" or not system.kernel:
        return system
    kernels = chosen_kernels(s)
    return system if set(kernels) == {system.kernel} else mixed_system(s.system, UVM_CACHE in kernels)


@lru_cache(maxsize=8)
def mixed_system(name: str, with_cache: bool) -> System:
    """Return the system called `name`, with kernels by table.

    `with_cache`: True if a kernel needs a cache in HBM.
    """
    base_system: System = load_variant("systems", name)
    labels = {field: getattr(base_system, field) for field in ("title", "summary", "family", "baseline", "kernel", "cites")}
    return replace(MIXED, **labels, cache=MIXED.cache if with_cache else None)


def title_of(s: Scenario) -> str:
    """Return a system's title, with its tables' kernels or its stashing in brackets."""
    title, kernels = str(load_variant("systems", s.system).title), kernel_words(s)
    stash = f" (stashing {s.policy.stashing})" if s.policy.stashing != "off" else ""
    return f"{title} (kernels {kernels})" if kernels else f"{title}{stash}"


def kernel_words(s: Scenario) -> str:
    """Return the number of tables of each kernel as text: "hbm 21, host 5".

    Return "" if all tables have the system's own kernel.
    """
    system_kernel = load_variant("systems", s.system).kernel
    if s.policy.kernel == "auto" or not system_kernel:
        return ""
    tables = Counter(chosen_kernels(s))
    return (
        ""
        if set(tables) == {system_kernel}
        else ", ".join(f"{kernel} {tables[kernel]}" for kernel in (*TITLES, HOST) if tables[kernel])
    )


def refuse_kernels(s: Scenario, system: System) -> None:
    """Raise BadKnob if tables have kernels under a system that does not allow them."""
    kernels = s.policy.kernel if isinstance(s.policy.kernel, tuple) else (s.policy.kernel,)
    if set(kernels) == {"auto"} or system.kernel:
        return
    able = " or ".join(name for name in variant_names("systems") if load_variant("systems", name).kernel)
    raise BadKnob(
        f"policy.kernel is not possible: system={s.system} has a fixed place for lookups; set policy.kernel=auto, or choose "
        f"{able}."
    )
