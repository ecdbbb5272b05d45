"""Can every crash state be looked at, from a click or from a link, and is what is said of it what recovery does?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis import linked
from engine.crashcheck import replay_line
from engine.crashcheck.view import CHOICES, SLOTS, line_of, moments, recovery_sentence, view_state
from engine.errors import BadInput
from engine.persistence.models import domain
from engine.registry import domain_names
from engine.scenario.presets import preset
from engine.sweep import links
from pages.failures_page import crash_viewer
from tests.apps import fields
from tests.cases import each

SCENARIO = preset("tiny").scenario
SAFE = tuple(name for name in domain_names() if domain(name).safe)


@each("model", SAFE)
@each("of", crash_viewer.PROTOCOLS.values(), few=3)
def test_every_moment_of_every_protocol_can_be_looked_at_and_recovers_as_its_line_replays(of, model):
    for number in range(0, len(moments(of, model)), 5):
        for kept in CHOICES:
            found = view_state(line_of(of, model, number, kept, number))
            assert found.verdict == replay_line.replay(found.line) and not found.verdict.problem
            states = {cell.state for cell in found.cells}
            assert states <= set(crash_viewer.STATES) and (kept != "nothing" or "kept" not in states)
            assert kept != "everything" or not states & {"lost", "torn"}


def test_the_map_has_every_line_of_the_table_and_of_the_logs_once():
    found = view_state(line_of(crash_viewer.PROTOCOLS["Undo log"], "adr", 5, "everything"))
    places = [(cell.lane, cell.line) for cell in found.cells]
    assert len(set(places)) == len(places) and {lane for lane, _ in places} == {"Table", *SLOTS}
    assert fields(crash_viewer.spec()) <= set(crash_viewer.frame(found).columns)


def test_what_is_settled_does_not_depend_on_what_survives():
    of = crash_viewer.PROTOCOLS["Undo log"]
    nothing, everything = (view_state(line_of(of, "adr", 3, kept)) for kept in ("nothing", "everything"))
    settled = [[cell[:2] for cell in found.cells if cell.state == "settled"] for found in (nothing, everything)]
    assert settled[0] == settled[1] and nothing.count("lost") == everything.count("kept") > 0


def test_a_volatile_memory_is_said_to_lose_everything():
    found = view_state(line_of(crash_viewer.PROTOCOLS["Undo log"], "volatile", 15, "nothing"))
    assert "I2: recovered to batch 0, though" in recovery_sentence(found)


@given(number=st.integers(0, 15), draw=st.integers(0, 999))
def test_a_link_carries_a_crash_state_beside_the_scenario(number, draw):
    line = line_of(crash_viewer.PROTOCOLS["Redo log"], "adr", number, "some", draw)
    opened = links.open_link(links.link(SCENARIO, "tiny", "failures", crash=line))
    assert opened.crash == line and opened.scenario == SCENARIO


@each(
    "line",
    [
        "v1:undo~adr:0:999999:all",
        "v1:undo~adr:0:37/40:all/all",
        "v1:undo~adr~no_checksum:0:37:all",
        "<script>alert(1)</script>",
    ],
)
def test_a_hostile_crash_state_is_refused_with_a_sentence(line):
    with pytest.raises(BadInput, match=r"replay|looked at|not known|lose power|cannot be lost"):
        linked.check_link(links.open_pairs([("preset", "tiny"), ("crash", line)]))
