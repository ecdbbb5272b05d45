"""The tests, in folders that follow the engine's rooms and the pages, and what several of them share."""

from pathlib import Path

ROOT = Path(__file__).parent.parent  # the checkout
