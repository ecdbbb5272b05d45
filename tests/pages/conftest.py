"""Pages look for their store below the folder in which the app runs: each test has a folder of its own."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no run that was kept elsewhere appear on a page."""
    monkeypatch.chdir(tmp_path)
