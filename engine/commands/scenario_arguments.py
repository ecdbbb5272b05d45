"""The arguments that choose a scenario: a preset, link or file, then knobs."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..analysis import linked
from ..embedding_tables import table_list
from ..embedding_tables.table_list import TableList
from ..errors import BadFile, BadInput
from ..paths import user_path
from ..scenario import knobs
from ..scenario.presets import DEFAULT, preset, scenario_file
from ..scenario.scenario import Scenario, declaration, fit_bottom_mlp, values, with_values
from ..sweep import links
from ..user_text import decoded_file
from ..workload.readers.formats import digest_of
from . import output

DIGEST = "data.digest"


@dataclass(frozen=True)
class ScenarioSelection:
    """The scenario that a command line chooses, from a preset, a link or a file.

    start: the opened preset, link or file.
    settings: knobs that the command line sets, by dotted path.
    data_file: the file of clicks to train on, None without one.
    table_names: the names of the embedding tables.
    """

    start: links.OpenedLink
    settings: Mapping[str, Any]
    data_file: Path | None
    table_names: tuple[str, ...] = ()

    @property
    def scenario(self) -> Scenario:
        """The chosen scenario, with the settings of the command line."""
        return with_values(self.start.scenario, self.settings)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a scenario and its data file."""
    add_start(parser)
    parser.add_argument(
        "--data",
        type=user_path,
        metavar="FILE",
        help="train on a data file: Criteo, TorchRec, Avazu, ..., or any table with a mapping",
    )
    parser.add_argument(
        "--tables",
        type=user_path,
        metavar="FILE.csv",
        help="take the tables that a CSV file lists: Table, Rows, Dim, Lookups, ...",
    )
    parser.add_argument("--estimate", action="store_true", help="expected values of the steady state: instant, without training")


def add_start(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that choose a scenario."""
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--preset", metavar="NAME", help=f"start from a named scenario ({DEFAULT}), also one of --presets-dir")
    start.add_argument("--link", metavar="URL", help="start from a shared link")
    start.add_argument("--scenario", type=user_path, metavar="FILE.toml", help="start from a file")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE", help="change a knob; can be repeated")


def selected_scenario(arguments: argparse.Namespace) -> ScenarioSelection:
    """Return the scenario, settings and data file that the arguments choose.

    Raises BadInput.
    """
    start = _start(arguments)
    data_file, tables = (vars(arguments).get(name) for name in ("data", "tables"))  # not every command takes files
    listed_tables = _read_tables(tables) if tables else None
    settings, notes = _settings(start.scenario, dict(_setting(text) for text in arguments.set), listed_tables)
    for note in notes:
        output.note(note)
    if data_file is not None:
        scenario_digest = settings.get(DIGEST, values(start.scenario)[DIGEST])
        settings[DIGEST] = digest_of(data_file)
        if scenario_digest not in ("", settings[DIGEST]):
            raise BadFile(
                f"{data_file} is not the data file of this scenario, whose SHA-256 is {scenario_digest}; give that file."
            )
    return ScenarioSelection(start, settings, data_file, listed_tables.names if listed_tables else ())


def _settings(
    base: Scenario, knob_values: dict[str, Any], listed_tables: TableList | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return all settings, given ones before those of listed tables, and notes on other knobs that had to change."""
    if listed_tables:
        return table_list.replaced_tables(base, {**listed_tables.changes, **knob_values})
    settings, note = fit_bottom_mlp(base, knob_values)
    return settings, (note,) if note else ()


def _read_tables(path: Path) -> TableList:
    """Return the tables that a CSV file lists; raises BadFile where the file cannot be read, BadInput for its content."""
    return table_list.parse(decoded_file(path), path.name)


def _start(arguments: argparse.Namespace) -> links.OpenedLink:
    if arguments.link is not None:
        link_scenario = linked.read_link(arguments.link)
        if link_scenario.banner:
            output.tell(link_scenario.banner)
        return link_scenario
    if arguments.scenario is not None:
        return links.OpenedLink("", scenario_file(arguments.scenario))
    name = DEFAULT if arguments.preset is None else arguments.preset
    return links.OpenedLink(name, preset(name).scenario)


def _setting(text: str) -> tuple[str, Any]:
    path, equals, knob_text = text.partition("=")
    if not equals:
        raise BadInput(f"--set {text!r} has no value; write KNOB=VALUE.")
    return path.strip(), knobs.parse(declaration(path.strip()), knob_text)
