"""A replay line names one state: v1:<configuration>~<model>[~<bug>]:<seed>:<operation>[/<second>]:<choices>[/<second>].

Choices are separated by commas: `all`, `none`, or stream=words kept; then `p<address>` for a line lost, `f<bit>` for a bit
flipped, `resume` to train on to the end. `run` instead of them replays a run that does not come to its end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import BadInput
from ..persistence.models import domain
from . import far_rows, judge, second_crash, visit
from .budget import NoVerdict
from .judge import CrashVerdict
from .reference_run import FAR, Configuration, Wrap, configuration, reference_run
from .states import Counts, CrashPoint

LINE = re.compile(
    r"v1:(?P<of>[a-z0-9-]{3,60})~(?P<model>[a-z_]{2,20})(\.(?P<again>[a-z_]{2,20}))?(?P<grain>64|256)?(~(?P<bug>\w{1,80}))?"
    r":(?P<seed>\d{1,9}):(?P<first>\d{1,7})(/(?P<second>\d{1,7}))?:(?P<choices>[a-z0-9=,/-]{1,8000})",
    re.ASCII,
)
TOKEN = re.compile(r"(-?\d{1,9})=(\d{1,6})|([pf])(\d{1,9})|(all|none|resume|run)", re.ASCII)
EXAMPLE = "v1:undo~adr:0:37:65=3,66=8"


@dataclass(frozen=True)
class CrashChoice:
    """What was left at one point: `words` is None for all, else words kept by stream; then what was damaged."""

    words: Mapping[int, int] | None
    poisons: tuple[int, ...] = ()
    flips: tuple[int, ...] = ()
    resume: bool = False
    run: bool = False


@dataclass(frozen=True)
class ReplayedState:
    """A replay line, read: which run, where power was lost, once or twice, and what was left each time."""

    configuration: Configuration
    model: str
    again: str
    granularity: int
    bug: str
    seed: int
    operations: tuple[int, ...]
    choices: tuple[CrashChoice, ...]


def read(line: str) -> ReplayedState:
    """Read a replay line; raises BadInput with a sentence for what is none."""
    found = LINE.fullmatch(line.strip()) if len(line) <= 10_000 else None
    if found is None:
        raise BadInput(f"{line[:60]!r} is not a replay line; copy one whole, such as {EXAMPLE}.")
    operations = tuple(int(found[name]) for name in ("first", "second") if found[name])
    choices = tuple(_choice(text) for text in found["choices"].split("/"))
    if len(choices) != len(operations):
        raise BadInput(f"The replay line names {len(operations)} power losses and {len(choices)} choices; copy one whole.")
    again = found["again"] or found["model"]
    for model in (found["model"], again):
        domain(model)
    grain = int(found["grain"] or 8)
    return ReplayedState(
        configuration(found["of"]), found["model"], again, grain, found["bug"] or "", int(found["seed"]), operations, choices
    )


def replay(line: str, wrap: Wrap | None = None) -> CrashVerdict:
    """Replay a line and judge the state again; raises BadInput where its run has no such state."""
    try:
        return _replay(read(line), wrap)
    except NoVerdict as limit:
        return CrashVerdict(None, no_verdict=str(limit))


def _replay(asked: ReplayedState, wrap: Wrap | None) -> CrashVerdict:
    if asked.configuration.size == FAR and asked.choices[0].run:
        return CrashVerdict(None, far_rows.problem(asked.configuration, asked.seed, wrap))
    reference = reference_run(asked.configuration, asked.seed)
    points, problem = visit.crash_points(reference, asked.model, asked.granularity, wrap)
    if asked.choices[0].run:
        return CrashVerdict(None, problem)
    point, counts = chosen(points, asked.operations[0], asked.choices[0])
    if len(asked.operations) == 2:
        inside = second_crash.after_recovery(reference, (asked.model, asked.again), point, counts, asked.granularity, wrap)
        point, counts = chosen(inside, asked.operations[1], asked.choices[1])
    last, image, announced = asked.choices[-1], point.image(counts), domain(asked.again).announced
    if last.resume:
        return judge.judge_resumed(reference, image, point.acknowledged, wrap)
    if last.poisons or last.flips:
        if max(*last.poisons, *(bit // 8 for bit in last.flips), 0) >= reference.layout.nbytes:
            raise BadInput(
                f"The replay line damages what lies outside the medium of {reference.layout.nbytes} bytes; copy one whole."
            )
        return judge.judge_damaged(reference, image, point.acknowledged, last.poisons, last.flips, wrap)
    lossy = point.after_loss or (announced and counts != point.sizes)
    return judge.judge(reference, image, point.acknowledged, wrap, announced, lossy)


def _choice(text: str) -> CrashChoice:
    tokens = [TOKEN.fullmatch(word) for word in text.split(",")]
    if not all(tokens):
        raise BadInput(f"{text[:60]!r} is no choice of a replay line; write all, none or stream=words, such as 65=3.")
    found = [token for token in tokens if token]
    names = {token[5] for token in found if token[5]}
    words = {int(token[1]): int(token[2]) for token in found if token[1]}
    places = {kind: tuple(int(token[4]) for token in found if token[3] == kind) for kind in "pf"}
    return CrashChoice(None if "all" in names else words, places["p"], places["f"], "resume" in names, "run" in names)


def chosen(points: Sequence[CrashPoint], operation: int, choice: CrashChoice) -> tuple[CrashPoint, Counts]:
    """Return the point at an operation and what was left there; raises BadInput where there is none."""
    for point in points:
        if point.operation == operation:
            return point, point.sizes if choice.words is None else point.counts(choice.words)
    near = ", ".join(str(point.operation) for point in points[:40])
    raise BadInput(f"The run cannot lose power with writes pending at operation {operation}; it can at {near}.")
