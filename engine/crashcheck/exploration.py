"""The exploration of the crash states of one configuration, or of all, under every persistence model.

    explore("undo-strict")                      # every safe model
    explore("redo-near", wrap=my_broken_media)  # the protocol on a medium that somebody broke
    check(100_000)                              # every configuration: tiny runs to the last combination, small ones further

States are visited from the simplest on: all or nothing at each fence, one stream apart from the others, two, then any
prefixes at random (or every combination, where there are few), each image once. The run is small, the recovery real.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from time import perf_counter

from ..persistence.models import domain
from ..registry import domain_names
from . import far_rows, second_crash, states
from .budget import NoVerdict
from .judge import CrashVerdict
from .reference_run import FAR, PASTS, Configuration, Wrap, configuration, configurations, reference_run
from .report import CrashReport, Inconsistency
from .states import Counts, CrashPoint
from .visit import USUAL, Effort, Search, crash_points, visit

OnProgress = Callable[[float, str], None]  # gets the share that is done, and what comes next
Try = tuple[Configuration, Effort, tuple[str, ...] | None]  # under which models, None for every safe one
ROUGH = Effort(24, 1, 1, 2, 0)
SCALED = """undo-large redo-late-large undo-near-large undo-wide redo-late-wide undo-many redo-near-many
    undo-far redo-checked-far redo-near-far undo-near-checked-far redo-near-checked-mixed-far"""
AT_SCALE = tuple(map(configuration, SCALED.split()))


def safe_models() -> tuple[str, ...]:
    """Return the persistence models under which the protocol promises to recover."""
    return tuple(name for name in domain_names() if domain(name).safe)


def explore(
    of: Configuration | str,
    wrap: Wrap | None = None,
    models: tuple[str, ...] | None = None,
    effort: Effort = USUAL,
    seed: int = 0,
    bug: str = "",
    evidence: str = "",
) -> CrashReport:
    """Explore a configuration on the medium that `wrap` makes; replay lines name `bug`; its `evidence` is the end."""
    of = configuration(of) if isinstance(of, str) else of
    if of.size == FAR:
        return _far(of, wrap, seed, bug)
    reference = reference_run(of, seed)
    search = Search(reference, seed, wrap, effort, bug, evidence)
    started = perf_counter()
    for model in models or safe_models():
        _explore(search, model)
        search.report.models.add(model)
        if search.failed:
            break
    search.report.seconds = perf_counter() - started
    search.report.configurations.add(reference.configuration.name)
    search.report.unique_states += len(search.seen)
    return search.report


def _far(of: Configuration, wrap: Wrap | None, seed: int, bug: str) -> CrashReport:
    """Follow far rows once; the medium keeps each write at once, so persistence models make no difference."""
    report, started = CrashReport(1, 1, 1, configurations={of.name}), perf_counter()
    line = f"v1:{of.name}~adr{f'~{bug}' if bug else ''}:{seed}:0:run"
    try:
        if problem := far_rows.problem(of, seed, wrap):
            report.inconsistent = 1
            report.failures.append(Inconsistency(line, problem))
    except NoVerdict as limit:
        report.no_verdict = 1
        report.no_verdict_states.append(Inconsistency(line, str(limit)))
    report.seconds = perf_counter() - started
    return report


def _explore(search: Search, model: str) -> None:
    effort, room = search.effort, len(search.seen) + search.effort.states
    try:
        points, problem = crash_points(search.reference, model, effort.granularity, search.wrap)
    except NoVerdict as limit:
        search.note(model, "0:run", CrashVerdict(None, no_verdict=str(limit)))
        return
    search.report.points += points[-1].operation
    if problem:
        search.note(model, f"{points[-1].operation}:run", CrashVerdict(None, problem))
        return
    rng = Random(f"{search.reference.configuration.name} {model} {search.seed}")
    chosen: list[tuple[CrashPoint, Counts]] = []
    refused: list[tuple[CrashPoint, Counts]] = []
    for point, counts in choices(points, effort.lines, rng, 4 * effort.states):
        before = search.report.refused
        if visit(search, model, point, counts, f"{point.operation}:{point.name(counts)}"):
            (chosen if search.report.refused == before else refused).append((point, counts))
        if len(search.seen) >= room or search.failed:
            search.report.cut_short.add(model)
            break
    kinds = (
        (chosen, effort.recoveries, second_crash.crash_in_recovery),
        (refused, effort.recoveries, second_crash.crash_in_recovery),
        (chosen, effort.resumes, second_crash.resume),
        (chosen, effort.damages, second_crash.damage),
        (chosen, 8 * effort.damages, second_crash.lose_flag),
    )
    for left, number, further in kinds:
        for point, counts in second_crash.spread(left, number, rng):
            if not search.failed:
                further(search, model, point, counts)


def choices(points: list[CrashPoint], lines: int | None, rng: Random, most: int) -> Iterator[tuple[CrashPoint, Counts]]:
    """Yield what may be left, the simplest first; where `lines` would be too many, as many are drawn at random."""
    for apart in range(0, 3 if lines is None else lines + 1):
        number = sum(states.count_deviating(point.sizes, apart) for point in points)
        if apart == 2 and number > most:
            break
        yield from ((point, counts) for point in points for counts in states.deviating(point.sizes, apart))
    else:
        if lines is None and sum(point.every for point in points) <= 1000 * most:
            yield from ((point, counts) for point in points for counts in states.all_prefixes(point.sizes))
            return
    if (lines is None or lines > 1) and (busy := [point for point in points if len(point.sizes) > 1]):
        yield from ((point, states.random_prefixes(point.sizes, rng)) for point in rng.choices(busy, k=most))


def passing(of: Configuration) -> Configuration:
    """Return the configuration whose batch numbers pass what a counter holds; alike ones take turns with its bits."""
    alike = [one for one in configurations() if one.log == of.log]
    number = alike.index(of)
    return replace(of, past=PASTS[(number + number // len(PASTS)) % len(PASTS)])  # no width meets one peculiarity alone


def efforts(states: int, pairs: int) -> tuple[Effort, Effort]:
    """Return how far tiny and small runs go, so that all `pairs` of configuration and model visit some `states` images."""
    each = max(states // pairs // 4, 4)
    return Effort(each, None, max(each // 50, 1), 2, 0), Effort(2 * each, 2, max(each // 25, 1), max(each // 10, 2), 1)


def check(
    states: int, models: tuple[str, ...] | None = None, seed: int = 0, on_progress: OnProgress = lambda share, what: None
) -> CrashReport:
    """Explore all configurations, small and at scale."""
    every, chosen = configurations(), models or safe_models()
    tiny, small = efforts(states, len(every) * len(chosen))
    usual = [(*pair, chosen) for of in every for pair in ((replace(of, size="tiny"), tiny), (passing(of), small))]
    return follow([*usual, *((of, ROUGH, chosen[:1]) for of in AT_SCALE)], seed, on_progress)


def follow(
    tries: Sequence[Try],
    seed: int,
    on_progress: OnProgress,
    wrap: Wrap | None = None,
    bug: str = "",
    evidence: str = "",
) -> CrashReport:
    """Explore one after the other, with a `bug` until a state shows it by its `evidence`.

    An interrupt ends it with what has been found so far.
    """
    report = CrashReport()
    try:
        for done, (of, effort, models) in enumerate(tries):
            on_progress(done / len(tries), f"{bug and f'{bug}: '}{report.unique_states} states, {of.name}")
            report.add(explore(of, wrap, models, effort, seed, bug, evidence))
            if bug and (report.caught_by(evidence) or report.no_verdict):
                break
    except KeyboardInterrupt:
        report.interrupted = True
    return report
