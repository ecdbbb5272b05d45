"""`measure`: measure this machine's parts, write part files, compare with similar parts."""

import argparse
from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from ..core import catalog
from ..core.figures import exact, figure
from ..core.part_files.use import folder_in_use
from ..errors import BadInput
from ..estimates import step_seconds
from ..measure.fitted import MeasuredFigure
from ..measure.gpu.measured_gpu import MeasuredGpu, gpu_number, measure_gpu
from ..measure.host import measure_host, pytorch
from ..measure.part_files import GPU_PART_NAMES, NAME, NEAREST, round_digits, write_parts
from ..paths import user_path
from ..scenario.presets import DEFAULT, preset
from ..scenario.scenario import with_values
from ..units import MS
from ..version import PROGRAM
from . import output, progress_bar
from .parser import FAILED, Subparsers, whole_number

HOST_KNOBS = {
    "machine.host": "host",
    "machine.host_dram": "dram",
    "machine.host_software": "host-software",
    "machine.framework": "framework",
}
DRIVE_KNOBS = {"machine.ssd": "drive"}
USE = " ".join(f"--set {knob}={NAME}" for knob in HOST_KNOBS)
EXPANDER = (
    f"For system dram, add --set machine.expander={NAME} --set machine.cxl_switch_hops=0 to use the NUMA node without "
    "cores; its measured latency contains the whole path."
)

gpu_argument = partial(whole_number, what="GPU", least=0, most=63)


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("measure", help="measure this machine's parts, for --parts-dir")
    parser.add_argument(
        "--out", type=user_path, default=Path("measured-parts"), metavar="DIR", help="write files here (measured-parts)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes and repeats: half a minute")
    parser.add_argument("--drive", type=user_path, metavar="DIR", help="the drive of DIR too, in a scratch file of 1 GiB there")
    parser.add_argument(
        "--gpu", type=gpu_argument, metavar="N", help="number of the GPU to measure; without it, GPU 0 if PyTorch sees one"
    )
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Measure, write the files, and print the figures; return the exit status.

    Return 3 where a GPU that was named could not be measured, else 0.
    """
    check_folder(arguments.out, create=True)
    if arguments.drive:
        check_folder(arguments.drive)
    paced, torch = progress_bar.PacedBar(), pytorch()
    number, failure = gpu_number(torch, arguments.gpu), ""
    with progress_bar.visible_bar():
        host = measure_host(arguments.quick, lambda share, activity: paced(share, f"measuring {activity}"), arguments.drive)
        try:
            device = None if number is None else _measure_gpu(torch, number, arguments.quick)
        except BadInput as error:  # the host's figures are written all the same
            device, failure = None, str(error)
    of_gpu = device.parts if device else {}
    paths = write_parts(arguments.out, host.description, host.parts, curves=host.curves, beside=of_gpu)
    lines = [host.description, *host.notes, *[failure] * bool(failure), "", table(host.parts, NEAREST)]
    if device:
        paths += write_parts(arguments.out, device.description, device.parts, device.nearest, GPU_PART_NAMES, beside=host.parts)
        lines += [device.description, *device.notes, "", table(device.parts, device.nearest)]
    lines += [f"Written: {', '.join(map(str, paths))}."]
    lines += [
        (f"To use them, add --parts-dir {arguments.out} {USE}; constants that were not measured are those of the nearest part.")
    ]
    lines += ["Add --set machine.ssd=measured for the drive."] * ("drive" in host.parts)
    lines += [EXPANDER] * ("expander" in host.parts)
    lines += [_gpu_usage(device)] if device else []
    lines += [effect_sentence(arguments.out, host.parts)]
    lines += [f"To check the measured parts, run {PROGRAM} validate --here --parts-dir {arguments.out}"]
    lines += (
        [f"To check them with the GPU, run {PROGRAM} validate --here --gpu {number} --parts-dir {arguments.out}"]
        if device
        else []
    )
    output.write_for_people("\n".join(lines) + "\n")
    return FAILED if failure and arguments.gpu is not None else 0


def _measure_gpu(torch: Any, number: int, quick: bool) -> MeasuredGpu:
    paced = progress_bar.PacedBar()
    return measure_gpu(torch, number, quick, lambda share, activity: paced(share, f"measuring {activity}"))


def effect_sentence(folder: Path, kinds: Container[str]) -> str:
    """Return a sentence with step times of the default model, by system.

    Each system is estimated with the measured parts and with the catalogue's most similar parts. kinds: the measured kinds of
    parts.
    """
    host = {knob: kind for knob, kind in HOST_KNOBS.items() if kind in kinds}
    systems = {"cpu-only": host, "cpu-gpu": host, **({"ssd": {**host, **DRIVE_KNOBS}} if "drive" in kinds else {})}
    base = with_values(preset(DEFAULT).scenario, {"run.training": False})
    with folder_in_use(folder):
        scenarios = [
            with_values(
                base, {"system": system, **{knob: NAME if is_measured else NEAREST[kind] for knob, kind in knobs.items()}}
            )
            for system, knobs in systems.items()
            for is_measured in (True, False)
        ]
        seconds = step_seconds(scenarios)
    steps = [figure(second / MS, "ms") for second in seconds]
    pairs = zip(systems, steps[::2], steps[1::2], strict=True)
    changes = ", ".join(
        f"{system} {measured_step} (nearest parts: {nearest_step})" for system, measured_step, nearest_step in pairs
    )
    return f"A step of {DEFAULT} with these parts: {changes}."


def check_folder(folder: Path, create: bool = False) -> None:
    """Raise BadInput where no file can be written in a folder, before the long measurement.

    create: whether the folder may be created.
    """
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"No file can be written in {folder} ({error.strerror}); choose another folder.") from None


def _gpu_usage(device: MeasuredGpu) -> str:
    """Return the sentence on the settings that take the parts of a GPU."""
    rate = exact(round_digits(device.parts["copy-path"]["pinned-copy-rate"].value))
    parts = (
        f"--set machine.gpu={NAME} --set machine.framework={GPU_PART_NAMES['framework']} --set machine.pcie_bandwidth_GBps={rate}"
    )
    return f"For systems with the GPU add {parts}; that framework replaces the one of the host."


def table(parts: Mapping[str, Mapping[str, MeasuredFigure]], nearest: Mapping[str, str]) -> str:
    """Return a text table of each constant, measured and in the catalogue's most similar part."""
    lines = [f"{'':38}{'measured':>12}{'nearest part':>14}  of"]
    for kind, figures in parts.items():
        units, nearest_part = catalog.units(kind), catalog.part_content(kind, nearest[kind])
        for key, constant in figures.items():
            if constant.confidence == "unsourced":
                continue
            nearest_figure = figure(nearest_part[key]["value"]) if key in nearest_part else "-"
            name = f"{key.replace('-', ' ')} [{units[key]}]"
            lines.append(f"{name:38}{figure(constant.value):>12}{nearest_figure:>14}  {nearest[kind]}")
    return "\n".join(lines) + "\n"
