"""What all tests share: golden files, compared by default and rewritten by `--golden`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

FOLDER = Path(__file__).parent / "golden"
settings.register_profile("emberpool", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("emberpool")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch of `make golden`."""
    parser.addoption("--golden", action="store_true", help="rewrite the golden files instead of comparing with them")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests first: they wait more than they compute, and the longest must not be the last to begin."""
    items.sort(key=lambda item: "browser" not in item.path.parts)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `same(name, text)`, which fails unless the golden file `name` holds `text`."""

    def same(name: str, text: str) -> None:
        path = FOLDER / name
        if request.config.getoption("--golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; write it with `make golden`"
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; if that is intended, run `make golden`"

    return same
