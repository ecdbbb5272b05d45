"""GPUs, by a stand-in for their timers: do constants come back, are they parts, and is training on devices predicted first?"""

import json
import subprocess
from types import SimpleNamespace

import pytest

from engine.__main__ import main
from engine.core import catalog
from engine.errors import BadFile, BadInput
from engine.estimate import estimate
from engine.hardware.copy_paths import measured_rate
from engine.measure.fitted import MeasuredFigure, TimedOperator
from engine.measure.gpu import measured_gpu
from engine.measure.gpu.device_constants import device_constants
from engine.measure.gpu.device_timing import cuda_timer
from engine.measure.gpu.measured_gpu import NOT_YET, MeasuredGpu, gpu_number, gpu_parts, nearest_gpu, timed_operators
from engine.measure.here import trials
from engine.measure.here.read_back import FIRST_MACHINE_FILE, read_trials
from engine.measure.here.shapes import GPU_SYSTEMS, ModelShape, shape_scenario
from engine.measure.here.training import step_seconds
from engine.measure.host import MeasuredHost, pytorch
from engine.measure.operators import Operator
from engine.measure.part_files import GPU_PART_NAMES, write_parts
from engine.measure.timing import Timing
from tests.cases import each
from tests.measure.made_up_gpu import (
    CALL,
    COPIES,
    EXTRA,
    FIXED,
    GRAPH,
    HANDOFF,
    LAUNCH,
    LOSS,
    MEMORY,
    PEAKS,
    PER_LOOKUP,
    PER_TABLE,
    SUSTAINED,
    TABLE_CALL,
    TINY,
    device_seconds,
    made_up_timer,
    product_seconds,
)

pytestmark = pytest.mark.more  # `make slow` installs PyTorch, which most of these tests need
SHAPE = ModelShape(6, 5000, 16, 4, 256, (13, 64, 16), (32, 1), "sgd")
OWN = {"memory": MeasuredFigure(80.0, 80.0, 80.0, "as the device says")}


def timed(kind, amounts):
    return TimedOperator(kind, amounts, Timing(device_seconds(kind, amounts), 0.02, 7))


@pytest.fixture(scope="module")
def operators():
    """Every operator, run once on the CPU, with the made-up GPU's seconds, and those that a CPU has not got."""
    pytest.importorskip("torch")
    torch, ran = pytorch(), []
    found = timed_operators(torch, "cpu", TINY, made_up_timer(ran), rounds=3)
    assert len(ran) >= len(found) > 60
    for precision in ("tf32", "fp16"):
        shapes = [one.amounts for one in found if one.kind == "product fp32"]
        found += [timed(f"product {precision}", {**amounts, "word": 4.0 if precision == "tf32" else 2.0}) for amounts in shapes]
    found += [timed("to another GPU", {"calls": 1.0, "bytes": nbytes}) for nbytes in (1e4, 1e7)]
    return [*found, timed("graph", {"kernels": 100.0})]


def made_up(operators) -> MeasuredGpu:
    return gpu_parts("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB; PyTorch 2", operators, OWN)


@pytest.fixture
def measured_gpu_parts(measured, operators, tmp_path):
    """The made-up machine's parts with those of its GPU, in the folder that is used."""
    found = made_up(operators)
    own = tmp_path / "own"
    write_parts(own, found.description, found.parts, found.nearest, GPU_PART_NAMES, beside=("host", "dram"))
    return measured(further_kinds=("copy-path",)), found, own


def test_constants_of_a_gpu_come_back(operators):
    found = device_constants(operators)
    values = {key: one.value for part in found.values() for key, one in part.items()}
    assert all(one.low <= one.value <= one.high for part in found.values() for one in part.values())
    for precision, rate in PEAKS.items():
        assert values[f"{precision}-peak"] * values["GEMM-share-of-peak"] * 1e12 == pytest.approx(rate, rel=0.02)
    expected = {
        "memory-bandwidth": MEMORY / 1e9,
        "GEMM-share-of-bandwidth": SUSTAINED / MEMORY,
        "port": 22,
        "GEMM-fixed-time": FIXED * 1e6,
        "GEMM-extra-rows": EXTRA,
        "kernel-launch": LAUNCH * 1e6,
        "kernel-in-a-graph": GRAPH * 1e6,
        "kernel-call": CALL * 1e6,
        "training-loop": (LOSS - 3 * CALL) * 1e3,
        "table-in-Python": sum(TABLE_CALL) * 1e6,
        "sparse-update-of-a-table": PER_TABLE * 1e6,
        "sparse-update-of-a-lookup": PER_LOOKUP,
        "software-hand-off": HANDOFF * 1e6,
        "pinned-copy-rate": COPIES["from the GPU, pinned"][1] / 1e9,
        "unpinned-copy-rate": COPIES["from the GPU, pageable"][1] / 1e9,
        "fabric-bandwidth": COPIES["to another GPU"][1] / 1e9,
    }
    assert {key: values[key] for key in expected} == pytest.approx(expected, rel=0.03)
    assert values.keys() - expected.keys() == {"GEMM-share-of-peak", *(f"{precision}-peak" for precision in PEAKS)}


def test_products_are_costed_as_layers_are(operators):
    """With the constants that come back, the engine's own product takes what the made-up GPU takes."""
    gpu = {key: one.value for key, one in device_constants(operators)["gpu"].items()}
    rate = gpu["fp32-peak"] * gpu["GEMM-share-of-peak"] * 1e12
    bandwidth = gpu["memory-bandwidth"] * gpu["GEMM-share-of-bandwidth"] * 1e9
    for m, k, n in ((512, 256, 64), (64, 4096, 4096), (100_000, 8, 8)):
        by_bytes = 4 * (m * k + k * n + m * n) / bandwidth
        ours = gpu["GEMM-fixed-time"] * 1e-6 + max(2 * (m + gpu["GEMM-extra-rows"]) * k * n / rate, by_bytes)
        theirs = product_seconds("product fp32", {"m": m, "k": k, "n": n, "word": 4.0})
        assert ours == pytest.approx(theirs, rel=0.03)


def test_parts_of_a_gpu_are_files_of_the_catalogue_and_estimates_take_them(measured_gpu_parts):
    paths, found, own = measured_gpu_parts
    files = {path.relative_to(own).with_suffix("").as_posix() for path in own.glob("*/*.toml")}
    assert {"gpu/measured", "framework/measured-gpu", "framework/measured", "copy-path/measured", "fabric/measured"} <= files
    assert "gpu" not in {path.parent.name for path in paths}
    for kind, name in (("gpu", "measured"), ("framework", "measured-gpu"), ("copy-path", "measured"), ("fabric", "measured")):
        catalog.check_part(kind, own / kind / f"{name}.toml", catalog.part_content(kind, name))
    gpu = catalog.part_content("gpu", "measured")
    assert gpu["fabric"].startswith("measured") and gpu["memory"]["value"] == 80 and gpu["board-limit"]["value"] == 400
    assert gpu["board-limit"]["confidence"] == "unsourced" and gpu["kernel-launch"]["confidence"] == "measured"
    assert catalog.part_content("framework", "measured-gpu")["kernel-call"]["value"] == pytest.approx(9, rel=0.01)
    assert "kernel-call" not in found.parts["gpu"] and catalog.part_content("framework", "measured")["kernel-call"]["value"] == 0
    assert measured_rate("measured") == pytest.approx(22, rel=0.01) and measured_rate("server") is None
    steps = {system: estimate(shape_scenario(SHAPE, system)) for system in ("cpu-only", *GPU_SYSTEMS)}
    times = {system: result.results["Step time [ms]"] for system, result in steps.items()}
    assert len(set(times.values())) == 3 and all(time > 0 for time in times.values())
    rates = [steps[system].scenario.machine.pcie_bandwidth_GBps for system in GPU_SYSTEMS]
    assert rates == pytest.approx([1000, 22], rel=0.01)


def test_cpu_only_is_predicted_alike_with_and_without_a_gpu(measured, measured_gpu_parts):
    """A kernel call of a GPU's driver costs a host nothing: its own part of the framework stands apart."""
    beside = estimate(shape_scenario(SHAPE)).results["Step time [ms]"]
    measured()
    assert estimate(shape_scenario(SHAPE)).results["Step time [ms]"] == beside


@each(
    ("name", "memory", "near"),
    [
        ("NVIDIA A100-SXM4-80GB", 85.0, "a100-80"),
        ("NVIDIA A100-SXM4-40GB", 42.4, "a100-40"),
        ("Tesla V100-SXM2-16GB", 16.9, "v100"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 41.0, "a100-80-mig-3g"),
        ("NVIDIA H200", 150.0, "h200"),
        ("NVIDIA H200 NVL", 150.0, "h200-nvl"),
        ("NVIDIA H100 NVL", 100.0, "h100-nvl"),
        ("NVIDIA L40S", 47.7, "l40s"),
        ("AMD Instinct MI300X", 206.0, "mi300x"),
        ("NVIDIA RTX 6000", 80.0, "a100-80"),
    ],
)
def test_the_nearest_gpu_is_that_of_the_name_or_of_the_rates(name, memory, near):
    values = {"memory": memory, "memory-bandwidth": 1800.0, "fp32-peak": 19.0}
    assert nearest_gpu(name, {key: MeasuredFigure(value, value, value, "") for key, value in values.items()}) == near


def test_without_such_a_gpu_the_remedy_is_said(measured_gpu_parts, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    assert gpu_number(torch, None) is None
    for words in (["measure", "--out", str(tmp_path / "out")], ["validate", "--here"]):
        assert main([*words, "--gpu", "0"]) == 2
        assert "PyTorch sees no GPU, but --gpu is 0; leave out --gpu" in capsys.readouterr().err
    assert main(["validate", "--gpu", "0"]) == 2 and "add --here" in capsys.readouterr().err
    two = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True, device_count=lambda: 2))
    assert (gpu_number(two, None), gpu_number(two, 1)) == (0, 1)
    with pytest.raises(BadInput, match="PyTorch sees GPUs 0 to 1, but --gpu is 2"):
        gpu_number(two, 2)


def a_cuda(**more):
    """A stand-in for PyTorch with one GPU."""
    nothing = dict.fromkeys(("set_device", "synchronize"), lambda device: None)
    properties = SimpleNamespace(name="NVIDIA H100 80GB HBM3", total_memory=85e9)
    cuda = {"is_available": lambda: True, "device_count": lambda: 1, "get_device_properties": lambda device: properties}
    out_of_memory = type("OutOfMemoryError", (RuntimeError,), {})
    return SimpleNamespace(
        __version__="2",
        zeros=lambda size, device: None,
        cuda=SimpleNamespace(**{**nothing, **cuda, "OutOfMemoryError": out_of_memory, **more}),
    )


@pytest.fixture
def host_alone(monkeypatch):
    """`measure` with a made-up host and a stand-in for PyTorch; return what sets the operators' timings."""
    host = MeasuredHost({"framework": {"training-loop": MeasuredFigure(0.2, 0.1, 0.3, "made up")}}, {}, "a CPU", ())
    monkeypatch.setattr("engine.commands.measure.measure_host", lambda *_: host)
    monkeypatch.setattr("engine.commands.measure.pytorch", a_cuda)
    monkeypatch.setattr(measured_gpu, "SETTLING_SECONDS", 0.0)
    monkeypatch.setattr(measured_gpu, "_gpu_watts", lambda *_: {})
    monkeypatch.setattr(measured_gpu, "cuda_timer", lambda *_: None)
    return lambda timed: monkeypatch.setattr(measured_gpu, "timed_operators", timed)


def test_the_command_measures_the_first_gpu_and_says_how_to_use_it(host_alone, operators, tmp_path, capsys):
    host_alone(lambda *_, **__: operators)
    assert main(["measure", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert NOT_YET in told and "nvidia-smi gives no watts" in told and "kernel launch [us]" in told
    assert "--set machine.gpu=measured --set machine.framework=measured-gpu --set machine.pcie_bandwidth_GBps=22;" in told
    assert "validate --here --gpu 0 --parts-dir" in told and "h100-" in told
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("*/*.toml")}
    assert {"gpu/measured.toml", "framework/measured-gpu.toml", "framework/measured.toml", "copy-path/measured.toml"} <= files


@each(("words", "status"), [([], 0), (["--gpu", "0"], 3)])
def test_a_gpu_that_cannot_be_measured_leaves_the_host_measured(host_alone, tmp_path, capsys, words, status):
    def broken(*_, **__):
        raise RuntimeError("CUDA error: no kernel image is available.\nmore")

    host_alone(broken)
    assert main(["measure", "--out", str(tmp_path), *words]) == status
    told = capsys.readouterr().out
    assert "GPU 0 is not measured (CUDA error: no kernel image is available); measure again" in told
    assert [path.name for path in tmp_path.glob("*/*.toml")] == ["measured.toml"] and "machine.gpu" not in told


def test_watts_are_those_of_nvidia_smi_or_none(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="61.5, 400.00\n"))
    watts = measured_gpu._gpu_watts(SimpleNamespace(uuid="1-2"), 0)
    assert {key: one.value for key, one in watts.items()} == {"power-with-a-context-held": 61.5, "board-limit": 400.0}
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="[N/A], 400.00\n"))
    assert measured_gpu._gpu_watts(SimpleNamespace(), 0) == {}


class Events:
    """A stand-in for `torch.cuda`: a clock that only kernels move, by a second of the device and a tenth of the host."""

    def __init__(self):
        self.clock, self.waits, self.long = 0.0, 0, 0

    def event(self, enable_timing):
        begun = SimpleNamespace(at=0.0)
        begun.record = lambda: setattr(begun, "at", self.clock)
        begun.elapsed_time = lambda end: 1e3 * (end.at - begun.at)
        return begun

    def synchronize(self, device):
        self.waits += 1

    def product(self, *_, out):
        self.clock += 0.5
        self.long += 1


def test_the_timer_of_a_gpu_divides_the_time_between_events_by_the_calls():
    events = Events()
    torch = SimpleNamespace(
        cuda=SimpleNamespace(Event=events.event, synchronize=events.synchronize),
        randn=lambda *_, device: None,
        empty_like=lambda tensor: None,
        mm=events.product,
    )
    calls = []

    def kernel():
        events.clock += 2e-5
        calls.append(1)

    timer = cuda_timer(torch, "cuda:0")
    operator = Operator("kernel", "tiny kernel", {}, kernel)
    assert timer.working(operator, 3) == pytest.approx([2e-5] * 3) and events.long >= 5
    assert len(calls) > 3 * 50
    waits = events.waits
    assert len(timer.queueing(operator, 4)) == 4 and events.waits == waits + 5
    waits = events.waits
    assert all(seconds > 0 for seconds in timer.waiting(operator, 2)) and events.waits == waits + 2 + 1 + 2 * 10 + 1


@each("system", GPU_SYSTEMS, few=2)
@each("optimizer", ["sgd", "adagrad"])
def test_the_loop_trains_alike_on_devices(monkeypatch, system, optimizer):
    """On the CPU as a device, tables and layers apart or together: the loss falls as it does on the host alone."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("engine.measure.here.training.SECONDS", 0.0)
    monkeypatch.setattr("engine.measure.here.training.keep_freed_memory", lambda: None)
    losses = {}
    loss = torch.nn.functional.binary_cross_entropy_with_logits

    def kept(name):
        def compute(*words):
            found = loss(*words)
            losses.setdefault(name, []).append(found.item())
            return found

        return compute

    shape = SHAPE._replace(optimizer=optimizer)
    for name in ("cpu-only", system):
        monkeypatch.setattr(torch.nn.functional, "binary_cross_entropy_with_logits", kept(name))
        assert step_seconds(shape, 3, name, "cpu") > 0
    assert losses[system] == pytest.approx(losses["cpu-only"], rel=1e-5) and len(set(losses[system])) > 3


def test_predictions_for_a_gpu_are_written_before_training(measured_gpu_parts, monkeypatch, tmp_path, capsys):
    file, seen = tmp_path / "here.json", []
    memory = trials.ACCELERATORS["measured"].memory.value

    def train(shape, seed, system, device):
        seen.append((json.loads(file.read_text(encoding="utf-8")), system, device))
        return 0.01 * len(seen)

    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 1, get_device_name=lambda device: "a GPU")
    monkeypatch.setattr("engine.commands.validate.step_seconds", train)
    monkeypatch.setattr("engine.commands.validate.pytorch", lambda: SimpleNamespace(__version__="0", cuda=cuda))
    assert main(["validate", "--here", "--gpu", "0", "--shapes", "3", "--seed", "9", "--json", str(file)]) == 0
    told, written_rows = capsys.readouterr(), json.loads(file.read_text(encoding="utf-8"))
    assert NOT_YET in told.out and "all-hbm: " in told.out and memory == 80
    assert [(system, device) for _, system, device in seen] == [("all-hbm", "cuda:0"), ("cpu-gpu", "cuda:0")] * 3
    assert [row["measured"] for row in seen[0][0]["rows"]] == [None] * 6
    assert [row["predicted"] for row in seen[0][0]["rows"]] == [row["predicted"] for row in written_rows["rows"]]
    assert [row["system"] for row in written_rows["rows"]] == ["all-hbm", "cpu-gpu"] * 3
    back = read_trials(file.name, file.read_bytes())
    assert [one.system for one in back.trials] == ["all-hbm", "cpu-gpu"] * 3
    assert back.machine.startswith("a GPU, ") and NOT_YET not in back.machine


def test_what_exceeds_the_gpus_memory_is_left_out_of_all_hbm_alone(measured_gpu_parts, monkeypatch):
    monkeypatch.setattr(trials, "GB", 1e4)  # 0.8 MB of the GPU
    found = trials.predict_trials(9, 2, GPU_SYSTEMS)
    assert found.left_out["GPU memory"] >= 3 and {one.system for one in found.trials} == {"cpu-gpu"}


def test_a_missing_part_of_a_gpu_is_said_with_its_remedy(measured):
    measured()
    with pytest.raises(BadInput, match=r"no copy-path called measured; run `.* measure --out DIR --gpu 0` first"):
        trials.parts_digest(GPU_SYSTEMS)


def test_a_row_of_a_strange_system_is_refused():
    kept = json.loads(FIRST_MACHINE_FILE.read_text(encoding="utf-8"))
    assert {one.system for one in read_trials("", json.dumps(kept).encode()).trials} == {"cpu-only"}
    kept["rows"][0]["system"] = "<b>"
    with pytest.raises(BadFile, match="is not a file that"):
        read_trials("file", json.dumps(kept).encode())
