"""`torchrec`: make a sharding plan for TorchRec, with this model's and its planner's estimate."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ..core.figures import count, figure
from ..errors import BadFile
from ..paths import read_regular, user_path
from ..sweep import links
from ..torchrec.answer import PricedPlan, TorchRecAnswer, read_request, torchrec_answer
from ..torchrec.plan_json import MODULE, plan_content
from ..torchrec.report import answer_content, rank_rows, table_rows
from ..torchrec.sharding_plan import run_text
from ..torchrec.source_text import MAX_CHARACTERS
from ..units import GiB
from ..user_text import decoded
from . import output, scenario_arguments
from .parser import FAILED, Subparsers

MAX_BYTES = 4 * MAX_CHARACTERS  # UTF-8 has at most four a character
MAX_LINES = 60  # of a table that people read
LONGEST_LINK = 2000


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("torchrec", help="a sharding plan for TorchRec's tables, priced by us and by its planner")
    parser.add_argument(
        "listing", metavar="TABLES", help="EmbeddingBagConfigs as JSON, as Python prints them, or as source; - is standard input"
    )
    parser.add_argument("--topology", metavar="FILE", help="the planner's Topology as JSON, as a call, or as Python prints it")
    parser.add_argument("--pooling", metavar="FILE", help="JSON: mean lookups per sample, by feature or table; default 1")
    parser.add_argument("--read-plan", metavar="FILE", help="price this plan too: TorchRec's dump of one, or one of ours")
    parser.add_argument("--plan", metavar="FILE", help="write our plan as TorchRec's JSON; - for standard output")
    parser.add_argument("--module", metavar="PATH", default=MODULE, help=f"where the model has its tables ({MODULE})")
    scenario_arguments.add_start(parser)
    parser.add_argument("--json", metavar="FILE", help="write tables, ranks, estimates and plan as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the plan and the estimates; returns 0, or 3 where the plan cannot run."""
    selection = scenario_arguments.selected_scenario(arguments)
    listing, ranks, factors, plan_read = map(
        _text, (arguments.listing, arguments.topology, arguments.pooling, arguments.read_plan)
    )
    as_started = any(vars(arguments)[name] is not None for name in ("preset", "link", "scenario"))
    request = read_request(selection.start.scenario, listing, ranks, factors, selection.settings, as_started)
    answer = torchrec_answer(request, plan_read)
    if arguments.plan and answer.plan.result.ran:
        plan_json = plan_content(answer.plan.shardings, request.topology.local_world_size, arguments.module)
        output.write(arguments.plan, json.dumps(plan_json, indent=1) + "\n")
    if arguments.json:
        output.write(arguments.json, json.dumps(answer_content(answer, arguments.module), indent=1) + "\n")
    output.write_for_people("\n".join(_lines(answer)) + "\n", arguments.plan, arguments.json)
    if arguments.plan and not answer.plan.result.ran:
        output.note("No plan was written, because the machine cannot run this model.")
    return 0 if answer.plan.result.ran else FAILED


def _text(name: str | None) -> str:
    """Return the text of a file, or of standard input for -; "" where none is named; raises BadFile."""
    if name is None:
        return ""
    if name == output.STANDARD:
        text = decoded(sys.stdin.buffer.read(MAX_BYTES + 1), "Standard input")
    else:
        text = decoded(read_regular(user_path(name), MAX_BYTES, "write - or the name of a file"), name)
    if not text.strip():
        raise BadFile(f"{name} is empty; leave it out, or name another file.")
    return text


def _lines(answer: TorchRecAnswer) -> Iterator[str]:
    """Yield the answer as lines for people."""
    request, plan = answer.request, answer.plan
    yield from (*request.sentences, *plan.sentences, "")
    rows = table_rows(request, plan)
    yield TABLE_HEAD
    yield from map(_table_line, rows[:MAX_LINES])
    if len(rows) > MAX_LINES:
        yield f"... and {count(len(rows) - MAX_LINES, 'table')} more, which --json has."
    yield from ("", *_rank_lines(plan), "", *_prices(answer))


TABLE_HEAD = (
    f"{'table':20}{'rows':>15}{'dim':>6}{'precision':>11}  {'lies in':24}{'kernel':18}{'sharding':18}{'ranks':12}"
    f"{'GiB':>10}{'planner ms':>12}"
)


def _table_line(row: Mapping[str, Any]) -> str:
    name = row["name"] if len(row["name"]) < 20 else f"{row['name'][:16]}..."
    shape = f"{name:20}{count(row['rows']):>15}{count(row['dim']):>6}{row['precision']:>11}"
    place = f"  {row['lies_in']:24}{row['compute_kernel']:18}{row['sharding_type']:18}{run_text(row['ranks']):12}"
    return f"{shape}{place}{figure(row['bytes'] / GiB):>10}{figure(row['planner_ms']):>12}"


def _rank_lines(plan: PricedPlan) -> Iterator[str]:
    places = [*plan.memory]
    yield "".join(
        chain(
            [f"{'rank':>5}"],
            (f"{f'{place} GiB':>16}" for place in places),
            (f"{head:>18}" for head in ("planner HBM GiB", "planner DDR GiB", "planner ms")),
        )
    )
    rows = rank_rows(plan)
    for row in rows[:MAX_LINES]:
        memory_cells = (f"{figure(row['bytes'][place] / GiB):>16}" for place in places)
        planner_numbers = (row["planner_hbm_bytes"] / GiB, row["planner_ddr_bytes"] / GiB, row["planner_ms"])
        yield "".join(chain([f"{row['rank']:>5}"], memory_cells, (f"{figure(number):>18}" for number in planner_numbers)))
    if len(rows) > MAX_LINES:
        yield f"... and {count(len(rows) - MAX_LINES, 'rank')} more, which --json has."


def _prices(answer: TorchRecAnswer) -> Iterator[str]:
    """Yield both estimates of our plan and of the one that was read, and the link."""
    yield _price("Our plan", answer.plan)
    if answer.imported_plan:
        yield _price("The plan that was read", answer.imported_plan)
        yield from answer.imported_plan.sentences
    link = links.link(answer.plan.result.scenario)
    if len(link) <= LONGEST_LINK:
        yield f"Link: {link}"


def _price(subject: str, plan: PricedPlan) -> str:
    planner_text = f"The planner's estimate, for its tables alone, is {figure(plan.planner_ms, 'ms')} on the slowest rank."
    if not plan.result.ran:
        return f"{subject} cannot run: {plan.result.outcome} {planner_text}"
    throughput = figure(plan.result.results.get("Throughput [samples/s]"), "samples/s")
    return f"{subject}: {figure(plan.step_ms, 'ms')} a step, {throughput}, MLPs included. {planner_text}"
