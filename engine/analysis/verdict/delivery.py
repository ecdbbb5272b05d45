"""The weeks until a machine's GPUs are delivered, from the GPU's file.

Other parts state no weeks. GPUs that the user owns take none.
"""

import re
from functools import lru_cache

from ...core.catalog import part_content
from ...core.figures import exact
from ...core.part_files.lists import owns
from ...core.part_files.supply import DELIVERED_KINDS, Delivery, read_delivery
from ...hardware.devices.chassis import bought_gpus
from ...registry import load_variant
from ...scenario.machine import PARTS
from ...scenario.scenario import Scenario
from ...systems.system import in_chassis

OWNED = Delivery(0.0, 0.0)
VOWEL_SOUND = re.compile(r"[aeio8]|[fhlmnrsx][0-9]|mi[0-9]")  # begins of names spoken as an h100


def gpu_of(scenario: Scenario) -> str:
    """Return the name of a scenario's GPU, "" for a system without GPUs."""
    return scenario.machine.gpu if "gpu" in load_variant("systems", scenario.system).devices else ""


def delivery_of(scenario: Scenario) -> Delivery | None:
    """Return the delivery of a scenario's GPUs; None where it is not known."""
    gpu = gpu_of(scenario)
    return None if not gpu else OWNED if _has_all_gpus(scenario) else _stated_delivery(gpu)


def _has_all_gpus(scenario: Scenario) -> bool:
    """Return whether the user owns as many GPUs as a scenario pays for."""
    machine = in_chassis(scenario.system, scenario.machine)
    return any(owns(machine.owned_parts, kind, machine.gpu, bought_gpus(machine)) for kind in PARTS["gpu"].kinds)


@lru_cache(maxsize=1024)
def _stated_delivery(gpu: str) -> Delivery | None:
    """Return the delivery in a GPU's file; a name stands for one content of the file."""
    for kind in DELIVERED_KINDS:
        try:
            return read_delivery(f"{kind}/{gpu}", part_content(kind, gpu))
        except KeyError:
            continue
    return None


def delay(scenario: Scenario, weeks: float | None) -> float:
    """Return the soonest delivery as a factor of `weeks`.

    Return 0 without a limit or a known delivery.
    """
    delivery = delivery_of(scenario) if weeks is not None else None
    return delivery.low / weeks if delivery and weeks else 0.0


def weeks_words(scenario: Scenario, delivery: Delivery) -> str:
    """Return a clause: "An h100-sxm takes 36 to 52 weeks to be delivered"."""
    gpu = gpu_of(scenario)
    article, low = "An" if VOWEL_SOUND.match(gpu) else "A", f"{exact(delivery.low)} to " * (delivery.low < delivery.high)
    return f"{article} {gpu} takes {low}{weeks_text(delivery.high)} to be delivered"


def weeks_text(weeks: float) -> str:
    """Return weeks as words: "1 week", "20.5 weeks"."""
    return f"{exact(weeks)} week{'s' * (weeks != 1)}"


def late_words(scenario: Scenario, weeks: float) -> str:
    """Return a sentence that a scenario's GPUs come later than in `weeks`."""
    delivery = delivery_of(scenario) or OWNED
    return f"{weeks_words(scenario, delivery)}; it is needed in {weeks_text(weeks)}."


def delivery_sentence(scenario: Scenario, weeks: float | None) -> str:
    """Return a sentence on the delivery of a scenario's GPUs.

    weeks: the weeks in which the machine is needed, None without a limit.
    Return "" where nothing is known or asked, and for GPUs that the user owns.
    """
    delivery, gpu = delivery_of(scenario), gpu_of(scenario)
    if delivery == OWNED:
        return ""
    if delivery is None:
        part = gpu or "these parts"
        return "" if weeks is None else f"Needed in {weeks_text(weeks)}: the weeks of delivery of {part} are not known."
    words = f"{weeks_words(scenario, delivery)} ({delivery.date}; {delivery.source})"
    late = weeks is not None and delivery.high > weeks
    return f"{words}: it may come later than in the {weeks_text(weeks or 0.0)} asked." if late else f"{words}."
