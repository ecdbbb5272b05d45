"""Which of many alike cases `make test` takes; `make slow` takes the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(every: int, cases: Iterable[Any]) -> list[Any]:
    """Return all cases: the first of each `every` for `make test`, the others marked slow."""
    return [case if n % every == 0 else pytest.param(case, marks=pytest.mark.slow) for n, case in enumerate(cases)]
