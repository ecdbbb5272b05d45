"""docs/software.md: is its table that of the catalogue, and does each loop of software say how long it takes, and from what?"""

from engine.core.catalog import part_content
from engine.hardware.framework import FRAMEWORKS, loop_rates
from engine.hardware.software import KIND, PLATFORM_LIST, STATED_LOOP, every_software
from engine.units import MS
from tests import ROOT

DOCUMENT = (ROOT / "docs" / "software.md").read_text(encoding="utf-8")
OFFERED = ("torchrec", "hugectr", "tensorflow", "pytorch-graph")  # by Decide, beside a visitor's own
LEAST = 0.3 * MS  # of a loop that is a default or offered


def table() -> str:
    """Return the table of software as the document has it."""
    rows = []
    for one in every_software():
        content = part_content(KIND, one.name)
        runs = ", ".join(f"`{name}`" for name in one.runs) or "-"
        rows.append(
            f"| `{one.name}` | {one.title} | {one.state} | {one.since} | `{one.framework}` | {runs} | "
            f"{', '.join(content[PLATFORM_LIST])} | {content['release']} | {content['licence']} |"
        )
    head = "| name | software | state | since | loop | runs | on | last release | licence |"
    return "\n".join((head, "|---|---|---|---|---|---|---|---|---|", *rows)) + "\n"


def test_the_table_is_that_of_the_catalogue() -> None:
    assert table() in DOCUMENT, f"Put this into docs/software.md:\n{table()}"


def test_each_loop_that_is_offered_takes_three_tenths_of_a_millisecond_and_has_a_source() -> None:
    for name in (*OFFERED, STATED_LOOP):
        framework = FRAMEWORKS[name]
        assert loop_rates(framework).fixed * MS >= LEAST
        assert f"`{name}`" in DOCUMENT
        assert framework.fixed.source and (framework.fixed.confidence != "unsourced" or name == STATED_LOOP)
        assert framework.fixed.low < framework.fixed.value < framework.fixed.high
    assert {one.framework for one in every_software() if one.exists and one.runs} == {*OFFERED}
