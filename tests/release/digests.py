"""Digests of the engine's answers, to compare one Python with another.

`python -m tests.release.digests` prints them as JSON. With a WORD behind it, it prints the texts whose names contain the word.
Names that begin with "trained" are of losses and AUCs. All others are of time, energy, wear, cost and answers.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from engine import api
from engine.artefact import TRAINING_WORDS
from engine.campaign.compare import compare_protections
from engine.campaign.fault_stream import hazards_of
from engine.core.arithmetic import arithmetic
from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.estimates import estimates
from engine.insight.decomposition import decompose
from engine.registry import load_variant, variant_names
from engine.results.csv_table import csv_text
from engine.results.perfetto import chrome_trace
from engine.results.result import Result
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate

Texts = Iterator[tuple[str, str]]
RUN = {"run.batches": 40, "run.evaluations": 1, "data.held_out_samples": 256}
RUNS: Mapping[str, Mapping[str, Any]] = {
    "tiny": {**RUN, "faults.power_loss_at_seconds": 0.01},
    "dlrm-kaggle": {**RUN, "run.batches": 10},
    "scratchpipe-kaggle": {**RUN, "run.training": False},
}
RUN_SYSTEMS = ("cxl", "pmem", "scratchpipe", "ssd")
ANSWERED = ("tiny", "dlrm-kaggle")
CAMPAIGN_HOURS = 14 * 24.0
AXES: Mapping[str, Any] = {"cxl_bandwidth_GBps": [4.0, 8.0, 11.3, 32.0, 64.0], "batch_size": [64, 100, 777]}
FAULTS = {"faults.rates": "llama3", "faults.gpu_crash_mtbf_hours": 31.0, "faults.power_loss_mtbf_hours": 77.0}


def text_of(answer: Callable[[], Any]) -> str:
    """Return an answer as JSON, or the sentence of its refusal."""
    try:
        return json.dumps(answer())
    except EmberpoolError as error:
        return str(error)


def result_texts(name: str, compute: Callable[[Scenario], Result], scenario: Scenario) -> Texts:
    """Yield the text of a result's numbers, tables and files, and the text of what training learned."""
    try:
        result = compute(scenario)
    except EmberpoolError as error:
        yield name, str(error)
        return
    learned = {metric: number for metric, number in result.results.items() if metric.startswith(TRAINING_WORDS)}
    numbers = {metric: number for metric, number in result.results.items() if metric not in learned}
    untrained = replace(result, results=numbers, training=())
    yield name, json.dumps(untrained.as_json()) + csv_text([untrained], "full") + chrome_trace(untrained)
    if result.training:
        yield f"trained {name}", json.dumps([learned, result.training])


def preset_texts(name: str) -> Texts:
    """Yield the texts of a preset's estimates under each system of its family, alone and planned together."""
    scenario = preset(name).scenario
    family = load_variant("systems", scenario.system).family
    scenarios = [
        with_values(scenario, {"system": system})
        for system in variant_names("systems")
        if load_variant("systems", system).family == family
    ]
    for of_system in scenarios:
        yield from result_texts(f"estimate {name} {of_system.system}", estimate, of_system)
    yield f"together {name}", text_of(lambda: [result.results for result in estimates(scenarios)])


def run_texts(name: str, knobs: Mapping[str, Any]) -> Texts:
    """Yield the texts of full runs of a preset under several systems."""
    for system in RUN_SYSTEMS:
        scenario = with_values(preset(name).scenario, {**knobs, "system": system})
        yield from result_texts(f"run {name} {system}", simulate, scenario)


def answer_texts(name: str) -> Texts:
    """Yield the texts of a sweep, of the answers to questions, and of campaigns."""
    scenario, protections = with_values(preset(name).scenario, FAULTS), variant_names("protections")
    yield f"sweep {name}", text_of(lambda: [result.results for result in api.sweep(name, **AXES)])
    yield f"decide {name}", text_of(lambda: api.decide(name))
    yield f"enough {name}", text_of(lambda: api.enough(name))
    yield f"why {name}", text_of(lambda: repr(decompose(scenario)))
    hazards = hazards_of(scenario)
    yield f"campaign {name}", text_of(lambda: compare_protections(scenario, protections, hazards, CAMPAIGN_HOURS, (1, 2, 3)))


def texts() -> Texts:
    """Yield the name and the text of each answer."""
    for name in preset_names():
        yield from preset_texts(name)
    for name, knobs in RUNS.items():
        yield from run_texts(name, knobs)
    for name in ANSWERED:
        yield from answer_texts(name)


def main() -> None:
    """Print the digests, or the texts that a word asks for."""
    warnings.simplefilter("ignore")
    own_arithmetic = arithmetic()  # links and rows name it
    named_texts = {name: text.replace(own_arithmetic, "") for name, text in texts()}
    if len(sys.argv) > 1:
        print("\n".join(f"{name}\t{text}" for name, text in named_texts.items() if sys.argv[1] in name))
        return
    digests = {name: blake2b(text.encode(), digest_size=8).hexdigest() for name, text in named_texts.items()}
    print(json.dumps({"arithmetic": own_arithmetic, **digests}))


if __name__ == "__main__":
    main()
