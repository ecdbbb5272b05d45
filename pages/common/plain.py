"""Shows text that came from outside, a link or a file, as itself: never as markup."""

import re

MARKUP = re.compile(r"([\\`*_{}\[\]<>()#~|$:!&@])")
MOST_CHARACTERS = 600


def plain(text: str) -> str:
    """Return `text` on one line, cut to a readable length, so that Markdown shows it literally."""
    line = " ".join(text.split())
    short = line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS // 2]} ... {line[-MOST_CHARACTERS // 2 :]}"
    return MARKUP.sub(r"\\\1", short)
