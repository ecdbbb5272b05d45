"""What is entered of machines that ran a program in lanes: times, critical paths and totals, and whether these are exact."""

from ...core.arrays import Floats, Ints
from ...core.jit import inner, shared
from .critical_path import trace
from .lanes import BACKGROUND, FOREGROUND, Lanes, Program, fill, later_of
from .template import Accounts, Averages, Stretch, Taken
from .totals import Totals, enter_whole_log
from .walk import walk

EPSILON = 2.0**-52


@inner
def enter_lanes(program: Program, lanes: Lanes, machines: Ints, stretch: Stretch, averages: Averages, totals: Totals) -> None:
    """Set what machines did when, and the seconds of each task on their critical paths."""
    batches, width = len(lanes.ended), len(program.server)
    seen = (batches - 2 if batches > 2 else batches) + stretch.times * (stretch.last - stretch.first)
    fill(lanes.tied, 0.0)
    for k in range(width):
        fill(lanes.share[k], 0.0)
    for lane in range(len(machines)):
        averages.step[machines[lane]] = 0.0
    for rest in range(0 if stretch.times > 0.0 else 1, 2):  # in a loop, as what is called twice is compiled twice
        first, last, times = (1, batches - 1, 1.0) if rest else (stretch.first, stretch.last, stretch.times)
        fill(lanes.until, 0.0)
        if batches > 2:
            _latest(program, lanes, first, lanes.until)
        _span(program, lanes, machines, last, times, seen, averages)
    for lane in range(len(machines)):
        for k in range(width):
            averages.exposed[machines[lane], k] = lanes.share[k, lane] / seen
    for n in range(batches if len(totals.makespan) > 0 else 0):
        for lane in range(len(machines)):
            totals.ends[n, machines[lane]] = lanes.ended[n, lane]


@inner
def _span(program: Program, lanes: Lanes, machines: Ints, last: int, times: float, seen: float, averages: Averages) -> None:
    """Enter what passes `until` batch `last` ends, so many times over."""
    ended = lanes.took[0]
    _latest(program, lanes, last, ended)
    for lane in range(len(machines)):
        averages.step[machines[lane]] += times * (ended[lane] - lanes.until[lane]) / seen
    if program.low:
        walk(program, lanes, last)
    else:
        trace(program, lanes, last)
    for k in range(len(lanes.share)):
        for lane in range(lanes.wide):
            lanes.share[k, lane] *= times


@inner
def certain(program: Program, lanes: Lanes, lane: int) -> bool:
    """Return whether a lane's times and its critical path are those of the events."""
    return bool(exact(lanes, lane) and ((lanes.tied[lane] == 0.0 and program.log < 0) or moves(lanes, lane)))


@inner
def exact(lanes: Lanes, lane: int) -> bool:
    """Return whether what a lane's machine did is exact: nobody was ready before the one ahead, or at once where it matters."""
    return bool(lanes.gaps[1, lane] > 0.0 and (lanes.gaps[0, lane] > 0.0 or (lanes.gaps[0, lane] == 0.0 and moves(lanes, lane))))


@inner
def moves(lanes: Lanes, lane: int) -> bool:
    """Return whether every task ended after it began: none lasts so little that its start swallows it."""
    return bool(lanes.least[0, lane] > lanes.ended[len(lanes.ended) - 1, lane] * EPSILON)


@inner
def _latest(program: Program, lanes: Lanes, n: int, to: Floats) -> None:
    """Let a row be when the last foreground task of batch n ends."""
    width = len(program.server)
    fill(to, 0.0)
    for k in range(width):
        if program.rank[k] == FOREGROUND:
            later_of(to, lanes.end[n * width + k])


@shared
def total_lane(
    program: Program,
    lanes: Lanes,
    lane: int,
    kind: Ints,
    accounts: Accounts,
    taken: Taken,
    stretch: Stretch,
    p: int,
    totals: Totals,
) -> None:
    """Total when a lane's machine was done and the log that each batch waited for; write its times, if there is room for them."""
    width = len(program.server)
    totals.makespan[p] = totals.ends[len(totals.ends) - 1, p]
    for k in range(width):
        if program.rank[k] == BACKGROUND:
            totals.makespan[p] = max(totals.makespan[p], lanes.end[len(lanes.ahead) - width + k, lane])
    totals.makespan[p] += stretch.times * (totals.ends[stretch.last, p] - totals.ends[stretch.first, p])
    for d in range(len(accounts.task)):
        if accounts.task[d] == program.log:
            enter_whole_log(kind, accounts, taken, p, d, totals)
    for flat in range(len(lanes.ahead) if len(totals.start) > 0 else 0):
        n, k = flat // width, flat % width
        begin, ahead = 0.0, lanes.ahead[flat, lane if program.open[program.server[k]] else 0]
        for j in range(program.first[k], program.first[k + 1]):
            w = program.waited[j]
            other = n * width + (w if w < width else w - 2 * width)
            begin = max(begin, lanes.end[other, lane] if other >= 0 else 0.0)
        totals.start[p, n, k] = max(begin, lanes.end[ahead, lane] if ahead >= 0 else 0.0)
        totals.end[p, n, k] = lanes.end[flat, lane]
