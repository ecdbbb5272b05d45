"""Pages look for their store below the folder in which the app runs: each test has a folder of its own."""

from pathlib import Path

import pytest

from pages.gate import access


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no run that was kept elsewhere appear on a page."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let visitors come with the token that the server knows, as a cookie of a browser would show it."""
    monkeypatch.setattr(access, "_token", "")
    token = access.set_token()
    monkeypatch.setattr(access, "shown_token", lambda: token)
