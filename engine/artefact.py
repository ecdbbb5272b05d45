"""A run's artefact: a zip file from which the run can be computed again.

It contains the run's result, link, tables, charts and environment, and a README on them.
"""

import json
import platform
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from .core.arithmetic import arithmetic
from .core.figures import count
from .errors import BadFile
from .paths import open_regular
from .results.csv_table import csv_text, rows_text
from .results.result import Result
from .scenario.keys import Fidelity
from .user_text import json_content
from .version import LINK, MODEL, PROGRAM, release

RESULT, ENVIRONMENT, LINK_FILE, TABLE = "result.json", "environment.json", "link.txt", "results.csv"
README = "README.txt"
PACKAGES = ("numpy", "numba", "scipy", "pandas")
MEMBER_TIME = (1980, 1, 1, 0, 0, 0)  # of every member: equal runs make equal files
MAX_BYTES = 64 * 2**20  # of a member that is read
MAX_ARCHIVE_BYTES = 4 * MAX_BYTES
TRAINING_WORDS = ("Loss", "AUC", "Accuracy")  # names of training's results begin with one of these
TRAINING_TOLERANCE = 1e-3  # absolute difference that they may have with other arithmetic
TABLES = ("breakdown", "devices", "training", "events", "books", "timeline")
# The files of tables for readers: the table's name in the result, and what the README says of the file.
TABLE_FILES = {
    "curve.csv": ("training", "the training curve: seconds, loss and held-out AUC by batch"),
    "events.csv": ("events", "faults, recoveries and checkpoints, at simulated seconds"),
    "books.csv": ("books", "seconds and joules of the whole run by account; they add up to the run's"),
}
CONTENTS = {
    TABLE: "every knob, result and constant of the run; the unit stands in each column's name",
    RESULT: "the same with all tables, as JSON",
    LINK_FILE: "the run as a link of the explorer: put the explorer's address in front of it",
    ENVIRONMENT: "versions, processor, and the SHA-256 of the data",
    "charts": "the breakdown of a step and the training curve, as Vega-Lite",
}
NOT_AN_ARTEFACT = (BadZipFile, zlib.error, EOFError, KeyError, ValueError, TypeError, RecursionError, NotImplementedError)


class Artefact(NamedTuple):
    """The content of an artefact file.

    link: the scenario as a link.
    fidelity: estimate or full.
    content: the result as JSON.
    environment: versions, processor, and the digest of the data.
    """

    link: str
    fidelity: Fidelity
    content: Mapping[str, Any]
    environment: Mapping[str, str]


def pack_artefact(result: Result, fidelity: Fidelity) -> bytes:
    """Return a run's artefact as a zip; equal results on one machine give equal bytes."""
    content = result.as_json()
    members = {
        RESULT: json.dumps(content, indent=1),
        LINK_FILE: content["link"] + "\n",
        TABLE: csv_text([result], fidelity),
        ENVIRONMENT: json.dumps(_environment(result, fidelity), indent=1),
        **{name: _table_text(content[table]) for name, (table, _) in TABLE_FILES.items() if content[table]},
        **{f"charts/{name}.vl.json": json.dumps(chart, indent=1) for name, chart in _charts(content)},
    }
    members = {README: _readme(result, fidelity, content["link"], members), **members}
    zip_bytes = BytesIO()
    with ZipFile(zip_bytes, "w", ZIP_DEFLATED) as archive:
        for name, text in members.items():
            member = ZipInfo(name, MEMBER_TIME)
            member.compress_type = ZIP_DEFLATED
            archive.writestr(member, text)
    return zip_bytes.getvalue()


def _table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of a result as CSV."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return rows_text(names, ([row.get(name) for name in names] for row in rows))


def _readme(result: Result, fidelity: Fidelity, link: str, members: Iterable[str]) -> str:
    """Return the text that says what each file is, and how to compute the run again."""
    texts = CONTENTS | {name: text for name, (_, text) in TABLE_FILES.items()}
    places = list(dict.fromkeys(name.partition("/")[0] for name in members))
    width = max(map(len, places))
    options = " --estimate" * (fidelity == "estimate") + " --data FILE" * bool(result.scenario.data.digest)
    lines = [
        f"{'An estimate' if fidelity == 'estimate' else 'A full run'} by Emberpool {release()}, model version {MODEL}.",
        f"{result.scenario.system}, model {result.scenario.model.name}: {result.outcome or 'completed'}",
        "",
        *(f"{name:<{width}}  {texts[name]}" for name in places),
        "",
        "Inside brackets stands the unit: [ms], [J], [USD]. Seconds are simulated. An empty cell does not apply.",
        "",
        "The same run again:",
        f"    {PROGRAM} run --link '{link}'{options} --csv again.csv",
        "This zip against a run on this computer:",
        f"    {PROGRAM} verify FILE.zip{' --data FILE' * bool(result.scenario.data.digest)}",
    ]
    return "\n".join(lines) + "\n"


def read_artefact(path: Path) -> Artefact:
    """Read an artefact; raises BadFile for any other file."""
    try:
        with open_regular(path, MAX_ARCHIVE_BYTES) as file, ZipFile(file) as archive:
            texts = {name: _member(archive, name) for name in (RESULT, ENVIRONMENT, LINK_FILE)}
        content, environment = (json_content(texts[name], f"{path}: {name}") for name in (RESULT, ENVIRONMENT))
        fidelity = environment["how"]
        if fidelity not in ("estimate", "full") or not _has_form(content):
            raise ValueError(fidelity)
    except (*NOT_AN_ARTEFACT, RuntimeError) as error:  # zipfile raises that for a password
        raise BadFile(f"{path} is not an artefact; give the zip that run --artefact wrote.", kind="no artefact") from error
    return Artefact(texts[LINK_FILE].strip(), fidelity, content, {key: str(text) for key, text in environment.items()})


def _has_form(content: Mapping[str, Any]) -> bool:
    """Return whether a result has a scenario, results, and tables of rows."""
    tables = [content[table] for table in TABLES]
    rows_are_objects = all(isinstance(table, list) and all(isinstance(row, dict) for row in table) for table in tables)
    return rows_are_objects and all(isinstance(content[name], dict) for name in ("scenario", "results"))


def differences(artefact: Artefact, recomputed: Result) -> Iterator[str]:
    """Yield a line for each knob or number that differs: name, stored value, present value.

    Numbers of training may differ by TRAINING_TOLERANCE if other arithmetic computed them; all else must be equal.
    """
    stored, now = artefact.content, json.loads(json.dumps(recomputed.as_json()))
    same_kernels = stored.get("arithmetic") == recomputed.arithmetic
    for section in ("scenario", "results"):
        yield from _row_differences("", stored[section], now[section], same_kernels)
    for table in TABLES:
        stored_rows, rows = stored[table], now[table]
        if len(stored_rows) != len(rows):
            yield f"{table}: {count(len(stored_rows), 'row')} then, {len(rows)} now"
            continue
        for number, (stored_row, row) in enumerate(zip(stored_rows, rows, strict=True)):
            yield from _row_differences(f"{table}, row {number + 1}, ", stored_row, row, same_kernels)


def _row_differences(place: str, stored: Mapping[str, Any], now: Mapping[str, Any], same_kernels: bool) -> Iterator[str]:
    """Yield a line for each name whose values differ, or that only one side has."""
    for name in dict.fromkeys((*stored, *now)):
        old, new = stored.get(name, "nothing"), now.get(name, "nothing")
        if not _equal(name, old, new, same_kernels):
            yield f"{place}{name}: {old!r} then, {new!r} now"


def _equal(name: str, old: Any, new: Any, same_kernels: bool) -> bool:
    if old == new:
        return True
    numbers = isinstance(old, float | int) and isinstance(new, float | int)
    return numbers and not same_kernels and name.startswith(TRAINING_WORDS) and isclose(old, new, abs_tol=TRAINING_TOLERANCE)


def _member(archive: ZipFile, name: str) -> str:
    """Return a member's text, read as far as it may be long; raises KeyError, ValueError."""
    with archive.open(name) as member:
        content = member.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(name)
    return content.decode("utf-8")


def _environment(result: Result, fidelity: Fidelity) -> dict[str, str]:
    return {
        "how": fidelity,
        "emberpool": release(),
        "model_version": MODEL,
        "link_format": str(LINK),
        "data_sha256": result.scenario.data.digest,
        "arithmetic": arithmetic(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **dict(_versions(PACKAGES)),
    }


def _versions(packages: Iterable[str]) -> Iterator[tuple[str, str]]:
    for package in packages:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def _charts(content: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield charts as Vega-Lite by name: where the step's time goes, and how training went."""
    schema = "https://vega.github.io/schema/vega-lite/v6.json"
    if content["breakdown"]:
        encoding: dict[str, Any] = {
            "y": {"field": "Stage", "type": "nominal"},
            "x": {"field": "Exposed [s]", "type": "quantitative", "aggregate": "sum"},
            "color": {"field": "Device", "type": "nominal"},
        }
        yield (
            "breakdown",
            {"$schema": schema, "data": {"values": list(content["breakdown"])}, "mark": "bar", "encoding": encoding},
        )
    if content["training"]:
        encoding = {
            "x": {"field": "Batch", "type": "quantitative"},
            "y": {"field": "Loss", "type": "quantitative", "scale": {"zero": False}},
        }
        yield "training", {"$schema": schema, "data": {"values": list(content["training"])}, "mark": "line", "encoding": encoding}
