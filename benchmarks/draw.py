"""Write docs/performance.md from the rows in docs/performance.json.

`bench --json docs/performance.json` writes these rows.
"""

import json
from math import log10
from pathlib import Path
from typing import Any

from engine.commands.bench import verdict

DOCS = Path(__file__).parent.parent / "docs"
KEPT, PAGE = DOCS / "performance.json", DOCS / "performance.md"
HEAD = """# Performance: how fast, beside whom

`make bench` measures every row on this computer in one run.
Peers that are not installed (`benchmarks/requirements.txt`) stay empty.
`python -m engine bench --json docs/performance.json && python -m benchmarks.draw` keeps the rows and draws this page from them.

## How rows are measured

- Both sides do the same work in turns, in one process.
- Results are compared before time counts. A row passes only if they are equal.
- Each row has three verdicts: results equal or not, target met or not, and "not measured: busy" if other processes computed.
- Seconds are of the processor; those of P14 to P17 are of the clock; those of P18 and P19 contain Python's start and imports.
- P11-memory has MiB in place of seconds.
- Seconds differ between computers, ratios less so.
- On the scale, `|` is what must be reached and `●` what is. Each mark left or right is a quarter of a power of ten.

## Rows

| # | what | beside | ours [s] | theirs [s] | ratio | must | stretch | scale | verdict |
|---|---|---|---:|---:|---:|---:|---:|---|---|
"""
FOOT = """
## What stands between P14 and its must

One worker takes 6.2 to 6.4 s, of which 5.4 are its own. Two take 4.0 to 4.2 s, and half of one would be 3.1 to 3.2.

| what both runs wait for | s |
|---|---:|
| listing the points in the store: texts, key and row of each | 0.46 |
| starting the workers, which import the engine each | 0.35 |
| loading what a first estimate needs | 0.13 |
| the copy of names and trained results at the end | 0.13 |

A second worker halves nothing of that second. The owner takes 0.2 s more, and two workers wait for each other's writes.
Savings that help one worker and two alike move times, not the ratio.
"""
MARKS, HALF = 4, 8  # marks to a power of ten; marks on either side of what must be reached


def drawn(rows: list[dict[str, Any]]) -> str:
    """Return the text of docs/performance.md for the rows of `bench --json`."""
    return HEAD + "".join(map(_row, rows)) + FOOT


def _row(row: dict[str, Any]) -> str:
    told = [row["name"], row["title"], row["peer_name"]]
    if row["ratio"] is None:
        return f"| {' | '.join(told)} | | | | {row['target']:.3g} | {row['stretch']:.3g} | | not measured |\n"
    numbers = [f"{row[name]:.3g}" for name in ("ours", "peer", "ratio", "target", "stretch")]
    return f"| {' | '.join([*told, *numbers])} | `{_scale(row['ratio'] / row['target'])}` | {verdict(row)} |\n"


def _scale(share: float) -> str:
    marks = ["·"] * (2 * HALF + 1)
    marks[HALF] = "|"
    marks[min(max(HALF + round(MARKS * log10(share)), 0), 2 * HALF)] = "●"
    return "".join(marks)


if __name__ == "__main__":
    PAGE.write_text(drawn(json.loads(KEPT.read_text())))
