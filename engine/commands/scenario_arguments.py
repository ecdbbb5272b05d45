"""The arguments that choose a scenario: a preset, a link or a file, then the knobs set on the command line."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..errors import BadFile, BadInput
from ..paths import written_path
from ..scenario import knobs
from ..scenario.presets import DEFAULT, preset, scenario_file
from ..scenario.scenario import Scenario, known, mended, values, with_values
from ..sweep import links
from ..workload.readers.formats import digest_of

DIGEST = "data.digest"


@dataclass(frozen=True)
class Chosen:
    """What a preset, a link or a file says, the settings by dotted path, and the data file."""

    start: links.Opened
    settings: Mapping[str, Any]
    data: Path | None

    @property
    def scenario(self) -> Scenario:
        """The scenario with its settings; a set `model.name` comes before the others."""
        return with_values(self.start.scenario, self.settings)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a scenario and its data file."""
    add_start(parser)
    parser.add_argument(
        "--data",
        type=written_path,
        metavar="FILE",
        help="train on a data file: Criteo, TorchRec, Avazu, ..., or any table with a mapping",
    )
    parser.add_argument("--estimate", action="store_true", help="expected values of the steady state: instant, without training")


def add_start(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a scenario."""
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--preset", metavar="NAME", help=f"start from a named scenario ({DEFAULT})")
    start.add_argument("--link", metavar="URL", help="start from a shared link")
    start.add_argument("--scenario", type=written_path, metavar="FILE.toml", help="start from a file")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", help="change a knob; can be repeated")


def chosen(arguments: argparse.Namespace) -> Chosen:
    """Return what the arguments choose; raises BadInput."""
    start = _start(arguments)
    settings, said = mended(start.scenario, dict(_setting(text) for text in arguments.set))
    if said:
        print(f"Note: {said}", file=sys.stderr)
    data = vars(arguments).get("data")  # not every command takes a file
    if data is not None:
        asked = settings.get(DIGEST, values(start.scenario)[DIGEST])
        settings[DIGEST] = digest_of(data)
        if asked not in ("", settings[DIGEST]):
            raise BadFile(f"{data} is not the data file of this scenario, whose SHA-256 is {asked}; give that file.")
    return Chosen(start, settings, data)


def _start(arguments: argparse.Namespace) -> links.Opened:
    if arguments.link is not None:
        opened = linked.read(arguments.link)
        if opened.banner:
            print(opened.banner, file=sys.stderr)
        return opened
    if arguments.scenario is not None:
        return links.Opened("", scenario_file(arguments.scenario))
    name = DEFAULT if arguments.preset is None else arguments.preset
    return links.Opened(name, preset(name).scenario)


def _setting(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--set {text!r} has no value; write KNOB=VALUE.")
    return path.strip(), knobs.parse(known(path.strip()), value)
