"""The step time of each TrainingCXL configuration as one formula, from amounts and constants alone.

Source: the order of work inside a batch that Kwon et al. (IEEE Micro 43(2), 2023) describe. BF and BB are the
bottom MLP's two directions, T the top part, EL and EU embedding lookup and update, C the logs and flags.
"""

from dataclasses import dataclass
from itertools import pairwise

from engine.hardware.copy_paths import PATHS
from engine.hardware.devices.gpu import REPLAYS
from engine.hardware.devices.pmem import MEDIA
from engine.hardware.devices.ssd import DRIVES
from engine.hardware.hosts import HOSTS
from engine.scenario.scenario import Scenario, per_table

REPLAY = REPLAYS["trainingcxl"]
NEAR_DATA = 4 * 64 * 250e6
LANES, TAGS = 4 * 32, 1024  # accesses in flight at a controller, lines in flight on a link
LINK, HOP = 250e-9, 75e-9  # the way there and back without a card, and a switch more
FLAGS = 4


def under_load(idle: float, service: float, accesses: float, slots: float) -> float:
    """Return the latency of an access beside others, by halving: load × latency = accesses beside it × service."""
    low, high = 0.0, 0.85
    neighbours = max(min(accesses, slots), 1.0) - 1

    def latency(load: float) -> float:
        return idle * (1 + 0.249 * load**0.55 / (1 - load) ** 0.75)

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * latency(middle) < neighbours * service else (low, middle)
    return latency(low)


@dataclass(frozen=True)
class Parts:
    """Seconds of each piece of a batch that touches `rows` rows, `raw` of its lookups written just before.

    `modules` are the PMEM modules, each behind a controller of its own.
    """

    s: Scenario
    rows: float
    raw: float
    modules: int

    def media(self, name: str) -> float:
        """Return a constant of the emulated PMEM, in its own unit."""
        return getattr(MEDIA["trainingcxl"], name).value

    @property
    def vector(self) -> int:
        """Bytes of a vector; rows carry no optimizer state."""
        return 4 * self.s.model.embedding_dim

    @property
    def lookups(self) -> int:
        """Lookups of a batch."""
        return self.s.data.batch_size * sum(per_table(self.s.model, "pooling"))

    @property
    def pooled(self) -> int:
        """Bytes of all pooled vectors."""
        return self.s.data.batch_size * self.s.model.num_tables * self.vector

    def parameters(self) -> tuple[int, int]:
        """Return the parameters of the bottom and of the top MLP, whose input is a concatenation."""
        model = self.s.model
        top = (model.bottom_mlp[-1] + model.num_tables * model.embedding_dim, *model.top_mlp)
        return tuple(sum((i + 1) * o for i, o in pairwise(widths)) for widths in (model.bottom_mlp, top))

    def pass_seconds(self, rate: str) -> float:
        """Return the seconds of one pass over the rows at a rate of the media in GB/s and module."""
        return self.rows * self.vector / (self.media(rate) * 1e9 * self.modules)

    def over_cxl(self, nbytes: float) -> float:
        """Return the seconds of a transfer by hardware through one switch; its lines come back in time to fill the link."""
        line = 64 / (self.s.machine.cxl_bandwidth_GBps * 1e9)
        latency = under_load(LINK, line, nbytes / 64, TAGS)
        return latency + HOP + (nbytes / 64 - 1) * line

    def over_pcie(self, nbytes: float, handoffs: int = 1) -> float:
        """Return the seconds of a transfer by software."""
        return handoffs * PATHS["trainingcxl"].handoff.value * 1e-6 + nbytes / (self.s.machine.pcie_bandwidth_GBps * 1e9)

    def line_seconds(self, rate: str) -> float:
        """Return the seconds in which a module serves one line at a rate of the media."""
        return 64 / (self.media(rate) * 1e9)

    def adders(self, controllers: int, rows: float = 0.0) -> float:
        """Return the seconds in which the logic at the controllers passes every lookup once, and then so many rows."""
        return (self.lookups + rows) * self.vector / (controllers * NEAR_DATA)

    @property
    def flow(self) -> float:
        """Seconds of the pooled vectors, or their gradients, over the CXL link."""
        return self.over_cxl(self.pooled)

    @property
    def lookup(self) -> float:
        """EL beside the media; a line written just before stalls the read."""
        stalled = 1 + self.raw * self.media("raw") / self.media("latency")
        first_latency = (self.media("latency") * 1e-9 - self.line_seconds("read_rate")) * stalled
        return max(first_latency + self.pass_seconds("read_rate") * stalled, self.adders(self.modules))

    @property
    def update(self) -> float:
        """EU beside the media."""
        return max(self.change_seconds("update_rate"), self.adders(self.modules, self.rows))

    def change_seconds(self, rate: str) -> float:
        """Return the seconds in which rows are read and written at a rate of the media, from the first one's latency on."""
        return (self.media("latency") + self.media("persist")) * 1e-9 - self.line_seconds(rate) + self.pass_seconds(rate)

    @property
    def row_log(self) -> float:
        """Seconds in which rows are read and entries of row and number appended, from the first row's latency on."""
        line_times = self.vector / self.media("read_rate") + (self.vector + 8) / self.media("stream_rate")
        row_time = line_times / self.media("mix") * 1e-9 / self.modules
        accesses = self.vector / self.media("access")
        return (self.media("latency") + self.media("persist")) * 1e-9 - row_time * self.modules / accesses + self.rows * row_time

    @property
    def in_dram(self) -> tuple[float, float]:
        """EL and EU beside DRAM: rows are read, then read and written."""
        channels, line = self.s.machine.expander_dram_channels, 64 / (25.6e9 * 0.8)
        lines = self.rows * self.vector / 64 / channels
        read_time, update_time = (under_load(102e-9, n * line, lines, LANES) + (lines - 1) * n * line for n in (1, 2))
        return max(read_time, self.adders(channels)), max(update_time, self.adders(channels, self.rows))

    @property
    def on_ssd(self) -> tuple[float, float, float, float]:
        """EL, EU, C and home writes on a drive where every row misses the cache; eight accesses overlap their software."""
        drive = DRIVES["trainingcxl"]
        latency, write = drive.latency.value * 1e-6, drive.sequential_write_rate.value * 1e9
        block = max(1 / drive.read_iops.value, 4096 / (drive.sequential_read_rate.value * 1e9), 5e-6 / 8)
        blocks, first_latency = self.rows * block, latency + 5e-6 - block
        logs = latency + self.rows * (self.vector + 8) / write
        mlp = max(latency + self.mlp / write, self.over_pcie(self.mlp, 0))
        return first_latency + blocks, first_latency + 2 * blocks, logs + mlp + FLAGS * (latency + 5e-6), blocks

    @property
    def bottom(self) -> tuple[float, float]:
        """BF and BB."""
        total = REPLAY.bottom.value * 1e-12 * self.parameters()[0]
        return total * REPLAY.forward.value, total * (1 - REPLAY.forward.value)

    @property
    def top(self) -> float:
        """T."""
        return REPLAY.top.value * 1e-3 + REPLAY.rate.value * 1e-12 * self.parameters()[1]

    @property
    def host(self) -> float:
        """Half of the host's embedding path, lookup or update."""
        host = HOSTS["trainingcxl"]
        software = host.fixed.value * 1e-6 + self.lookups * host.per_lookup.value * 1e-9
        return (software + self.lookups * self.vector / (host.gather.value * 1e9)) / 2

    @property
    def mlp(self) -> float:
        """Bytes of all MLP parameters."""
        return 4.0 * sum(self.parameters())

    def checkpoint(self, mlp_log: float) -> float:
        """Return C in PMEM: row log, MLP log of `mlp_log` seconds over its link, flags."""
        stream = self.mlp / (self.media("stream_rate") * 1e9 * self.modules)
        return self.row_log + max(mlp_log, stream) + FLAGS * self.media("persist") * 1e-9

    @property
    def by_hardware(self) -> float:
        """C with the MLP log pulled over CXL."""
        return self.checkpoint(self.over_cxl(self.mlp))

    @property
    def by_software(self) -> float:
        """C with the MLP log copied over PCIe."""
        return self.checkpoint(self.over_pcie(self.mlp, 0))

    def handed(self, nbytes: float) -> float:
        """Return the seconds of three hand-offs: `nbytes` forward and as many backward, then the checkpoint's."""
        return 2 * self.over_pcie(nbytes) + self.over_pcie(0)


CONFIGURATIONS = ("ssd", "pmem", "pcie", "cxl-d", "cxl-b", "cxl", "dram")  # the paper's; a new system has no formula there


def step(name: str, p: Parts) -> float:
    """Return the seconds of a steady-state batch of configuration `name`."""
    (bf, bb), t = p.bottom, p.top
    unpooled = p.handed(p.lookups * p.vector)
    ssd_lookup, ssd_update, ssd_checkpoint, _ = p.on_ssd
    dram_lookup, dram_update = p.in_dram
    forms = {
        "ssd": max(
            max(bf, p.host, ssd_lookup) + t + max(bb, p.host, ssd_update) + unpooled + ssd_checkpoint,
            sum(p.on_ssd),  # the drive does one thing at a time
        ),
        "pmem": max(bf, p.host) + t + max(bb, p.host) + unpooled + p.by_software,
        "pcie": max(bf, p.lookup) + t + max(bb, p.update) + p.handed(p.pooled) + p.by_software,
        "cxl-d": max(bf, p.lookup, p.flow) + t + max(bb, p.update, p.flow) + p.by_hardware,
        "cxl-b": max(bf, p.lookup, p.flow) + t + max(0, p.by_hardware - t) + max(bb, p.update, p.flow),
        "cxl": bf + t + max(bb, p.update, p.flow),
        "dram": max(bf, dram_lookup, p.flow) + t + max(bb, dram_update, p.flow),
    }
    return forms[name]
