"""`validate`: run every claim of the presets; compare with publications and the accepted record."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from ..campaign.reference_points import published_figures
from ..core.figures import count, exact
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
from ..paths import user_path
from ..scenario.presets import preset, preset_names
from ..validation.accepted import accept_numbers, read_record, worse_numbers
from ..validation.scoreboard import NEAR_PERCENT, PublishedNumber, json_rows, score_lines, scores
from ..validation.validate import Gap, gaps, system_lengths, validate
from . import output, progress_bar
from .measure import check_folder, gpu_argument
from .parser import FAILED, INTERRUPTED, Subparsers, whole_number

UNTRIED = "The drive was not checked: there is no measured drive, or the folder or memory has less than 2 GiB free."


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("validate", help="compare with published values")
    parser.add_argument("names", nargs="*", metavar="NAME", help="presets to validate; without any, all presets with claims")
    parser.add_argument("--json", metavar="FILE", help="write each number as JSON; - for standard output")
    parser.add_argument(
        "--gaps", action="store_true", help="compare estimates with full runs instead: every system and several lengths; minutes"
    )
    parser.add_argument("--accept", metavar="REASON", help="replace the accepted record; refused if a claim got worse")
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
        type=user_path,
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
    """Run the claims; return 3 if a claim is worse than accepted or breaks its limit."""
    if arguments.accept is not None and (arguments.names or arguments.gaps):
        raise BadInput("--accept writes the record of all claims; leave out the presets and --gaps.")
    if arguments.here:
        return validate_here(arguments)
    if arguments.gpu is not None:
        raise BadInput("--gpu chooses the GPU for the trained models of --here; add --here, or leave out --gpu.")
    if arguments.drive is not None:
        raise BadInput(
            "--drive chooses the folder where --here measures a checkpoint and a mapped file; add --here, or leave out --drive."
        )
    for name in arguments.names:
        preset(name)  # raises for an unknown preset before any is run
    if arguments.gaps:  # facts about the estimate, which never fail the command
        comparisons = [(name, *pair) for name in arguments.names or preset_names() for pair in system_lengths(name)]
        all_gaps = [gap for comparison in comparisons for gap in gaps(*comparison)]
        output.write_json_or(arguments.json, [gap.as_json() for gap in all_gaps], gap_table(all_gaps))
        return 0
    verdicts, figures = validate(arguments.names), () if arguments.names else published_figures()
    published_numbers, numbers = scores(verdicts, figures), json_rows(verdicts, figures)
    if arguments.accept is not None:
        accept_numbers(published_numbers, os.fsencode(arguments.accept).decode("utf-8", "replace"))
    broken = [
        f"{verdict.name}: outside our own limit."
        for verdict in verdicts
        if verdict.claim.published is None and verdict.passed is False
    ]
    failures = [*worse_numbers(read_record(), published_numbers, every=not arguments.names), *broken]
    text = scoreboard(published_numbers) + "\n" + table(numbers) + "".join(f"WORSE  {failure}\n" for failure in failures)
    output.write_json_or(arguments.json, numbers, text)
    return FAILED if failures else 0


def validate_here(arguments: argparse.Namespace) -> int:
    """Predict this machine's training, write that, train, write both; return the exit status.

    It is INTERRUPTED after Ctrl-C; finished trials are written all the same. Else it is 0.
    """
    if arguments.names or arguments.gaps or arguments.accept is not None:
        raise BadInput("--here draws the models that it trains; leave out presets, --gaps and --accept.")
    if arguments.drive:
        check_folder(arguments.drive)
    torch = pytorch()
    systems, device, machine = _training_place(torch, arguments.gpu)
    output.tell(f"Measured parts {trials.parts_digest(systems)}.")
    prediction_set, paced = trials.predict_trials(arguments.seed, arguments.shapes, systems), progress_bar.PacedBar()
    trained_trials: list[trials.Trial] = []
    status, start_times, process_start = INTERRUPTED, cpu_times(), process_time()
    on_drive: list[CheckpointTrial | MappedTrial] = []

    def keep(written_trials: Sequence[trials.Trial]) -> None:
        if arguments.json:
            content = trials.trials_content(prediction_set, written_trials, arguments.seed, machine)
            content["drive"] = [{"trial": type(trial).__name__, **trial.as_json()} for trial in on_drive]
            output.write(arguments.json, json.dumps(content, indent=1) + "\n")

    if arguments.json != output.STANDARD:
        keep(prediction_set.trials)  # before anything is trained
    with progress_bar.visible_bar(), suppress(KeyboardInterrupt):
        for trial in trials.train_trials(prediction_set, arguments.seed, step_seconds, device):
            trained_trials.append(trial)
            paced(
                len(trained_trials) / len(prediction_set.trials),
                f"trained {len(trained_trials)} of {count(len(prediction_set.trials), 'model')}",
            )
            if arguments.json != output.STANDARD:
                keep((*trained_trials, *prediction_set.trials[len(trained_trials) :]))
        for drive_trial in drive_trials(arguments.drive) if arguments.drive else ():
            on_drive.append(drive_trial)
            paced(1.0, "trying the drive")
        status = 0
    if arguments.json == output.STANDARD or on_drive:
        keep(trained_trials)
    machine += f"\n{NOT_YET}" if device else ""
    busy = busy_notes(start_times, cpu_times(), process_time() - process_start, {})
    untried = [UNTRIED] if arguments.drive and not (on_drive or status) else []
    sentences = "".join(f"{sentence}\n" for sentence in (*(trial.sentence for trial in on_drive), *untried, *busy))
    output.write_for_people(
        f"{machine}\n{trials.table(trained_trials)}{trials.sentence(prediction_set, trained_trials)}\n{sentences}", arguments.json
    )
    return status


def _training_place(torch: Any, gpu: int | None) -> tuple[tuple[str, ...], str, str]:
    """Return the trained systems, the GPU's device or "", and the machine in words."""
    machine = f"{cpu_name()}, {count(cores(), 'core')}; PyTorch {torch.__version__}"
    if gpu is None:
        return (CPU_ONLY,), "", machine
    device = f"cuda:{gpu_number(torch, gpu)}"
    return GPU_SYSTEMS, device, f"{torch.cuda.get_device_name(device)}, {machine}"


def drive_trials(folder: Path) -> Iterator[CheckpointTrial | MappedTrial]:
    """Yield the trials of a folder's drive: a checkpoint, then rows in a mapped file."""
    checkpoint = checkpoint_trial(folder)
    if checkpoint:
        yield checkpoint
    yield from mapped_trials(folder)


def scoreboard(published_numbers: Sequence[PublishedNumber]) -> str:
    """Return text lines with the score over all numbers out of sample, and each family's.

    Each line has the median errors of the model and of the roofline.
    """
    head = f"{'published, not used':24} {'n':>4} {'median error':>13} {f'within {exact(NEAR_PERCENT)} %':>12} {'rank':>6}"
    lines = [f"{head} {'n of roofline':>14} {'roofline':>10} {'ours there':>11}"]
    for line in score_lines(published_numbers):
        cells = [
            (line.median_percent, "{:.1f} %", 13),
            (line.near_percent, "{:.0f} %", 12),
            (line.rank_correlation, "{:.2f}", 6),
            (line.roofline_count, "{}", 14),
            (line.roofline_percent, "{:.1f} %", 10),
            (line.model_percent, "{:.1f} %", 11),
        ]
        text = " ".join(f"{'-' if number is None else form.format(number):>{width}}" for number, form, width in cells)
        lines.append(f"{line.family:24} {line.count:>4} {text}")
    return "\n".join(lines) + "\n"


def gap_table(estimate_gaps: Sequence[Gap]) -> str:
    """Return a text line for each gap, with estimate, full run and error bar."""
    lines = [
        f"{'preset':23} {'system':16} {'batches':>7}  {'result':20} {'estimate':>9} {'full run':>9} {'gap':>9} {'error bar':>11}"
    ]
    for gap in estimate_gaps:
        row = f"{gap.preset:23} {gap.system:16} {gap.batches:>7}  {gap.metric:20} {gap.estimate:>9.4g} {gap.full_run:>9.4g}"
        lines.append(f"{row} {gap.percent:>+7.2f} % +-{gap.error_bar:>7.2f} %")
    return "\n".join(lines) + "\n"


def table(numbers: Sequence[Mapping[str, Any]]) -> str:
    """Return a text table of claims and figures: published, simulated, error, verdict, kind."""
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
