"""Measure a GPU that PyTorch sees: time its operators, and fit its parts' constants."""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import log
from time import sleep
from typing import Any, NamedTuple

from ...core import catalog
from ...core.arithmetic import total
from ...core.figures import percent
from ...errors import BadInput
from ...hardware.devices.gpu import ACCELERATORS
from ...units import GB
from ..fitted import MeasuredFigure, TimedOperator, median_spread, operators_of_kind
from ..host import OnProgress
from ..operators import Operator
from ..timing import timing_of
from .device_constants import QUEUED, Constants, device_constants
from .device_operators import FULL_SIZES, QUICK_SIZES, OperatorSizes, device_operators, precisions
from .device_timing import DeviceTimer, cuda_timer

ROUNDS, PASSES, QUICK_PASSES = 7, 3, 1
HOST_CALLS = ("layer calls", "update calls", "loss calls")  # kinds of operators whose queueing alone is timed
DEVICE_TIMED_KINDS = ("lookup", "gradient", "update SGD")  # kinds that are timed on the device too
NOT_YET = "The GPU path of this command has not been tried on a real GPU yet: compare its figures with those of another tool."
NO_ZERO_COPY = "Zero-copy reads of host memory are not measured, because plain PyTorch has none."
NO_GRAPH = "No CUDA graph could be captured: the time of a kernel in a graph is that of the nearest part."
NO_WATTS = "nvidia-smi gives no watts: those of the GPU are the nearest part's."
SETTLING_SECONDS = 2.0  # seconds before the watts of an idle context are read


class MeasuredGpu(NamedTuple):
    """The measured parts of a GPU.

    parts: constants by kind of part and key.
    nearest: the catalogue's most similar part, by kind.
    description: the GPU and its software as text.
    notes: sentences on the measurement.
    """

    parts: Mapping[str, Mapping[str, MeasuredFigure]]
    nearest: Mapping[str, str]
    description: str
    notes: tuple[str, ...]


def gpu_number(torch: Any, number: int | None) -> int | None:
    """Return the number of the GPU to measure; None if PyTorch sees no GPU.

    It is `number` if given, else the first GPU. Raises BadInput if `number` does not exist.
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if number is None:
        return 0 if count else None
    if number < count:
        return number
    visible_gpus = (
        f"PyTorch sees GPUs 0 to {count - 1}" if count > 1 else "PyTorch sees only GPU 0" if count else "PyTorch sees no GPU"
    )
    raise BadInput(f"{visible_gpus}, but --gpu is {number}; leave out --gpu, or install a driver and a PyTorch for that GPU.")


def measure_gpu(
    torch: Any, number: int, quick: bool = False, on_progress: OnProgress = lambda share, activity: None
) -> MeasuredGpu:
    """Measure the GPU with this number.

    Raises BadInput where PyTorch cannot use it, or timings make no sense.
    """
    device, sizes, passes = f"cuda:{number}", QUICK_SIZES if quick else FULL_SIZES, QUICK_PASSES if quick else PASSES
    try:
        torch.cuda.set_device(device)
        properties = torch.cuda.get_device_properties(device)
        torch.zeros(1, device=device)
        torch.cuda.synchronize(device)
        sleep(SETTLING_SECONDS)
        watts, timer, gpus = _gpu_watts(properties, number), cuda_timer(torch, device), torch.cuda.device_count()
        timed = timed_operators(torch, device, sizes, timer, passes=passes, gpus=gpus, on_progress=on_progress)
        memory = properties.total_memory / GB
        reported_figures = {"memory": MeasuredFigure(memory, memory, memory, "as the device says"), **watts}
        return gpu_parts(properties.name, f"{properties.name}; PyTorch {torch.__version__}", timed, reported_figures)
    except torch.cuda.OutOfMemoryError:
        reason, remedy = "it has too little free memory", "end what else uses it, or add --quick"
    except (RuntimeError, ValueError) as error:
        reason, remedy = str(error).partition("\n")[0].rstrip("."), "measure again, or go on without its parts"
    raise BadInput(f"GPU {number} is not measured ({reason}); {remedy}.")


def gpu_parts(
    name: str, description: str, timed: Sequence[TimedOperator], reported_figures: Mapping[str, MeasuredFigure]
) -> MeasuredGpu:
    """Return a device's parts from its name, its timings, and figures that it reports."""
    parts: dict[str, Constants] = device_constants(timed)
    parts["gpu"] |= reported_figures
    nearest_name = nearest_gpu(name, parts["gpu"])
    fabric = str(catalog.part_content("gpu", nearest_name)["fabric"])
    nearest = {"gpu": nearest_name, "framework": "pytorch", "copy-path": "server", "fabric": fabric}
    return MeasuredGpu(parts, nearest, description, (NOT_YET, *_gpu_notes(timed, parts["gpu"])))


def timed_operators(
    torch: Any,
    device: str,
    sizes: OperatorSizes,
    timer: DeviceTimer,
    rounds: int = ROUNDS,
    passes: int = 1,
    gpus: int = 1,
    on_progress: OnProgress = lambda share, activity: None,
) -> list[TimedOperator]:
    """Return each operator of a device with its timing over all passes and rounds.

    A pass times each operator for some rounds, so that the rounds of an operator are spread over time.
    """
    times: dict[str, tuple[str, dict[str, float], list[float]]] = {}
    groups = passes * (len(precisions(torch, device)) + 2 * len(sizes.tables) + 5)
    for pass_number in range(passes):
        for group_number, operators in enumerate(device_operators(torch, device, sizes, gpus)):
            for operator in operators:
                for kind, seconds in _operator_seconds(operator, timer, rounds):
                    times.setdefault(f"{operator.name} {kind}", (kind, operator.amounts, []))[2].extend(seconds)
            on_progress(
                min(1.0, (pass_number * groups / passes + group_number + 1) / groups),
                operators[0].kind if operators else "copies",
            )
    return [TimedOperator(kind, amounts, timing_of(seconds)) for kind, amounts, seconds in times.values()]


def _operator_seconds(operator: Operator, timer: DeviceTimer, rounds: int) -> Iterator[tuple[str, list[float]]]:
    """Yield an operator's kind and the seconds of each round, by that kind's clock."""
    if operator.kind == "hand-off":
        yield operator.kind, timer.waiting(operator, rounds)
    elif operator.kind in HOST_CALLS:
        yield operator.kind, timer.queueing(operator, rounds)
    else:
        yield operator.kind, timer.working(operator, rounds)
        if operator.kind in DEVICE_TIMED_KINDS:
            yield f"{operator.kind} {QUEUED}", timer.queueing(operator, rounds)


def nearest_gpu(name: str, constants: Mapping[str, MeasuredFigure]) -> str:
    """Return the GPU of the catalogue that is most similar to a measured device.

    A GPU whose name occurs in the device's name is preferred. Among these, or among all without one, memory and rates decide.
    """
    words = re.split("[^a-z0-9]+", name.lower())

    def distance(part: str) -> float:
        gpu = ACCELERATORS[part]
        catalogue_constants = {"memory": gpu.memory, "memory-bandwidth": gpu.bandwidth, "fp32-peak": gpu.peak}
        rate_distance = total(
            abs(log(constants[key].value / constant.value)) for key, constant in catalogue_constants.items() if key in constants
        )
        part_words = part.split("-")
        form_mismatches = [(form in part_words) != (form in words) for form in ("mig", "nvl")]
        return rate_distance + 100.0 * total((part_words[0] not in words, *form_mismatches))

    return min((part for part in catalog.part_names_of("gpu") if part in catalog.shipped("gpu")), key=distance)


def _gpu_watts(properties: Any, number: int) -> dict[str, MeasuredFigure]:
    """Return nvidia-smi's watts of the idle context and the board's limit; none without nvidia-smi."""
    gpu_id = f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else str(number)
    command = ["nvidia-smi", "--query-gpu=power.draw,power.limit", "--format=csv,noheader,nounits", "-i", gpu_id]
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        draw, limit = (float(word) for word in answer.strip().split(","))
        return {
            "power-with-a-context-held": MeasuredFigure(
                draw, 0.9 * draw, 1.1 * draw, "nvidia-smi, two seconds after it was made"
            ),
            "board-limit": MeasuredFigure(limit, limit, limit, "nvidia-smi"),
        }
    return {}


def _gpu_notes(timed: Sequence[TimedOperator], gpu: Mapping[str, MeasuredFigure]) -> Iterator[str]:
    """Yield notes on figures that are missing, and on the bandwidth that lookups reach."""
    yield NO_ZERO_COPY
    if "kernel-in-a-graph" not in gpu:
        yield NO_GRAPH
    if "board-limit" not in gpu:
        yield NO_WATTS
    bandwidth = gpu["memory-bandwidth"].value * GB
    uniform, skewed = (max(_byte_rates(operators_of_kind(timed, kind)), default=0.0) for kind in ("lookup", "Zipf lookup"))
    yield (
        f"Lookups reach {percent(uniform / bandwidth)} of the memory bandwidth with uniform ids and "
        f"{percent(skewed / bandwidth)} with Zipf ids; the model assumes {percent(gpu['GEMM-share-of-bandwidth'].value)}."
    )
    if (spread := median_spread(timed)) > 0.1:
        yield f"The median spread of the timings is {percent(spread)}: measure again when nothing else uses the GPU."


def _byte_rates(lookups: Sequence[TimedOperator]) -> list[float]:
    return [lookup.amounts["bytes"] / lookup.timing.seconds for lookup in lookups]
