"""Arithmetic of layers: do rates, bytes and joules follow the precision, and is one that a GPU lacks refused?"""

from itertools import pairwise

import pytest

from engine.core.work import BottomMLP, TopPart
from engine.errors import CannotRun
from engine.estimate import estimate
from engine.hardware.device import joules, seconds
from engine.registry import load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine
from engine.sweep import links
from engine.systems.traffic import activation_bytes
from tests.cases import each
from tests.machines import TINY

SAMPLES, K, N = 16_384.0, 512, 1024
LAYER = BottomMLP(SAMPLES, (K, N), "forward")
TRAINED = BottomMLP(SAMPLES, (K, N), "backward")
PRESENT = {
    "v100": {"fp32": (15.7, 4), "fp16": (125, 2)},
    "a100-80": {"fp32": (19.5, 4), "tf32": (156, 4), "bf16": (312, 2), "fp16": (312, 2)},
    "h100-sxm": {"fp32": (67, 4), "tf32": (494.5, 4), "bf16": (989.5, 2), "fp16": (989.5, 2)},
}
PAIRS = [(gpu, precision) for gpu, has in PRESENT.items() for precision in has]


def device(gpu, precision, *assume):
    return load_variant("devices", "gpu").build(
        MachineKnobs(gpu=gpu, matrix_precision=precision, framework="lean", assume=assume)
    )


def constant(found, name):
    return next(one.value for one in found.constants if one.name == name)


@each(("gpu", "precision"), PAIRS)
def test_a_layer_takes_its_operations_at_the_precisions_rate_and_its_bytes_at_the_words_size(gpu, precision):
    (tflops, word), found = PRESENT[gpu][precision], device(gpu, precision)
    rate = constant(found, "GEMM share of peak") * tflops * 1e12
    width = constant(found, "GEMM share of bandwidth") * constant(found, "memory bandwidth") * 1e9
    rows = SAMPLES + constant(found, "GEMM extra rows")
    moved = word * (SAMPLES * K + K * N + SAMPLES * N)
    fixed, launch = (1e-6 * constant(found, name) for name in ("GEMM fixed time", "kernel launch"))
    expected = fixed + max(2 * rows * K * N / rate, moved / width) + launch + 2 * word * SAMPLES * N / width
    assert seconds(found, LAYER) == pytest.approx(expected, rel=1e-12)


@each(("gpu", "precision"), PAIRS)
def test_joules_are_those_of_operations_and_bytes_and_master_weights_stay_fp32(gpu, precision):
    (_, word), found = PRESENT[gpu][precision], device(gpu, precision)
    energy = constant(found, "16-bit energy" if word == 2 else f"{precision} energy")
    # activation's gradient, weights' gradient, and an update that reads a gradient, reads and writes fp32 weights (and a copy)
    update = (4 + 4 + 4 if word == 4 else 2 + 4 + 4 + 2) * (K + 1) * N
    nbytes = 3 * word * SAMPLES * N + word * (K * SAMPLES + SAMPLES * N + K * N) + update
    expected = 1e-12 * (2 * SAMPLES * K * N * energy + nbytes * constant(found, "memory path energy"))
    limit = constant(found, "board limit")
    within = (1 - constant(found, "power between kernels")) * limit * float(seconds(found, TRAINED))
    assert joules(found, TRAINED) == pytest.approx(min(expected, within), rel=1e-12)


@pytest.mark.parametrize("gpu", PRESENT)
def test_a_narrower_precision_is_never_slower_nor_dearer_but_for_the_launches_that_convert_pooled_vectors(gpu):
    for work in (LAYER, TRAINED, TopPart(SAMPLES, (479, 1024, 1), 27 * 128), TopPart(64.0, (479, 1024, 1), 27 * 128)):
        found = [device(gpu, precision) for precision in PRESENT[gpu]]
        times, prices = ([float(of(one, work)) for one in found] for of in (seconds, joules))
        small = 2 * 2.6e-6 if isinstance(work, TopPart) and work.samples < 1000 else 0.0
        assert all(after <= before + small for before, after in pairwise(times))
        assert prices == sorted(prices, reverse=True)


def test_activations_in_16_bits_take_half_the_room_and_gradients_and_weights_as_much():
    base = preset("torchrec-terabyte").scenario
    room = {one: activation_bytes(with_values(base, {"machine.matrix_precision": one})) for one in ("fp32", "tf32", "fp16")}
    without = activation_bytes(with_values(base, {"data.batch_size": 8, "machine.num_gpus": 8}))
    assert room["fp32"] == room["tf32"]
    assert room["fp32"] - room["fp16"] == pytest.approx((room["fp32"] - without) / 2, rel=1e-3)


@pytest.mark.parametrize(
    ("gpu", "asked", "has"),
    [("v100", "tf32", "fp32 or fp16"), ("v100", "bf16", "fp32 or fp16"), ("trainingcxl", "fp16", "fp32")],
)
def test_a_precision_without_a_unit_is_refused_and_an_assumed_unit_is_not(gpu, asked, has):
    base = with_values(TINY, {"machine.gpu": gpu, "machine.matrix_precision": asked})
    with pytest.raises(CannotRun, match=f"matrix_precision={asked} is not possible: machine.gpu={gpu} computes in {has};"):
        ready_machine(base)
    if gpu == "v100":
        assert estimate(with_values(base, {"machine.assume": ((f"gpu.{asked}-peak", 100.0),)})).results["Step time [ms]"] > 0


@pytest.mark.parametrize(
    ("host", "asked", "has"),
    [
        ("server", "tf32", "fp32"),
        ("avx512-2019", "bf16", "fp32"),
        ("epyc-2019", "bf16", "fp32"),
        ("epyc-2024", "fp16", "fp32 or bf16"),
        ("amx-2023", "tf32", "fp32 or bf16 or fp16"),
        ("trainingcxl", "fp16", "fp32"),
    ],
)
def test_a_precision_that_a_host_has_no_unit_for_is_refused_where_the_layers_are_on_it(host, asked, has):
    base = with_values(TINY, {"system": "cpu-only", "machine.host": host, "machine.matrix_precision": asked})
    refusal = f"matrix_precision={asked} is not possible: the layers run on the host, and machine.host={host} computes in {has};"
    with pytest.raises(CannotRun, match=refusal):
        ready_machine(base)
    for remedy in [*has.split(" or ")]:
        assert estimate(with_values(base, {"machine.matrix_precision": remedy})).ran
    assert estimate(with_values(base, {"system": "cpu-gpu"})).ran, "an A100's layers need no unit of the host's"
    if asked != "tf32":
        assert estimate(with_values(base, {"machine.assume": ((f"host.{asked}-peak-a-core", 100.0),)})).ran


@pytest.mark.parametrize("name", ["dlrm-kaggle", "dlrm-terabyte"])
def test_a_host_with_units_for_bf16_computes_layers_sooner_in_it(name):
    changes = {"system": "cpu-only", "data.batch_size": 16_384, "run.training": False, "machine.matrix_precision": "fp32"}
    for host in ("amx-2023", "epyc-2024"):
        base = with_values(preset(name).scenario, {**changes, "machine.host": host})
        full, half = (estimate(with_values(base, {"machine.matrix_precision": one})) for one in ("fp32", "bf16"))
        assert half.ran and half.results["Step time [ms]"] < 0.95 * full.results["Step time [ms]"], host


def test_an_old_link_to_tf32_on_a_gpu_without_it_opens_as_the_fp32_that_it_was():
    asked = {
        "preset=tiny&machine.gpu=v100&machine.matrix_precision=tf32",
        "preset=scratchpipe-kaggle&machine.gpu=v100",
        "preset=hotline-kaggle&machine.matrix_precision=tf32",
    }
    for query in asked:
        opened = links.open_link(f"/design?{query}&v=3&model=0.8")
        assert opened.scenario.machine.matrix_precision == "fp32" and "tf32 of a v100" in opened.banner
    for query in ("preset=tiny&machine.gpu=v100", "preset=scratchpipe-kaggle", "preset=tiny&machine.matrix_precision=tf32"):
        assert "has none" not in links.open_link(f"/design?{query}&v=3&model=0.8").banner
    new = links.open_link("/design?preset=tiny&machine.gpu=v100&machine.matrix_precision=tf32&v=4&model=0.9")
    assert new.scenario.machine.matrix_precision == "tf32"
