"""The registry of variants by kind: files of a folder, or rows of a table."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from .errors import BadFile
from .user_text import MAX_FILE_BYTES, read_toml_table

ENGINE_FOLDER = Path(__file__).parent
NO_RATES = "none"
# The constant that each file of a kind exports, and the folder of the files; systems have a folder for each family, beside
# their shared steps.
CONSTANT_BY_KIND = {
    "systems": ("SYSTEM", "systems/*"),
    "devices": ("DEVICE", "hardware/devices"),
    "protections": ("PROTECTION", "campaign/protections"),
    "plans": ("SHARDING", "systems/plans"),
}
NO_FAMILY = ("steps", "plans", "buildable", "exchange", "kernels", "__pycache__")
# Kinds whose variants are rows of a table by name, with the table's module, which is imported late as it needs the engine.
TABLES = {
    "metrics": ("results.metrics", "METRICS"),
    "faults": ("faults.catalog", "FAULTS"),
    "domains": ("persistence.models", "MODELS"),
}


def rows(kind: str) -> Mapping[str, Any]:
    """Return the variants of a table by name, in the table's order.

    `kind` is a key of TABLES.
    """
    place, table = TABLES[kind]
    table_rows: Mapping[str, Any] = getattr(import_module(f"{__package__}.{place}"), table)
    return table_rows


@cache
def variant_names(kind: str) -> tuple[str, ...]:
    """Return the names of all variants of a kind, sorted.

    `kind` is `models` or a key of CONSTANT or TABLES.
    """
    if kind in TABLES:
        return tuple(sorted(rows(kind)))
    if kind == "models":
        return tuple(sorted(path.stem for path in (ENGINE_FOLDER / "scenario" / "models").glob("*.toml")))
    return tuple(sorted(module_paths(kind)))


@cache
def module_paths(kind: str) -> Mapping[str, str]:
    """Return the dotted module path of each variant's file by name."""
    other_folders = NO_FAMILY if kind == "systems" else ()
    folders = [
        folder for folder in ENGINE_FOLDER.glob(CONSTANT_BY_KIND[kind][1]) if folder.is_dir() and folder.name not in other_folders
    ]
    modules = ((folder, module_info.name) for folder in folders for module_info in iter_modules([str(folder)]))
    return {name.replace("_", "-"): ".".join((*folder.relative_to(ENGINE_FOLDER).parts, name)) for folder, name in modules}


def domain_names() -> tuple[str, ...]:
    """Return the names of all persistence models, as knobs and commands write them."""
    return tuple(name.replace("-", "_") for name in variant_names("domains"))


@cache
def rate_names() -> tuple[str, ...]:
    """Return the choices of `faults.rates`: none, or the name of a file of published rates."""
    return (NO_RATES, *sorted(path.stem for path in (ENGINE_FOLDER / "faults" / "rates").glob("*.toml")))


@cache
def load_variant(kind: str, name: str) -> Any:
    """Return a variant: a table's row, or the constant that the variant's file exports."""
    if kind in TABLES:
        return rows(kind)[name]
    return getattr(variant_module(kind, name), CONSTANT_BY_KIND[kind][0])


def variant_module(kind: str, name: str) -> ModuleType:
    """Return the module that defines a variant."""
    return import_module(f"{__package__}.{module_paths(kind)[name]}")


def all_variants(kind: str) -> Mapping[str, Any]:
    """Return all variants of a kind by name, sorted."""
    return {name: load_variant(kind, name) for name in variant_names(kind)}


def model_file(name: str) -> dict[str, Any]:
    """Return the knobs that a named model sets, by dotted path."""
    return {"model.name": name, **read_toml(ENGINE_FOLDER / "scenario" / "models" / f"{name}.toml")["knobs"]}


def read_toml(path: Path, most_bytes: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """Return the content of a TOML file, with dotted knobs under "knobs".

    A file of more than `most_bytes` is refused.
    """
    content = read_toml_table(path, most_bytes=most_bytes)
    if not isinstance(content.get("knobs", {}), dict):
        raise BadFile(f"{path}: knobs is not a table; write [knobs] and one line per knob, such as run.batches = 20.")
    content["knobs"] = dict(_dotted(content.get("knobs", {})))
    return content


def _dotted(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, setting in table.items():
        if isinstance(setting, dict):
            rows += _dotted(setting, f"{prefix}{key}.")
        else:
            rows.append((prefix + key, tuple(setting) if isinstance(setting, list) else setting))
    return rows
