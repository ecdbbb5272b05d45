"""Renamed knobs and choices: texts of older versions are read as today's knobs.

Only links, files and histories of older versions are translated. A new text with an old name is refused by `scenario.known`,
whose message has the new name.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..units import GB, GiB

RANGE, LIST, RECORDED = ":", ",", "recorded"
SOFT_LOGIC_MHZ = 350.0
PROTOTYPE = "trainingcxl"
NO_TF32 = ("v100", PROTOTYPE)
AXIS_OR_BOUND = re.compile(r"(\s*)([\w.]+)(\s*(?:[=:≤≥]|[<>]=?)?)(.*)", re.DOTALL)


def reread_notes(model_version: str, paths: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each knob that means more than in a link's model version.

    paths: the knobs that the link sets.
    """
    numbers = [int(part) for part in re.findall(r"\d+", model_version)]
    return tuple(
        sentence
        for path, (since, sentence) in REREAD.items()
        if path in paths and numbers < [int(part) for part in since.split(".")]
    )


@dataclass(frozen=True)
class Renamed:
    """Today's path of a renamed knob, and the factor to today's unit.

    path: today's path.
    factor: today's number for the old number 1.
    by_system: today's path under some systems, if the old knob applied to several parts.
    """

    path: str
    factor: float = 1.0
    by_system: Mapping[str, str] = field(default_factory=dict)

    def path_under(self, systems: Collection[str]) -> str:
        """Return today's path under `systems`, or `path` if their paths differ."""
        paths = {self.by_system.get(system, self.path) for system in systems}
        return paths.pop() if len(paths) == 1 else self.path

    @property
    def remedy(self) -> str:
        """The end of a message: today's path, and the factor of the numbers."""
        scale = f", with numbers {self.factor:.10g} times as large" if self.factor != 1 else ""
        other_paths = "".join(f", under system {system} {path}" for system, path in self.by_system.items())
        return f"write {self.path}{other_paths}{scale}."


# The same bytes take the same whole modules of any medium.
# Until format 8 one DRAM knob meant the host's, under `dram` the expanders', under remote systems the servers'.
SERVERS = dict.fromkeys(("remote-no-cache", "bagpipe"), "machine.server_dram_GiB")
EXPANDERS, CHANNELS = "machine.expander_dram_GiB", "machine.expander_dram_channels"
RENAMED: Mapping[str, Renamed] = {
    "machine.pmem_capacity_GiB": Renamed("machine.pmem_capacity_GB", GiB / GB),
    "machine.dram_capacity_GiB": Renamed("machine.host_dram_GiB", by_system={"dram": EXPANDERS, **SERVERS}),
    "machine.dram_channels": Renamed("machine.host_dram_channels", by_system={"dram": CHANNELS}),
}

# Knobs that mean more since a model version: the version, and a sentence for links of earlier versions that set the knob.
REREAD: Mapping[str, tuple[str, str]] = {
    "policy.checkpoint_minutes": (
        "0.20",
        "Its policy.checkpoint_minutes is now the period of every protection that copies the state, peer, parity and "
        "relaxed-backup among them.",
    ),
}

# Until format 4 there was one Adagrad: by row for embeddings, by element for MLPs. Until 8 the wall was the room's.
CHOICES: Mapping[str, tuple[int, str, str]] = {
    "model.optimizer": (4, "adagrad", "rowwise-adagrad"),
    "machine.energy_level": (8, "wall", "room"),
}

# Presets until a format: the first ones trained by plain SGD at its default rate, in fewer batches.
SGD_TRAINING: Mapping[str, str] = {
    "model.optimizer": "sgd",
    "model.learning_rate": "0.05",
    "model.embedding_learning_rate": "auto",
    "model.initial_accumulator": "0",
}
# Until format 8 the default parts were ones that are no longer sold.
FORMER_PARTS = {
    "machine.gpu": "a100-80",
    "machine.host": "server",
    "machine.pmem": "optane-100",
    "machine.ssd": "p5800x",
    "machine.expander_dram": "ddr4-3200",
}
EXPLORER_PRESETS = "dlrm-kaggle", "dlrm-terabyte", "tiny", "optane-rm1", "optane-rm2", "optane-rm3", "optane-rm4"
FRAMEWORK, FORMER_LOOP = "machine.framework", "lean"
LOOPS_SINCE_10 = ("pytorch-graph", "stated")  # of presets and scenarios that had the former loop
FORMER_PRESETS: tuple[tuple[int, str, Mapping[str, str]], ...] = (
    (4, "dlrm-kaggle", {**SGD_TRAINING, "run.batches": "1000"}),
    (4, "dlrm-terabyte", {**SGD_TRAINING, "run.batches": "100"}),
    (5, "dlrm-terabyte", {"run.step_budget_GFLOP": "1"}),
    (5, "tiny", {**SGD_TRAINING, "model.learning_rate": "0.1", "run.batches": "40", "data.held_out_samples": "256"}),
    (6, "bagpipe-kaggle", {"model.top_mlp": "512-256-1"}),
    *((8, name, {"machine.host_dram_channels": "6"}) for name in EXPLORER_PRESETS),
    *((8, name, FORMER_PARTS) for name in ("dlrm-kaggle", "dlrm-terabyte")),
)


def todays_choice(link: int, path: str, text: str) -> str:
    """Return today's words for the value of a choice in an older link.

    `text` has one word, or several with commas; `link` is the link's format number.
    """
    changed_in, old_word, new_word = CHOICES.get(path, (0, "", ""))
    return ",".join(new_word if word == old_word else word for word in text.split(LIST)) if link < changed_in else text


def todays_knob(path: str, text: str, systems: Collection[str] = ()) -> tuple[str, str]:
    """Return today's path and text of a knob's value, or of an axis's values.

    `systems` are the training systems of the link.
    """
    renamed = RENAMED.get(path)
    if renamed is None:
        return path, text
    words = re.split(f"([{RANGE}{LIST}])", text)
    numbers = 3 if RANGE in words else len(words)  # LOW:HIGH, then COUNT and the scale
    return renamed.path_under(systems or ("",)), "".join(
        [_scaled(word, renamed.factor) for word in words[:numbers]] + words[numbers:]
    )


def todays_text(text: str, systems: Collection[str] = ()) -> str:
    """Return today's form of an axis `KNOB:VALUES` or of a bound `KNOB<=NUMBER`.

    Other texts are returned unchanged.
    """
    match = AXIS_OR_BOUND.fullmatch(text)
    if match is None or match[2] not in RENAMED:
        return text
    path, values = todays_knob(match[2], match[4], systems)
    return f"{match[1]}{path}{match[3]}{values}"


def implied_settings(
    link: int,
    preset: str,
    link_knobs: Mapping[str, str],
    axes: Iterable[str],
    preset_setting: Callable[[str], object],
    systems: Collection[str] = (),
) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that an older link implies: path, text of the value, reason.

    `link` is the link's format number, `preset_setting` returns the preset's value of a knob, `systems` are the link's systems.
    Until format 10 the default training loop was a fixed 0.1 ms; until 8 one DRAM knob was for hosts, expanders and servers, and
    each part had its price of the source's year; until 7 ids of a file were hashed; until 4 GPUs without tf32 computed in fp32,
    and the prototype's times included its training loop; until 3 lanes were of all controllers, and a clock over 350 MHz meant
    an ASIC.
    """
    link_texts = {axis.partition(RANGE)[0].partition("=")[0]: axis for axis in axes} | dict(link_knobs)
    gpu, precision = (link_texts.get(path, str(preset_setting(path))) for path in ("machine.gpu", "machine.matrix_precision"))
    if link < 4 and gpu in NO_TF32 and precision == "tf32":
        yield "machine.matrix_precision", "fp32", f"tf32 of a {gpu}, which has none,"
    yield from _training_loop(link, link_texts, preset_setting)
    model_prefix = "model." if "model.name" in link_texts else ()  # a model chosen by name brings its own training
    trained = [pair for format_, name, knobs in FORMER_PRESETS if link < format_ and name == preset for pair in knobs.items()]
    yield from (
        (path, text, f"preset's former {path}")
        for path, text in trained
        if path not in link_texts and not path.startswith(model_prefix)
    )
    if link < 8 and "machine.prices" not in link_texts and preset_setting("machine.prices") != RECORDED:
        yield "machine.prices", RECORDED, "dollars, at the years of their sources,"
    if link < 7 and link_texts.get("data.digest", str(preset_setting("data.digest"))) and "data.id_numbering" not in link_texts:
        yield "data.id_numbering", "hashed", "data file, whose ids were hashed,"
    if link < 8 and set(systems) == {"cpu-only"} and precision != "fp32":
        yield "machine.matrix_precision", "fp32", f"{precision[:40]} of a host, which computed in fp32,"
    if link < 8:
        yield from _memories_apart(link_knobs, systems)
    if link >= 3:
        return
    if lanes := link_texts.get("machine.near_data_lanes"):
        yield "machine.near_data_lanes_per", "memory", f"lanes {lanes[:40]}, of all controllers together,"
    clock = link_knobs.get("machine.near_data_clock_MHz", "")
    if clock and _number(clock) > SOFT_LOGIC_MHZ:
        yield "machine.near_data_logic", "asic", f"clock {clock[:40]} MHz, that of an ASIC,"


def _training_loop(
    link: int, link_texts: Mapping[str, str], preset_setting: Callable[[str], object]
) -> Iterator[tuple[str, str, str]]:
    """Yield the training loop of an older link: none beside the prototype's host, or the former default."""
    todays = str(preset_setting(FRAMEWORK))
    implied = FORMER_LOOP if link < 10 and todays in LOOPS_SINCE_10 else todays
    loop = link_texts.get(FRAMEWORK, implied)
    if link < 4 and loop == FORMER_LOOP and link_texts.get("machine.host", str(preset_setting("machine.host"))) == PROTOTYPE:
        yield FRAMEWORK, "none", "prototype's host, without a training loop,"
    elif FRAMEWORK not in link_texts and loop != todays:
        yield FRAMEWORK, loop, "training loop, the former default,"


def _memories_apart(link_knobs: Mapping[str, str], systems: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield settings for the several memories of a link with one DRAM knob.

    They are the expanders' or servers' DRAM too, and the constants of both.
    """
    for old_path, renamed in RENAMED.items():
        path_systems = {
            renamed.by_system[system]: system for system in sorted(systems, reverse=True) if system in renamed.by_system
        }
        if (text := link_knobs.get(renamed.path)) and renamed.path_under(systems) == renamed.path:
            yield from ((path, text, f"{old_path}={text[:40]}, under {system},") for path, system in sorted(path_systems.items()))
    assumed = link_knobs.get("machine.assume", "").split(";")
    expander_assumptions = [f"expander-{assumption}" for assumption in assumed if assumption.startswith("dram.")]
    if expander_assumptions and "dram" in systems:
        own_assumptions = (
            assumed if set(systems) > {"dram"} else [assumption for assumption in assumed if not assumption.startswith("dram.")]
        )
        yield "machine.assume", ";".join((*own_assumptions, *expander_assumptions)), "assumption about the DRAM of expanders"


def _number(text: str) -> float:
    """Return the number of a text, 0 for a text without one."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _scaled(word: str, factor: float) -> str:
    """Return a number in the new unit.

    "auto" and texts without a number stay, to be read or refused as they are.
    """
    try:
        return word if factor == 1 else f"{float(word) * factor:.15g}"
    except ValueError:
        return word
