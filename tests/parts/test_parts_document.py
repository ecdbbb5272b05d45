"""docs/parts.md: can a stranger copy its files and walk its commands, and are its tables what the dataclasses say?"""

import re
import shlex

import pytest

from engine import api as ep
from engine.__main__ import main
from engine.core import catalog
from engine.registry import all_variants
from tests import ROOT

DOCUMENT = (ROOT / "docs" / "parts.md").read_text(encoding="utf-8")
KINDS = (
    "gpu",
    "media",
    "expander",
    "fabric",
    "network",
    "drive",
    "host",
    "copy-path",
    "dram",
    "host-software",
    "chassis",
    "near-data",
    "framework",
)
ABSENT = {"input-a-lookup": "as `input-a-value`"}  # what stands for a constant that is no price and that a file leaves out


def blocks(language):
    """Return the document's blocks of code in a language."""
    return re.findall(f"```{language}\n(.*?)```", DOCUMENT, re.S)


def table(kind):
    """Return the table of a kind's keys as the document has it."""
    one = catalog.KINDS[kind]
    rows = [f"| `{used}` | name of a {used} | needed |" for used in one.uses]
    rows += [f"| `form` | {', '.join(one._forms)} | needed |"] if one._forms else []
    rows += ["| `latency-under-load` | loads 0 to 1, latencies in ns | the form |"] if one._curve else []
    rows += [f"| `{key}` | list of {', '.join(words) or 'names'} | any |" for key, words in one._lists.items()]
    for quantity in one._fields.values():
        default = (
            f"{quantity.default.value:g}"
            if quantity.default
            else ABSENT.get(quantity.key, "no money")
            if quantity.optional
            else "needed"
        )
        rows.append(f"| `{quantity.key}` | {quantity.unit}{', 0 possible' if quantity.zero else ''} | {default} |")
    rows += [f"| `{quantity.key}` | {quantity.unit} | none |" for quantity in one._extra_quantities]
    return "\n".join((f"### {kind}", "", "| key | unit | |", "|---|---|---|", *rows, ""))


def test_the_tables_of_keys_are_those_of_the_dataclasses():
    all_variants("devices")
    chosen = {used for kind in catalog.KINDS_OF_SAME_KNOB for used in (kind, *catalog.KINDS[kind].uses)}
    assert set(KINDS) == chosen - {"gpu-replay"}  # which replays times of one prototype
    expected = "\n".join(map(table, KINDS))
    assert DOCUMENT[DOCUMENT.index("### gpu") :] == expected, f"Put this at the end of docs/parts.md:\n{expected}"


def test_a_stranger_walks_from_an_empty_folder_to_an_estimate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text in blocks("toml"):
        path = tmp_path / text.partition("\n")[0].removeprefix("# ")
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    told = []
    for line in blocks("sh")[0].strip().splitlines():
        _, _, _, *words = shlex.split(line)
        assert main(words) == 0, line
        told.append(capsys.readouterr().out)
    assert " is right: gpu big-gpu, An example of a GPU" in told[0] and " is right: media big-card" in told[1]
    assert "Step time" in told[2]
    assert (tmp_path / "parts.csv").read_text().count("big-card~") == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "FOLDERS", catalog.FOLDERS)
        exec(blocks("python")[0], {"ep": ep})


def test_the_readme_leads_to_the_document():
    assert "docs/parts.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_document_speaks_in_short_sentences():
    prose = re.sub(r"```.*?```", "", DOCUMENT, flags=re.S)
    prose = re.sub(r"^[|#].*$", "", prose, flags=re.M)
    sentences = [one for one in re.split(r"[.:;!?]\s", prose) if one.strip()]
    assert sum(len(one.split()) for one in sentences) / len(sentences) < 20
