"""`verify`: compute an artefact's run again, and compare all numbers."""

import argparse
from functools import partial

from threadpoolctl import threadpool_limits

from ..analysis import linked
from ..artefact import Artefact, differences, read_artefact
from ..core.figures import count
from ..errors import BadFile
from ..paths import user_path
from ..service.worker import compute_point
from ..version import MODEL
from ..workload.readers.formats import digest_of
from . import output, progress_bar
from .parser import FAILED, Subparsers
from .run import draw_progress, immediate_interrupt

MAX_LINES = 20


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("verify", help="compute an artefact of run --artefact again, and say what differs")
    parser.add_argument("artefact", type=user_path, metavar="ARTEFACT.zip")
    parser.add_argument("--data", type=user_path, metavar="FILE", help="the data file that the run was trained on")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Compute the artefact's run again; return 0 where all is equal, 3 otherwise."""
    artefact = read_artefact(arguments.artefact)
    digest = artefact.environment.get("data_sha256", "")
    if digest and arguments.data is None:
        raise BadFile(f"The run was trained on a data file whose SHA-256 is {digest}; give it with --data FILE.")
    if arguments.data is not None and digest_of(arguments.data) != digest:
        raise BadFile(f"{arguments.data} is not the run's data file, whose SHA-256 is {digest or 'none'}; give that file.")
    opened = linked.read_link(artefact.link)
    with progress_bar.visible_bar(), threadpool_limits(1), immediate_interrupt():
        recomputed = compute_point(
            opened.scenario, artefact.fidelity, arguments.data, partial(draw_progress, progress_bar.PacedBar())
        )
    lines = list(differences(artefact, recomputed))
    output.write_for_people("\n".join([*_about(artefact, opened.banner), *_verdict(artefact, lines)]) + "\n")
    return FAILED if lines else 0


def _about(artefact: Artefact, banner: str) -> list[str]:
    """Return sentences on versions that have changed since."""
    made_with = artefact.environment.get("model_version", "unknown")
    sentences = [banner] if banner else []
    if made_with != MODEL:
        sentences.append(
            f"The artefact was made with model version {made_with}, this is {MODEL}: CHANGELOG.md lists what changed."
        )
    return sentences


def _verdict(artefact: Artefact, lines: list[str]) -> list[str]:
    numbers = sum(value is not None for value in artefact.content["results"].values())
    if not lines:
        return [f"Equal: {count(numbers, 'result')} and all tables are identical."]
    more = [f"... and {count(len(lines) - MAX_LINES)} more"] if len(lines) > MAX_LINES else []
    verb = "differs" if len(lines) == 1 else "differ"
    return [f"{count(len(lines), 'number or knob', 'numbers or knobs')} {verb}:", *lines[:MAX_LINES], *more]
