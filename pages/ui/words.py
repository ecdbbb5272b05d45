"""The glossary of docs/glossary.md, shown with the sentences that use its words."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pages.ui.plain import escape_markdown

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
HEADING, TERM = re.compile(r"^## (.+)$"), re.compile(r"^- \*\*(.+?)\*\*: (.+)$")
BASIC_SECTIONS = ("Models and data", "Training")  # words that every reader knows: a sentence that uses them needs no explanation


@cache
def sections() -> Mapping[str, Mapping[str, str]]:
    """Return meanings by word, by heading."""
    meanings: dict[str, dict[str, str]] = {}
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            meanings[heading[1]] = section = {}
        elif term_match := TERM.match(line):
            section[term_match[1]] = term_match[2]
    return MappingProxyType(meanings)


def meanings_in(text: str) -> str | None:
    """Return the meanings of a text's words as Markdown; None if it has only basic words."""
    words = {
        word: meaning
        for heading, section in sections().items()
        if heading not in BASIC_SECTIONS
        for word, meaning in section.items()
    }
    lines = [line(word, words[word]) for word in words if re.search(rf"\b{re.escape(word)}(s|es)?\b", text, re.IGNORECASE)]
    return "\n\n".join(lines) or None


@cache  # every run of a page draws the whole glossary
def line(word: str, meaning: str) -> str:
    """Return a word and its meaning, as Markdown."""
    return f"**{escape_markdown(word)}** {escape_markdown(meaning)}"
