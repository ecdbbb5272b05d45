"""`validate`: every claim of the presets, run and compared with its published value and with the accepted record."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from ..campaign.reference_points import published_figures
from ..core.figures import exact
from ..errors import BadInput
from ..measure.gpu.measured_gpu import NOT_YET, gpu_number
from ..measure.here import trials
from ..measure.here.checkpoint import CheckpointTrial, checkpoint_trial
from ..measure.here.mapped_rows import MappedTrial, mapped_trials
from ..measure.here.shapes import CPU_ONLY, GPU_SYSTEMS
from ..measure.here.training import step_seconds
from ..measure.host import pytorch
from ..measure.machine_limits import cores, cpu_name
from ..measure.timing import busy_notes, cpu_times
from ..paths import written_path
from ..scenario.presets import preset, preset_names
from ..validation.accepted import accept, read, worse
from ..validation.scoreboard import NEAR, PublishedNumber, rows, score_lines, scores
from ..validation.validate import Gap, gaps, pairs, validate
from . import output, progress_bar
from .measure import gpu_argument, usable
from .parser import FAILED, INTERRUPTED, Subparsers, whole_number

UNTRIED = "The drive was not tried: there is no measured drive, or the folder or memory has less than 2 GiB free."


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("validate", help="compare with published values")
    parser.add_argument("names", nargs="*", metavar="NAME", help="presets; without any, all that make claims")
    parser.add_argument("--json", metavar="FILE", help="write each number as JSON; - for standard output")
    parser.add_argument(
        "--gaps", action="store_true", help="compare estimates with full runs instead: every system and several lengths; minutes"
    )
    parser.add_argument("--accept", metavar="REASON", help="write the accepted record anew; refused where something got worse")
    parser.add_argument(
        "--here", action="store_true", help="predict steps from measured parts, then train for real on this machine"
    )
    parser.add_argument(
        "--seed", type=partial(whole_number, what="the seed", least=0, most=10**9 - 1), default=1, help="of --here's models (1)"
    )
    parser.add_argument(
        "--shapes", type=partial(whole_number, what="shapes", most=1000), default=40, help="models that --here trains (40)"
    )
    parser.add_argument(
        "--drive",
        type=written_path,
        metavar="DIR",
        help="try a checkpoint and rows in a mapped file in DIR too, whose drive was measured (with --here)",
    )
    parser.add_argument(
        "--gpu",
        type=gpu_argument,
        metavar="N",
        help="train with the GPU of this number instead, by all-hbm and cpu-gpu (with --here)",
    )
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Run the claims; returns 3 if one got worse than the accepted record, or one of our own limits is broken."""
    if arguments.accept is not None and (arguments.names or arguments.gaps):
        raise BadInput("--accept writes the record of every claim; leave out the presets and --gaps.")
    if arguments.here:
        return here(arguments)
    if arguments.gpu is not None:
        raise BadInput("--gpu says which GPU models are trained with; add --here, or leave out --gpu.")
    for name in arguments.names:
        preset(name)  # raises for one that is not known, before the first of them is run
    if arguments.gaps:  # facts about the estimate, which fail nothing
        chosen = [(name, *pair) for name in arguments.names or preset_names() for pair in pairs(name)]
        apart = [gap for one in chosen for gap in gaps(*one)]
        output.write_json_or(arguments.json, [gap.as_json() for gap in apart], gap_table(apart))
        return 0
    verdicts, figures = validate(arguments.names), () if arguments.names else published_figures()
    found, numbers = scores(verdicts, figures), rows(verdicts, figures)
    if arguments.accept is not None:
        accept(found, os.fsencode(arguments.accept).decode("utf-8", "replace"))
    broken = [f"{one.name}: outside our own limit." for one in verdicts if one.claim.published is None and one.passed is False]
    lost = [*worse(read(), found, every=not arguments.names), *broken]
    text = scoreboard(found) + "\n" + table(numbers) + "".join(f"WORSE  {one}\n" for one in lost)
    output.write_json_or(arguments.json, numbers, text)
    return FAILED if lost else 0


def here(arguments: argparse.Namespace) -> int:
    """Predict, write the predictions, train, and write both; keep what is done if interrupted. Returns 0, or that it was."""
    if arguments.names or arguments.gaps or arguments.accept is not None:
        raise BadInput("--here trains models that it draws itself; leave out presets, --gaps and --accept.")
    if arguments.drive:
        usable(arguments.drive)
    torch = pytorch()
    systems, device, about = _trained_on(torch, arguments.gpu)
    print(f"Measured parts {trials.parts_digest(systems)}.", file=sys.stderr)
    found, paced = trials.predictions(arguments.seed, arguments.shapes, systems), progress_bar.Paced()
    done: list[trials.Trial] = []
    status, before, own = INTERRUPTED, cpu_times(), process_time()
    on_drive: list[CheckpointTrial | MappedTrial] = []

    def keep(some: Sequence[trials.Trial]) -> None:
        if arguments.json:
            content = trials.content(found, some, arguments.seed, about)
            content["drive"] = [{"trial": type(trial).__name__, **trial._asdict()} for trial in on_drive]
            output.write(arguments.json, json.dumps(content, indent=1) + "\n")

    if arguments.json != output.STANDARD:
        keep(found.trials)  # before anything is trained
    with progress_bar.shown(), suppress(KeyboardInterrupt):
        for trial in trials.trained(found, arguments.seed, step_seconds, device):
            done.append(trial)
            paced(len(done) / len(found.trials), f"trained {len(done)} of {len(found.trials)} models")
            if arguments.json != output.STANDARD:
                keep((*done, *found.trials[len(done) :]))
        for try_out in drive_trials(arguments.drive) if arguments.drive else ():
            on_drive.append(try_out)
            paced(1.0, "trying the drive")
        status = 0
    if arguments.json == output.STANDARD or on_drive:
        keep(done)
    about += f"\n{NOT_YET}" if device else ""
    busy = busy_notes(before, cpu_times(), process_time() - own, {})
    untried = [UNTRIED] if arguments.drive and not (on_drive or status) else []
    sentences = "".join(f"{sentence}\n" for sentence in (*(trial.sentence for trial in on_drive), *untried, *busy))
    output.say(f"{about}\n{trials.table(done)}{trials.sentence(found, done)}\n{sentences}", arguments.json)
    return status


def _trained_on(torch: Any, gpu: int | None) -> tuple[tuple[str, ...], str, str]:
    """Return the systems that are trained, the GPU's device or "", and the machine in words."""
    about = f"{cpu_name()}, {cores()} cores; PyTorch {torch.__version__}"
    if gpu is None:
        return (CPU_ONLY,), "", about
    device = f"cuda:{gpu_number(torch, gpu)}"
    return GPU_SYSTEMS, device, f"{torch.cuda.get_device_name(device)}, {about}"


def drive_trials(folder: Path) -> Iterator[CheckpointTrial | MappedTrial]:
    """Yield a checkpoint and rows in a mapped file, each tried in a folder."""
    checkpoint = checkpoint_trial(folder)
    if checkpoint:
        yield checkpoint
    yield from mapped_trials(folder)


def scoreboard(found: Sequence[PublishedNumber]) -> str:
    """Write a line over all and for each family, out of sample only, with the roofline's median beside ours."""
    head = f"{'published, not used':24} {'n':>4} {'median error':>13} {f'within {exact(NEAR)} %':>12} {'rank':>6}"
    lines = [f"{head} {'n of roofline':>14} {'roofline':>10} {'ours there':>11}"]
    for line in score_lines(found):
        cells = [
            (line.median_percent, "{:.1f} %", 13),
            (line.near_percent, "{:.0f} %", 12),
            (line.rank, "{:.2f}", 6),
            (line.roofline_count, "{}", 14),
            (line.roofline_percent, "{:.1f} %", 10),
            (line.beside_percent, "{:.1f} %", 11),
        ]
        text = " ".join(f"{'-' if number is None else form.format(number):>{width}}" for number, form, width in cells)
        lines.append(f"{line.family:24} {line.count:>4} {text}")
    return "\n".join(lines) + "\n"


def gap_table(found: Sequence[Gap]) -> str:
    """Write the gaps for people: preset, system, result, estimate, full run, how much more the estimate says, its error bar."""
    lines = [
        f"{'preset':23} {'system':16} {'batches':>7}  {'result':20} {'estimate':>9} {'full run':>9} {'gap':>9} {'error bar':>11}"
    ]
    for gap in found:
        row = f"{gap.preset:23} {gap.system:16} {gap.batches:>7}  {gap.metric:20} {gap.estimate:>9.4g} {gap.full:>9.4g}"
        lines.append(f"{row} {gap.percent:>+7.2f} % +-{gap.error_bar:>7.2f} %")
    return "\n".join(lines) + "\n"


def table(numbers: Sequence[Mapping[str, Any]]) -> str:
    """Write claims and figures for people: published, ours, error, verdict, kind."""
    width = max((len(row["metric"]) for row in numbers), default=0)
    lines = [f"{'preset':17} {'claim':{width}} {'published':>9} {'ours':>9} {'error':>8}  verdict"]
    for row in numbers:
        ends = dict.fromkeys(end for end in (row["published"], row["published_to"]) if end is not None)
        published = "-".join(f"{end:.4g}" for end in ends)
        error = "" if row["error_percent"] is None else f"{row['error_percent']:+.1f} %"
        word = {True: "pass", False: "MISS" if ends else "FAIL", None: "prediction"}[row["passed"]]
        label = f"{row['sample'] or row['kind']}{row['not_counted'] and ', not counted'}"
        verdict = f"{word} ({label}){row['cause'] and ': ' + row['cause']}"
        lines.append(f"{row['preset']:17} {row['metric']:{width}} {published:>9} {row['ours']:>9.4g} {error:>8}  {verdict}")
    return "\n".join(lines) + "\n"
