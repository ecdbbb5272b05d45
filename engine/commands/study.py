"""`study`: many paired runs, each finished seed kept in a file."""

import argparse
import sys
import time
from datetime import date
from pathlib import Path

from joblib import cpu_count

from engine.commands import bar, output
from engine.commands.parser import Subparsers, jobs, whole
from engine.presets import preset_names
from engine.study import accuracy, findings, kept

OUT = Path("accuracy_study.jsonl")
SEEDS = 24


def add(commands: Subparsers) -> None:
    """Declare the command."""
    usual = accuracy.Plan()
    parser = commands.add_parser("study", help="measure what a stale MLP log costs in accuracy, over many seeds")
    parser.add_argument("which", choices=("accuracy",), help="the study: accuracy against the MLP log's staleness")
    parser.add_argument("--preset", choices=preset_names(), default=usual.preset, metavar="NAME", help=f"model ({usual.preset})")
    parser.add_argument("--seeds", type=_seeds, default=SEEDS, metavar="N", help=f"seeds 1 to N ({SEEDS})")
    parser.add_argument("--batches", type=_batches, default=usual.batches, metavar="N", help=f"batches ({usual.batches})")
    parser.add_argument(
        "--crash-at", type=_batches, metavar="N", help=f"the batch that loses power ({accuracy.CRASH_SHARE:.0%} of them)"
    )
    parser.add_argument(
        "--held-out", type=_samples, default=usual.held_out_samples, metavar="N", help=f"samples ({usual.held_out_samples})"
    )
    parser.add_argument("--staleness", type=_ages, default=usual.staleness, metavar="G,...", help="ages of the MLPs in batches")
    parser.add_argument("--jobs", type=jobs, metavar="N", help="seeds trained at once (one per core)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE", help=f"keep finished seeds here ({OUT})")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Train the seeds that the file lacks, then print the table of differences."""
    crash_at = arguments.crash_at or round(accuracy.CRASH_SHARE * arguments.batches)
    plan = accuracy.Plan(arguments.preset, arguments.batches, crash_at, arguments.held_out, arguments.staleness)
    accuracy.check(plan)
    output.check(str(arguments.out))
    study = kept.begin(arguments.out, plan, date.today().isoformat())
    _train(arguments, study)
    print(findings.table(kept.read(arguments.out)), end="")
    return 0


def _train(arguments: argparse.Namespace, study: kept.Study) -> None:
    """Train seed by seed, telling on standard error how many are left and how long they will take."""
    wanted = range(1, arguments.seeds + 1)
    done, start = len(study.seeds.keys() & set(wanted)), time.monotonic()
    _tell(done, arguments.seeds, None)
    try:
        for new, _ in enumerate(kept.advance(arguments.out, study, wanted, arguments.jobs or cpu_count()), start=1):
            each = (time.monotonic() - start) / new
            _tell(done + new, arguments.seeds, each * (arguments.seeds - done - new))
    except KeyboardInterrupt:
        bar.wipe()
        print(f"Stopped: finished seeds are kept in {arguments.out}; to resume, run the same again.", file=sys.stderr)
        raise
    bar.wipe()


def _tell(done: int, seeds: int, left: float | None) -> None:
    text = f"{done} of {seeds} seeds, {bar.duration(left)}"
    bar.draw(done / seeds, text)
    if not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def _seeds(text: str) -> int:
    number = whole(text, "seeds", 10_000)
    if number < 2:
        raise argparse.ArgumentTypeError("1 seed has no spread; take at least 2")
    return number


def _batches(text: str) -> int:
    return whole(text, "batches", 10**6)


def _samples(text: str) -> int:
    return whole(text, "samples", 10**7)


def _ages(text: str) -> tuple[int, ...]:
    return tuple(0 if part == "0" else whole(part, "batches", 10**6) for part in text.split(","))
