"""The knobs of faults: times of each class, detection, repair, published rates, a trace."""

from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from ..core.figures import count
from ..errors import BadKnob, nearest_hint
from ..registry import NO_RATES, rate_names
from .knobs import brief_group, knob

MAX_SECONDS = 1e12
MAX_TRACE_EVENTS = 2000


def _instants(fault_title: str) -> Any:
    """Declare a knob with the instants of a fault."""
    text = "Simulated times of this fault in seconds from the start, separated by ';'."
    return knob((), f"{fault_title} at", text, unit="s", low=0, high=MAX_SECONDS, acts="full run")


def _mtbf(fault_title: str, unit: str) -> Any:
    """Declare a knob with the mean time between two faults of one unit."""
    text = (
        f"Mean time between two faults of this class on one {unit}; auto: the published rate of faults.rates, or never without "
        "one."
    )
    return knob(None, f"{fault_title} MTBF", text, unit="h", low=1e-9, high=1e9, acts="full run")


def _seconds(default: float, label: str, help: str, needs: str = "") -> Any:
    """Declare a knob in seconds of an outage."""
    return knob(default, label, help, unit="s", low=0, high=1e6, acts="outages", needs=needs)


def _number(default: float, label: str, help: str, low: float, high: float, needs: str = "") -> Any:
    """Declare a knob without unit of an outage."""
    return knob(default, label, help, low=low, high=high, acts="outages", needs=needs)


@dataclass(frozen=True)
class Faults:
    """The knobs of faults, of their detection and of the restart; docs/faults.md explains them."""

    __repr__ = brief_group

    power_loss_at_seconds: tuple[float, ...] = _instants("Power loss")
    power_loss_mtbf_hours: float | None = _mtbf("Power loss", "site")
    host_crash_at_seconds: tuple[float, ...] = _instants("Host crash")
    host_crash_mtbf_hours: float | None = _mtbf("Host crash", "node")
    gpu_crash_at_seconds: tuple[float, ...] = _instants("GPU crash")
    gpu_crash_mtbf_hours: float | None = _mtbf("GPU crash", "GPU")
    memory_reset_at_seconds: tuple[float, ...] = _instants("Memory reset")
    memory_reset_mtbf_hours: float | None = _mtbf("Memory reset", "node")
    memory_loss_at_seconds: tuple[float, ...] = _instants("Memory loss")
    memory_loss_mtbf_hours: float | None = _mtbf("Memory loss", "node")
    link_down_at_seconds: tuple[float, ...] = _instants("Link down")
    link_down_mtbf_hours: float | None = _mtbf("Link down", "node")
    media_error_at_seconds: tuple[float, ...] = _instants("Media error")
    media_error_mtbf_hours: float | None = _mtbf("Media error", "node")
    media_error_where: str = knob(
        "anywhere",
        "Poisoned line",
        "Which 64 B line of persistent memory is lost: anywhere, each line equally likely; a line of the table, of rows that "
        "are also in the log, of a row log, or of an MLP log.",
        choices=("anywhere", "table", "logged row", "row log", "mlp log"),
        acts="outages",
        needs="media-error",
    )
    torn_write_at_seconds: tuple[float, ...] = _instants("Torn write")
    torn_write_mtbf_hours: float | None = _mtbf("Torn write", "node")
    torn_write_bytes: int = knob(
        8,
        "Torn write granularity",
        "Bytes that a write never splits in any fault: 8 for a word, 64 for a cache line, 256 for a PMEM line.",
        unit="B",
        low=8,
        high=256,
        allowed_numbers=(8, 64, 256),
        acts="outages",
    )
    silent_corruption_at_seconds: tuple[float, ...] = _instants("Silent corruption")
    silent_corruption_mtbf_hours: float | None = _mtbf("Silent corruption", "GPU")
    silent_corruption_where: str = knob(
        "table",
        "Flipped bit",
        "Where a bit flips without an error report: in the tables, in the MLPs, or in the newest log.",
        choices=("table", "mlp", "log"),
        acts="outages",
        needs="silent-corruption",
    )
    flush_failure_at_seconds: tuple[float, ...] = _instants("Flush failure")
    flush_failure_mtbf_hours: float | None = _mtbf("Flush failure", "site")
    flush_failure_share: float = _number(
        0.0, "Flush failures", "Share of power losses in which the memory's flush of accepted writes fails.", 0, 1, "power-loss"
    )
    log_full_at_seconds: tuple[float, ...] = _instants("Log full")
    log_full_mtbf_hours: float | None = _mtbf("Log full", "site")
    fault_in_recovery_at_seconds: tuple[float, ...] = knob(
        (),
        "Fault in recovery at",
        "Times of further power losses during a recovery, in seconds from the fault that it recovers from.",
        unit="s",
        low=0,
        high=MAX_SECONDS,
        acts="outages",
    )
    fault_in_recovery_share: float = _number(
        0.0,
        "Faults in recovery",
        "Share of recoveries that another power loss interrupts; a repeated recovery can be interrupted too.",
        0,
        0.95,
    )
    correlated_shock_at_seconds: tuple[float, ...] = _instants("Correlated shock")
    correlated_shock_mtbf_hours: float | None = _mtbf("Correlated shock", "site")
    correlated_shock_nodes: int = knob(
        2,
        "Nodes in a shock",
        "Number of nodes that crash at once in a correlated shock; training waits for the slowest repair.",
        low=1,
        high=4096,
        acts="outages",
        needs="correlated-shock",
    )
    lemon_factor: float = _number(1.0, "Lemon factor", "How many times as often as any other node node 0 has faults.", 1, 1e4)
    fail_slow_at_seconds: tuple[float, ...] = _instants("Fail-slow")
    fail_slow_mtbf_hours: float | None = _mtbf("Fail-slow", "node")
    fail_slow_seconds: float = _seconds(
        60.0, "Fail-slow lasts", "Time from a fail-slow fault until the device has its full speed again.", "fail-slow"
    )
    fail_slow_device: str = knob(
        "memory",
        "Slow device",
        "Device that a fail-slow fault slows down: the memory that holds the tables, the link to it, or the GPUs.",
        choices=("memory", "link", "gpu"),
        acts="outages",
        needs="fail-slow",
    )
    fail_slow_bandwidth: float = _number(
        0.1, "Slow bandwidth", "Bandwidth of the slow device, as a share of its full bandwidth.", 1e-3, 1, "fail-slow"
    )
    fail_slow_latency: float = _number(
        10.0, "Slow latency", "Latency of the slow device, as a multiple of its usual latency.", 1, 1e4, "fail-slow"
    )
    false_alarm_at_seconds: tuple[float, ...] = _instants("False alarm")
    false_alarm_mtbf_hours: float | None = _mtbf("False alarm", "node")
    late_detection_share: float = _number(0.0, "Late detections", "Share of faults that are detected late.", 0, 1)
    late_detection_seconds: float = _seconds(
        600.0, "Late by", "Extra time until a late fault is detected.", "faults.late_detection_share"
    )
    rates: str = knob(
        NO_RATES,
        "Failure rates",
        "Published failure rates per GPU and node, for all fault classes whose MTBF is auto.",
        choices=rate_names,
        acts="full run",
    )
    machines: int = knob(
        1,
        "Machines together",
        "Number of such machines that train together as replicas of one model; a fault of any machine stops all of them.",
        low=1,
        high=100_000,
        log=True,
        acts="outages",
    )
    campaign_days: float = knob(
        30.0, "Campaign", "Length of the training campaign on the page Failures.", unit="d", low=0.01, high=3650, acts="campaign"
    )
    trace: str = knob(
        "",
        "Fault trace",
        "Recorded faults to replay, written 'seconds class node; ...', such as '0.5 gpu-crash 0; 2 link-down 1'.",
        high=6000,
        acts="full run",
    )
    weibull_shape: float = _number(
        1.0,
        "Weibull shape",
        "Shape of the Weibull distribution of times between random faults; 1: exponential; below 1: faults come in clusters, "
        "most of them early.",
        0.2,
        10,
    )
    repair_median_seconds: float = _seconds(
        0.0, "Repair median", "Median time from the detection of a fault to the restart, in which the hardware is repaired."
    )
    repair_sigma: float = _number(
        0.0, "Repair spread", "Standard deviation of the logarithm of the repair time.", 0, 3, "faults.repair_median_seconds"
    )
    detect_seconds: float = _seconds(30.0, "Detection median", "Median time from a fault to its detection.")
    detect_sigma: float = _number(
        0.0, "Detection spread", "Standard deviation of the logarithm of the detection time.", 0, 3, "faults.detect_seconds"
    )
    restart_seconds: float = _seconds(
        120.0, "Process start", "Time in which the training processes start, before they restore the state."
    )
    seed: int = knob(1, "Fault seed", "Seed of random faults and torn writes.", low=0, high=2**31 - 1, acts="outages")


class TraceEvent(NamedTuple):
    """One event of a fault trace.

    seconds: time of the event in the run [s].
    fault: name of the fault.
    node: number of the node.
    """

    seconds: float
    fault: str
    node: int


@lru_cache(maxsize=64)
def read_trace(trace: str, fault_names: tuple[str, ...] = ()) -> tuple[TraceEvent, ...]:
    """Return the events of a trace text, "seconds class node; ...", sorted by time.

    A missing node number means node 0. If `fault_names` is not empty, other names are refused. Raises BadKnob.
    """
    entries = [part.split() for part in trace.split(";") if part.strip()]
    if len(entries) > MAX_TRACE_EVENTS:
        raise BadKnob(f"faults.trace has {count(len(entries), 'entry')}; at most {MAX_TRACE_EVENTS} are allowed.")
    return tuple(sorted(_traced(words, fault_names) for words in entries))


def _traced(words: list[str], fault_names: tuple[str, ...]) -> TraceEvent:
    """Read the words of one event."""
    event = " ".join(words)[:60]
    if len(words) not in (2, 3):
        raise BadKnob(
            f"faults.trace has the entry {event!r}, which cannot be read; write 'seconds class' or 'seconds class node', such "
            "as '12.5 gpu-crash 3'."
        )
    try:
        seconds = float(words[0])
    except ValueError:
        seconds = -1.0
    if not (isfinite(seconds) and seconds >= 0):
        raise BadKnob(f"faults.trace has {words[0][:40]!r} in {event!r} where seconds of at least 0 belong.")
    if fault_names and words[1] not in fault_names:
        raise BadKnob(f"faults.trace names the fault {words[1][:40]!r}; {nearest_hint(words[1], fault_names, 'faults')}")
    node = words[2] if len(words) == 3 else "0"
    if not (node.isascii() and node.isdigit() and len(node) < 7):
        raise BadKnob(f"faults.trace has {node[:40]!r} in {event!r} where the node's number from 0 belongs.")
    return TraceEvent(seconds, words[1], int(node))
