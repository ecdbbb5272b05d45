"""Lists every text that a user may read: of pages, refusals, help and alt texts, each with its place.

    python scripts/texts.py [FOLDER ...]

Names in f-strings stand in braces. Read the list as a list, aloud: a text that stumbles here stumbles on the page.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("pages", "engine")
LEAST_WORDS = 3
CODE = re.compile(r"^[\w.\-/%:{}\[\]=*()<>,#|' ]*$")  # what has no sentence's sign and no capital letter may be code


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of a file's strings of at least LEAST_WORDS words, docstrings apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aside = {id(part) for node in ast.walk(tree) for part in _not_shown(node)}
    for node in ast.walk(tree):
        if id(node) in aside or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = _text(node)
        if len(text.split()) >= LEAST_WORDS and (text[0].isupper() or not CODE.match(text)):
            yield node.lineno, " ".join(text.split())


def _not_shown(node: ast.AST) -> Iterator[ast.AST]:
    """Yield docstrings, and the parts of an f-string, which is listed whole."""
    body = getattr(node, "body", None)
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if documented and body and isinstance(body[0], ast.Expr):
        yield body[0].value
    if isinstance(node, ast.JoinedStr):
        yield from node.values


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    for folder in sys.argv[1:] or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in sorted(texts(path)):
                print(f"{path.relative_to(ROOT)}:{line}: {text}")
