"""The Criteo file that the server was started with, if any: known by its digest, never by its path."""

import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from functools import cache
from hashlib import file_digest
from pathlib import Path

from engine.errors import BadFile
from engine.scenario.scenario import Scenario, with_values


@dataclass(frozen=True)
class DataFile:
    """A file on the server, and the SHA-256 of its bytes by which links name it."""

    path: Path
    digest: str


@cache
def served() -> DataFile | None:
    """Return the file given as `streamlit run app.py -- --data PATH`; raises BadFile if it cannot be read."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--data", type=Path)
    path = parser.parse_known_args(sys.argv[1:])[0].data
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return DataFile(path, file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; start again with make run DATA=file.") from error


def with_data(scenario: Scenario) -> Scenario:
    """Return `scenario` trained on the served file, where there is one."""
    file = served()
    return with_values(scenario, {"data.digest": file.digest}) if file else scenario


def path_for(scenario: Scenario) -> Path | None:
    """Return the file that `scenario` trains on, None for the generator; raises BadFile if the server lacks it."""
    wanted = scenario.data.digest
    if not wanted:
        return None
    file = served()
    if file and file.digest == wanted:
        return file.path
    raise BadFile(
        f"data.digest={wanted[:12]} names a Criteo file that this server does not have; start it with make run DATA=file, "
        "or empty the knob to train on generated data."
    )
