"""`measure`: this machine's parts as files, measured operator by operator, beside the nearest parts of the catalogue."""

import argparse
from pathlib import Path
from tempfile import TemporaryFile

from ..core import catalog
from ..core.figures import figure
from ..core.part_files.use import used
from ..errors import BadInput
from ..estimates import step_seconds
from ..measure.host import MeasuredHost, measure_host
from ..measure.part_files import NAME, NEAREST, written
from ..paths import written_path
from ..scenario.presets import DEFAULT, preset
from ..scenario.scenario import with_values
from ..units import MS
from ..version import PROGRAM
from . import output, progress_bar
from .parser import Subparsers

HOST_KNOBS = {
    "machine.host": "host",
    "machine.host_dram": "dram",
    "machine.host_software": "host-software",
    "machine.framework": "framework",
}
DRIVE_KNOBS = {"machine.ssd": "drive"}
USE = " ".join(f"--set {knob}={NAME}" for knob in HOST_KNOBS)
EXPANDER = (
    f"Add --set machine.expander={NAME} --set machine.cxl_switch_hops=0 for the NUMA node without cores, in system dram; "
    "the latency that was measured has the whole way."
)


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("measure", help="measure this machine's parts, for --parts-dir")
    parser.add_argument(
        "--out", type=written_path, default=Path("measured-parts"), metavar="DIR", help="write files here (measured-parts)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats: half a minute")
    parser.add_argument(
        "--drive", type=written_path, metavar="DIR", help="the drive of DIR too, in a scratch file of 1 GiB there"
    )
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Measure, write the files, and say what was found; returns 0."""
    usable(arguments.out, create=True)
    if arguments.drive:
        usable(arguments.drive)
    paced = progress_bar.Paced()
    with progress_bar.shown():
        found = measure_host(arguments.quick, lambda share, what: paced(share, f"measuring {what}"), arguments.drive)
    paths = written(arguments.out, found.about, found.parts, found.curves)
    lines = [found.about, *found.notes, "", table(found), f"Written: {', '.join(map(str, paths))}."]
    lines += [f"Use them with --parts-dir {arguments.out} {USE}; what was not measured is the nearest part's."]
    lines += ["Add --set machine.ssd=measured for the drive."] * ("drive" in found.parts)
    lines += [EXPANDER] * ("expander" in found.parts)
    lines += [effect(arguments.out, drive="drive" in found.parts)]
    lines += [f"How good they are: {PROGRAM} validate --here --parts-dir {arguments.out}"]
    output.write(output.STANDARD, "\n".join(lines) + "\n")
    return 0


def effect(folder: Path, drive: bool) -> str:
    """Return a sentence: step times of the default model with the measured parts, and with the nearest ones."""
    systems = {"cpu-only": HOST_KNOBS, "cpu-gpu": HOST_KNOBS, **({"ssd": {**HOST_KNOBS, **DRIVE_KNOBS}} if drive else {})}
    base = with_values(preset(DEFAULT).scenario, {"run.training": False})
    with used(folder):
        scenarios = [
            with_values(base, {"system": system, **{knob: NAME if ours else NEAREST[kind] for knob, kind in knobs.items()}})
            for system, knobs in systems.items()
            for ours in (True, False)
        ]
        seconds = step_seconds(scenarios)
    steps = [figure(second / MS, "ms") for second in seconds]
    pairs = zip(systems, steps[::2], steps[1::2], strict=True)
    changes = ", ".join(f"{system} {ours} (nearest parts: {nearest})" for system, ours, nearest in pairs)
    return f"A step of {DEFAULT} with these parts: {changes}."


def usable(folder: Path, create: bool = False) -> None:
    """Raise BadInput where no file can be written in a folder, before minutes are spent on what goes there."""
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"No file can be written in {folder} ({error.strerror}); choose another folder.") from None


def table(found: MeasuredHost) -> str:
    """Write each constant beside that of the catalogue's nearest part."""
    lines = [f"{'':38}{'measured':>12}{'nearest part':>14}  of"]
    for kind, figures in found.parts.items():
        units, nearest = catalog.units(kind), catalog.content(kind, NEAREST[kind])
        for key, one in figures.items():
            if one.confidence == "unsourced":
                continue
            theirs = figure(nearest[key]["value"]) if key in nearest else "-"
            name = f"{key.replace('-', ' ')} [{units[key]}]"
            lines.append(f"{name:38}{figure(one.value):>12}{theirs:>14}  {NEAREST[kind]}")
    return "\n".join(lines) + "\n"
