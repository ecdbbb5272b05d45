"""The tests, in folders that follow the engine's rooms and the pages, and what several of them share."""

from pathlib import Path

ROOT = Path(__file__).parent.parent  # the checkout
HANG_SECONDS = 240  # ends a hang, and measures nothing: far beyond a busy computer, and before an idle worker leaves
