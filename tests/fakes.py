"""A made-up engine for the tests of the pages: instant, deterministic, and shaped like the real results."""

from dataclasses import replace

from engine.core.graph import RARE_STAGES, STAGES
from engine.results.result import Result
from engine.run.progress import Progress, Watcher
from engine.scenario.scenario import Scenario

SPEED = {"ssd": 40.0, "pmem": 12.0, "pcie": 7.0, "cxl-d": 5.5, "cxl-b": 5.0, "cxl": 3.0, "dram": 2.5}
POOLED = tuple(stage for stage in STAGES if stage not in RARE_STAGES)
DEVICES = ("gpu", "cxl", "pmem", "near-data")


def estimate(scenario: Scenario) -> Result:
    """Return a result whose step time falls with CXL bandwidth; 13 GB/s cannot run, so that a refusal can be seen."""
    if scenario.machine.cxl_bandwidth_GBps == 13:
        return Result(scenario, ran=False, outcome="machine.cxl_bandwidth_GBps=13 GB/s cannot run here; choose 14.", results={})
    link = scenario.machine.cxl_bandwidth_GBps or 48
    step = SPEED.get(scenario.system, 9.0) * 1e-3 + (0.05 / link if "cxl" in scenario.system else 0)
    joules = step * 300
    breakdown = tuple(
        {
            "Stage": stage,
            "Device": DEVICES[n % 4],
            "Busy [s]": step / len(POOLED),
            "Exposed [s]": step / len(POOLED),
            "Energy [J]": joules / len(POOLED),
        }
        for n, stage in enumerate(POOLED)
    )
    devices = tuple(
        {
            "Device": name,
            "Busy [%]": 20.0 + 15 * n,
            "Static energy [J]": joules * scenario.run.batches / 12,
            "Dynamic energy [J]": joules * scenario.run.batches / 6,
            "Energy [J]": joules * scenario.run.batches / 4,
            "Note": "",
        }
        for n, name in enumerate(DEVICES)
    )
    timeline = tuple(
        {
            "Device": DEVICES[n % 4],
            "Task": f"task {n}",
            "Stage": stage,
            "Batch": batch,
            "Start [ms]": (batch + n / len(POOLED)) * step * 1e3,
            "End [ms]": (batch + (n + 1) / len(POOLED)) * step * 1e3,
            "Background": stage == "Checkpoint",
        }
        for batch in range(3)
        for n, stage in enumerate(POOLED)
    )
    results = {
        "Step time [ms]": step * 1e3,
        "Throughput [samples/s]": scenario.data.batch_size / step,
        "Elapsed [s]": step * scenario.run.batches,
        "Energy [J]": joules * scenario.run.batches,
        "Energy per batch [J]": joules,
        "Average power [W]": joules / step,
        "Capital cost [USD]": 9100.0,
        "Effective training time ratio": 1.0,
        "GPU memory [GiB]": 8.0,
        "Cache hit rate [%]": 90.0,
        "Nodes": 1.0,
        "Time to target [min]": 160.0 if scenario.run.target_samples else None,
        "AUC": None,
    }
    finding = f"{scenario.system} trains {scenario.model.name} in {step * 1e3:.2f} ms a batch."
    return Result(scenario, True, "Completed.", results, breakdown, devices, timeline=timeline, finding=finding)


def simulate(scenario: Scenario, data: object = None, progress: Watcher | None = None) -> Result:
    """Return the estimate with a training curve and the faults asked for."""
    base = estimate(scenario)
    step = (base.results.get("Step time [ms]") or 0) / 1e3
    training = tuple(
        {"Batch": n, "Elapsed [s]": n * step, "Loss": 0.7 - n / 5000, "AUC": 0.6 + n / 9000 if n % 100 == 0 else None}
        | {"AUC error": 0.0062 if n % 100 == 0 else None}
        for n in range(0, scenario.run.batches, 5)
    )
    events = tuple(
        event
        for at in scenario.faults.power_loss_at_seconds
        for event in (
            {"Elapsed [s]": at, "Kind": "fault", "Batch": 3, "What": "Power was lost in batch 3."},
            {"Elapsed [s]": at + 0.2, "Kind": "recovered", "Batch": 3, "What": "Rows of batch 3 were rolled back."},
        )
    )
    if progress:
        progress(Progress(scenario.run.batches, scenario.run.batches, training))
    return replace(
        base, training=training, events=events, results={**base.results, "AUC": 0.711, "AUC error": 0.0062, "Loss": 0.512}
    )
