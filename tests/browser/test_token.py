"""The token of the printed address in a real browser: what it opens, where it stays, and what a visitor without it sees."""

import hashlib

import pytest
from playwright.sync_api import expect

from pages.gate import access
from pages.own_data import panel, ways
from tests.browser.conftest import READY, TOKEN
from tests.browser.looks import WAIT_MS, field

pytestmark = pytest.mark.slow
SECRET = "q7zkv9wxjd3"


def test_who_has_the_token_gives_files_by_path_and_nobody_else_learns_what_they_hold(server, visit, tmp_path):
    rows = [f"{n},{n % 9},{n % 6},{n}\n" for n in range(60)]
    path = tmp_path / "own.csv"
    path.write_text("userId,movieId,rating,timestamp\n" + "".join([*rows, f"1,2,{SECRET},3\n"]))
    owner = visit(f"{server}/start?token={TOKEN}")
    assert owner.url.startswith(f"{server}/start") and TOKEN not in owner.url
    assert TOKEN not in owner.evaluate("document.cookie") and "token" not in owner.evaluate("document.cookie")
    owner.reload()
    owner.wait_for_selector(READY, timeout=WAIT_MS)
    owner.get_by_text(panel.LABEL).click()
    field(owner, ways.PATH).fill(f"  {path} ")
    owner.keyboard.press("Enter")
    expect(owner.get_by_text(SECRET)).to_be_visible(timeout=WAIT_MS)
    (cookie,) = (one for one in owner.context.cookies() if one["value"] == TOKEN)
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["expires"]) == (True, "Strict", -1)

    stranger = visit(f"{server}/start?token=wrong")
    assert "token" not in stranger.url
    stranger.get_by_text(panel.LABEL).click()
    expect(stranger.get_by_text(access.TOKEN_HINT.partition("`")[0])).to_be_visible(timeout=WAIT_MS)
    assert not field(stranger, ways.PATH).count() and SECRET not in stranger.content()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    linked = visit(f"{server}/data?preset=tiny&data.digest={digest}")
    expect(linked.get_by_text("own.csv:62: ")).to_be_visible(timeout=WAIT_MS)
    assert SECRET not in linked.content() and str(tmp_path) not in linked.content()
