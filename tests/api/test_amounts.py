"""Are workers and targets numbers of what they say, and is a share told from a percentage?"""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.api import amounts
from tests.cases import each


@each("jobs", [0, -2, 1025, True, 2.0, "2", [2], float("nan"), 10**30])
def test_a_number_of_workers_is_a_whole_number(jobs: Any) -> None:
    with pytest.raises(
        api.BadInput, match="is not a number of workers; write a whole number from 1 to 1,024, or -1 for one per core"
    ):
        api.run("tiny", jobs=jobs)


def test_workers_are_counted_as_joblib_does() -> None:
    assert [amounts.workers(jobs) for jobs in (None, 1, np.int64(3), 1024, -1)] == [1, 1, 3, 1024, -1]


def test_percent_and_share_are_one_target_by_two_names() -> None:
    for percent in (10, "10%", " 10 % ", Decimal(10), np.float32(10)):
        assert amounts.target(percent, None, None).tolerance == 0.1
    assert amounts.target(None, None, None).tolerance == 0.1
    for share, percent in ((0.1, "10 %"), ("10%", "10 %"), (10, "1,000 %")):
        with pytest.warns(DeprecationWarning, match=rf"within={share!r} is a share, {percent}, .*; write within_percent="):
            assert amounts.target(None, share, None).tolerance == float(percent.replace(",", "").removesuffix(" %")) / 100


@pytest.mark.usefixtures("few_draws")
def test_the_warning_points_at_the_script() -> None:
    with pytest.warns(DeprecationWarning) as caught:
        old = api.enough("tiny", within=0.1)
    assert caught[0].filename == __file__ and old == api.enough("tiny", within_percent=10)


@each(
    "target",
    [
        {"within_percent": "ten"},
        {"within_percent": "%"},
        {"within_percent": True},
        {"within_percent": [10]},
        {"within_percent": -100},
        {"within_percent": float("nan")},
        {"within": "0.1"},
        {"step_ms": "1"},
        {"step_ms": "1 ms"},
        {"step_ms": 0},
        {"step_ms": 10**400},
        {"step_ms": Decimal("sNaN")},
        {"within_percent": np.ma.masked},
        {"baseline": ["dram"]},
        {"baseline": 3},
        {"within_percent": 10, "step_ms": 1},
        {"within_percent": 10, "within": 0.1},
    ],
)
def test_what_is_no_target_is_refused(target: dict[str, Any]) -> None:
    with pytest.raises(api.BadInput, match=r"[.?]$"):
        api.enough("tiny", **target)
