"""A replay line: a text that names one crash state.

Its form is v1:<configuration>~<model>[~<bug>]:<seed>:<operation>[/<second>]:<choices>[/<second>]. <operation> is the operation of
the medium at which power is lost; <second> is for a second power loss.
Choices are separated by commas: `all`, `none`, or stream=number of words that survive; then `p<address>` for a lost line,
`f<bit>` for a flipped bit, `resume` to continue the training to its end. `run` instead of choices is for a run that does not end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import BadInput
from ..persistence.models import domain
from . import far_rows, judge, second_crash, visit
from .budget import NoVerdict
from .judge import CrashVerdict
from .reference_run import FAR_SIZE, Configuration, Wrap, configuration, reference_run
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
    """The words that survive one power loss, and the damage after it.

    words: the number of surviving words by stream; None if all words survive.
    poisons: the addresses of lost lines.
    flips: the numbers of flipped bits.
    resume: True to continue the training to its end.
    run: True for a run that does not end.
    """

    words: Mapping[int, int] | None
    poisons: tuple[int, ...] = ()
    flips: tuple[int, ...] = ()
    resume: bool = False
    run: bool = False


@dataclass(frozen=True)
class ReplayedState:
    """The parts of a replay line.

    configuration, seed: the configuration and the seed of the reference run.
    model, second_model: the persistence models of the first and the second power loss.
    granularity: the number of bytes that are written atomically.
    bug: the name of a seeded bug, or "".
    operations: the numbers of the medium's operations at which power is lost, one or two.
    choices: the surviving words at each power loss.
    """

    configuration: Configuration
    model: str
    second_model: str
    granularity: int
    bug: str
    seed: int
    operations: tuple[int, ...]
    choices: tuple[CrashChoice, ...]


def read_line(line: str) -> ReplayedState:
    """Return the parts of a replay line; raises BadInput for any other text."""
    match = LINE.fullmatch(line.strip()) if len(line) <= 10_000 else None
    if match is None:
        raise BadInput(f"{line[:60]!r} is not a replay line; copy a whole one, such as {EXAMPLE}.")
    operations = tuple(int(match[name]) for name in ("first", "second") if match[name])
    choices = tuple(_choice(text) for text in match["choices"].split("/"))
    if len(choices) != len(operations):
        raise BadInput(f"The replay line has {len(operations)} power losses but {len(choices)} choices; copy the whole line.")
    second_model = match["again"] or match["model"]
    for model in (match["model"], second_model):
        domain(model)
    grain = int(match["grain"] or 8)
    return ReplayedState(
        configuration(match["of"]),
        match["model"],
        second_model,
        grain,
        match["bug"] or "",
        int(match["seed"]),
        operations,
        choices,
    )


def replay(line: str, wrap: Wrap | None = None) -> CrashVerdict:
    """Return the verdict on the state that a replay line names.

    The state is computed again. Raises BadInput if the run has no such state.
    """
    try:
        return _replay(read_line(line), wrap)
    except NoVerdict as limit:
        return CrashVerdict(None, no_verdict=str(limit))


def _replay(state: ReplayedState, wrap: Wrap | None) -> CrashVerdict:
    if state.configuration.size == FAR_SIZE and state.choices[0].run:
        return CrashVerdict(None, far_rows.far_rows_problem(state.configuration, state.seed, wrap))
    reference = reference_run(state.configuration, state.seed)
    points, problem = visit.crash_points(reference, state.model, state.granularity, wrap)
    if state.choices[0].run:
        return CrashVerdict(None, problem)
    point, counts = chosen_state(points, state.operations[0], state.choices[0])
    if len(state.operations) == 2:
        recovery_points = second_crash.after_recovery(
            reference, (state.model, state.second_model), point, counts, state.granularity, wrap
        )
        point, counts = chosen_state(recovery_points, state.operations[1], state.choices[1])
    last_choice, image, announced = state.choices[-1], point.image(counts), domain(state.second_model).announced
    if last_choice.resume:
        return judge.judge_resumed(reference, image, point.acknowledged, wrap)
    if last_choice.poisons or last_choice.flips:
        if max(*last_choice.poisons, *(bit // 8 for bit in last_choice.flips), 0) >= reference.layout.nbytes:
            raise BadInput(
                f"The replay line damages bytes outside the medium of {reference.layout.nbytes} bytes; copy the whole line."
            )
        return judge.judge_damaged(reference, image, point.acknowledged, last_choice.poisons, last_choice.flips, wrap)
    lossy = point.after_loss or (announced and counts != point.sizes)
    return judge.judge(reference, image, point.acknowledged, wrap, announced, lossy)


def _choice(text: str) -> CrashChoice:
    tokens = [TOKEN.fullmatch(word) for word in text.split(",")]
    if not all(tokens):
        raise BadInput(f"{text[:60]!r} is not a choice of a replay line; write all, none or stream=words, such as 65=3.")
    matches = [token for token in tokens if token]
    names = {token[5] for token in matches if token[5]}
    words = {int(token[1]): int(token[2]) for token in matches if token[1]}
    places = {kind: tuple(int(token[4]) for token in matches if token[3] == kind) for kind in "pf"}
    return CrashChoice(None if "all" in names else words, places["p"], places["f"], "resume" in names, "run" in names)


def chosen_state(points: Sequence[CrashPoint], operation: int, choice: CrashChoice) -> tuple[CrashPoint, Counts]:
    """Return (crash point, numbers of surviving words) of a choice at an operation.

    Raises BadInput if the run has no crash point at this operation.
    """
    for point in points:
        if point.operation == operation:
            return point, point.sizes if choice.words is None else point.counts(choice.words)
    operations = ", ".join(str(point.operation) for point in points[:40])
    raise BadInput(f"At operation {operation} no writes are pending, so power cannot be lost there; choose one of {operations}.")
