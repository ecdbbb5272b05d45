"""HSTU layers in time: operations as published, seconds as NVIDIA measured them on an H100."""

import pytest

from engine.core.work import HistoryPart
from engine.estimate import estimate
from engine.hardware.devices import gpu, host
from engine.hardware.layer_kernels import COUNTING_ARITHMETIC
from engine.hardware.layers import count_kernels, layer_cost
from engine.hardware.sequence_layers import layer_parts, sequence_costs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.system import constants
from engine.systems.traffic import mlp_gradient_bytes
from engine.training.shape import dense_size, full_shape
from engine.workload.histories import history_shape

NVIDIA = preset("nvidia-hstu").scenario
FIXED = with_values(
    NVIDIA, {"model.pooling": (2048, 1), "data.bag_length_cv": (0.0,), "machine.attention": "fused", "machine.step_jitter": 0.0}
)
SAMPLES = 32  # a GPU


def fixed_parts(arithmetic):
    shape = history_shape(FIXED)
    return {
        name: [cost * shape.layers for cost in map(sum, zip(*costs, strict=True))]
        for name, costs in layer_parts(arithmetic, SAMPLES, shape, 2).items()
    }


def test_operations_of_fixed_histories_are_nvidias():
    parts = fixed_parts(COUNTING_ARITHMETIC)
    assert sum(flop for _, flop, _ in parts.values()) / 1e12 == pytest.approx(63.89, rel=0.002)


@pytest.mark.parametrize(
    ("part", "published_ms", "tolerance"),
    [("attention", 79.9, 0.05), ("uvqk", 33.1, 0.12), ("output", 8.9, 0.1), ("elementwise", 39.5, 0.05)],
)
def test_seconds_of_fixed_histories_are_near_nvidias(part, published_ms, tolerance):
    milliseconds = 1e3 * fixed_parts(gpu.build(FIXED.machine).rates)[part][0]
    assert milliseconds == pytest.approx(published_ms, rel=tolerance)


def test_operations_of_a_full_history_are_mlperfs():
    s = with_values(
        preset("dlrm-v4-mi350x").scenario,
        {"model.pooling": (4087,) * 3 + (1,) * 8, "data.bag_length_cv": (), "data.history_cap": None},
    )
    shape = history_shape(s)
    assert shape.positions == 4096
    parts = {
        name: sum(cost.flop for cost in costs) * 3 / 1e9 for name, costs in layer_parts(COUNTING_ARITHMETIC, 1, shape, 2).items()
    }
    assert parts["attention"] == pytest.approx(180.4, rel=0.001)
    assert parts["uvqk"] == pytest.approx(77.3, rel=0.001) and parts["output"] == pytest.approx(58.0, rel=0.001)


def test_the_slowest_gpu_sets_the_seconds_and_the_mean_sets_operations_and_bytes():
    arithmetic = gpu.build(NVIDIA.machine).rates
    uneven = history_shape(NVIDIA)
    even = uneven._replace(uneven_events=1.0, uneven_squares=1.0)
    slow, mean = (
        [sum(part) for part in zip(*sequence_costs(arithmetic, SAMPLES, shape, 2), strict=True)] for shape in (uneven, even)
    )
    assert slow[1:] == mean[1:] and 1.5 < slow[0] / mean[0] < uneven.uneven_squares


def test_kernels_are_counted_whatever_the_histories_are():
    def kernels(shape):
        return count_kernels(HistoryPart(8, shape))

    shape = history_shape(NVIDIA)
    assert kernels(shape) == kernels(shape._replace(uneven_events=1.0, uneven_squares=1.0)) > 8
    doubled = shape._replace(layers=16)
    assert kernels(doubled) - kernels(shape) == kernels(shape._replace(layers=8)) - kernels(shape._replace(layers=0))


def test_a_single_gated_product_needs_fewer_operations_than_three_vectors():
    one, three = (history_shape(with_values(FIXED, {"model.hstu_concat": concat})) for concat in (False, True))
    flop = [sum(cost.flop for cost in layer_parts(COUNTING_ARITHMETIC, 1, shape, 2)["output"]) for shape in (one, three)]
    assert flop[1] == 3 * flop[0]
    assert layer_cost(HistoryPart(8, three), COUNTING_ARITHMETIC).flop > 0


def test_gradients_and_logs_have_the_bytes_of_all_weights_that_are_trained():
    scenario = preset("dlrm-v4-mi350x").scenario
    assert mlp_gradient_bytes(scenario) == 4 * dense_size(full_shape(scenario)) > 4 * 3_000_000


def test_a_hosts_attention_has_a_rate_a_core_where_its_products_are_faster():
    on_host = with_values(preset("dlrm-v4-cxl").scenario, {"system": "cpu-only", "machine.host": "amx-2023"})
    tiles = host.build(on_host.machine).rates.layers
    assert tiles.attention_forward == tiles.attention_backward == pytest.approx(112 * 145e9)
    assert tiles.rate > 9 * tiles.attention_forward
    plain = host.build(with_values(on_host, {"machine.matrix_precision": "fp32"}).machine).rates.layers
    assert plain.attention_forward == plain.rate == pytest.approx(112 * 0.7 * 160e9)

    def step(scenario):
        return estimate(scenario).results["Step time [ms]"] / 1e3

    squares, samples = history_shape(on_host).squares, on_host.data.batch_size
    flop = 3.5 * 2 * 3 * samples * squares * 512  # three layers, both passes
    slower = with_values(on_host, {"machine.assume": (("host.attention-rate-a-core", 70.0),)})
    assert step(slower) - step(on_host) == pytest.approx(flop / 112 * (1 / 70e9 - 1 / 145e9), rel=0.01)


def test_only_layers_of_histories_on_a_host_read_its_attention():
    name, histories = "host.attention-rate-a-core", preset("dlrm-v4-cxl").scenario
    bags = with_values(preset("dlrm-kaggle").scenario, {"system": "cpu-only"})
    assert name not in constants(bags) and name not in constants(histories)
    assert name in constants(with_values(histories, {"system": "cpu-only"}))
