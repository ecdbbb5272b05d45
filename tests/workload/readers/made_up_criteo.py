"""Made-up Criteo rows with everything that real ones have: skewed counts, missing cells, negative counts, hex ids."""

import numpy as np

from tests import ROOT

HEADER = "label," + ",".join([f"I{i}" for i in range(1, 14)] + [f"C{i}" for i in range(1, 27)])


def rows(count: int, seed: int = 1) -> list[list[str]]:
    """Return rows of cells as written in a file: label, 13 counts, 26 categories."""
    random = np.random.default_rng(seed)
    return [_row(random) for _ in range(count)]


def _row(random: np.random.Generator) -> list[str]:
    counts = [_count(random, column) for column in range(13)]
    categories = ["" if random.random() < 0.1 else f"{random.zipf(1.5) * 2654435761 % 2**32:08x}" for _ in range(26)]
    return [str(int(random.random() < 0.256)), *counts, *categories]


def _count(random: np.random.Generator, column: int) -> str:
    count = int(random.lognormal(2, 2)) - (2 if column == 1 else 0)
    return "" if random.random() < 0.2 else f"{count}.0" if column % 3 == 2 else str(count)


def csv(cells: list[list[str]], header: str = HEADER) -> bytes:
    """Return rows as a CSV file with a header."""
    return "\n".join([header, *(",".join(row) for row in cells)]).encode() + b"\n"


def tsv(cells: list[list[str]]) -> bytes:
    """Return rows as a TSV file without a header."""
    return "".join("\t".join(row) + "\n" for row in cells).encode()


if __name__ == "__main__":
    (ROOT / "tests/data/made_up_criteo.csv").write_bytes(csv(rows(60)))
