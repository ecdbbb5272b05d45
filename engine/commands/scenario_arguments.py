"""The arguments that choose a scenario: a preset, a link or a file, then the knobs set on the command line."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..embedding_tables import table_list
from ..embedding_tables.table_list import TableList
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
    """What a preset, a link or a file says, the settings by dotted path, the data file, and the names of listed tables."""

    start: links.Opened
    settings: Mapping[str, Any]
    data: Path | None
    names: tuple[str, ...] = ()

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
    parser.add_argument(
        "--tables",
        type=written_path,
        metavar="FILE.csv",
        help="take the tables that a CSV file lists: Table, Rows, Dim, Lookups, ...",
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
    data, tables = (vars(arguments).get(name) for name in ("data", "tables"))  # not every command takes files
    listed = _listed(tables) if tables else None
    settings, notes = _settings(start.scenario, dict(_setting(text) for text in arguments.set), listed)
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)
    if data is not None:
        asked = settings.get(DIGEST, values(start.scenario)[DIGEST])
        settings[DIGEST] = digest_of(data)
        if asked not in ("", settings[DIGEST]):
            raise BadFile(f"{data} is not the data file of this scenario, whose SHA-256 is {asked}; give that file.")
    return Chosen(start, settings, data, listed.names if listed else ())


def _settings(base: Scenario, given: dict[str, Any], listed: TableList | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return all settings, those that are `given` before those of listed tables, and what else had to change with them."""
    if listed:
        return table_list.fitted(base, {**listed.changes, **given})
    settings, said = mended(base, given)
    return settings, (said,) if said else ()


def _listed(path: Path) -> TableList:
    """Return the tables that a CSV file lists; raises BadFile where it cannot be read, BadInput for what it says."""
    try:
        return table_list.parse(path.read_bytes().decode("utf-8-sig"), path.name)
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); give a CSV file of tables.") from error
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is no UTF-8 text; save it as CSV in UTF-8.") from error


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
