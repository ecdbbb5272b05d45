"""Traces of all kinds: recognised by name or content, and read."""

from pathlib import Path

from ....core.figures import count
from ....version import PROGRAM
from .. import mapping
from ..foreign import check_pointer
from ..samples import Watch, unwatched
from . import requests, torch_save

Trace = torch_save.LookupTrace | requests.RequestTrace


def is_trace(path: Path) -> bool:
    """Return whether a file is a trace: lookups without labels.

    Raises BadFile for a file that cannot be opened.
    """
    check_pointer(path)
    return torch_save.is_trace(path) or requests.is_trace(path)


def read_trace(path: Path, watch: Watch = unwatched) -> Trace:
    """Return the trace in a file.

    Raises BadFile, also if the file has a mapping, because a trace has no columns to map.
    """
    mapping.refuse_idle(path, mapping.read_mapping(path), "a trace", mapping.KEYS)
    return torch_save.read_lookups(path, watch) if torch_save.is_trace(path) else requests.read_requests(path, watch)


def untrainable_reason(path: Path, watch: Watch = unwatched) -> str:
    """Return a sentence on why a run cannot train on a trace.

    The sentence names the command that can read the trace.
    """
    trace = read_trace(path, watch)
    bags = "with bags of unlike sizes" if isinstance(trace, torch_save.LookupTrace) else f"of {count(trace.samples, 'request')}"
    return (
        f"{trace.name} is a trace of lookups in {trace.tables} table{'s' * (trace.tables > 1)}, without labels and {bags}, "
        f"so a run cannot train on it: use `{PROGRAM} workload fit {trace.name}`, and train on data that is fitted to it."
    )
