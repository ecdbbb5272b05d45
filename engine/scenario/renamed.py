"""Knobs and choices that had another name or unit: what an old link, file or history says is read as the knob of today.

Only what was written before is translated; whoever writes an old name now is told the new one by `scenario.known`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..units import GB, GiB

RANGE, LIST, RECORDED = ":", ",", "recorded"
SOFT_LOGIC_MHZ = 350.0
PROTOTYPE = "trainingcxl"
NO_TF32 = ("v100", PROTOTYPE)
WRITTEN = re.compile(r"(\s*)([\w.]+)(\s*(?:[=:≤≥]|[<>]=?)?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Renamed:
    """Today's dotted path, and how much of today's unit is one of the old.

    by_system: the path under some systems, where an old knob was of several things.
    """

    path: str
    factor: float = 1.0
    by_system: Mapping[str, str] = field(default_factory=dict)

    def path_under(self, systems: Collection[str]) -> str:
        """Return the path that all of some systems have, or that of most."""
        paths = {self.by_system.get(system, self.path) for system in systems}
        return paths.pop() if len(paths) == 1 else self.path

    @property
    def remedy(self) -> str:
        """What to write instead, as the end of a sentence."""
        scale = f", with numbers {self.factor:.10g} times as large" if self.factor != 1 else ""
        others = "".join(f", under system {system} {path}" for system, path in self.by_system.items())
        return f"write {self.path}{others}{scale}."


# The same bytes take the same whole modules, of whatever size the medium's are.
# Until format 8 one DRAM was the host's, under `dram` the expanders', under remote systems the servers'.
SERVERS = dict.fromkeys(("remote-no-cache", "bagpipe"), "machine.server_dram_GiB")
EXPANDERS, CHANNELS = "machine.expander_dram_GiB", "machine.expander_dram_channels"
RENAMED: Mapping[str, Renamed] = {
    "machine.pmem_capacity_GiB": Renamed("machine.pmem_capacity_GB", GiB / GB),
    "machine.dram_capacity_GiB": Renamed("machine.host_dram_GiB", by_system={"dram": EXPANDERS, **SERVERS}),
    "machine.dram_channels": Renamed("machine.host_dram_channels", by_system={"dram": CHANNELS}),
}

# Until format 4 there was one Adagrad: by row for embeddings, by element for MLPs. Until 8 the wall was the room's.
CHOICES: Mapping[str, tuple[int, str, str]] = {
    "model.optimizer": (4, "adagrad", "rowwise-adagrad"),
    "machine.energy_level": (8, "wall", "room"),
}

# How presets were until a format: first they trained by plain SGD at its default rate, in fewer batches.
BY_SGD: Mapping[str, str] = {
    "model.optimizer": "sgd",
    "model.learning_rate": "0.05",
    "model.embedding_learning_rate": "auto",
    "model.initial_accumulator": "0",
}
# Until format 8 new questions began on parts that are no longer sold.
FORMER = {
    "machine.gpu": "a100-80",
    "machine.host": "server",
    "machine.pmem": "optane-100",
    "machine.ssd": "p5800x",
    "machine.expander_dram": "ddr4-3200",
}
EXPLORED = "dlrm-kaggle", "dlrm-terabyte", "tiny", "optane-rm1", "optane-rm2", "optane-rm3", "optane-rm4"
UNTIL: tuple[tuple[int, str, Mapping[str, str]], ...] = (
    (4, "dlrm-kaggle", {**BY_SGD, "run.batches": "1000"}),
    (4, "dlrm-terabyte", {**BY_SGD, "run.batches": "100"}),
    (5, "dlrm-terabyte", {"run.step_budget_GFLOP": "1"}),
    (5, "tiny", {**BY_SGD, "model.learning_rate": "0.1", "run.batches": "40", "data.held_out_samples": "256"}),
    (6, "bagpipe-kaggle", {"model.top_mlp": "512-256-1"}),
    *((8, name, {"machine.host_dram_channels": "6"}) for name in EXPLORED),
    *((8, name, FORMER) for name in ("dlrm-kaggle", "dlrm-terabyte")),
)


def chosen(link: int, path: str, text: str) -> str:
    """Return the text of a knob's value, or of several with commas between them, of a link of that format as written today."""
    first, old, new = CHOICES.get(path, (0, "", ""))
    return ",".join(new if word == old else word for word in text.split(LIST)) if link < first else text


def translated(path: str, text: str, systems: Collection[str] = ()) -> tuple[str, str]:
    """Return a knob and the text of its value, or of an axis's values, as they are written today, of some systems."""
    old = RENAMED.get(path)
    if old is None:
        return path, text
    words = re.split(f"([{RANGE}{LIST}])", text)
    numbers = 3 if RANGE in words else len(words)  # LOW:HIGH, then COUNT and the scale
    return old.path_under(systems or ("",)), "".join([_scaled(word, old.factor) for word in words[:numbers]] + words[numbers:])


def rewritten(text: str, systems: Collection[str] = ()) -> str:
    """Return an axis `KNOB:VALUES` or a bound `KNOB<=NUMBER` as it is written today; other texts as they are."""
    found = WRITTEN.fullmatch(text)
    if found is None or found[2] not in RENAMED:
        return text
    path, values = translated(found[2], found[4], systems)
    return f"{found[1]}{path}{found[3]}{values}"


def meant(
    link: int,
    preset: str,
    given: Mapping[str, str],
    axes: Iterable[str],
    own: Callable[[str], object],
    systems: Collection[str] = (),
) -> Iterator[tuple[str, str, str]]:
    """Yield what else a link of an older format meant by its knobs: path, text of the value, and the reason.

    `own` is what `preset` says of a knob, `systems` are the link's. Until format 8 one DRAM was that of hosts, expanders and
    servers, and each part had the price of its source's year; until 7 ids of a file were hashed. Until format 3 near-data lanes
    were of all controllers, a clock over 350 MHz made the logic an ASIC; until 4 GPUs without tf32 computed in fp32, and the
    times of the prototype held the training loop; see UNTIL.
    """
    said = {axis.partition(RANGE)[0].partition("=")[0]: axis for axis in axes} | dict(given)
    gpu, precision = (said.get(path, str(own(path))) for path in ("machine.gpu", "machine.matrix_precision"))
    if link < 4 and gpu in NO_TF32 and precision == "tf32":
        yield "machine.matrix_precision", "fp32", f"tf32 of a {gpu}, which has none,"
    host, framework = (said.get(path, str(own(path))) for path in ("machine.host", "machine.framework"))
    if link < 4 and host == PROTOTYPE and framework == "lean":
        yield "machine.framework", "none", "prototype's host, without a training loop,"
    known = "model." if "model.name" in said else ()  # a model chosen by name brings its own training
    trained = [pair for format_, name, knobs in UNTIL if link < format_ and name == preset for pair in knobs.items()]
    yield from (
        (path, text, f"preset's former {path}") for path, text in trained if path not in said and not path.startswith(known)
    )
    if link < 8 and "machine.prices" not in said and own("machine.prices") != RECORDED:
        yield "machine.prices", RECORDED, "dollars, at the years of their sources,"
    if link < 7 and said.get("data.digest", str(own("data.digest"))) and "data.id_numbering" not in said:
        yield "data.id_numbering", "hashed", "data file, whose ids were hashed,"
    if link < 8 and set(systems) == {"cpu-only"} and precision != "fp32":
        yield "machine.matrix_precision", "fp32", f"{precision[:40]} of a host, which computed in fp32,"
    if link < 8:
        yield from _memories_apart(given, systems)
    if link >= 3:
        return
    if lanes := said.get("machine.near_data_lanes"):
        yield "machine.near_data_lanes_per", "memory", f"lanes {lanes[:40]}, of all controllers together,"
    clock = given.get("machine.near_data_clock_MHz", "")
    if clock and _number(clock) > SOFT_LOGIC_MHZ:
        yield "machine.near_data_logic", "asic", f"clock {clock[:40]} MHz, that of an ASIC,"


def _memories_apart(given: Mapping[str, str], systems: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what a link of several systems meant by one DRAM: the expanders' or servers' too, and constants of both."""
    for old, one in RENAMED.items():
        others = {one.by_system[system]: system for system in sorted(systems, reverse=True) if system in one.by_system}
        if (text := given.get(one.path)) and one.path_under(systems) == one.path:
            yield from ((path, text, f"{old}={text[:40]}, under {system},") for path, system in sorted(others.items()))
    assumed = given.get("machine.assume", "").split(";")
    moved = [f"expander-{one}" for one in assumed if one.startswith("dram.")]
    if moved and "dram" in systems:
        kept = assumed if set(systems) > {"dram"} else [one for one in assumed if not one.startswith("dram.")]
        yield "machine.assume", ";".join((*kept, *moved)), "assumption about the DRAM of expanders"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _scaled(word: str, factor: float) -> str:
    """Return a number in the new unit; "auto" and what is no number stay, to be read or refused as they are."""
    try:
        return word if factor == 1 else f"{float(word) * factor:.15g}"
    except ValueError:
        return word
