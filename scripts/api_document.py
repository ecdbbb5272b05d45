"""Writes docs/api.md from the docstrings of the package; with --check compares instead, and ends with 1 where they differ.

python scripts/api_document.py [--check]
"""

import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
DOCUMENT = ROOT / "docs" / "api.md"
HEAD = """# API

The names of `import emberpool as ep`, from their docstrings (`python scripts/api_document.py` writes this page).
[package.md](package.md) explains them by example. Examples here leave `ep.` out, as after `from emberpool import *`.
"""


def document() -> str:
    """Return the page: functions first, then classes, then errors."""
    import emberpool

    members = {name: getattr(emberpool, name) for name in emberpool.__all__}
    functions = [name for name, member in members.items() if inspect.isfunction(member)]
    errors = [name for name, member in members.items() if inspect.isclass(member) and issubclass(member, Exception)]
    classes = [name for name in members if name not in functions and name not in errors]
    parts = [HEAD]
    for title, names in (("Functions", functions), ("Classes", classes), ("Errors", errors)):
        parts.append(f"## {title}\n")
        parts += [_section(name, members[name], signature=title == "Functions") for name in sorted(names)]
    return "\n".join(parts).rstrip() + "\n"


def _section(name: str, member: object, signature: bool) -> str:
    head = f"### ep.{name}\n\n"
    if signature:
        head += f"```python\nep.{name}{_signature(member)}\n```\n\n"
    text = inspect.getdoc(member) or ""
    if not signature:  # fields of a class, a line each, become a list
        text = re.sub(r"^([a-z_]+): ", r"- `\1`: ", text, flags=re.MULTILINE)
    examples = re.compile(r"((?:^>>> .*\n?(?:^(?!>>>|\n).+\n?)*)+)", re.MULTILINE)
    text = examples.sub(r"\n```python\n\1\n```", text).replace("\n\n```\n", "\n```\n").replace("\n\n\n```python", "\n\n```python")
    return head + text + "\n"


def _signature(member: object) -> str:
    text = str(inspect.signature(member))  # type: ignore[arg-type]
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text.replace("= as before", "= ..."))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(DOCUMENT.read_text(encoding="utf-8") != document() and "docs/api.md differs: run python scripts/api_document.py")
    DOCUMENT.write_text(document(), encoding="utf-8")
