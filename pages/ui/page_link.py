"""Links of pages: a page's own part, the host, and the paths of the pages' scripts."""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import streamlit as st

from engine.sweep.links import NO_QUESTIONS, OpenedLink
from engine.sweep.questions import LinkQuestions


@dataclass(frozen=True)
class LinkPart:
    """A page's part of a link: sweep axes, questions, and a crash state."""

    axes: tuple[str, ...] = ()
    questions: LinkQuestions = NO_QUESTIONS
    crash: str = ""


def _restore_nothing(link: OpenedLink) -> None:
    """Restore nothing: links carry no widgets of the page."""


def _refuse_nothing(link: OpenedLink) -> str:
    return ""


@dataclass(frozen=True)
class PageLink:
    """How a page's own widgets are stored in links; `shell/places.py` has one for each page.

    to_link: returns the page's part of the link.
    from_link: sets the page's widgets before they are drawn.
    refusal: returns the sentence that refuses a link, or "". All pages are asked before any `from_link` is called.
    """

    to_link: Callable[[], LinkPart] = LinkPart
    from_link: Callable[[OpenedLink], None] = _restore_nothing
    refusal: Callable[[OpenedLink], str] = _refuse_nothing


def script(place: str) -> str:
    """Return the path of a page's script, with which Streamlit opens the page."""
    return f"pages/{place}.py"


def host() -> str:
    """Return scheme and host of the visitor's address, "" without a browser."""
    url = urlsplit(st.context.url or "")
    return f"{url.scheme}://{url.netloc}" if url.netloc else ""
