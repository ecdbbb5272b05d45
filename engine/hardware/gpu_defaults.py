"""Constants of GPUs whose part files do not state them."""

from ..core.constants import Constant
from ..core.part_files.tables import quantity

REMOTE = quantity(
    "remote lines in flight",
    "lines",
    default=Constant("", 1024, "", 256, 4096, "unsourced", "reads of host memory that a GPU's PCIe port keeps track of"),
)
TRIP = quantity(
    "host read round trip",
    "us",
    default=Constant("", 1.3, "", 1.0, 1.6, "stated", "from a GPU over PCIe to host memory and back"),
)
PORT = quantity("port", "GB/s", default=Constant("", 26, "", 13, 52, "unsourced", "16 lanes of PCIe 4"))
GRAPH = Constant("", 1.25, "", 0.9, 1.35, "measured", "te42kyfo/gpu-benches: 1.31 on an A100, 1.22 on an H200")
# Fitted to one node; the watts of all other nodes are predictions.
FLOOR = Constant(
    "", 0.6, "", 0.3, 0.7, "calibrated", "fitted to MLPerf v4.0's power of a node of 8 H100 that train DCNv2: clocks are high"
)
NO_UNIT = Constant("", 0, "", 0, 0, "vendor", "no unit for it")


def operation_energy(picojoules: float, low: float, high: float, source: str) -> Constant:
    """Return an unsourced energy constant [pJ/FLOP]."""
    return Constant("", picojoules, "", low, high, "unsourced", source)


def attention_share(share: float, low: float, high: float) -> Constant:
    """Return a share of the peak rate in attention, if none is known."""
    return Constant("", share, "", low, high, "unsourced", "an H100's, not fitted to this GPU")
