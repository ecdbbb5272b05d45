"""Does each example of CONTRIBUTING.md work as it stands, in the place that its first line names?"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tomllib import loads
from types import ModuleType
from typing import Any

from engine.faults.fault import Fault
from engine.scenario.presets import scenario_file
from tests import ROOT
from tests.cases import each

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PYTHON, TOML = (re.findall(f"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE) for language in ("python", "toml"))
PLACE = re.compile(r"^# (?:(?P<how>in class|in|from) )?(?:(?P<name>\w+), )?(?P<path>[\w/-]+\.(?:py|toml))", re.MULTILINE)
NOT_EXECUTED = ("tests/", "pages/")  # a bug would enter the registry, a page needs Streamlit: imports and syntax alone


def place(block: str) -> dict[str, str]:
    """Return how an example stands in a file, in which name, and the path; empty where it names none."""
    match = PLACE.search(block)
    return match.groupdict("") if match else {"how": "", "name": "", "path": ""}


def title(block: str) -> str:
    return place(block)["path"] or block.splitlines()[0]


def module(path: str) -> ModuleType:
    """Return the module of a path."""
    return import_module(path.removesuffix(".py").replace("/", "."))


def missing_imports(block: str, package: str) -> Iterator[str]:
    """Yield the names that an example imports and that do not exist."""
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom):
            parent = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            source = import_module(".".join(filter(None, (parent, node.module))))
            for alias in node.names:
                if (
                    not hasattr(source, alias.name)
                    and not (ROOT / source.__name__.replace(".", "/") / f"{alias.name}.py").exists()
                ):
                    yield f"{source.__name__}.{alias.name}"


@each("block", PYTHON)
def test_python_works_in_its_place(block: str) -> None:
    where = place(block)
    how, name, path = where["how"], where["name"], where["path"]
    if how == "from":  # an excerpt
        code = "\n".join(block.splitlines()[1:]).strip()
        source = (ROOT / path).read_text(encoding="utf-8")
        assert all(part.strip() in source for part in code.split("\n\n\n"))
    elif how == "in":  # a row of a table
        assert isinstance(getattr(module(path), name), dict)
        assert eval("{" + block + "}", dict(vars(module(path))))
    elif how or (path.startswith("engine/") and (ROOT / path).exists()):  # lines of a class or module
        exec(block, dict(vars(module(path))))
    else:
        assert not path or (ROOT / path).parent.exists()
        package = ".".join(Path(path).parent.parts)
        assert not [*missing_imports(block, package)]
        if path.startswith("engine/"):
            exported: dict[str, Any] = {"__name__": "example", "__package__": package}
            exec(block, exported)
            assert {"SYSTEM", "SHARDING", "PROTECTION"} & exported.keys()
        elif not path.startswith(NOT_EXECUTED):
            exec(block, {})


def test_tables_work_in_their_places(tmp_path: Path) -> None:
    preset, part, fault = (next(block for block in TOML if word in block) for word in ("[[claims]]", "channel-peak", "destroys"))
    (tmp_path / "my-model.toml").write_text(preset, encoding="utf-8")
    assert scenario_file(tmp_path / "my-model.toml").model.num_tables == 40
    (copied,) = re.findall(r"^cp (engine/hardware\S+)", TEXT, re.MULTILINE)
    copied_part = loads((ROOT / copied).read_text(encoding="utf-8"))
    for key, constant in loads(part).items():
        assert isinstance(constant, str) or copied_part[key].keys() == constant.keys()
    (row,) = loads(fault).values()
    assert Fault(**row).stops_job
