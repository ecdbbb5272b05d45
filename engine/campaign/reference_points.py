"""Published shares of effective training time, and what a campaign gives where a run's faults are public."""

from dataclasses import dataclass

from ..core.constants import Constant
from ..units import HOUR
from .closed_form import daly, effective
from .protection import ProtectionPlan


@dataclass(frozen=True)
class Yardstick:
    """One published share of time that trained, from `low` to `high`, with what is known of the run."""

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
# Neither is public: the usual value, and the range that it is taken from, of `faults.detect_seconds` and `restart_seconds`.
DETECT = Constant("detection", 30, "s", 1, 300, "unsourced", "from the fault to its notice")
RESTART = Constant("restart", 120, "s", 20, 600, "unsourced", "until processes run again, before the restore")


@dataclass(frozen=True)
class Prediction:
    """The share of useful time that Llama 3's public numbers give; `best` and `worst` at the ends of what is assumed."""

    usual: float
    best: float
    worst: float
    pause: float
    period: float

    @property
    def sentence(self) -> str:
        """The prediction with what it assumes."""
        return (
            f"Llama 3's one interruption in {LLAMA_MTBF / HOUR:.2f} h, with {LLAMA_STATE / 1e12:.2f} TB of state written at "
            f"{LLAMA_STORE / 1e12:g} TB/s every {self.period:.0f} s, gives {self.usual:.1%} if faults take {DETECT.value:g} s to "
            f"notice and {RESTART.value:g} s to restart, and {self.worst:.1%} if {DETECT.high:g} and {RESTART.high:g} s; "
            "more than 90 % is published."
        )


def llama() -> Prediction:
    """Predict Llama 3's effective training time: blocking full checkpoints at Daly's period, exponential faults."""
    pause = LLAMA_STATE / LLAMA_STORE
    period = daly(pause, LLAMA_MTBF)
    plan = ProtectionPlan(1.0, 1.0, max(1, round(period)), pause)
    downs = (DETECT.value + RESTART.value, DETECT.low + RESTART.low, DETECT.high + RESTART.high)
    usual, best, worst = (effective(plan, 1.0, LLAMA_MTBF, down + pause) for down in downs)
    return Prediction(usual, best, worst, pause, period)
