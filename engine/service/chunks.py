"""Chunks of full runs for one worker: undisturbed ones with like batches together, as many as take a moment.

What their batches ask for is counted once for all. How long that and each point takes is found out by computing a few.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

from ..scenario.keys import texts
from ..scenario.scenario import Scenario
from .queue import OpenPoint, Turn
from .worker import Chunk, ChunkEnd

CHUNK_SECONDS = 0.25
MOST = 64  # so that little is computed again after a crash
OTHERS = ("machine.", "policy.")  # knobs that change no batch
USUAL = texts(Scenario())


class Along:
    """How many points of each kind take CHUNK_SECONDS, as far as that is known; used by the one owner only."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.flying: dict[tuple[str, ...], str] = {}

    def choose(self, turn: Turn, points: Iterable[OpenPoint]) -> list[OpenPoint]:
        """Return the first few of some points, which go together; one, where it goes by itself."""
        first, *others = points
        alike = kind(turn, first)
        if not alike:
            return [first]
        return [first, *takewhile(lambda point: kind(turn, point) == alike, others)][: self.sizes.get(alike, 1)]

    def begin(self, turn: Turn, chunk: Chunk) -> None:
        """Note what kind a chunk of full runs is of."""
        self.flying[chunk.keys] = kind(turn, OpenPoint(*chunk.points[0], chunk.functional_class))

    def note(self, ended: ChunkEnd) -> None:
        """Learn from an answer how many of its kind go next."""
        alike = self.flying.pop(ended.keys, "")
        if alike and ended.computed and ended.seconds:
            pace = max(ended.seconds / ended.computed, 1e-6)
            self.sizes[alike] = max(1, min(int(CHUNK_SECONDS / pace), 4 * self.sizes.get(alike, 1), MOST))


def kind(turn: Turn, point: OpenPoint) -> str:
    """Return what the batches of a calm full run depend on; "" for a run that may train, be struck, or read a file."""
    known = _unusual(turn.base)
    changes = {path: text for path, text in json.loads(point.changes).items() if path in known or USUAL[path] != text}
    changed = known | changes
    struck = any(path.startswith("faults.") for path in changed)
    if turn.how != "full" or turn.data or struck or changed.get("run.training") != "off":
        return ""
    return json.dumps([item for item in sorted(changed.items()) if not item[0].startswith(OTHERS)])


@lru_cache(maxsize=64)
def _unusual(base: str) -> dict[str, str]:
    """Return what a request's points have in common, as far as it is not every knob's default."""
    return {path: text for path, text in json.loads(base).items() if USUAL[path] != text}
