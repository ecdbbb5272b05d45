"""A run's artefact: one zip with its result, link, table, charts and environment, from which the run can be computed again."""

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from .core.arithmetic import arithmetic
from .errors import BadFile
from .results.csv_table import csv_text
from .results.result import Result
from .scenario.keys import Fidelity
from .version import LINK, MODEL, release

RESULT, ENVIRONMENT, LINK_FILE, TABLE = "result.json", "environment.json", "link.txt", "result.csv"
PACKAGES = ("numpy", "numba", "scipy", "pandas")
MADE = (1980, 1, 1, 0, 0, 0)  # of every member: equal runs make equal files
MOST_BYTES = 64 * 2**20  # of a member that is read
TRAINED = ("Loss", "AUC", "Accuracy")  # words that results of training begin with
CLOSE = 1e-3  # how far these may be apart on another kind of processor
TABLES = ("breakdown", "devices", "training", "events", "books")


class Artefact(NamedTuple):
    """An artefact that was read.

    link: the scenario. how: estimate or full. content: the result as JSON. environment: versions, processor, data's digest.
    """

    link: str
    how: Fidelity
    content: Mapping[str, Any]
    environment: Mapping[str, str]


def packed(result: Result, how: Fidelity) -> bytes:
    """Return a run's artefact as a zip; equal results on one machine give equal bytes."""
    content = result.as_json()
    members = {
        RESULT: json.dumps(content, indent=1),
        LINK_FILE: content["link"] + "\n",
        TABLE: csv_text([result], how),
        ENVIRONMENT: json.dumps(_environment(result, how), indent=1),
        **{f"charts/{name}.vl.json": json.dumps(chart, indent=1) for name, chart in _charts(content)},
    }
    whole = BytesIO()
    with ZipFile(whole, "w", ZIP_DEFLATED) as archive:
        for name, text in members.items():
            member = ZipInfo(name, MADE)
            member.compress_type = ZIP_DEFLATED
            archive.writestr(member, text)
    return whole.getvalue()


def unpacked(path: Path) -> Artefact:
    """Read an artefact; raises BadFile where it is none."""
    try:
        with ZipFile(path) as archive:
            texts = {name: _member(archive, name) for name in (RESULT, ENVIRONMENT, LINK_FILE)}
        content, environment = (json.loads(texts[name]) for name in (RESULT, ENVIRONMENT))
        how = environment["how"]
        if how not in ("estimate", "full") or not isinstance(content["results"], dict):
            raise ValueError(how)
    except OSError as error:
        raise BadFile(f"{path} cannot be read ({error.strerror}); give the zip that run --artefact wrote.") from error
    except (BadZipFile, KeyError, ValueError, TypeError, RecursionError, NotImplementedError, RuntimeError) as error:
        raise BadFile(f"{path} is not an artefact; give the zip that run --artefact wrote.", kind="no artefact") from error
    return Artefact(texts[LINK_FILE].strip(), how, content, {key: str(text) for key, text in environment.items()})


def differences(artefact: Artefact, again: Result) -> Iterator[str]:
    """Yield a line for each number that is not what the artefact has: its name, then, and now.

    Results of training may be CLOSE where the artefact was made with other kernels of arithmetic; all else has to be equal.
    """
    before, now = artefact.content, again.as_json()
    same_kernels = before.get("arithmetic") == again.arithmetic
    for name, then in before["results"].items():
        if not _equal(name, then, now["results"].get(name), same_kernels):
            yield f"{name}: {then!r} then, {now['results'].get(name)!r} now"
    for table in TABLES:
        rows_then, rows_now = before.get(table, []), json.loads(json.dumps(now[table]))
        if len(rows_then) != len(rows_now):
            yield f"{table}: {len(rows_then)} rows then, {len(rows_now)} now"
            continue
        for number, (then, again_row) in enumerate(zip(rows_then, rows_now, strict=True)):
            for name in then:
                if not _equal(name, then[name], again_row.get(name), same_kernels):
                    yield f"{table}, row {number + 1}, {name}: {then[name]!r} then, {again_row.get(name)!r} now"


def _equal(name: str, then: Any, now: Any, same_kernels: bool) -> bool:
    if then == now:
        return True
    numbers = isinstance(then, float | int) and isinstance(now, float | int)
    return numbers and not same_kernels and name.startswith(TRAINED) and isclose(then, now, abs_tol=CLOSE)


def _member(archive: ZipFile, name: str) -> str:
    """Return a member's text, read as far as it may be long; raises KeyError, ValueError."""
    with archive.open(name) as member:
        text = member.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError(name)
    return text.decode("utf-8")


def _environment(result: Result, how: Fidelity) -> dict[str, str]:
    return {
        "how": how,
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
