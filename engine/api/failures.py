"""The cost of failures for a script: a month's losses by protection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..campaign.fault_stream import hazards_of
from ..campaign.monthly import loss_rows, losses
from ..errors import BadInput
from ..scenario.presets import DEFAULT
from .bases import Base
from .calls import scenario

if TYPE_CHECKING:
    from pandas import DataFrame


def failures(base: Base = DEFAULT, /, **knobs: Any) -> DataFrame:
    """Return the losses of a month by failures, a row for each protection.

    The least loss comes first. Columns are hours and USD lost in a month, their parts, the checkpoint period, the hardware
    price, and why a protection is not possible. The numbers are those of the page Failures, by the closed form. Raises BadInput
    where no fault has a rate or the faults have no closed form: run the scenario, or simulate it with the command `campaign`.

    >>> failures("tiny", power_loss_mtbf_hours=24).columns[:3].tolist()
    ['Protection', 'Yours', 'Lost [h a month]']
    """
    from pandas import DataFrame

    faulty = scenario(base, **knobs)
    hazards = hazards_of(faulty)
    if not hazards:
        raise BadInput("No fault has a rate, so none can happen; set power_loss_mtbf_hours=24, or rates='llama3'.")
    hour, all_losses = losses.cluster_hour(faulty), losses.losses_by_formula(faulty, hazards)
    return DataFrame(loss_rows.loss_rows(loss_rows.sorted_losses(all_losses), hour, faulty.policy.protection))
