"""Links of pages: a page's own part, the host, and the scripts' paths."""

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
    """A page's entry in `shell/places.py`: how its own widgets travel in links.

    `to_link` returns the page's part, `from_link` sets its widgets before they are drawn, and `refusal` returns the sentence
    that refuses a link, or "". Every page's `refusal` is asked before any `from_link`.
    """

    to_link: Callable[[], LinkPart] = LinkPart
    from_link: Callable[[OpenedLink], None] = _restore_nothing
    refusal: Callable[[OpenedLink], str] = _refuse_nothing


def script(place: str) -> str:
    """Return the path of a page's script, by which Streamlit leads there."""
    return f"pages/{place}.py"


def host() -> str:
    """Return scheme and host of the visitor's address, "" without a browser."""
    url = urlsplit(st.context.url or "")
    return f"{url.scheme}://{url.netloc}" if url.netloc else ""
