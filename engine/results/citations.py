"""Citations for a result, as BibTeX: Emberpool and the sources that the result uses.

The sources are those of the system, the model, the data, the faults and the constants, in this order.
Most are entries of works.toml. A source without an entry is cited by the arXiv number or the repository that its text names. A
source with neither, such as a data sheet, is not cited.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .. import version
from ..faults.fault import published_rates
from ..registry import ENGINE_FOLDER, NO_RATES, load_variant, read_toml
from ..scenario.keys import key
from ..scenario.scenario import Scenario
from ..systems.system import constants

WORKS = Path(__file__).parent / "works.toml"
ARXIV = re.compile(r"\b(\d{4}\.\d{4,5})\b")
REPOSITORY = re.compile(r"(?<![\w/.])([A-Za-z][\w-]*/[A-Za-z][\w.-]*\w)(?![\w/])")
FITTED_TO = {
    "kaggle": "Criteo Display Advertising Challenge",
    "terabyte": "Criteo 1TB Click Logs",
    "meta": "facebookresearch/dlrm_datasets",
    "avazu": "Avazu click-through prediction",
}
WorkFields = Mapping[str, str]


def bibtex(scenario: Scenario, paper: str = "") -> str:
    """Return the BibTeX entries for a scenario's results.

    Emberpool's entry, with the scenario's key, comes first.
    `paper` is a further source, whose published numbers are shown next to the results.

    >>> from engine.scenario.presets import preset
    >>> "kwon2023trainingcxl" in bibtex(preset("trainingcxl-rm1").scenario)
    True
    """
    entries: dict[str, WorkFields] = {}
    uses: dict[str, dict[str, None]] = {}
    of_paper = [("published numbers", paper)] if paper else []
    for use, source in (*of_paper, *sources(scenario)):
        for name, fields in _works_of(source):
            entries.setdefault(name, fields)
            uses.setdefault(name, {})[use] = None
    noted = [_bibtex_entry(name, {**fields, "note": f"Used for {', '.join(uses[name])}"}) for name, fields in entries.items()]
    return "\n".join([_bibtex_entry("emberpool", _emberpool(scenario)), *noted])


def sources(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield (part, source) for each part of a scenario that has a source.

    The parts are the system, the model, the popularity of rows, the fault rates, then each constant.
    """
    for source in load_variant("systems", scenario.system).cites:
        yield f"system {scenario.system}", source
    model = ENGINE_FOLDER / "scenario" / "models" / f"{scenario.model.name}.toml"
    if model.exists():
        yield f"model {scenario.model.name}", str(read_toml(model).get("source", ""))
    yield f"popularity {scenario.data.popularity}", FITTED_TO.get(scenario.data.popularity, "")
    if scenario.faults.rates != NO_RATES:
        yield f"fault rates {scenario.faults.rates}", str(published_rates(scenario.faults.rates)["source"])
    for name, constant in constants(scenario).items():
        yield f"constant {name}", constant.source


def _emberpool(scenario: Scenario) -> WorkFields:
    return {
        "type": "software",
        "author": "{The Emberpool authors}",
        "title": "Emberpool: full simulated {DLRM} training on machines with persistent memory",
        "version": f"model {version.MODEL}, engine {version.CODE}",
        "note": f"Scenario {key(scenario, 'full')} in full, {key(scenario, 'estimate')} estimated",
    }


@cache
def _works() -> Mapping[str, Mapping[str, Any]]:
    return {name: work for name, work in read_toml(WORKS).items() if name != "knobs"}


def _works_of(source: str) -> Iterator[tuple[str, WorkFields]]:
    """Yield key and BibTeX fields of the works that a source names."""
    rest = source
    for name, work in _works().items():
        if any(word in source for word in work["named"]):
            yield name, {field: str(text) for field, text in work.items() if field != "named"}
            for word in (*work["named"], work.get("eprint", "")):
                rest = rest.replace(word, " ") if word else rest
    for number in ARXIV.findall(rest):
        yield f"arxiv{number}", {"title": f"arXiv:{number}", "eprint": number}
    for name in (name for name in REPOSITORY.findall(rest) if not (name.partition("/")[0].isupper() or name.endswith(".py"))):
        yield name.replace("/", "-"), {"title": name, "howpublished": f"\\url{{https://github.com/{name}}}"}


def _bibtex_entry(name: str, work_fields: WorkFields) -> str:
    fields = {field: text for field, text in work_fields.items() if field != "type"}
    fields |= {"archiveprefix": "arXiv"} if "eprint" in fields else {}
    lines = "".join(f"  {field} = {{{_escaped(field, text)}}},\n" for field, text in fields.items())
    return f"@{work_fields.get('type', 'misc')}{{{name},\n{lines}}}\n"


def _escaped(field: str, text: str) -> str:
    return text if field == "howpublished" else re.sub(r"([&%$#_])", r"\\\1", text)
