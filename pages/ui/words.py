"""The field's words in a sentence each, shown where a sentence uses them."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from pages.ui.plain import plain

WORDS: Mapping[str, str] = MappingProxyType(
    {
        "exposed": "time in which a batch waits for this alone; what runs beside something slower is hidden and costs no time.",
        "staleness": "how many batches old the logged MLP may be when power is lost; more means fewer log bytes a batch.",
        "RAW": "read after write: a row is looked up whose last update is still on its way; relaxed lookup spares the wait.",
        "undo log": "old values are logged before rows are updated in place, so that an interrupted update is taken back.",
        "redo log": "new values are logged, and rows are updated from the log afterwards.",
        "near-data": "logic beside the memory that adds up a sample's rows there, so that one pooled vector crosses the link.",
        "pooling": "how many rows of a table one sample looks up and adds up.",
        "bag length": "how many rows one sample looks up in one table; their mean over samples is the pooling factor.",
        "PMEM": "persistent memory: memory modules that keep their bytes without power.",
        "CXL": "a link over PCIe lanes by which a processor or GPU reads and writes memory on another card.",
        "checkpoint": "a copy of the model's state from which training goes on after a fault.",
        "embedding": "a table with a trained vector for each value of a category, such as an article or a user.",
        "HBM": "the GPU's own memory: the fastest, and the smallest.",
        "band": "where the result lies in 9 of 10 draws of all constants from their plausible ranges.",
    }
)


def used(text: str) -> str | None:
    """Return what the words of a text mean, as Markdown; None where it uses none of them."""
    found = [word for word in WORDS if re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE)]
    return "\n\n".join(line(word) for word in found) or None


def line(word: str) -> str:
    """Return a word and its meaning, as Markdown."""
    return f"**{plain(word)}** {plain(WORDS[word])}"
