"""Does a storm of kills lose, change or repeat anything? `python -m tests.kill_storm --kills 1000` is the long one."""

from pathlib import Path

import pytest

from tests.kill_storm import storm


@pytest.mark.slow
def test_random_kills_of_workers_services_apps_and_commands_lose_change_and_repeat_nothing(tmp_path: Path) -> None:
    found = storm(tmp_path, 40, seed=1)
    assert {"worker", "service", "app", "command"} <= set(found)
