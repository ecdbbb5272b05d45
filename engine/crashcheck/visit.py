"""The visit of crash states: each image is recovered and judged once.

Each failure gets a replay line.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

from ..core.arithmetic import total
from ..persistence.crash_media import Power
from ..persistence.media import FunctionalMedia
from ..persistence.models import domain
from . import judge
from .budget import BREAKS, processor_limited
from .judge import CrashVerdict
from .reference_run import Journal, ReferenceRun, Wrap, train, write_start
from .report import CrashReport, Inconsistency
from .statement.stated_recovery import statement
from .states import Counts, CrashPoint, Observer

CONTROLLERS, INTERLEAVE = 2, 256  # of the explorer's small medium: each structure lies on both controllers
MAX_FAILURES = 5


@dataclass(frozen=True)
class Effort:
    """The numbers of states to explore, for one configuration and one persistence model.

    states: the most different images after the first power loss.
    lines: the most streams that differ from all others; None for every combination.
    recoveries: the number of images whose recovery is interrupted by a second power loss.
    resumes: the number of images from which training continues to its end.
    damages: the number of images in which each used line is lost, and has a bit flipped.
    granularity: the number of bytes that are written atomically.
    formats: the most images of an interrupted format, for each former content of the medium.
    """

    states: int = 400
    lines: int | None = 2
    recoveries: int = 3
    resumes: int = 10
    damages: int = 1
    granularity: int = 8
    formats: int = 0


USUAL = Effort(formats=20)


@dataclass
class Search:
    """The state of one exploration.

    reference: the reference run.
    seed: the seed of random choices.
    wrap: a function that wraps the medium, or None.
    effort: the numbers of states to explore.
    bug: the name of a seeded bug, or "".
    evidence: the failure that the bug should show, or "".
    report: the report so far.
    verdicts: the verdicts so far, by the digest of the image and whether losses are announced and possible.
    """

    reference: ReferenceRun
    seed: int
    wrap: Wrap | None
    effort: Effort
    bug: str
    evidence: str = ""
    report: CrashReport = field(default_factory=CrashReport)
    verdicts: dict[tuple[bytes, bool, bool, bool], CrashVerdict] = field(default_factory=dict)

    def note(self, model: str, location: str, verdict: CrashVerdict) -> None:
        """Add a state with a problem or without a verdict to the report.

        `location` is the end of its replay line.
        """
        grain = "" if self.effort.granularity == 8 else str(self.effort.granularity)
        parts = [self.reference.configuration.name, model + grain, *([self.bug] if self.bug else [])]
        state = Inconsistency(f"v1:{'~'.join(parts)}:{self.seed}:{location}", verdict.no_verdict or verdict.problem)
        if verdict.no_verdict:
            self.report.no_verdict += 1
            self.report.no_verdict_states.append(state)
            return
        self.report.inconsistent += 1
        if total(failure.evidence == state.evidence for failure in self.report.failures) < MAX_FAILURES:
            self.report.failures.append(state)

    @property
    def failed(self) -> bool:
        """True if the search can stop: after enough failures, or a state without a verdict.

        If `evidence` is set, the search stops only once a failure shows it.
        """
        if self.report.no_verdict:
            return True
        if self.evidence:
            return bool(self.report.caught_by(self.evidence))
        return total(failure.shows_loss for failure in self.report.failures) >= MAX_FAILURES


def medium_power(model: str, granularity: int) -> Power:
    """Return the behaviour at a power loss of the media that the checker uses."""
    return Power(model, CONTROLLERS, INTERLEAVE, granularity)


@processor_limited
def crash_points(reference: ReferenceRun, model: str, granularity: int, wrap: Wrap | None) -> tuple[list[CrashPoint], str]:
    """Return the crash points of the reference training, and a sentence if it failed.

    The sentence is "" for a training that ended. Raises NoVerdict.
    """
    start, journal, problem = FunctionalMedia(reference.layout.nbytes), Journal(), ""
    try:
        write_start(reference, start)
    except BREAKS as error:
        problem = f"I1: formatting ended in {type(error).__name__}: {error}"
    observer = Observer(start.durable, medium_power(model, granularity), journal)
    if problem:
        observer.end()
        return observer.points, problem
    try:
        train(reference, judge.attach_counted(reference, observer.media, wrap), 0, journal)
    except BREAKS as error:
        problem = f"I1: training ended in {type(error).__name__}: {error}"
    observer.end()
    return observer.points, problem or _unlike_statement(reference, model, observer.points)


def _unlike_statement(reference: ReferenceRun, model: str, points: list[CrashPoint]) -> str:
    """Return a sentence if training has not written the stated records, words and rows (I9), else ""."""
    for point in points:
        if wrong := statement(reference).wrong_word(point.image(point.sizes)):
            return f"I9: at operation {point.operation} of training, {wrong}"
    end = points[-1].image(points[-1].sizes)
    outcome = statement(reference).outcome(end)
    wrong = outcome.refusal or statement(reference).wrong_rest(end, outcome.batch, outcome.mlp_batch, False)
    return wrong and f"I9: after training, {wrong}"


def visit(search: Search, model: str, point: CrashPoint, counts: Counts, location: str, model_name: str = "") -> bool:
    """Judge a state; return True if its image is new and has no problem.

    An image that was judged before is not recovered again. The replay lines of failures name `model_name`, if given, instead of
    `model`.
    """
    image = point.image(counts)
    announced = domain(model).announced
    lossy = point.after_loss or (announced and counts != point.sizes)
    key = blake2b(image, digest_size=16).digest(), announced, lossy, point.maybe_dirty
    verdict = search.verdicts.get(key)
    search.report.raw_states += 1
    if verdict is None:
        verdict = judge.judge(search.reference, image, point.acknowledged, search.wrap, announced, lossy, point.maybe_dirty)
        search.verdicts[key] = verdict
        search.report.refused += verdict.refused
        if verdict.problem or verdict.no_verdict:
            search.note(model_name or model, location, verdict)
        return not verdict.no_verdict and (not verdict.problem or verdict.is_exact)
    if verdict.batch is not None and verdict.batch < point.acknowledged and not lossy:
        problem = f"I2: recovered to batch {verdict.batch}, though {point.acknowledged} was acknowledged"
        search.note(model_name or model, location, CrashVerdict(verdict.batch, problem))
    return False
