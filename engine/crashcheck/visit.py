"""The visit of states: each image is recovered and judged once.

Each failure gets a replay line.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

from ..persistence.crash_media import Power
from ..persistence.media import FunctionalMedia
from ..persistence.models import domain
from . import judge
from .budget import BREAKS, processor_limited
from .judge import CrashVerdict
from .reference_run import Journal, ReferenceRun, Wrap, train, write_start
from .report import CrashReport, Inconsistency
from .states import Counts, CrashPoint, Observer

CONTROLLERS, INTERLEAVE = 2, 256  # of the explorer's small medium: each structure lies on both controllers
MAX_FAILURES = 5


@dataclass(frozen=True)
class Effort:
    """The effort of an exploration.

    states: the limit of unique images of the first power loss.
    lines: the streams that may differ from all others, None for every combination.
    recoveries: the images whose recovery is interrupted by a second power loss.
    resumes: the images from which training goes on to the end.
    damages: the images in which every line in use is lost, and has a flipped bit.
    granularity: the atomic write in bytes.
    """

    states: int = 400
    lines: int | None = 2
    recoveries: int = 3
    resumes: int = 10
    damages: int = 1
    granularity: int = 8


USUAL = Effort()


@dataclass
class Search:
    """One exploration under way.

    reference, seed: the reference run, and the seed of random choices.
    wrap: a function that wraps the medium, or None.
    effort: the effort of the exploration.
    bug, evidence: the seeded bug's name and evidence, or "".
    report: the report so far.
    verdicts: the verdicts on images so far.
    """

    reference: ReferenceRun
    seed: int
    wrap: Wrap | None
    effort: Effort
    bug: str
    evidence: str = ""
    report: CrashReport = field(default_factory=CrashReport)
    verdicts: dict[tuple[bytes, bool, bool], CrashVerdict] = field(default_factory=dict)

    def note(self, model: str, location: str, verdict: CrashVerdict) -> None:
        """Note a state's problem, or its missing verdict, with its replay line."""
        grain = "" if self.effort.granularity == 8 else str(self.effort.granularity)
        parts = [self.reference.configuration.name, model + grain, *([self.bug] if self.bug else [])]
        state = Inconsistency(f"v1:{'~'.join(parts)}:{self.seed}:{location}", verdict.no_verdict or verdict.problem)
        if verdict.no_verdict:
            self.report.no_verdict += 1
            self.report.no_verdict_states.append(state)
            return
        self.report.inconsistent += 1
        if sum(failure.evidence == state.evidence for failure in self.report.failures) < MAX_FAILURES:
            self.report.failures.append(state)

    @property
    def failed(self) -> bool:
        """True if the search can stop: enough failures, or no verdict.

        With a named `evidence`, the search stops once that is found.
        """
        if self.report.no_verdict:
            return True
        return bool(self.report.caught_by(self.evidence)) if self.evidence else len(self.report.failures) >= MAX_FAILURES


def medium_power(model: str, granularity: int) -> Power:
    """Return the `Power` of the explorer's media."""
    return Power(model, CONTROLLERS, INTERLEAVE, granularity)


@processor_limited
def crash_points(reference: ReferenceRun, model: str, granularity: int, wrap: Wrap | None) -> tuple[list[CrashPoint], str]:
    """Run the reference training.

    Return its crash points, and a sentence if it did not end; raises NoVerdict.
    """
    start = FunctionalMedia(reference.layout.nbytes)
    write_start(reference, start)
    journal = Journal()
    observer = Observer(start.durable, medium_power(model, granularity), journal)
    problem = ""
    try:
        train(reference, judge.attach_counted(reference, observer.media, wrap), 0, journal)
    except BREAKS as error:
        problem = f"I1: training ended in {type(error).__name__}: {error}"
    observer.end()
    return observer.points, problem


def visit(search: Search, model: str, point: CrashPoint, counts: Counts, location: str, model_name: str = "") -> bool:
    """Judge a state unless its image has been judged.

    Return whether the image is new and without a problem.
    The replay lines of failures have `model_name`, if given, instead of `model`.
    """
    image = point.image(counts)
    announced = domain(model).announced
    lossy = point.after_loss or (announced and counts != point.sizes)
    key = blake2b(image, digest_size=16).digest(), announced, lossy
    verdict = search.verdicts.get(key)
    search.report.raw_states += 1
    if verdict is None:
        verdict = judge.judge(search.reference, image, point.acknowledged, search.wrap, announced, lossy)
        search.verdicts[key] = verdict
        search.report.refused += verdict.refused
        if verdict.problem or verdict.no_verdict:
            search.note(model_name or model, location, verdict)
        return not verdict.problem and not verdict.no_verdict
    if verdict.batch is not None and verdict.batch < point.acknowledged and not lossy:
        problem = f"I2: recovered to batch {verdict.batch}, though {point.acknowledged} was acknowledged"
        search.note(model_name or model, location, CrashVerdict(verdict.batch, problem))
    return False
