"""The glossary: one meaning a word, short sentences, and those that a text uses."""

import re

from pages.ui.words import GLOSSARY, meanings_in, sections
from tests import ROOT


def test_each_word_has_one_meaning_of_one_sentence():
    words = [(word, meaning) for section in sections().values() for word, meaning in section.items()]
    lines = re.findall(r"^- ", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(words) == len(lines) == len({word.casefold() for word, _ in words}) >= 150
    for word, meaning in words:
        assert meaning.endswith(".") and len(meaning.split()) <= 30, word


def test_a_text_is_explained_by_the_words_that_it_uses():
    explained = meanings_in("The link exposes 3 ms; PMEM modules wear, whatever the batch.")
    assert "**PMEM** persistent memory" in explained and "**module**" in explained and "**wear**" in explained
    assert "**batch**" not in explained and "**exposed**" not in explained
    assert meanings_in("Nothing of the kind.") is None and meanings_in("logical") is None


def test_the_container_has_the_glossary():
    assert "docs/glossary.md" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "!docs/glossary.md" in (ROOT / ".dockerignore").read_text(encoding="utf-8")
