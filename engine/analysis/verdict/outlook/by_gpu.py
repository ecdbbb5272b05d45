"""The best machine of each GPU, and the GPU's break-even price.

A cost is linear in a price. So a candidate's break-even is closed form: how much less the verdict costs than the candidate with
free GPUs, by what one USD of the GPU's price adds. That of a GPU is the largest over its candidates. It is found by searching
at a price, raising the price to the break-even of the machine that was found, and searching again, until no machine has a
higher one (Dinkelbach, 1967).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from ....core.arithmetic import total
from ....core.catalog import form
from ....core.constants import Constant
from ....hardware.devices.chassis import SUPERCHIP
from ....scenario.scenario import Scenario, with_values
from ....systems.sizing import CHASSIS
from ....systems.system import powered_devices
from ..aim import MEETS, Aim, plain_aim
from ..candidates import Setting
from ..decide import TIE_FACTOR, SystemRow, SystemSearch, Verdict, best_of
from ..space import GPU
from ..stacks import Stack

ROUNDS = 12  # of searches at a price; three or four are enough
LEAST_RISE = 1e-9  # relative rise of a break-even that is still followed
EDGE = 1e-9  # relative: a value just below another
MONEY = ("cost", "month", "capital")  # objectives that depend on a price
NOT_EVEN_FREE = "Not even free GPUs would make it the verdict."
WHOLE_SEARCHES = 2  # stacks whose whole space is searched for a GPU's break-even


@dataclass(frozen=True)
class GpuRow:
    """The best machine with a GPU.

    gpu: name of the GPU.
    row: its best machine, at its break-even where the GPU has no price; None where none can be built or run.
    reason: why there is no machine, or what it misses; "" else.
    price: price of the GPU; None where none is known.
    break_even: USD of one GPU below which a machine with it is the verdict, or above which it no longer is, where it is the
        verdict now; None where no price makes it the verdict, or where prices do not count.
    wins: whether the verdict has this GPU.
    """

    gpu: str
    row: SystemRow | None
    reason: str = ""
    price: Constant | None = None
    break_even: float | None = None
    wins: bool = False


def gpu_rows(verdict: Verdict, aim: Aim) -> Iterator[GpuRow]:
    """Yield a row for each allowed GPU, that of the verdict last.

    aim: the aim of the verdict's question.
    """
    best_row = verdict.best_row
    winner = gpu_of(best_row) if best_row else ""
    others: list[SystemRow] = [row for row in verdict.rows if row.meets and not gpu_of(row)]
    for gpu in sorted(verdict.question.allowed.parts_of_knob("gpu"), key=lambda name: name == winner):
        search = GpuSearch(verdict, aim, gpu)
        wins = gpu == winner
        yield search.gpu_row([*others] if wins else [row for row in verdict.rows if row.meets and gpu_of(row) != gpu], wins)
        others += [row for row in search.rows if row.meets]


class GpuSearch:
    """The search for the best machine with one GPU, at any price of it.

    rows: the best machine of each stack, at the price of the GPU's file.
    """

    def __init__(self, verdict: Verdict, aim: Aim, gpu: str) -> None:
        """Start near the verdict's machines, with this GPU."""
        question, found = verdict.question, {row.stack: row.setting for row in verdict.rows if row.setting}
        chosen = [stack for stack in verdict.space if question.software.allows(stack)]
        self.gpu = gpu
        self.price = price_of(question.base, gpu)
        self.rivals: tuple[SystemRow, ...] = ()
        self.search = SystemSearch(question, chosen=chosen, gpu=gpu, aim=aim)
        ranked = {row.stack: number for number, row in enumerate(verdict.rows)}
        with_gpus = (stack for stack, stops in self.search.space.items() if stops.get(GPU))
        self.stacks = sorted(with_gpus, key=lambda stack: ranked.get(stack, len(ranked)))
        self.near = {stack: _with_gpu(found[stack], gpu) for stack in self.stacks if stack in found}
        self.rows = [self._row(stack) for stack in self.stacks]

    def gpu_row(self, rivals: Sequence[SystemRow], wins: bool) -> GpuRow:
        """Return the row of the GPU.

        rivals: the machines with other GPUs or none that meet the requirement. wins: whether the verdict has this GPU.
        """
        self.rivals = tuple(rivals)
        best_row = self._best(self.rows)
        if best_row is None or best_row.scenario is None:
            return GpuRow(self.gpu, None, self._refusal(best_row), self.price)
        if self.search.aim.objective not in MONEY:
            return GpuRow(self.gpu, best_row, best_row.reason, self.price, None, wins)
        break_even, marginal_row = self._break_even()
        if self.price is not None:
            reason = best_row.reason or (NOT_EVEN_FREE if break_even is None else "")
            return GpuRow(self.gpu, best_row, reason, self.price, break_even, wins)
        free_row = marginal_row or self._best([self._row(stack, 0.0) for stack in self.stacks]) or best_row
        reason = "" if marginal_row else NOT_EVEN_FREE if free_row.meets else free_row.reason
        return GpuRow(self.gpu, _without_price(free_row, self.gpu), reason, None, break_even, wins)

    def _best(self, rows: Sequence[SystemRow]) -> SystemRow | None:
        return best_of(rows) or min(rows, key=lambda row: row.rank, default=None)

    def _refusal(self, row: SystemRow | None) -> str:
        """Return why no machine can be built with the GPU."""
        if form("gpu", self.gpu) == SUPERCHIP:
            return "Superchips are sold on boards and in racks of their own, which are not modelled."
        return row.reason if row else "No allowed software runs on this GPU."

    def _row(self, stack: Stack, price: float | None = None, quickly: bool = True) -> SystemRow:
        """Return the best machine of a stack, at a price of the GPU or at that of its file."""
        if stack in self.near:
            self.search.found.setdefault(stack, self.near[stack])
        self.search.candidates.prices = {} if price is None else {("gpu", self.gpu): _stated(price)}
        return self.search.row(stack, quickly)

    def _break_even(self) -> tuple[float | None, SystemRow | None]:
        """Return the GPU's break-even and the machine that has it; None where no price makes it the verdict."""
        best, best_row = -inf, None
        best_by_stack: dict[Stack, float] = {}
        for stack in (row.stack for row in self.rows if row.scenario is not None):
            price, row = self._stack_break_even(stack, max(best, 0.0), quickly=True)
            best_by_stack[stack] = price
            if row is not None and price > best:
                best, best_row = price, row
        for stack in sorted(best_by_stack, key=lambda named: -best_by_stack[named])[:WHOLE_SEARCHES]:
            price, row = self._stack_break_even(stack, max(best, 0.0), quickly=False)
            if row is not None and price > best:
                best, best_row = price, row
        return (best, best_row) if best_row is not None and best >= 0 else (None, None)

    def _stack_break_even(self, stack: Stack, price: float, quickly: bool) -> tuple[float, SystemRow | None]:
        """Return a stack's break-even if it is above a price, else -inf; and its machine."""
        found: tuple[float, SystemRow | None] = (-inf, None)
        for _ in range(ROUNDS):
            row = self._row(stack, price, quickly)
            if row.scenario is None:
                break
            at_row = self._row_break_even(row, price)
            if at_row > found[0]:
                found = at_row, row
            if at_row <= price * (1 + LEAST_RISE) or at_row == inf:
                break
            price = at_row
        return found

    def _row_break_even(self, row: SystemRow, price: float) -> float:
        """Return the break-even of a machine whose GPUs cost `price`; -inf where it meets no other limit."""
        return row_break_even(row, self.gpu, price, self.rivals, self.search.aim) if self._meets_without_budget(row) else -inf

    def _meets_without_budget(self, row: SystemRow) -> bool:
        """Return whether a machine meets all limits but the budget, which the price of its GPUs may decide."""
        (candidate,) = self.search.candidates.estimate(row.stack, [row.setting])
        shortfalls = self.search.aim.shortfalls(candidate, row.protection)
        return all(factor <= 1 + EDGE for limit, factor in shortfalls.items() if limit != "budget")


def row_break_even(row: SystemRow, gpu: str, price: float, rivals: Sequence[SystemRow], aim: Aim) -> float:
    """Return the USD of a GPU at which a machine just beats its rivals.

    price: USD of the machine's GPUs now. Return -inf where no price is known, and inf where its GPUs cost nothing and it wins.
    """
    bought, budget = total(item.bought for item in row.bill if item.part == gpu), aim.requirement.budget
    if row.capital is None:
        return -inf
    limit = inf if budget is None or not bought else price + (budget - row.capital) / bought
    dearer, value = bought * aim.dearer_by_a_dollar(row.step, row.protection.share), _largest_value(row, rivals)
    if not dearer:
        return inf if row.objective_value <= value else -inf
    return float(min(limit, price + (value - row.objective_value) / dearer))


def _largest_value(row: SystemRow, rivals: Sequence[SystemRow]) -> float:
    """Return the largest value of the objective at which a machine is the verdict among rivals."""
    values = {factor * rival.objective_value for rival in rivals for factor in (1 / TIE_FACTOR, 1.0, TIE_FACTOR)}
    for value in sorted((value * (1 - EDGE) for value in values), reverse=True):
        cheaper = replace(row, objective_value=value, rank=(MEETS, value))
        others = [rival for rival in rivals if rival.stack != row.stack or rival.objective_value < value]
        if best_of([*others, cheaper]) is cheaper:
            return value
    return -inf if rivals else inf


def break_even_of(row: SystemRow, verdict: Verdict) -> float | None:
    """Return the USD of a GPU below which a row would be the verdict.

    Return None for the verdict itself, and where no price would do.
    """
    gpu, best_row, aim = gpu_of(row), verdict.best_row, plain_aim(verdict.question)
    price = next((item.price.value for item in row.bill if item.part == gpu and item.price), None)
    if row is best_row or row not in verdict.rows or not row.meets or price is None or aim.objective not in MONEY:
        return None
    rivals = [rival for rival in verdict.rows if rival.meets and rival is not row]
    found = row_break_even(row, gpu, price, rivals, aim)
    return found if 0 <= found < inf else None


def price_of(base: Scenario, gpu: str) -> Constant | None:
    """Return the price of a GPU, by a scenario's year and quotes.

    Return None where none is known.
    """
    machine = with_values(base, {GPU: gpu, CHASSIS: None}).machine
    return powered_devices("all-hbm", machine)["gpu"].bill[0].price


def _without_price(row: SystemRow, gpu: str) -> SystemRow:
    """Return a row whose GPUs have no price, for a GPU without one."""
    bill = tuple([replace(item, price=None) if item.part == gpu else item for item in row.bill])
    return replace(row, bill=bill, capital=None, cost=None, month=None)


def gpu_of(row: SystemRow) -> str:
    """Return the GPU of a row's machine; "" for a machine without."""
    return str(dict(row.setting).get(GPU, ""))


def _with_gpu(setting: Setting, gpu: str) -> Setting:
    return tuple((knob, gpu if knob == GPU else stop) for knob, stop in setting)


def _stated(price: float) -> Constant:
    return Constant("price", price, "USD", price, price, "stated", "searched for the break-even")
