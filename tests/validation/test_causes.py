"""Causes: does an experiment count only if it is plausible, explains a miss, and worsens nothing beside it?"""

import pytest

from engine.campaign.reference_points import protection_figures
from engine.errors import CannotRun
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.validation import causes, validate
from engine.validation.claims import claims
from engine.validation.scoreboard import json_rows
from tests.cases import each

INPUT, FABRIC = "host.input-a-value", "network.fabric-bandwidth"
COUNTING = {
    "a100-terabyte: Throughput, all-hbm, 80 A100 of 40 GB, 819 samples a GPU [samples/s]",
    "cached-embedding-terabyte: Throughput [samples/s]",
    "cached-embedding-terabyte: Throughput, torchrec-uvm [samples/s]",
    "torchrec-terabyte: Throughput, all-hbm, one V100 in fp16 [samples/s]",
}
TERABYTE = with_values(preset("torchrec-terabyte").scenario, {"machine.framework": "pytorch"})


def claim_of(name, title):
    """Return the claim of a preset with this title."""
    return next(claim for claim in claims(name) if claim.title == title)


def test_four_of_the_presets_ten_causes_count_and_the_others_tell_why_not():
    names = ("a100-terabyte", "bagpipe-kaggle", "cached-embedding-terabyte", "torchrec-terabyte")
    missed = [verdict for verdict in validate.validate(names) if verdict.cause and verdict.caused_value]
    assert len(missed) == 10 and {verdict.name for verdict in missed if verdict.cause_counts} == COUNTING
    for verdict in missed:
        assert ("does not count: " in verdict.cause) == bool(verdict.objections) == (not verdict.cause_counts)
    (cpr,) = [row for row in json_rows((), protection_figures()) if row["cause"]]
    assert cpr["cause_counts"] is False and "does not count: machine.num_gpus=10 is no constant" in cpr["cause"]


@each(
    ("knobs", "objected"),
    [
        ((("machine.assume", ((INPUT, 24.5),)),), ""),
        ((("machine.assume", ((INPUT, 110.0),)),), ""),
        ((("machine.assume", ((INPUT, 110.1),)),), f"{INPUT}=110.1 lies outside 1 to 110 ns"),
        ((("machine.assume", ((INPUT, 0.9),)),), f"{INPUT}=0.9 lies outside 1 to 110 ns"),
        ((("machine.assume", ((FABRIC, 50.0),)),), f"{FABRIC}=50 lies outside"),
        ((("machine.network_bandwidth_GBps", 0.27),), "no constant of the catalogue"),
        ((("machine.framework", "cuda-graph"),), ""),
        ((("machine.framework", "xla"),), "no choice that the set-up names"),
    ],
)
def test_a_value_is_plausible_inside_its_constants_range_or_as_a_choice_that_is_named(knobs, objected):
    said = list(causes.implausible_knobs(TERABYTE, knobs, "measured with a CUDA graph over 0.27 GB/s"))
    assert len(said) == bool(objected) and all(objected in clause for clause in said)


@each(
    ("ours", "caused", "ends", "counts"),
    [
        (4.0, 2.0, (1.0, 1.0), True),
        (4.0, 2.1, (1.0, 1.0), False),
        (4.0, 0.5, (1.0, 1.0), True),
        (4.0, 0.4, (1.0, 1.0), False),
        (8.0, 4.0, (1.0, 2.0), True),
        (8.0, 1.5, (1.0, 2.0), True),
        (4.0, 4.0, (1.0, 1.0), False),
        (4.0, 0.0, (1.0, 1.0), False),
        (4.0, float("nan"), (1.0, 1.0), False),
    ],
)
def test_a_cause_explains_at_least_half_of_the_log_error(ours, caused, ends, counts):
    assert (list(causes.unexplained_share(ours, caused, ends)) == []) is counts


def test_a_cause_worsens_no_other_number_on_the_same_gpu_host_and_loop():
    claim = claim_of("torchrec-terabyte", "Throughput, all-hbm, one V100 in fp16 [samples/s]")
    (trial,) = causes.sibling_trials("torchrec-terabyte", claim)
    assert trial.title == "Throughput, all-hbm, one V100 [samples/s]" and trial.knobs[-1] == claim.cause_knobs[0]

    def measured(under_cause, otherwise=600_000.0):
        def measure(asked):
            if asked == trial:
                return under_cause()
            return 880_000.0 if asked == causes.with_cause(claim) else 1_757_000.0 if asked == claim else otherwise

        return causes.objections("torchrec-terabyte", claim, measure)

    def refused():
        raise CannotRun("too little memory")

    assert measured(lambda: 494_000.0) == measured(lambda: 600_000.0) == ()
    assert "gets worse" in measured(lambda: 601_000.0)[0] and "21.7 % off with it and 21.5 %" in measured(lambda: 601_000.0)[0]
    assert "cannot run with it" in measured(refused)[0]


def test_what_has_no_cause_has_no_objection():
    claim = claim_of("fae-kaggle", "Speed-up over CPU only")
    assert causes.objections("fae-kaggle", claim, lambda _: pytest.fail("nothing to measure")) == ()
    assert causes.sibling_trials("fae-kaggle", claim) == ()
