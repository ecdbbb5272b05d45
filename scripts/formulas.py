"""A hook of MkDocs: formulas between dollars become MathML, which browsers draw without scripts from elsewhere."""

import re
from typing import Any

from latex2mathml.converter import convert

BLOCK, INLINE = re.compile(r"^\$\$\n(.+?)\n\$\$$", re.DOTALL | re.MULTILINE), re.compile(r"(?<![\\\w$`])\$([^$\n`]+?)\$(?![\w$])")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's Markdown with its formulas drawn; code stays as it is."""
    parts = CODE.split(markdown)
    parts[::2] = [_drawn(part) for part in parts[::2]]
    return "".join(parts)


def _drawn(text: str) -> str:
    """Return Markdown with MathML for formulas; a span keeps a formula that begins a line inside its paragraph."""
    text = BLOCK.sub(lambda formula: f'<div style="margin: 1em 0">{convert(formula[1], display="block")}</div>', text)
    return INLINE.sub(lambda formula: f"<span>{convert(formula[1])}</span>", text)
