"""A trace of faults as a scenario writes it: seconds, class and node of each strike, to be replayed."""

from math import isfinite
from typing import NamedTuple

from ..errors import BadKnob, nearest

MOST_TRACED = 2000


class Traced(NamedTuple):
    """One entry of a trace: seconds, the fault's name, the node's number."""

    at: float
    fault: str
    node: int


def replay(trace: str, known: tuple[str, ...] = ()) -> tuple[Traced, ...]:
    """Read a trace, "seconds class node; ..." with the node left out for 0, in rising order; raises BadKnob."""
    entries = [part.split() for part in trace.split(";") if part.strip()]
    if len(entries) > MOST_TRACED:
        raise BadKnob(f"faults.trace has {len(entries)} entries; at most {MOST_TRACED} are allowed.")
    return tuple(sorted(_traced(words, known) for words in entries))


def _traced(words: list[str], known: tuple[str, ...]) -> Traced:
    entry = " ".join(words)[:60]
    if len(words) not in (2, 3):
        raise BadKnob(
            f"faults.trace has the entry {entry!r}; write 'seconds class' or 'seconds class node', such as '12.5 gpu-crash 3'."
        )
    try:
        at = float(words[0])
    except ValueError:
        at = -1.0
    if not (isfinite(at) and at >= 0):
        raise BadKnob(f"faults.trace has {words[0][:40]!r} in {entry!r} where seconds of at least 0 belong.")
    if known and words[1] not in known:
        raise BadKnob(f"faults.trace names the fault {words[1][:40]!r}; {nearest(words[1], known)}")
    node = words[2] if len(words) == 3 else "0"
    if not (node.isascii() and node.isdigit() and len(node) < 7):
        raise BadKnob(f"faults.trace has {node[:40]!r} in {entry!r} where the node's number from 0 belongs.")
    return Traced(at, words[1], int(node))
