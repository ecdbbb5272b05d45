"""The exploration of crash states, by configuration and persistence model.

    explore("undo-strict")                      # every safe model
    explore("redo-near", wrap=my_broken_media)  # the protocol on a broken medium
    check(100_000)                              # every configuration: all combinations in tiny runs, samples in small ones

The simplest states come first: all pending writes survive, or none; then states in which one stream of pending writes differs
from the others, then two; then random prefixes, or every combination if there are few. Each image is judged once. The training
run is small; the recovery is the code that the simulator uses.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from time import perf_counter

from ..core.arithmetic import total
from ..core.figures import count
from ..persistence.models import domain
from ..registry import domain_names
from . import second_crash, states
from .budget import BREAKS, NoVerdict, failure_sentence
from .judge import CrashVerdict
from .probes import formatting
from .probes.single_runs import single_run_problem
from .reference_run import COUNTER_BITS, SINGLE_RUNS, Configuration, Wrap, configuration, configurations, reference_run
from .report import CrashReport, Inconsistency
from .states import Counts, CrashPoint
from .visit import USUAL, Effort, Search, crash_points, visit

OnProgress = Callable[[float, str], None]  # receives the share that is done, and a text on the next step
Try = tuple[Configuration, Effort, tuple[str, ...] | None]  # with the persistence models, None for all safe ones
MORE_TRIES = 12  # configurations and efforts
ROUGH_EFFORT = Effort(24, 1, 1, 2, 0)
SCALED = """undo-media undo-misuse redo-misuse redo-checked-mixed-misuse undo-writer redo-writer undo-relaxed-near-writer
    redo-relaxed-checked-mixed-writer undo-uneven redo-late-uneven redo-near-uneven undo-relaxed-uneven undo-mixed-uneven
    redo-checked-mixed-uneven undo-large redo-late-large undo-near-large undo-wide redo-late-wide undo-many redo-near-many
    undo-far redo-checked-far redo-near-far undo-near-checked-far redo-near-checked-mixed-far undo-adagrad-gpus-writer
    redo-relaxed-near-gpus-writer undo-relaxed-gpus-uneven redo-near-gpus-large"""
SCALED_CONFIGURATIONS = tuple(map(configuration, SCALED.split()))


def safe_models() -> tuple[str, ...]:
    """Return the names of the persistence models under which recovery is promised."""
    return tuple(name for name in domain_names() if domain(name).safe)


def explore(
    variant: Configuration | str,
    wrap: Wrap | None = None,
    models: tuple[str, ...] | None = None,
    effort: Effort = USUAL,
    seed: int = 0,
    bug: str = "",
    evidence: str = "",
) -> CrashReport:
    """Explore the crash states of one configuration; return counts and failures.

    variant: the configuration, or its name.
    wrap: a function that wraps the medium, for a broken protocol.
    models: the names of persistence models; None for all safe models.
    effort: the number of states of each kind.
    seed: the seed of random choices.
    bug: the name of a seeded bug for the replay lines, or "".
    evidence: the failure that ends the exploration, or "".
    """
    variant, models = configuration(variant) if isinstance(variant, str) else variant, models or safe_models()
    for model in models:
        domain(model)
    try:
        if variant.size in SINGLE_RUNS:
            return _run_once(variant, wrap, seed, bug)
        return _explore_states(variant, wrap, models, effort, seed, bug, evidence)
    except BREAKS as error:
        failure = Inconsistency(_line_of_run(variant, models[0], seed, bug), failure_sentence(error))
        return CrashReport(inconsistent=1, configurations={variant.name}, failures=[failure])


def _line_of_run(variant: Configuration, model: str, seed: int, bug: str) -> str:
    """Return the replay line of a run that does not end as it should; probes of SINGLE_RUNS are for all models."""
    model = "adr" if variant.size in SINGLE_RUNS else model
    return f"v1:{variant.name}~{model}{f'~{bug}' if bug else ''}:{seed}:0:run"


def _explore_states(
    variant: Configuration, wrap: Wrap | None, models: tuple[str, ...], effort: Effort, seed: int, bug: str, evidence: str
) -> CrashReport:
    reference = reference_run(variant, seed)
    search = Search(reference, seed, wrap, effort, bug, evidence)
    started = perf_counter()
    for model in models:
        _explore(search, model)
        search.report.models.add(model)
        if search.failed:
            break
    search.report.seconds = perf_counter() - started
    search.report.configurations.add(reference.configuration.name)
    search.report.unique_states += len(search.verdicts)
    return search.report


def _run_once(variant: Configuration, wrap: Wrap | None, seed: int, bug: str) -> CrashReport:
    """Run a probe of SINGLE_RUNS once, for all persistence models."""
    report, started = CrashReport(1, 1, 1, configurations={variant.name}), perf_counter()
    line = _line_of_run(variant, "", seed, bug)
    try:
        if problem := single_run_problem(variant, seed, wrap):
            report.inconsistent = 1
            report.failures.append(Inconsistency(line, problem))
    except NoVerdict as limit:
        report.no_verdict = 1
        report.no_verdict_states.append(Inconsistency(line, str(limit)))
    report.seconds = perf_counter() - started
    return report


def _explore(search: Search, model: str) -> None:
    effort, room = search.effort, len(search.verdicts) + search.effort.states
    try:
        points, problem = crash_points(search.reference, model, effort.granularity, search.wrap)
    except NoVerdict as limit:
        search.note(model, "0:run", CrashVerdict(None, no_verdict=str(limit)))
        return
    search.report.points += points[-1].operation
    if problem:  # the states before the end of a broken run are explored too
        search.note(model, f"{points[-1].operation}:run", CrashVerdict(None, problem))
        if len(points) == 1:  # the first format has failed
            return
    rng = Random(f"{search.reference.configuration.name} {model} {search.seed}")
    recovered_states: list[tuple[CrashPoint, Counts]] = []
    refused_states: list[tuple[CrashPoint, Counts]] = []
    for point, counts in choices(points, effort.lines, rng, 4 * effort.states):
        refused_before = search.report.refused
        if visit(search, model, point, counts, f"{point.operation}:{point.name(counts)}"):
            (recovered_states if search.report.refused == refused_before else refused_states).append((point, counts))
        if len(search.verdicts) >= room or search.failed:
            search.report.cut_short.add(model)
            break
    _examine(search, model, recovered_states, refused_states, rng)
    if effort.formats and not search.failed:
        _explore_formats(search, model, rng)


def _examine(
    search: Search,
    model: str,
    recovered_states: list[tuple[CrashPoint, Counts]],
    refused_states: list[tuple[CrashPoint, Counts]],
    rng: Random,
) -> None:
    """Judge later losses, resumed runs and damages of some states."""
    effort = search.effort
    kinds = (
        (recovered_states, effort.recoveries, second_crash.crash_in_recovery),
        (refused_states, effort.recoveries, second_crash.crash_in_recovery),
        (recovered_states, effort.resumes, second_crash.judge_resume),
        (recovered_states, effort.damages, second_crash.judge_damages),
        (recovered_states, 8 * effort.damages, second_crash.lose_flag),
    )
    for crash_states, number, examine in kinds:
        by_flags = search.reference if examine is second_crash.crash_in_recovery else None
        for point, counts in second_crash.spread(crash_states, number, rng, by_flags):
            if not search.failed:
                examine(search, model, point, counts)


def _explore_formats(search: Search, model: str, rng: Random) -> None:
    """Explore interrupted formats of a fresh and of used media."""
    effort, announced = search.effort, domain(model).announced
    for content in range(len(formatting.FORMER_CONTENTS)):
        try:
            points, problem = formatting.format_points(search.reference, model, effort.granularity, search.wrap, content)
        except NoVerdict as limit:
            return search.note(model, f"0:run,format{content}", CrashVerdict(None, no_verdict=str(limit)))
        if problem:
            search.note(model, f"{points[-1].operation}:run,format{content}", CrashVerdict(None, problem))
        states_of_points = list(choices(points, 1, rng, effort.formats))
        last = [(point, point.sizes) for point in points[-1:]]
        for point, counts in (*second_crash.spread(states_of_points, effort.formats, rng), *last):
            is_done = bool(point.acknowledged) and not (announced and counts != point.sizes)
            verdict = formatting.judge_format(search.reference, point.image(counts), content, is_done, search.wrap)
            search.report.formatted += 1
            if verdict.problem or verdict.no_verdict:
                search.note(model, f"{point.operation}:{point.name(counts)},format{content}", verdict)
            if search.failed:
                return None
    return None


def choices(points: list[CrashPoint], lines: int | None, rng: Random, limit: int) -> Iterator[tuple[CrashPoint, Counts]]:
    """Yield (crash point, numbers of surviving words) of states, the simplest first.

    lines: the largest number of streams that differ from all others; None for every combination.
    limit: if there are more states than this, states are drawn at random.
    """
    for num_deviating in range(0, 3 if lines is None else lines + 1):
        number = total(states.count_deviating(point.sizes, num_deviating) for point in points)
        if num_deviating == 2 and number > limit:
            break
        yield from ((point, counts) for point in points for counts in states.deviating_counts(point.sizes, num_deviating))
    else:
        if lines is None and total(point.num_combinations for point in points) <= 1000 * limit:
            yield from ((point, counts) for point in points for counts in states.all_prefixes(point.sizes))
            return
    if (lines is None or lines > 1) and (busy := [point for point in points if len(point.sizes) > 1]):
        yield from ((point, states.random_prefixes(point.sizes, rng)) for point in rng.choices(busy, k=limit))


def with_counter_overflow(variant: Configuration) -> Configuration:
    """Return the configuration with batch numbers that overflow a counter.

    The width of the counter, 8 to 53 bits, differs from variant to variant.
    """
    same_log_variants = [candidate for candidate in configurations() if candidate.log == variant.log]
    number = same_log_variants.index(variant)
    return replace(
        variant, past=COUNTER_BITS[(number + number // len(COUNTER_BITS)) % len(COUNTER_BITS)]
    )  # each width meets several features


def efforts(states: int, pairs: int) -> tuple[Effort, Effort]:
    """Return the efforts for tiny and for small runs that visit `states` images in all.

    `pairs` is the number of pairs of a configuration and a persistence model, each explored in a tiny and in a small run.
    """
    states_per_pair = max(states // pairs // 4, 4)
    return Effort(states_per_pair, None, max(states_per_pair // 50, 1), 2, 0), Effort(
        2 * states_per_pair,
        2,
        max(states_per_pair // 25, 1),
        max(states_per_pair // 10, 2),
        1,
        formats=max(states_per_pair // 20, 2),
    )


def check(
    states: int, models: tuple[str, ...] | None = None, seed: int = 0, on_progress: OnProgress = lambda share, message: None
) -> CrashReport:
    """Explore all configurations in tiny and small runs, and some in large runs.

    `states` is the number of images to judge. The result has the counts and failures.
    """
    variants, checked_models = configurations(), models or safe_models()
    tiny, small = efforts(states, len(variants) * len(checked_models))
    usual = [
        (*pair, checked_models)
        for variant in variants
        for pair in ((replace(variant, size="tiny"), tiny), (with_counter_overflow(variant), small))
    ]
    return explore_all(
        [*usual, *((variant, ROUGH_EFFORT, checked_models[:1]) for variant in SCALED_CONFIGURATIONS)], seed, on_progress
    )


def explore_all(
    tries: Sequence[Try],
    seed: int,
    on_progress: OnProgress,
    wrap: Wrap | None = None,
    bug: str = "",
    evidence: str = "",
) -> CrashReport:
    """Explore all tries in order; return the sum of their reports.

    With a `bug`, the exploration ends when a state shows its `evidence`. Without `evidence` it ends when an invariant of the
    state is broken. An exception, a run without an end, or a medium that is not as stated (I9) may hide a loss: it then goes
    on for MORE_TRIES. After an interrupt by the user, the report has the results so far.
    """
    report, failed_tries = CrashReport(), 0
    try:
        for index, (variant, effort, models) in enumerate(tries):
            on_progress(index / len(tries), f"{bug and f'{bug}: '}{count(report.unique_states, 'state')}, {variant.name}")
            report.add(explore(variant, wrap, models, effort, seed, bug, evidence))
            failed_tries += bool(report.failures)
            is_shown = report.caught_by(evidence) if evidence else report.shows_loss or failed_tries > MORE_TRIES
            if bug and (is_shown or report.no_verdict):
                break
    except KeyboardInterrupt:
        report.interrupted = True
    return report
