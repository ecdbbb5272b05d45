"""The roofline: is it bytes over bandwidth and operations over peak, and is what is said of it taken over the same numbers?"""

from dataclasses import replace

import pytest

from engine.commands.validate import scoreboard
from engine.core.work import mlp_parameters
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.validation.claims import claims
from engine.validation.roofline import roofline, roofline_seconds
from engine.validation.scoreboard import ALL_FAMILIES, PublishedNumber, family_score, score_lines
from engine.validation.validate import measure_claim
from pages.evidence_page import scoreboard_panel
from tests.cases import each

ONE_GPU = with_values(preset("optane-kaggle").scenario, {"system": "all-hbm", "data.batch_size": 65536})
PEAK, BANDWIDTH, LINK = "gpu.fp32-peak", "gpu.memory-bandwidth", "machine.pcie_bandwidth_GBps"
ONE = PublishedNumber("made up: one", "Scale-out", "out of sample", 10.0, 12.0)


def faster(peak, bandwidth, link=1.0, **changes):
    """Return a scenario on one A100 so many times as fast in its operations, its bytes and its link."""
    own = 26.0  # GB/s of an A100's port
    ports = (("gpu.port", 1000.0), ("gpu-port.host-port-of-PCIe-3", 1000.0))
    assumed = ((PEAK, 19.5 * peak), (BANDWIDTH, 2039.0 * bandwidth), *ports)
    return with_values(ONE_GPU, {"machine.assume": assumed, LINK: own * link, **changes})


def test_time_is_operations_over_peak_and_bytes_over_bandwidth_and_nothing_else():
    whole, without_flop, without_bytes = (roofline_seconds(faster(*times)) for times in ((1, 1), (1e7, 1), (1, 1e7)))
    assert roofline_seconds(faster(2, 2, 2)) == pytest.approx(whole / 2)
    halves = [roofline_seconds(faster(2, 1)), roofline_seconds(faster(1, 2))]
    assert halves == pytest.approx([(whole + without_flop) / 2, (whole + without_bytes) / 2], rel=1e-6)


def test_operations_are_six_a_parameter_and_a_sample():
    changes = {"model.interaction": "concat", "model.bottom_mlp": (13, 1024, 1024, 1024, 16), "model.top_mlp": (1024, 1024, 1)}
    deep = faster(1, 1e7, **changes)
    spent = roofline_seconds(deep) - roofline_seconds(faster(1e7, 1e7, **changes))
    widths = deep.model.bottom_mlp, (deep.model.embedding_dim * 27, *deep.model.top_mlp)
    assert spent == pytest.approx(6 * 65536 * sum(map(mlp_parameters, widths)) / 19.5e12, rel=0.02)


@each("framework", ["pytorch", "xla", "lean"])
def test_no_training_loop_is_in_it_and_a_step_takes_longer(framework):
    asked = with_values(ONE_GPU, {"machine.framework": framework})
    assert roofline_seconds(asked) == roofline_seconds(ONE_GPU)
    assert roofline_seconds(asked) < estimate(asked).results["Step time [ms]"] / 1e3


def test_a_claim_without_a_time_or_a_peak_has_none():
    of = {claim.title: roofline(claim, measure_claim) for claim in claims("cached-embedding-kaggle")}
    assert of["Cache hit rate, 1 % cached [%]"] is None and of["Throughput [samples/s]"] > 2e6
    assert roofline(claims("trainingcxl-rm1")[0], measure_claim) is None, "its GPU replays measured times"
    assert roofline(claims("bagpipe-kaggle")[2], measure_claim) is None, "nothing is published"


def test_its_median_stands_beside_ours_on_the_same_numbers_and_is_told_alike_everywhere():
    found = [ONE, replace(ONE, simulated_value=9.0, roofline=15.0), replace(ONE, simulated_value=7.0, roofline=30.0)]
    line = family_score("Scale-out", found)
    assert (line.count, line.roofline_count) == (3, 2)
    assert (line.roofline_percent, line.model_percent, line.median_percent) == pytest.approx((125.0, 20.0, 20.0))
    fitted = replace(ONE, sample="calibrated", simulated_value=10.0)
    other = replace(ONE, family="Look-ahead", simulated_value=40.0)
    over_all, *families = score_lines([*found, fitted, other])
    assert over_all.family == ALL_FAMILIES and over_all.count == sum(each.count for each in families) == 4
    assert over_all.median_percent == pytest.approx(25.0) and over_all.near_percent == pytest.approx(50.0)
    text, page = scoreboard([*found, fitted, other]).splitlines(), scoreboard_panel.table([*found, fitted, other])
    assert text[1].startswith(ALL_FAMILIES) and "25.0 %" in text[1] and "125.0 %" in text[1]
    assert page.iloc[0].tolist()[:4] == [ALL_FAMILIES, "4", "25", "125"] and len(page) == len(text) - 1 == 1 + len(families)


def test_what_crosses_between_nodes_costs_its_bytes_over_the_network():
    def crossing(bottom):
        """Return the seconds that crossing takes at 1 GB/s, from what 2 and 4 GB/s save of it."""
        nodes = {"machine.num_gpus": 16, "machine.gpus_per_node": 8, "model.bottom_mlp": bottom}
        asked = [with_values(ONE_GPU, {**nodes, "machine.network_bandwidth_GBps": rate}) for rate in (1, 2, 4)]
        slow, middle, fast = map(roofline_seconds, asked)
        assert slow - middle == pytest.approx(2 * (middle - fast)) and middle - fast > 0
        return 2 * (slow - middle)

    small, large = (13, 64, 16), (13, 4096, 4096, 16)
    more = 4 * (mlp_parameters(large) - mlp_parameters(small))  # bytes of gradients that are summed, exchanged vectors alike
    assert crossing(large) - crossing(small) == pytest.approx(2 * more * 15 / 16 / 1e9, rel=1e-6)
