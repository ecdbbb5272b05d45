"""Constants of hosts and of the libraries that compute on them."""

from dataclasses import dataclass

from ..core.catalog import Catalogue
from ..core.constants import Constant
from ..core.part_files.tables import optional_price, quantity
from ..scenario.machine import MachineKnobs
from .device import assumed_value

FUSED = Constant("", 0, "", 0, 0, "stated", "within the rates of the host")
NO_UNIT = Constant("", 0, "", 0, 0, "vendor", "no unit for it")


@dataclass(frozen=True)
class Host:
    """Constants of one host: embedding software, CPU peaks, memory channels, power, places.

    The `quantity` of each field has the constant's name and unit.
    """

    fixed: Constant = quantity("embedding software per batch", "us")
    per_lookup: Constant = quantity("embedding software per lookup", "ns", zero=True)
    gather: Constant = quantity("EmbeddingBag rate", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    price: Constant | None = optional_price("USD")
    row_gather: Constant = quantity("row gather", "ns")
    row_scatter: Constant = quantity("row scatter", "ns")
    cache: Constant = quantity("software cache per batch", "ms")
    fp32: Constant = quantity("fp32 peak a core", "GFLOPS")
    sockets: Constant = quantity("sockets", "sockets", choice=True)
    channels: Constant = quantity("DRAM channels", "channels", choice=True)
    lanes: Constant = quantity("PCIe lanes", "lanes", choice=True)
    generation: Constant = quantity("PCIe generation", "generation", choice=True)
    dimm: Constant = quantity(
        "DIMM power",
        "W",
        zero=True,
        default=Constant("", 5, "", 3, 8, "secondary", "codecarbon: a DIMM of an x86 server"),
    )
    cores: Constant = quantity(
        "physical cores", "cores", default=Constant("", 64, "", 32, 128, "unsourced", "two sockets of a GPU node")
    )
    dram_lines: Constant = quantity(
        "DRAM lines in flight a thread",
        "lines",
        default=Constant("", 12, "", 8, 16, "derived", "Yang et al., FAST'20: one thread reads 7.4 GB/s at 100 ns"),
    )
    pmem_lines: Constant = quantity(
        "PMEM lines in flight a thread",
        "lines",
        default=Constant("", 7, "", 5, 10, "derived", "Yang et al., FAST'20: one thread reads 1.53 GB/s at 305 ns"),
    )
    bf16: Constant = quantity("bf16 peak a core", "GFLOPS", default=NO_UNIT, zero=True)
    fp16: Constant = quantity("fp16 peak a core", "GFLOPS", default=NO_UNIT, zero=True)
    int8: Constant = quantity("int8 peak a core", "GFLOPS", default=NO_UNIT, zero=True)
    attention: Constant = quantity(
        "attention rate a core",
        "GFLOPS",
        default=Constant(
            "",
            145,
            "",
            70,
            400,
            "derived",
            "sgl-project/sglang #15708: 115 GFLOP in 19.8 ms on 40 cores of a Xeon 6979P, bf16; low: PyTorch's on a Zen 4",
        ),
    )


@dataclass(frozen=True)
class Library:
    """Constants of a library that computes on a host: shares of peaks, times of calls.

    A library that is not fused looks tables up one by one. Its updates then take longer than lookups: by a time per table, per
    lookup, per byte, and per line that the batch has not touched yet. These times are different under SGD and under optimizers
    with state. Products of vectors have a rate of their own. The `quantity` of each field has the constant's name and unit.
    """

    share: Constant = quantity("GEMM share of peak", "of peak")
    samples: Constant = quantity("GEMM extra samples", "samples", zero=True)
    launch: Constant = quantity("layer launch", "us", zero=True)
    bags: Constant = quantity("EmbeddingBag share", "of the rate")
    lookup_call: Constant = quantity("lookup of a table", "us", zero=True, default=FUSED)
    lookup_new_line: Constant = quantity("lookup of a new line", "ns", zero=True, default=FUSED)
    plain_call: Constant = quantity("plain update of a table", "us", zero=True, default=FUSED)
    plain_lookup: Constant = quantity("plain update of a lookup", "ns", zero=True, default=FUSED)
    plain_byte: Constant = quantity("plain update of a byte", "ns", zero=True, default=FUSED)
    plain_new_line: Constant = quantity("plain update of a new line", "ns", zero=True, default=FUSED)
    state_call: Constant = quantity("stateful update of a table", "us", zero=True, default=FUSED)
    state_lookup: Constant = quantity("stateful update of a lookup", "ns", zero=True, default=FUSED)
    state_byte: Constant = quantity("stateful update of a byte", "ns", zero=True, default=FUSED)
    state_new_line: Constant = quantity("stateful update of a new line", "ns", zero=True, default=FUSED)
    product: Constant = quantity("vector products", "ns/FLOP", zero=True, default=FUSED)
    pair: Constant = quantity("pair of vectors", "ns", zero=True, default=FUSED)


HOSTS = Catalogue("host", Host, uses=("copy-path", "dram"))
LIBRARIES = Catalogue("host-software", Library)
STOCK = "stock"
# Constants that only layers on the host read.
LAYERS = frozenset(
    (
        "GEMM share of peak",
        "GEMM extra samples",
        "layer launch",
        "attention rate a core",
        *(f"{precision} peak a core" for precision in ("fp32", "bf16", "fp16", "int8")),
    )
)
PEAKS = {"fp32": "fp32", "bf16": "bf16", "fp16": "fp16"}  # precision -> field of `Host` with a core's peak


def threads(machine: MachineKnobs) -> float:
    """Return the number of a host's threads that read rows from memory."""
    return machine.host_threads or assumed_value(machine, "host", HOSTS[machine.host].cores)


def host_channels(machine: MachineKnobs) -> int:
    """Return the number of DRAM channels of one host."""
    return machine.host_dram_channels or round(assumed_value(machine, "host", HOSTS[machine.host].channels))


def lines_in_flight(machine: MachineKnobs, memory: str) -> float:
    """Return how many 64 B lines of a memory a host's threads have in flight."""
    host = HOSTS[machine.host]
    return threads(machine) * assumed_value(machine, "host", host.pmem_lines if memory == "pmem" else host.dram_lines)


def no_unit(machine: MachineKnobs) -> str:
    """Return why the host's cores cannot compute in the chosen precision; "" if they can."""
    host, precision = HOSTS[machine.host], machine.matrix_precision
    possible = [name for name, field in PEAKS.items() if assumed_value(machine, "host", getattr(host, field)) > 0]
    if precision in possible:
        return ""
    return (
        f"machine.matrix_precision={precision} is not possible: the layers run on the host, and machine.host={machine.host} "
        f"computes in {' or '.join(possible)}; choose one of these, or another host."
    )
