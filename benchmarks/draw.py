"""Draws docs/performance.md from the rows that `bench --json docs/performance.json` has kept."""

import json
from math import log10
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
KEPT, PAGE = DOCS / "performance.json", DOCS / "performance.md"
HEAD = """# Performance: how fast, beside whom

`make bench` measures every row on this computer in one run; peers that are not installed (`benchmarks/requirements.txt`)
stay empty. `python -m engine bench --json docs/performance.json && python -m benchmarks.draw` keeps the rows and draws this
page from them. Both sides do the same work in turns in one process, results are compared before
time counts, and a row counts as passed only if they are equal (P10 also asks that a run that is followed takes at most half
as long again). Seconds are of the processor, of P13 to P16 of the clock, of P18 with Python's start and imports; they
differ between computers, ratios less so. On the scale `|` is what must be reached, `●` what is; each mark left or right is
a quarter of a power of ten.

| # | what | beside | ours [s] | theirs [s] | ratio | must | stretch | scale | results |
|---|---|---|---:|---:|---:|---:|---:|---|---|
"""
FOOT = """
## What stands between P5 and its must

Of 22 ms for 1,024 runs of 200 batches of 16 tasks the recurrence of maxima and sums takes 1.6 ms and what tasks last 0.9;
critical paths take 4.1, what each machine's devices ask for 10 and its sums 5. The recurrence alone is near 30,000 times
SimPy; the rest is what a table shows beside the seconds. Its batches are counted from real ids and all differ, so nothing
repeats, and neither leaps nor a (max, +) eigenvalue save any of them. To reach the must with all of it takes: costs of
devices that differ in one number as one closed form instead of a table of (machines, kinds); sums over kinds in rows as long
as the machines are many; and critical paths only where the order of ends changes from one machine to the next.
"""
MARKS, HALF = 4, 8  # marks to a power of ten; marks on either side of what must be reached


def drawn(rows: list[dict[str, Any]]) -> str:
    """Return the page for the rows of `bench --json`."""
    return HEAD + "".join(map(_row, rows)) + FOOT


def _row(row: dict[str, Any]) -> str:
    told = [row["name"], row["title"], row["peer_name"]]
    if row["ratio"] is None:
        return f"| {' | '.join(told)} | | | | {row['target']:.3g} | {row['stretch']:.3g} | | not measured |\n"
    numbers = [f"{row[name]:.3g}" for name in ("ours", "peer", "ratio", "target", "stretch")]
    verdict = ("equal" if row["equal_results"] else "DIFFERENT") + ("" if row["passed"] else ", must missed")
    return f"| {' | '.join([*told, *numbers])} | `{_scale(row['ratio'] / row['target'])}` | {verdict} |\n"


def _scale(share: float) -> str:
    marks = ["·"] * (2 * HALF + 1)
    marks[HALF] = "|"
    marks[min(max(HALF + round(MARKS * log10(share)), 0), 2 * HALF)] = "●"
    return "".join(marks)


if __name__ == "__main__":
    PAGE.write_text(drawn(json.loads(KEPT.read_text())))
