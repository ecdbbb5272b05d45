"""Data files that this server may train on: the one it was started with, and those given since; links know digests only."""

import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.errors import BadFile
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers.formats import digest_of


@dataclass(frozen=True)
class DataFile:
    """A file on the server, and the SHA-256 of its bytes by which links name it."""

    path: Path
    digest: str


_KNOWN: dict[str, DataFile] = {}  # what this process may read, by digest: a link never names a path


@cache
def served() -> DataFile | None:
    """Return the file given as `streamlit run app.py -- --data PATH`; raises BadFile if it cannot be read."""
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--data", type=Path)
    path = parser.parse_known_args(sys.argv[1:])[0].data
    return None if path is None else known(path)


def known(path: Path) -> DataFile:
    """Return a file that this server may train on from now on; raises BadFile if it cannot be read."""
    try:
        if not path.is_file():
            raise BadFile(f"{path} is no file on this computer; give the path of a data file, such as Criteo's, plain or .gz.")
        found = DataFile(path, digest_of(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}; give another one, or make run DATA=file.") from error
    _KNOWN[found.digest] = found
    return found


def with_data(scenario: Scenario) -> Scenario:
    """Return `scenario` trained on the served file, where there is one."""
    file = served()
    return with_values(scenario, {"data.digest": file.digest}) if file else scenario


def path_for(scenario: Scenario) -> Path | None:
    """Return the file that `scenario` trains on, None for the generator; raises BadFile if the server lacks it."""
    return of(scenario).path if scenario.data.digest else None


def of(scenario: Scenario) -> DataFile:
    """Return the file that `scenario` trains on; raises BadFile if the server lacks it."""
    wanted = scenario.data.digest
    served()
    if wanted in _KNOWN:
        return _KNOWN[wanted]
    raise BadFile(
        f"data.digest={wanted[:12]} names a data file that this server does not have; start it with make run DATA=file, "
        "or empty the knob to train on generated data."
    )
