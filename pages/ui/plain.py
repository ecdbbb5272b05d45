"""Show text from links and files literally, never as markup, and knobs by their labels."""

import re
from functools import cache

from engine.scenario.scenario import KNOBS
from pages.ui import palette

MARKUP = re.compile(r"([\\`*_{}\[\]<>()#~|$:!&@])")
# The browser makes links of bare addresses, and icons, also of escaped text; a word joiner prevents that.
AUTO_LINKS = re.compile(r"(?<=:)(?=//|[a-z]+[:/])|(?<=www)(?=\.)|(?<=@)(?=[\w-])", re.IGNORECASE)
JOINER = "\u2060"
BLOCK = re.compile(r"^([0-9]{1,9})(?=\.(?: |$))|^(?=[+-](?:[ +-]|$))")  # at the start it would be a list or a rule
MOST_CHARACTERS = 600


def escape_markdown(text: str, code: bool = False, most: int = MOST_CHARACTERS) -> str:
    """Return `text` on one line, shortened and escaped, so that Markdown shows it literally.

    A knob is written by its label: "CXL bandwidth 8" for "machine.cxl_bandwidth_GBps=8". With `code` it stays as links write it.
    """
    line = " ".join((text if code else spell_out_knobs(text)).split())
    short_text = line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in short_text)  # nothing reverses the line
    return BLOCK.sub(r"\1\\", MARKUP.sub(r"\\\1", AUTO_LINKS.sub(JOINER, printable)), count=1)


def spell_out_knobs(text: str) -> str:
    """Return `text` with labels of knobs and titles of systems in place of their names.

    It is not escaped.
    """
    return _system_pattern().sub(lambda match: palette.system_titles()[match[1]], _path_pattern().sub(_knob_words, text))


def _knob_words(match: re.Match[str]) -> str:
    knob, knob_value = KNOBS[match[1]], match[2]
    followed = match.string[match.end() :].lstrip().startswith(knob.unit)
    unit = f" {knob.unit}" if knob_value and knob_value[0].isdigit() and knob.unit and not followed else ""
    return f"{knob.label} {knob_value}{unit}" if knob_value else knob.label


@cache
def _path_pattern() -> re.Pattern[str]:
    longest = sorted((path for path in KNOBS if "." in path), key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})\b(?:=([^\s;,)]*[^\s;,.)]))?")


@cache
def _system_pattern() -> re.Pattern[str]:
    longest = sorted(palette.systems(), key=len, reverse=True)
    return re.compile(rf"\bsystem[= ]({'|'.join(map(re.escape, longest))})\b(?!-)")
