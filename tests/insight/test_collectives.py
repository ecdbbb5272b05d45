"""Collectives beside published numbers: are ours closed formulas of the network's constants, in the set-ups of the claims?"""

from dataclasses import replace

import pytest

from engine.core.catalog import part_names_of
from engine.insight.network.collectives import ALL_REDUCE, ALL_TO_ALL, STEP, bus_bandwidth, card_share, collectives, dcnv2
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests.cases import each

GB, GIB, FABRIC, START, HOP, MESSAGE = 1e9, 2**30, 0.667 * 300e9, 10e-6, 20e-6, 4.3e-6
VECTORS = 26 * 128 * 4  # bytes of a sample


def found(**assumed):
    changes = tuple((f"network.{name.replace('_', '-')}", value) for name, value in assumed.items())
    return {one.name: one for one in collectives(changes)}


def curve(comparison, network):
    return next(one for one in comparison.curves if one.network == network)


def claim(of, words):
    """Return the one claim of a preset whose title has some words, and its scenario."""
    (own,) = [one for one in preset(of).claims if words in one["title"]]
    knobs = {name: None if value == "auto" else value for name, value in own["knobs"].items()}
    return own, with_values(preset(of).scenario, {"system": own["system"], **knobs})


def all_reduce(nodes, share, card):
    """Return the bus bandwidth in GB/s of 1 GiB on nodes of eight A100: a ring over the fabric, then one a GPU's part."""
    gpus, far = 8 * nodes, 2 * (nodes - 1) / nodes * GIB / (8 * share * card * GB) if nodes > 1 else 0.0
    took = START + HOP * (nodes > 1) + 2 * 7 / 8 * GIB / FABRIC + far
    return GIB / took * 2 * (gpus - 1) / gpus / GB


def all_to_all(nodes, samples, share, card):
    """Return the share of a card in %: of n bytes of vectors each node sends its sums to every other, an eighth a GPU."""
    sent = (nodes - 1) * samples * VECTORS
    took = START + HOP + 8 * (nodes - 1) * MESSAGE + sent / (share * card * GB)
    return 100 * sent / took / (card * GB)


def test_how_far_each_published_point_is_off_follows_from_the_constants_by_hand():
    hand = {
        ALL_REDUCE: {8: (231, all_reduce(1, 0.5, 5.6)), 16: (57, all_reduce(2, 0.5, 5.6))},
        ALL_TO_ALL: {16: (65, all_to_all(2, 2048, 0.56, 1.40625)), 80: (25, all_to_all(10, 819, 0.5, 5.6))},
    }
    for name, points in hand.items():
        own = found()[name].points
        assert {one.gpus: one.published for one in own} == {gpus: published for gpus, (published, _) in points.items()}
        for point in own:
            published, ours = points[point.gpus]
            assert point.relative_error == pytest.approx(ours / published - 1, rel=1e-9), name
    percents = [round(100 * point.relative_error, 1) for name in hand for point in found()[name].points]
    assert percents == [-13.5, -38.4, -14.0, 98.1]


def test_set_ups_are_those_of_the_claims_and_so_are_the_published_steps():
    steps = {one.gpus: one for one in found()[STEP].points}
    for gpus in (64, 128):
        own, scenario = claim("torchrec-terabyte", f"MLPerf v3.0, DCNv2, {gpus} H100")
        assert scenario == dcnv2(gpus, "infiniband") and own["kind"] == "calibrated" and steps[gpus].fitted
        assert steps[gpus].published == pytest.approx(own["published"] / 1e6)
    shares = {one.gpus: one for one in found()[ALL_TO_ALL].points}
    for of, words in (("torchrec-terabyte", "16 over 8 A100"), ("a100-terabyte", "80 A100 of 40 GB")):
        own, scenario = claim(of, words)
        machine, samples = scenario.machine, scenario.data.batch_size // scenario.machine.num_gpus
        point = shares[machine.num_gpus]
        assert scenario.policy.sharding == "row-wise" and point.network == machine.network
        assert point.simulated_value == pytest.approx(100 * card_share(machine, samples)) and not point.fitted


@each(("name", "network"), [(ALL_REDUCE, "efa"), (ALL_TO_ALL, "efa"), (STEP, "infiniband")])
def test_a_lower_network_utilisation_lowers_each_curve_beyond_a_node_and_no_published_number(name, network):
    before, after = found()[name], found(network_utilisation=0.3)[name]
    for gpus, high, low in zip(
        *[curve(before, network).gpus], curve(before, network).values, curve(after, network).values, strict=True
    ):
        assert low == pytest.approx(high) if gpus <= 8 else low < 0.95 * high
    assert [one.published for one in before.points] == [one.published for one in after.points]
    assert all(
        one.relative_error < other.relative_error for one, other in zip(after.points, before.points, strict=True) if one.gpus > 8
    )


def test_longer_messages_and_a_cheaper_one_bring_a_share_nearer_to_the_utilisation():
    machine = MachineKnobs(gpu="a100-40", num_gpus=128, network="efa", network_bandwidth_GBps=5.6)
    shares = [card_share(machine, samples) for samples in (1, 8, 64, 512)]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(0.5, rel=0.02) and shares[0] < 0.2
    assert card_share(replace(machine, assume=(("network.message-overhead", 0.0),)), 1) > 1.5 * shares[0]
    assert card_share(replace(machine, num_gpus=8), 64) == 0


def test_a_short_all_reduce_reaches_less_of_its_links_than_a_long_one():
    machine = MachineKnobs(gpu="a100-40", num_gpus=16, network="efa", network_bandwidth_GBps=5.6)
    rates = [bus_bandwidth(machine, nbytes) for nbytes in (2**20, 2**25, 2**30)]
    assert rates == sorted(rates) and rates[-1] == pytest.approx(GB * all_reduce(2, 0.5, 5.6))


def test_each_comparison_has_all_networks_from_few_gpus_to_128_and_each_point_a_source():
    for comparison in found().values():
        assert tuple(one.network for one in comparison.curves) == part_names_of("network")
        for one in comparison.curves:
            assert one.gpus[-1] == 128 and len(one.values) == len(one.gpus) and min(one.values) > 0
        assert all(point.source for point in comparison.points)
    first, second = found()[ALL_REDUCE].points
    assert "NVIDIA/nccl, issue 527" in first.source and "assumed" in second.source and second.assumed
    others = found()[ALL_REDUCE].other_errors(second)
    assert others == pytest.approx({"infiniband": all_reduce(2, 0.9, 5.6) / 57 - 1, "roce": all_reduce(2, 0.56, 5.6) / 57 - 1})
    assert found()[ALL_REDUCE].other_errors(first) == {}
