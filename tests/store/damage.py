"""Damage of a store's file: pages, the header, the end."""

from pathlib import Path

import numpy as np

from engine.store.database import PAGE_BYTES as PAGE
from tests.service_fakes import ask


def page_of(path: Path, table: str) -> int:
    """Return the first page of a table."""
    return int(str(ask(path, f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'")[0][0])) - 1


def garble(path: Path, page: int) -> None:
    """Write random bytes over a page."""
    content = bytearray(path.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = np.random.default_rng(page).bytes(PAGE)
    path.write_bytes(bytes(content))


def garble_header(path: Path) -> None:
    """Write zeros over the file's header."""
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


def cut_end(path: Path) -> None:
    """Cut off the last third of the file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def make_read_only(path: Path) -> None:
    """Raise the lowest version of SQLite that may write the file."""
    content = bytearray(path.read_bytes())
    content[18] = 18
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    """Cut off the whole file."""
    path.write_bytes(b"")
