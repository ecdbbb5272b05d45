"""A replay line: a text that names one crash state.

Its form is v1:<configuration>~<model>[~<bug>]:<seed>:<operation>[/<later>]:<choices>[/<later>]. <operation> is the operation of
the medium at which power is lost; <later> is for up to two later power losses.
Choices are separated by commas: `all`, `none`, or stream=number of words that survive; then `p<address>` for a lost line,
`f<bit>` for a flipped bit, `resume` to continue the training to its end, `format<number>` for a loss while the medium is
formatted over a former content. `run` instead of choices is for a run that does not end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.figures import count
from ..errors import BadInput
from ..persistence.models import domain
from . import judge, second_crash, visit
from .budget import BREAKS, NoVerdict, failure_sentence
from .judge import CrashVerdict
from .probes import formatting
from .probes.single_runs import single_run_problem
from .reference_run import SINGLE_RUNS, Configuration, ReferenceRun, Wrap, configuration, reference_run
from .states import Counts, CrashPoint

LINE = re.compile(
    r"v1:(?P<of>[a-z0-9-]{3,60})~(?P<models>[a-z_]{2,20}(\.[a-z_]{2,20}){0,2})(?P<grain>64|256)?(~(?P<bug>\w{1,80}))?"
    r":(?P<seed>\d{1,9}):(?P<operations>\d{1,7}(/\d{1,7}){0,2}):(?P<choices>[a-z0-9=,/-]{1,8000})",
    re.ASCII,
)
TOKEN = re.compile(r"(-?\d{1,9})=(\d{1,6})|([pf])(\d{1,9})|(all|none|resume|run)|format([0-4])", re.ASCII)
EXAMPLE = "v1:undo~adr:0:37:65=3,66=8"


@dataclass(frozen=True)
class CrashChoice:
    """The words that survive one power loss, and the damage after it.

    words: the number of surviving words by stream; None if all words survive.
    poisons: the addresses of lost lines.
    flips: the numbers of flipped bits.
    resume: True to continue the training to its end.
    run: True for a run that does not end.
    former_content: the number of the medium's former content, for a loss while it is formatted; None while training.
    """

    words: Mapping[int, int] | None
    poisons: tuple[int, ...] = ()
    flips: tuple[int, ...] = ()
    resume: bool = False
    run: bool = False
    former_content: int | None = None


@dataclass(frozen=True)
class ReplayedState:
    """The parts of a replay line.

    configuration, seed: the configuration and the seed of the reference run.
    models: the persistence model of each power loss.
    granularity: the number of bytes that are written atomically.
    bug: the name of a seeded bug, or "".
    operations: the numbers of the medium's operations at which power is lost, one to three.
    choices: the surviving words at each power loss.
    """

    configuration: Configuration
    models: tuple[str, ...]
    granularity: int
    bug: str
    seed: int
    operations: tuple[int, ...]
    choices: tuple[CrashChoice, ...]

    @property
    def model(self) -> str:
        """The persistence model of the first power loss."""
        return self.models[0]


def read_line(line: str) -> ReplayedState:
    """Return the parts of a replay line; raises BadInput for any other text."""
    match = LINE.fullmatch(line.strip()) if len(line) <= 10_000 else None
    if match is None:
        raise BadInput(f"{line[:60]!r} is not a replay line; copy a whole one, such as {EXAMPLE}.")
    operations = tuple(map(int, match["operations"].split("/")))
    choices = tuple(_choice(text) for text in match["choices"].split("/"))
    if len(choices) != len(operations):
        raise BadInput(
            f"The replay line has {count(len(operations), 'power loss')} but {count(len(choices), 'choice')}; copy "
            "the whole line."
        )
    named_models = match["models"].split(".")
    models = (*named_models, *named_models[:1] * len(operations))[: len(operations)]
    for model in named_models:
        domain(model)
    grain = int(match["grain"] or 8)
    return ReplayedState(
        configuration(match["of"]),
        models,
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
    state = read_line(line)
    try:
        return _replay(state, wrap)
    except NoVerdict as limit:
        return CrashVerdict(None, no_verdict=str(limit))
    except BREAKS as error:
        return CrashVerdict(None, failure_sentence(error))


def _replay(state: ReplayedState, wrap: Wrap | None) -> CrashVerdict:
    if state.configuration.size in SINGLE_RUNS and state.choices[0].run:
        return CrashVerdict(None, single_run_problem(state.configuration, state.seed, wrap))
    reference, content = reference_run(state.configuration, state.seed), state.choices[0].former_content
    if content is None:
        points, problem = visit.crash_points(reference, state.model, state.granularity, wrap)
    else:
        points, problem = formatting.format_points(reference, state.model, state.granularity, wrap, content)
    if state.choices[0].run:
        return CrashVerdict(None, problem)
    point, counts = chosen_state(points, state.operations[0], state.choices[0])
    for number, (operation, choice) in enumerate(zip(state.operations[1:], state.choices[1:], strict=True)):
        models = state.models[number], state.models[number + 1]
        later_points = second_crash.after_recovery(reference, models, point, counts, state.granularity, wrap)
        point, counts = chosen_state(later_points, operation, choice)
    last_choice, announced = state.choices[-1], domain(state.models[-1]).announced
    if content is not None:
        is_done = bool(point.acknowledged) and not (announced and counts != point.sizes)
        return formatting.judge_format(reference, point.image(counts), content, is_done, wrap)
    return _verdict(reference, point, counts, last_choice, announced, wrap)


def _verdict(
    reference: ReferenceRun, point: CrashPoint, counts: Counts, choice: CrashChoice, announced: bool, wrap: Wrap | None
) -> CrashVerdict:
    image = point.image(counts)
    if choice.resume:
        return judge.judge_resumed(reference, image, point.acknowledged, wrap)
    if choice.poisons or choice.flips:
        if max(*choice.poisons, *(bit // 8 for bit in choice.flips), 0) >= reference.layout.nbytes:
            raise BadInput(
                f"The replay line damages bytes outside the medium of {count(reference.layout.nbytes, 'byte')}; "
                "copy the whole line."
            )
        return judge.judge_damaged(reference, image, point.acknowledged, choice.poisons, choice.flips, wrap)
    lossy = point.after_loss or (announced and counts != point.sizes)
    return judge.judge(reference, image, point.acknowledged, wrap, announced, lossy, point.maybe_dirty)


def _choice(text: str) -> CrashChoice:
    tokens = [TOKEN.fullmatch(word) for word in text.split(",")]
    if not all(tokens):
        raise BadInput(f"{text[:60]!r} is not a choice of a replay line; write all, none or stream=words, such as 65=3.")
    matches = [token for token in tokens if token]
    names = {token[5] for token in matches if token[5]}
    words = {int(token[1]): int(token[2]) for token in matches if token[1]}
    places = {kind: tuple(int(token[4]) for token in matches if token[3] == kind) for kind in "pf"}
    contents = [int(token[6]) for token in matches if token[6]]
    survivors = None if "all" in names else words
    content = contents[0] if contents else None
    return CrashChoice(survivors, places["p"], places["f"], "resume" in names, "run" in names, content)


def chosen_state(points: Sequence[CrashPoint], operation: int, choice: CrashChoice) -> tuple[CrashPoint, Counts]:
    """Return (crash point, numbers of surviving words) of a choice at an operation.

    Raises BadInput if the run has no crash point at this operation.
    """
    for point in points:
        if point.operation == operation:
            return point, point.sizes if choice.words is None else point.counts(choice.words)
    operations = ", ".join(str(point.operation) for point in points[:40])
    raise BadInput(f"At operation {operation} no writes are pending, so power cannot be lost there; choose one of {operations}.")
