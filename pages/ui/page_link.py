"""How a page travels in links: what its own widgets add and restore; where links begin, and where scripts lie."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit as st

from engine.sweep.links import NOTHING_ASKED, Opened
from engine.sweep.questions import Questions


@dataclass(frozen=True)
class LinkPart:
    """What a page adds to the link of the scenario: axes, questions as the page asks them, a crash state."""

    axes: tuple[str, ...] = ()
    questions: Questions = NOTHING_ASKED
    crash: str = ""


def _restore_nothing(link: Opened) -> None:
    """Leave the session as it is: the page has no widgets of its own that links carry."""


def _refuse_nothing(link: Opened) -> str:
    return ""


@dataclass(frozen=True)
class PageLink:
    """What a page registers in `shell/places.py`; of a new link every page's `refusal` is asked before any `from_link`.

    `to_link` returns the page's part, `from_link` sets its widgets before they are drawn, and `refusal` returns the sentence
    that refuses a link, or "".
    """

    to_link: Callable[[], LinkPart] = LinkPart
    from_link: Callable[[Opened], None] = _restore_nothing
    refusal: Callable[[Opened], str] = _refuse_nothing


def script(place: str) -> str:
    """Return the path of a place's script, by which Streamlit leads there."""
    return f"pages/scripts/{place}.py"


def host() -> str:
    """Return the scheme and host that the visitor's browser asked, or "" where there is no browser."""
    asked = urlsplit(st.context.url or "")
    return f"{asked.scheme}://{asked.netloc}" if asked.netloc else ""
