"""`enough`: find the smallest machine that meets a target, and its costs.

The command also prints, for each main knob, the value from which the knob has no more effect.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .. import version
from ..analysis.enough.bands import bands
from ..analysis.enough.cache import CacheSize, cache_for, cache_lines, cache_of_size, cache_sentence, hbm_room, table_shares
from ..analysis.enough.memory_cost import fastest_by_way
from ..analysis.enough.memory_cost import way_lines as way_lines
from ..analysis.enough.question import Target, TargetQuestion, baseline_of, make_question
from ..analysis.enough.sentences import answer_sentences
from ..analysis.enough.smallest import SmallestMachines, find_smallest
from ..analysis.verdict.report.bill import bill_content
from ..core import figures
from ..errors import BadInput
from ..hardware.money.prices import unpriced_sentences
from ..insight.knobs.strips import Strip, strips
from ..insight.running_costs import assumptions, bill_of, electricity_unit, price_unit, running_cost_unit, running_costs
from ..registry import load_variant, variant_names
from ..results.result import Result
from ..scenario import knobs
from ..scenario.scenario import KNOBS, Scenario
from ..scenario.sequences import sequence_note_of_points
from ..schedule.machine import settle
from ..sweep import links
from ..systems.buildable import software_sentence
from ..systems.system import powered_devices
from ..units import GB, MS, GiB
from . import output, scenario_arguments
from .parser import Subparsers, amount, percentage, positive, whole_number

USUAL_PERCENT = 10.0
nodes = partial(whole_number, what="nodes", most=100_000)
MAIN_KNOBS = tuple(path for path, knob in KNOBS.items() if knob.main and path != "system")


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("enough", help="the smallest PMEM and CXL link that meet a target, and what they cost")
    scenario_arguments.add(parser)
    parser.add_argument(
        "--baseline", default="dram", choices=variant_names("systems"), metavar="SYSTEM", help="held against (dram)"
    )
    target = parser.add_mutually_exclusive_group()
    percent = partial(percentage, minimum=-99, maximum=100_000)
    target.add_argument(
        "--within-percent",
        type=percent,
        default=USUAL_PERCENT,
        metavar="P",
        help=f"of the baseline's step time ({figures.exact(USUAL_PERCENT)})",
    )
    target.add_argument("--within", type=percent, metavar="P", help=argparse.SUPPRESS)
    step = partial(amount, noun="milliseconds", minimum=1e-6, maximum=1e9)
    target.add_argument("--step-ms", type=step, metavar="MS", help="the step time itself")
    rate = partial(percentage, minimum=0.001, maximum=100)
    target.add_argument("--hit-rate", type=rate, metavar="P", help="of a cache in HBM instead: its size, and which rows it holds")
    size = partial(positive, noun="GiB", maximum=1e9)
    target.add_argument("--hbm-GiB", type=size, metavar="N", help="the hit rate of so much HBM, and which rows it holds")
    target.add_argument("--nodes", type=nodes, metavar="N", help="the same, of what the GPUs of N nodes have left for tables")
    money = partial(positive, noun="USD", maximum=1e12)
    target.add_argument(
        "--memory-cost", type=money, metavar="USD", help="for so much in GPUs and host DRAM: all in HBM, a cache, or host memory"
    )
    parser.add_argument("--json", metavar="FILE", help="write machine, costs and sentences as JSON; - for standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the answer; returns 0."""
    percent = arguments.within_percent
    if arguments.within is not None:
        percent = arguments.within
        output.tell(f"--within will be removed in the next minor version; write --within-percent {figures.exact(percent)}.")
    selection = scenario_arguments.selected_scenario(arguments)
    scenario = selection.scenario
    if arguments.memory_cost is not None:
        return _tell_ways(scenario, arguments)
    if cache_size := _cache_size(scenario, arguments):
        return _tell_cache(scenario, cache_size, selection.table_names, arguments)
    question = make_question(scenario, baseline_of(scenario, arguments.baseline), Target(percent / 100, arguments.step_ms))
    answer = find_smallest(question)
    sentences = answer_sentences(answer, bands(answer)).texts()
    if arguments.json:
        content = _content(question, answer, None if arguments.step_ms else percent, sentences)
        output.write(arguments.json, json.dumps(content, indent=1) + "\n")
    lines = [*sentences.values(), *_costs(question, answer), *_strips(question)]
    output.write_for_people("\n".join(lines) + "\n", arguments.json)
    if question.own_result.ran:
        output.note(software_sentence(settle(scenario)))
    output.note(sequence_note_of_points([scenario]))
    return 0


def _cache_size(s: Scenario, arguments: argparse.Namespace) -> CacheSize | None:
    """Return the cache in question; None for a question about the machine."""
    if arguments.hit_rate is not None:
        return cache_for(s, arguments.hit_rate / 100)
    if arguments.hbm_GiB is not None:
        return cache_of_size(s, arguments.hbm_GiB * GiB)
    if arguments.nodes is not None and arguments.nodes > 1 and load_variant("systems", s.system).one_node:
        raise BadInput(f"--nodes={arguments.nodes} is not possible: system={s.system} trains on one node; write --nodes 1.")
    return None if arguments.nodes is None else cache_of_size(s, hbm_room(s, arguments.nodes))


def _tell_cache(s: Scenario, cache_size: CacheSize, tables: Sequence[str], arguments: argparse.Namespace) -> int:
    """Write a cache's contents and hit rate, as JSON too; returns 0."""
    if arguments.json:
        content = {
            "link": links.link(s),
            "model_version": version.MODEL,
            "cache_gigabytes": cache_size.nbytes / GB,
            "hit_rate_percent": 100 * cache_size.hit_rate,
            "lru_gigabytes": None if cache_size.recent_nbytes is None else cache_size.recent_nbytes / GB,
            "lru_hit_rate_percent": 100 * cache_size.recent_rate,
            "tables": [table_share._asdict() for table_share in table_shares(cache_size, tables)],
            "sentences": {"cache": cache_sentence(s, cache_size)},
        }
        output.write(arguments.json, json.dumps(content, indent=1) + "\n")
    output.write_for_people("\n".join(cache_lines(s, cache_size, tables)) + "\n", arguments.json)
    return 0


def _tell_ways(s: Scenario, arguments: argparse.Namespace) -> int:
    """Write the ways to hold the tables for an amount, as JSON too; returns 0."""
    ways = fastest_by_way(s, arguments.memory_cost)
    told_ways = list(way_lines(s, arguments.memory_cost, ways))
    if arguments.json:
        content = {
            "model_version": version.MODEL,
            "usd_of": price_unit(s),
            "most_usd": arguments.memory_cost,
            "ways": [
                {
                    "way": way.way,
                    "gpus": way.gpus,
                    "dram_GiB": way.dram_GiB,
                    "usd": way.price,
                    "step_ms": way.step / MS,
                    "hit_rate_percent": None if way.hit_rate is None else 100 * way.hit_rate,
                    "link": links.link(way.result.scenario),
                }
                for way in ways
            ],
            "sentences": {"ways": told_ways[0]},
        }
        output.write(arguments.json, json.dumps(content, indent=1) + "\n")
    output.write_for_people("\n".join(told_ways) + "\n", arguments.json)
    return 0


def _content(
    question: TargetQuestion, answer: SmallestMachines, percent: float | None, sentences: Mapping[str, str]
) -> dict[str, Any]:
    """Return the answer for programs: the machine, the costs of all machines, and the sentences."""
    cheapest = answer.cheapest.machine
    machines = {name: running_costs(result) for name, result in _machines(question, answer).items()}
    return {
        "link": links.link(question.scenario),
        "model_version": version.MODEL,
        "baseline": question.baseline.scenario.system,
        "within_percent": percent,
        "step_ms": question.own_result.results.get("Step time [ms]"),
        "baseline_step_ms": question.baseline.results.get("Step time [ms]"),
        "target_step_ms": question.goal / MS,
        "meets": answer.cheapest.meets,
        "machine": {
            "modules": cheapest.modules,
            "link_GBps": cheapest.gbps,
            "knobs": {path: knobs.write(KNOBS[path], knob_value) for path, knob_value in cheapest.changes.items()},
            "outcome": cheapest.result.outcome,
            "results": cheapest.result.results,
            "link": links.link(cheapest.result.scenario),
        },
        "costs": {
            name: {
                "usd_of": price_unit(_machines(question, answer)[name].scenario),
                "capital_usd": costs.capital,
                "kwh_a_month": costs.kwh_month,
                "electricity_usd_a_month": costs.electricity_month,
                "usd_per_billion_samples": costs.per_billion_samples,
                "bill": bill_content(bill_of(_machines(question, answer)[name].scenario)),
            }
            for name, costs in machines.items()
            if costs
        },
        "prices": question.scenario.machine.prices,
        "assumptions": assumptions(question.scenario),
        "sentences": dict(sentences),
        "knobs": [{"path": strip.path, "sentence": strip.sentence} for strip in _knob_strips(question)],
    }


def _machines(question: TargetQuestion, answer: SmallestMachines) -> dict[str, Result]:
    return {
        "As it is": question.own_result,
        f"Baseline {question.baseline.scenario.system}": question.baseline,
        "Cheapest": answer.cheapest.machine.result,
    }


def _costs(question: TargetQuestion, answer: SmallestMachines) -> Iterator[str]:
    for name, result in _machines(question, answer).items():
        if costs := running_costs(result):
            s = result.scenario
            paid = figures.figure(costs.electricity_month, electricity_unit(s))
            month = f"{figures.figure(costs.kwh_month, 'kWh a month')} for {paid}"
            if costs.capital is None or costs.per_billion_samples is None:
                yield f"{name.replace('Cheapest', 'Smallest')}: {' '.join(_unpriced(result))} {month}."
            else:
                billion_text = f"{figures.figure(costs.per_billion_samples, running_cost_unit(s))} for a billion samples"
                yield f"{name}: {figures.figure(costs.capital, price_unit(s))}, {month}, {billion_text}."
    yield assumptions(question.scenario)


def _unpriced(result: Result) -> tuple[str, ...]:
    """Return sentences about the parts of a result's machine that have no price."""
    return unpriced_sentences(result.scenario.machine, powered_devices(result.scenario.system, result.scenario.machine))


def _strips(question: TargetQuestion) -> Iterator[str]:
    for strip in _knob_strips(question):
        yield f"{KNOBS[strip.path].label}: {strip.sentence}"


def _knob_strips(question: TargetQuestion) -> Sequence[Strip]:
    return strips(question.scenario, MAIN_KNOBS, question.baseline.scenario)
