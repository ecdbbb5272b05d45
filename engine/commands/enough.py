"""`enough`: the smallest machine that meets a target, what it costs, and where each main knob stops to matter."""

import argparse
from collections.abc import Iterator
from functools import partial

from ..analysis.enough.drawn import bands
from ..analysis.enough.question import Question, Target, ask, baseline_of
from ..analysis.enough.smallest import Enough, enough
from ..analysis.enough.told import told
from ..insight.knob_strips import strips
from ..insight.running_costs import assumptions, running_costs
from ..registry import names
from ..results.result import Result
from ..scenario.scenario import KNOBS
from . import output, scenario_arguments
from .parser import Subparsers, amount

MAIN = tuple(path for path, knob in KNOBS.items() if knob.main and path != "system")


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("enough", help="the smallest PMEM and CXL link that meet a target, and what they cost")
    scenario_arguments.add(parser)
    parser.add_argument("--baseline", default="dram", choices=names("systems"), metavar="SYSTEM", help="held against (dram)")
    target = parser.add_mutually_exclusive_group()
    percent = partial(amount, what="percent", least=-99, most=100_000)
    target.add_argument("--within", type=percent, default=10, metavar="PERCENT", help="of the baseline's step time (10)")
    step = partial(amount, what="milliseconds", least=1e-6, most=1e9)
    target.add_argument("--step-ms", type=step, metavar="MS", help="the step time itself")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Print the answer; returns 0."""
    scenario = scenario_arguments.chosen(arguments).scenario
    question = ask(scenario, baseline_of(scenario, arguments.baseline), Target(arguments.within / 100, arguments.step_ms))
    answer = enough(question)
    output.write(
        output.STANDARD,
        "\n".join([*filter(None, vars(told(answer, bands(answer))).values()), *_costs(question, answer), *_strips(question)])
        + "\n",
    )
    return 0


def _costs(question: Question, answer: Enough) -> Iterator[str]:
    machines: dict[str, Result] = {
        "As it is": question.own,
        f"Baseline {question.baseline.scenario.system}": question.baseline,
        "Cheapest": answer.both.machine.result,
    }
    for name, result in machines.items():
        if found := running_costs(result):
            month = f"{found.kwh_month:,.0f} kWh ({found.electricity_month:,.0f} USD) a month"
            yield f"{name}: {found.capital:,.0f} USD, {month}, {found.billion:,.3g} USD for a billion samples."
    yield assumptions()


def _strips(question: Question) -> Iterator[str]:
    for one in strips(question.scenario, MAIN, question.baseline.scenario):
        yield f"{KNOBS[one.path].label}: {one.sentence}"
