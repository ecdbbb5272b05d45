"""Runs a notebook's cells in order and writes what they show; `--check` compares instead, and says which cell differs.

    python scripts/notebook.py docs/notebook.ipynb [--check]

A cell shows what it prints and the value of its last line: a table as HTML and text, a chart as its specification and a picture.
The package and what it needs are enough. Pictures need vl-convert-python too: without it a chart that is as it was keeps its
picture, and another has none.
"""

import ast
import contextlib
import io
import json
import sys
from base64 import b64encode
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
PICTURE = "image/png"


def shown(code: str, names: dict[str, Any], pictures: bool) -> list[dict[str, Any]]:
    """Run one cell and return its outputs as a notebook keeps them."""
    tree, printed = ast.parse(code), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        outputs.append({"output_type": "execute_result", "data": _data(value, pictures), "metadata": {}, "execution_count": None})
    return outputs


def _data(value: Any, pictures: bool) -> dict[str, Any]:
    if hasattr(value, "to_dict") and hasattr(value, "mark"):
        spec = value.to_dict()
        found = {"application/vnd.vegalite.v6+json": spec, "text/plain": ["A chart in Vega-Lite."]}
        if pictures:
            found[PICTURE] = b64encode(import_module("vl_convert").vegalite_to_png(json.dumps(spec), scale=2)).decode()
        return found
    found = {"text/plain": _lines(str(value))}
    return found | ({"text/html": _lines(value._repr_html_())} if hasattr(value, "_repr_html_") else {})


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run(book: dict[str, Any], pictures: bool) -> list[list[dict[str, Any]]]:
    """Return the outputs of each cell of code, run in one set of names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [shown("".join(cell["source"]), names, pictures) for cell in book["cells"] if cell["cell_type"] == "code"]


def differing(book: dict[str, Any]) -> list[int]:
    """Return which cells of code, counted from 1, show something else now than in the notebook; pictures are not compared."""
    kept = [cell["outputs"] for cell in book["cells"] if cell["cell_type"] == "code"]
    return [number for number, (now, then) in enumerate(zip(run(book, False), kept, strict=True), 1) if now != _plain(then)]


def _plain(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(json.dumps(outputs))
    for one in found:
        one.get("data", {}).pop(PICTURE, None)
        if "execution_count" in one:
            one["execution_count"] = None
    return found


def main(words: list[str]) -> int:
    """Return 1 if the check fails."""
    path = Path(words[0])
    book = json.loads(path.read_text(encoding="utf-8"))
    if "--check" in words:
        if changed := differing(book):
            print(
                f"{path}: cells {', '.join(map(str, changed))} show something else now; run `python scripts/notebook.py {path}`."
            )
        return int(bool(changed))
    if not (pictures := find_spec("vl_convert") is not None):
        print("Without vl-convert-python no picture is drawn anew; pip install it for those that change.", file=sys.stderr)
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(cells, run(book, pictures), strict=True), 1):
        if not pictures and outputs == _plain(cell["outputs"]):
            outputs = cell["outputs"]
        cell["execution_count"] = number
        for one in outputs:
            one |= {"execution_count": number} if "execution_count" in one else {}
        cell["outputs"] = outputs
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
