"""Shows text that came from outside, a link or a file, as itself: never as markup, and without the words of the code."""

import re
from functools import cache

from engine.scenario.scenario import KNOBS
from pages.ui import palette

MARKUP = re.compile(r"([\\`*_{}\[\]<>()#~|$:!&@])")
# What the browser makes of finished text, escaped or not: links of bare addresses, and icons; a word joiner parts them.
ALIVE = re.compile(r"(?<=:)(?=//|[a-z]+[:/])|(?<=www)(?=\.)|(?<=@)(?=[\w-])", re.IGNORECASE)
JOINER = "\u2060"
BLOCK = re.compile(r"^([0-9]{1,9})(?=\.(?: |$))|^(?=[+-](?:[ +-]|$))")  # at the start it would be a list or a rule
MOST_CHARACTERS = 600


def plain(text: str, code: bool = False, most: int = MOST_CHARACTERS) -> str:
    """Return `text` on one line, cut to a readable length, so that Markdown shows it literally.

    A knob is called by its field's name, "CXL bandwidth 8" for "machine.cxl_bandwidth_GBps=8"; with `code` as links do.
    """
    line = " ".join((text if code else worded(text)).split())
    short = line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"
    seen = "".join(letter if letter.isprintable() else "\ufffd" for letter in short)  # nothing turns the line around
    return BLOCK.sub(r"\1\\", MARKUP.sub(r"\\\1", ALIVE.sub(JOINER, seen)), count=1)


def worded(text: str) -> str:
    """Return `text` with knobs called by their labels and systems by their titles, for where no Markdown is read."""
    return _system().sub(lambda found: palette.system_titles()[found[1]], _paths().sub(_worded, text))


def _worded(found: re.Match[str]) -> str:
    knob, value = KNOBS[found[1]], found[2]
    followed = found.string[found.end() :].lstrip().startswith(knob.unit)
    unit = f" {knob.unit}" if value and value[0].isdigit() and knob.unit and not followed else ""
    return f"{knob.label} {value}{unit}" if value else knob.label


@cache
def _paths() -> re.Pattern[str]:
    longest = sorted((path for path in KNOBS if "." in path), key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})\b(?:=([^\s;,)]*[^\s;,.)]))?")


@cache
def _system() -> re.Pattern[str]:
    longest = sorted(palette.systems(), key=len, reverse=True)
    return re.compile(rf"\bsystem[= ]({'|'.join(map(re.escape, longest))})\b(?!-)")
