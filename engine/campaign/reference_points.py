"""Published numbers about faults and checkpoints, compared with simulated ones.

They are effective training time and the costs of two protections. Check-N-Run's models are Meta's own and not public, so its
range is compared with simulations of Meta's public tables. CPR's cluster is not public either. The time between faults is set so
that full checkpoints have their published cost, and the cost of CPR's checkpoints is then simulated.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..core import figures
from ..core.arithmetic import total
from ..core.constants import Constant
from ..faults.fault import Hazard
from ..scenario.presets import preset
from ..scenario.scenario import Scenario, with_values
from ..units import HOUR
from ..validation.causes import cause_text, implausible_knobs, unexplained_share
from ..validation.claims import FAULTS, OUT_OF_SAMPLE
from ..validation.workload_figures import Figure, scored_figures
from ..workload.expected import HALVINGS
from .closed_form import daly_period, effective
from .protection import ProtectionPlan
from .simulate import campaign_terms


@dataclass(frozen=True)
class Yardstick:
    """One published share of useful time.

    name: the name of the run.
    low, high: the published range.
    source: the publication.
    note: facts about the run.
    """

    name: str
    low: float
    high: float
    source: str
    note: str


YARDSTICKS = (
    Yardstick("OPT-175B", 0.59, 0.59, "Gemini, SOSP'23, of OPT's log book", "992 A100, remote checkpoints, repairs by hand"),
    Yardstick("HLAT without automation", 0.778, 0.778, "HLAT, 2024", "trained on Trainium"),
    Yardstick("Gemini", 0.85, 0.97, "Gemini, SOSP'23", "checkpoints in peers' memory"),
    Yardstick(
        "Llama 3 405B", 0.90, 1.0, "The Llama 3 Herd of Models, 2024", "more than 90 %; 419 interruptions in 54 days, 16,384 H100"
    ),
    Yardstick("HLAT with automation", 0.988, 0.988, "HLAT, 2024", "trained on Trainium"),
)

LLAMA_MTBF = 54 * 24 * HOUR / 419
# 405e9 parameters with weights in 2 B, and weights, momentum and variance in 4 B each.
LLAMA_STATE = 405e9 * 14
LLAMA_STORE = 2e12  # bytes per second, sustained, of the file system that it was written to
CHECK_N_RUN = (6.0, 17.0)  # times fewer bytes written than all state (NSDI'22)
CPR_FULL, CPR_PARTIAL = (8.2, 8.5), (0.53, 0.68)  # percent of the time (MLSys'21)
MORE_PARTS = 10  # parts of the tables; the number in CPR's own cluster is unknown
# Not public: the usual values, and their ranges, of `faults.detect_seconds` and `faults.restart_seconds`.
DETECT = Constant("detection", 30, "s", 1, 300, "unsourced", "from the fault to its notice")
RESTART = Constant("restart", 120, "s", 20, 600, "unsourced", "until processes run again, before the restore")


@dataclass(frozen=True)
class Prediction:
    """The predicted share of useful time from Llama 3's public numbers.

    usual_share: the share at the usual times to detect and restart.
    best_share, worst_share: the shares at the ends of their ranges.
    pause: seconds of a checkpoint.
    period: seconds between checkpoints.
    """

    usual_share: float
    best_share: float
    worst_share: float
    pause: float
    period: float

    @property
    def sentence(self) -> str:
        """A sentence with the prediction and its assumptions."""
        return (
            f"Llama 3's one interruption in {figures.figure(LLAMA_MTBF, 's')}, with {figures.figure(LLAMA_STATE, 'B')} of state "
            f"written at {figures.exact(LLAMA_STORE / 1e12)} TB/s every {figures.figure(self.period, 's')}, gives "
            f"{figures.percent(self.usual_share)} of the time useful if faults take {figures.exact(DETECT.value)} s to notice "
            f"and {figures.exact(RESTART.value)} s to restart, and {figures.percent(self.worst_share)} if "
            f"{figures.exact(DETECT.high)} and {figures.exact(RESTART.high)} s; "
            "more than 90 % is published."
        )


def llama_prediction() -> Prediction:
    """Return the predicted useful time of Llama 3's training.

    Assumed are checkpoints that stop training, at Daly's period, and exponential faults.
    """
    pause = LLAMA_STATE / LLAMA_STORE
    period = daly_period(pause, LLAMA_MTBF)
    plan = ProtectionPlan(1.0, 1.0, max(1, round(period)), pause)
    downs = (DETECT.value + RESTART.value, DETECT.low + RESTART.low, DETECT.high + RESTART.high)
    usual, best_share, worst_share = (effective(plan, 1.0, LLAMA_MTBF, downtime + pause) for downtime in downs)
    return Prediction(usual, best_share, worst_share, pause, period)


def protection_figures() -> Iterator[Figure]:
    """Yield the figures of protections with their published ranges."""
    meta = preset("meta-856").scenario
    plans = [_plan(meta, name, None) for name in ("periodic-full", "check-n-run")]
    full_bytes, changed_bytes = (plan.checkpoint_bytes["remote"] for plan in plans)
    yield _range_figure("Check-N-Run on Meta's 856 tables", "times fewer bytes [x]", full_bytes / changed_bytes, CHECK_N_RUN)
    name, knobs = "CPR on 8 GPUs, where full checkpoints take 8.35 %", (("machine.num_gpus", MORE_PARTS),)
    cpr_percent, more_parts_percent = (_cpr_overhead(gpus) for gpus in (8, MORE_PARTS))
    objected = (
        *implausible_knobs(preset("torchrec-terabyte").scenario, knobs, name),
        *unexplained_share(cpr_percent, more_parts_percent, CPR_PARTIAL),
    )
    figure = _range_figure(name, "of the time [%]", cpr_percent, CPR_PARTIAL)
    yield replace(figure, cause=cause_text(knobs, more_parts_percent, objected), cause_counts=not objected)


def _cpr_overhead(gpus: int) -> float:
    """Return the overhead [%] of CPR's checkpoints on some GPUs.

    Full checkpoints have their published overhead there.
    """
    sharded_scenario = with_values(preset("torchrec-terabyte").scenario, {"system": "all-hbm", "machine.num_gpus": gpus})
    return overhead_percent(_plan(sharded_scenario, "cpr", mtbf_where_full_costs(sharded_scenario, total(CPR_FULL) / 2)))


def _range_figure(group: str, name: str, simulated_value: float, ends: tuple[float, float]) -> Figure:
    low, high = ends
    return Figure(
        group,
        name,
        simulated_value,
        f"{figures.exact(low)}-{figures.exact(high)}",
        low,
        high,
        low,
        OUT_OF_SAMPLE,
        FAULTS,
        number_to=high,
    )


def _plan(scenario: Scenario, protection: str, mtbf: float | None) -> ProtectionPlan:
    return campaign_terms(scenario, protection, {"gpu-crash": Hazard(mtbf)})[0].plan


def overhead_percent(plan: ProtectionPlan) -> float:
    """Return a checkpoint's pause in percent of the training between two checkpoints."""
    return 100 * plan.pause / (plan.checkpoint_interval * plan.step)


def mtbf_where_full_costs(scenario: Scenario, percent: float) -> float:
    """Return the seconds between faults at which full checkpoints cost `percent` of the time.

    The checkpoints are made at their best period.
    """
    low, high = 60.0, 1000 * HOUR
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        is_dearer = overhead_percent(_plan(scenario, "periodic-full", middle)) > percent
        low, high = (middle, high) if is_dearer else (low, middle)
    return high


def published_figures() -> tuple[Figure, ...]:
    """Return the published numbers that no preset claims: those of workloads and of protections."""
    return (*scored_figures(), *protection_figures())
