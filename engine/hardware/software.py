"""Software that trains: its state, and the GPUs, systems and policies that it has.

A file of the catalogue names the framework whose loop the software has. Framework and system tell which software runs a machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ..core.catalog import Catalogue, availability, list_words, part_content, part_names_of
from ..scenario.machine import MachineKnobs

KIND = "software"
AVAILABLE, FROZEN, PAPER_CODE, NO_CODE = STATES = ("available", "frozen", "paper code", "none")
EXISTING = (AVAILABLE, FROZEN)
STATE_WORDS: Mapping[str, str] = {
    AVAILABLE: "maintained",
    FROZEN: "public, but without a release or commit of substance for a year",
    PAPER_CODE: "a paper's code",
    NO_CODE: "no public code",
}
PLATFORM_LIST, OLDER_LOOPS, CPU = "platforms", "older-loops", "CPU"
GPU_PLATFORMS = ("CUDA", "ROCm")
LAYERS, EXCHANGE = ("fp32", "tf32", "bf16", "fp16"), ("fp32", "fp16", "int8")
STATED_LOOP = "stated"  # the framework of systems that no software runs


@dataclass(frozen=True)
class NoConstants:
    """Software has no constants: its times are those of its framework."""


SOFTWARE = Catalogue(
    KIND,
    NoConstants,
    uses=("framework",),
    states=STATES,
    texts=("repository", "release", "licence"),
    lists={
        OLDER_LOOPS: (),
        PLATFORM_LIST: (*GPU_PLATFORMS, CPU),
        "runs": (),
        "policies": (),
        "layers": LAYERS,
        "exchange": EXCHANGE,
    },
)


@dataclass(frozen=True)
class Software:
    """Software of the catalogue.

    name, title: its name in the catalogue, and for readers.
    state, since: one of STATES, and the year or month of its last release or commit.
    framework: the framework whose loop it has. older_loops: other loops of it, of former runs or releases.
    platforms: platforms of GPUs that it runs on, and CPU for machines without GPUs.
    runs: systems that it runs.
    policies: words for the policies and protections that it has, such as "sharding.planner".
    layers, exchange: precisions, that of its published runs first.
    """

    name: str
    title: str
    state: str
    since: str
    framework: str
    older_loops: tuple[str, ...]
    platforms: tuple[str, ...]
    runs: tuple[str, ...]
    policies: frozenset[str]
    layers: tuple[str, ...]
    exchange: tuple[str, ...]

    @property
    def exists(self) -> bool:
        """Whether anybody can run it today without writing it."""
        return self.state in EXISTING

    def lacks(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of some words for policies that the software does not have."""
        return tuple(word for word in words if word not in self.policies)


def worst_state(*states: str) -> str:
    """Return the worst of some states."""
    return max(states, key=STATES.index)


@cache
def every_software() -> tuple[Software, ...]:
    """Return all software of the catalogue, in the order of lists."""
    return tuple(map(_software, SOFTWARE))


def _software(name: str) -> Software:
    content, available = part_content(KIND, name), availability(KIND, name)
    platforms, runs, policies, layers, exchange = (
        list_words(KIND, name, key) for key in (PLATFORM_LIST, "runs", "policies", "layers", "exchange")
    )
    return Software(
        name=name,
        title=content["title"],
        state=available.state,
        since=available.since,
        framework=content["framework"],
        older_loops=list_words(KIND, name, OLDER_LOOPS),
        platforms=platforms,
        runs=runs,
        policies=frozenset(policies),
        layers=layers,
        exchange=exchange,
    )


def software_of(system: str) -> tuple[Software, ...]:
    """Return the software that runs a system, the best state first."""
    return tuple(sorted((one for one in every_software() if system in one.runs), key=lambda one: STATES.index(one.state)))


def platforms_of(machine: MachineKnobs, with_gpus: bool) -> tuple[str, ...]:
    """Return the platforms of a machine's GPUs, or of its CPUs without GPUs."""
    return gpu_platforms(machine.gpu) if with_gpus else (CPU,)


def gpu_platforms(gpu: str) -> tuple[str, ...]:
    """Return the platforms of a GPU, all of them where its file names none."""
    named = list_words("gpu", gpu, PLATFORM_LIST) if gpu in part_names_of("gpu") else ()
    return named or GPU_PLATFORMS
