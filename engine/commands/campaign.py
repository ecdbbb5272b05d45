"""`campaign`: weeks of training under faults, a row for each protection.

All protections have the same faults.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from .. import version
from ..analysis.verdict.report.bill import bill_content
from ..campaign import fault_stream
from ..campaign.compare import compare_protections
from ..campaign.reference_points import YARDSTICKS, Prediction, llama_prediction
from ..campaign.simulate import checkpoint_period
from ..core.figures import exact
from ..errors import BadInput, nearest_hint
from ..faults.fault import Hazard
from ..insight.running_costs import bill_of, price_unit
from ..registry import variant_names
from ..scenario.sequences import sequence_note_of_points
from ..sweep import links
from ..units import HOUR
from . import output, scenario_arguments
from .parser import FAILED, Subparsers, amount, number, positive, whole_number

FEWEST_DAYS = 0.01  # as of faults.campaign_days
FEWEST_HOURS, MOST_HOURS = 1e-9, 1e9  # between two faults of the whole machine, as of the knobs for one unit
COLUMNS = {
    "Effective training time ratio": ("useful", 9, "z.4f"),
    "Closed form": ("formula", 9, "z.4f"),
    "Goodput [samples/s]": ("samples/s", 12, "z,.0f"),
    "Checkpoint period [min]": ("period min", 14, "z,.5f"),
    "Checkpoint overhead [%]": ("checkpoint %", 14, "z.3f"),
    "Lost work [h]": ("lost h", 9, "z.2f"),
    "RPO of embeddings [batches]": ("RPO rows", 12, "z,.0f"),
    "RPO of the MLP [batches]": ("RPO MLP", 12, "z,.0f"),
    "Unrecoverable [%]": ("unrecov. %", 12, "z.1f"),
    "PMEM wear [% of endurance a year]": ("wear %/year", 13, "z.2f"),
}


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("campaign", help="weeks of training under faults, protections beside each other")
    scenario_arguments.add(parser)
    parser.add_argument("--protection", metavar="NAME,...", help=f"of {', '.join(variant_names('protections'))} (all)")
    parser.add_argument(
        "--mtbf",
        action="append",
        default=[],
        metavar="FAULT=HOURS",
        help="mean time between faults of the whole machine; without it, the fault knobs hold",
    )
    parser.add_argument(
        "--days",
        type=partial(amount, noun="days", minimum=FEWEST_DAYS, maximum=40_000),
        metavar="N",
        help="how long to train (faults.campaign_days)",
    )
    seeds, period = partial(whole_number, what="seeds", most=10_000), partial(positive, noun="seconds", maximum=1e9)
    parser.add_argument("--seeds", type=seeds, default=8, metavar="N", help="seeds 1 to N (8)")
    parser.add_argument(
        "--period",
        type=period,
        metavar="SECONDS",
        help="between two copies, of every protection that copies (policy.checkpoint_minutes)",
    )
    parser.add_argument("--json", metavar="FILE", help="write rows, hazards and yardsticks as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Simulate the campaigns and write their table."""
    scenario = scenario_arguments.selected_scenario(arguments).scenario
    hazards = _hazards(arguments.mtbf) or fault_stream.hazards_of(scenario)
    if not hazards:
        raise BadInput("No fault has a rate, so none can happen; give --mtbf gpu-crash=24, or --set faults.rates=llama3.")
    protections = arguments.protection.split(",") if arguments.protection else variant_names("protections")
    for name in protections:
        if name not in variant_names("protections"):
            raise BadInput(
                f"--protection {name!r} is not known; {nearest_hint(name, variant_names('protections'), 'protections')}"
            )
    seeds, days = range(1, arguments.seeds + 1), arguments.days or scenario.faults.campaign_days
    period = arguments.period or checkpoint_period(scenario)
    rows = compare_protections(scenario, protections, hazards, days * 24, seeds, period)
    if arguments.json:
        content = {
            "link": links.link(scenario),
            "model_version": version.MODEL,
            "days": days,
            "seeds": arguments.seeds,
            "usd_of": price_unit(scenario),
            "hazards": {
                name: {"mtbf": hazard.mtbf, "shape": hazard.shape, "at": hazard.listed_seconds}
                for name, hazard in hazards.items()
            },
            "bill": bill_content(bill_of(scenario)),
            "rows": rows,
            "yardsticks": [asdict(yardstick) for yardstick in YARDSTICKS],
            "llama3": _prediction_json(llama_prediction()),
        }
        output.write(arguments.json, json.dumps(content, indent=1) + "\n")
    output.write_for_people(table(rows), arguments.json)
    output.note(sequence_note_of_points([scenario]))
    return FAILED if all(row["Refused"] for row in rows) else 0


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a table for people.

    Limits at which periods lie follow, then reasons for impossible protections. Where none is possible, only the reasons stay.
    """
    head = f"{'protection':22}" + "".join(f"{title:>{width}}" for title, width, _ in COLUMNS.values())
    lines = [_line(row) for row in rows if not row["Refused"]]
    limits = [f"{row['Protection']}: {row['Limit of the period']}" for row in rows if row.get("Limit of the period")]
    reasons = [row["Refused"] for row in rows if row["Refused"]]
    return "\n".join([*([head] if lines else []), *lines, *limits, *reasons]) + "\n"


def _line(row: Mapping[str, Any]) -> str:
    cells = ((width, "-" if row[name] is None else format(row[name], form)) for name, (_, width, form) in COLUMNS.items())
    return f"{row['Protection']:22}" + "".join(f"{text:>{width}}" for width, text in cells)


def _hazards(texts: Sequence[str]) -> dict[str, Hazard]:
    """Return the hazards that arguments state; raises BadInput."""
    hazards: dict[str, Hazard] = {}
    for text in texts:
        name, _, hours = text.partition("=")
        if not FEWEST_HOURS <= number(hours) <= MOST_HOURS:
            raise BadInput(
                f"--mtbf {text!r} is not a fault with its hours, from {exact(FEWEST_HOURS)} to {exact(MOST_HOURS)}; write "
                "FAULT=HOURS, such as gpu-crash=24."
            )
        if name in hazards:
            raise BadInput(f"--mtbf gives {name} twice; leave one of them out.")
        hazards[name] = Hazard(number(hours) * HOUR)
    return hazards


def _prediction_json(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction under its outward keys."""
    return {
        "usual": prediction.usual_share,
        "best": prediction.best_share,
        "worst": prediction.worst_share,
        "pause": prediction.pause,
        "period": prediction.period,
        "sentence": prediction.sentence,
    }
