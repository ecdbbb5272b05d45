"""`study`: many pairs of training runs; each finished seed is written to a file."""

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from joblib import cpu_count

from ..core.figures import count
from ..paths import user_path
from ..results.csv_table import check_can_write
from ..scenario.presets import preset_names
from ..validation.studies import findings, study_file
from ..validation.studies.study_file import KINDS
from . import output, progress_bar
from .parser import Subparsers, jobs, whole_number

batches = partial(whole_number, what="batches", most=10**6)


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("study", help="measure what lossy recoveries cost in accuracy, over many seeds")
    parser.add_argument(
        "which",
        choices=tuple(KINDS),
        help=(
            "accuracy: recovery with an old MLP log; protections: recovery with old or rounded rows; rollbacks: many recoveries"
        ),
    )
    parser.add_argument("--preset", choices=preset_names(), metavar="NAME", help=f"model ({_usual('preset')})")
    parser.add_argument(
        "--seeds", type=_seeds, metavar="N", help=f"seeds 1 to N ({_joined(kind.seeds for kind in KINDS.values())})"
    )
    parser.add_argument("--batches", type=batches, metavar="N", help=f"batches ({_usual('batches')})")
    parser.add_argument("--crash-at", type=batches, metavar="N", help=f"the batch that is struck ({_usual('crash_at')})")
    samples = partial(whole_number, what="samples", most=10**7)
    parser.add_argument(
        "--held-out", dest="held_out_samples", type=samples, metavar="N", help=f"samples ({_usual('held_out_samples')})"
    )
    parser.add_argument("--staleness", type=_ages, metavar="G,...", help="study accuracy: ages of the MLPs in batches")
    parser.add_argument(
        "--variants",
        type=_names,
        metavar="V,...",
        help="study protections: cpr-BATCHES, bits-BITS, mlp-BATCHES; study rollbacks: spread-NUMBER, early-BATCH",
    )
    parser.add_argument("--age", type=batches, metavar="N", help="study rollbacks: the age of the MLPs (10)")
    parser.add_argument("--jobs", type=jobs, metavar="N", help="seeds trained at once (one per core)")
    parser.add_argument("--out", type=user_path, metavar="FILE", help="keep finished seeds here (WHICH_study.jsonl)")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Train the seeds that the file lacks, then print the table of differences."""
    arguments.out = arguments.out or Path(f"{arguments.which}_study.jsonl")
    arguments.seeds = arguments.seeds or KINDS[arguments.which].seeds
    plan = _plan(arguments)
    KINDS[arguments.which].check(plan)
    check_can_write(arguments.out)
    study = study_file.open_study(arguments.out, plan, date.today().isoformat())
    _train(arguments, study)
    output.write_for_people(findings.findings_table(study_file.read_study(arguments.out)), str(arguments.out))
    return 0


def _plan(arguments: argparse.Namespace) -> Any:
    """Return the study's usual plan with the changes of the arguments; more batches move the struck one along."""
    usual = KINDS[arguments.which].plan()
    plan_changes = {
        plan_field.name: argument for plan_field in fields(usual) if (argument := getattr(arguments, plan_field.name)) is not None
    }
    crash_at = round(usual.crash_at / usual.batches * plan_changes.get("batches", usual.batches))
    return replace(usual, **{"crash_at": crash_at, **plan_changes})


def _usual(name: str) -> str:
    return _joined(getattr(kind.plan(), name) for kind in KINDS.values())


def _joined(values: Iterable[Any]) -> str:
    return " or ".join(dict.fromkeys(map(str, values)))


def _train(arguments: argparse.Namespace, study: study_file.Study) -> None:
    """Train seed by seed, with the number of seeds and the time left on standard error."""
    seeds = range(1, arguments.seeds + 1)
    finished, start = len(study.seeds.keys() & set(seeds)), time.monotonic()
    _tell(finished, arguments.seeds, None)
    try:
        for trained, _ in enumerate(study_file.run_seeds(arguments.out, study, seeds, arguments.jobs or cpu_count()), start=1):
            seed_seconds = (time.monotonic() - start) / trained
            _tell(finished + trained, arguments.seeds, seed_seconds * (arguments.seeds - finished - trained))
    except KeyboardInterrupt:
        progress_bar.wipe()
        output.tell(f"Stopped: finished seeds are kept in {arguments.out}; run the same command again to resume.")
        raise
    progress_bar.wipe()


def _tell(finished: int, seeds: int, seconds_left: float | None) -> None:
    text = f"{finished} of {count(seeds, 'seed')}, {progress_bar.duration(seconds_left)}"
    progress_bar.draw(finished / seeds, text)
    if not sys.stderr.isatty():
        output.tell(text)


def _seeds(text: str) -> int:
    number = whole_number(text, "seeds", 10_000)
    if number < 2:
        raise argparse.ArgumentTypeError("1 seed has no spread; give at least 2")
    return number


def _ages(text: str) -> tuple[int, ...]:
    return tuple(batches(part, least=0) for part in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
