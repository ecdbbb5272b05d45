"""The arguments that choose a scenario: a preset, a link or a file, then the knobs set on the command line."""

import argparse
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..errors import BadFile, BadInput
from ..scenario import knobs
from ..scenario.presets import DEFAULT, preset, scenario_file
from ..scenario.scenario import Scenario, known, values, with_values
from ..sweep import links

DIGEST = "data.digest"


@dataclass(frozen=True)
class Chosen:
    """The scenario before its settings, the settings by dotted path, a link's axes and questions, and the data file."""

    base: Scenario
    settings: Mapping[str, Any]
    axes: tuple[str, ...]
    data: Path | None
    questions: links.Questions = links.Questions()

    @property
    def scenario(self) -> Scenario:
        """The scenario with its settings; a set `model.name` comes before the others."""
        return with_values(self.base, self.settings)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a scenario."""
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--preset", metavar="NAME", help=f"start from a named scenario ({DEFAULT})")
    start.add_argument("--link", metavar="URL", help="start from a shared link")
    start.add_argument("--scenario", type=Path, metavar="FILE.toml", help="start from a file")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", help="change a knob; can be repeated")
    parser.add_argument("--data", type=Path, metavar="FILE", help="train on a Criteo file: TSV or CSV, plain or .gz")
    parser.add_argument("--estimate", action="store_true", help="expected values of the steady state: instant, without training")


def chosen(arguments: argparse.Namespace) -> Chosen:
    """Return what the arguments choose; raises BadInput."""
    base, axes, questions = _base(arguments)
    settings = dict(_setting(text) for text in arguments.set)
    if arguments.data is not None:
        asked = settings.get(DIGEST, values(base)[DIGEST])
        settings[DIGEST] = _digest(arguments.data)
        if asked not in ("", settings[DIGEST]):
            raise BadFile(f"{arguments.data} is not the data file of this scenario, whose SHA-256 is {asked}; give that file.")
    return Chosen(base, settings, axes, arguments.data, questions)


def _base(arguments: argparse.Namespace) -> tuple[Scenario, tuple[str, ...], links.Questions]:
    if arguments.link is not None:
        opened = linked.read(arguments.link)
        if opened.banner:
            print(opened.banner, file=sys.stderr)
        return opened.scenario, opened.axes, opened.questions
    if arguments.scenario is not None:
        return scenario_file(arguments.scenario), (), links.Questions()
    return preset(arguments.preset if arguments.preset is not None else DEFAULT).scenario, (), links.Questions()


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--set {text!r} has no value; write KNOB=VALUE.")
    return path.strip(), knobs.parse(known(path.strip()), value)


def _digest(path: Path) -> str:
    try:
        if path.is_char_device():
            raise BadFile(f"{path} cannot be read: it is a device, which has no end; check --data.")
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; check --data.") from error
