"""The catalogue of parts: is one TOML file all that a part takes, and is a wrong file refused with a sentence?"""

import json
import re
from tomllib import loads
from typing import get_args

import pytest
from streamlit.testing.v1 import AppTest

from engine.__main__ import main
from engine.campaign.compare import pmem_endurance
from engine.commands.listing import LISTS
from engine.core import catalog
from engine.core.constants import Confidence
from engine.core.part_files import tables
from engine.core.part_files.curves import CURVE
from engine.core.part_files.supply import DELIVERY
from engine.errors import BadFile
from engine.estimate import estimate
from engine.hardware.devices.gpu import ACCELERATORS, Accelerator
from engine.hardware.devices.pmem import MEDIA
from engine.registry import all_variants, load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.sweep.axes import parse
from engine.sweep.links import link, open_link
from tests import HANG_SECONDS
from tests.cases import SELECTION, each

BUILT_IN = catalog.FOLDERS[0]
FILES = sorted(path.relative_to(BUILT_IN).with_suffix("").as_posix() for path in BUILT_IN.glob("*/*.toml"))
TEXT = {name: (BUILT_IN / f"{name}.toml").read_text(encoding="utf-8") for name in FILES}
ASIDE = {one.key for kind in catalog.KINDS.values() for one in kind._extra_quantities}  # which belong to no device
KNOB = {"gpu": "machine.gpu", "media": "machine.pmem", "drive": "machine.ssd", "host": "machine.host"}
MODEL = {"gpu": "gpu/h100-sxm", "media": "media/optane-100", "drive": "drive/pm9a3", "host": "host/server"}


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Return `put(name, text)`, which puts a file into a second folder of the catalogue."""
    monkeypatch.setattr(catalog, "FOLDERS", (BUILT_IN, tmp_path))

    def put(name, text):
        path = tmp_path / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    return put


def constants_of(content):
    """Yield every constant of a file by name, and what other sources say of it."""
    for key, table in content.items():
        if isinstance(table, dict) and key not in (tables.AVAILABILITY, DELIVERY, CURVE):
            yield key, table
            yield from ((key, {**one, "unit": table["unit"]}) for one in table.get("years", {}).values())
            yield from ((key, {**one, "unit": table["unit"]}) for one in table.get("others", {}).values())


def shown():
    """Return what devices say of their constants: name, value, range, unit, confidence and source."""
    listed = [one for entry in LISTS["devices"][0]() for one in entry["constants"]]
    others = [other for one in listed for _, other in (*one["others"], *one["years"])]
    return {said(one["name"].replace(" ", "-"), one) for one in (*listed, *others)}


def said(name, one):
    return name, one["value"], one["low"], one["high"], one["unit"], one["confidence"], one["source"]


@each("name", FILES)
def test_a_file_says_what_it_is_and_of_each_constant_its_range_and_source_and_devices_use_them(name):
    content, used = loads(TEXT[name]), shown()
    assert content["title"] and content["summary"].endswith(".")
    for key, table in constants_of(content):
        assert 0 <= table["low"] <= table["value"] <= table["high"] and table["source"]
        assert table["confidence"] in get_args(Confidence)
        assert said(key, table) in used or key in ASIDE


def test_every_part_of_the_order_of_lists_exists():
    order = loads((BUILT_IN / catalog.ORDER).read_text(encoding="utf-8"))
    assert order and {f"{kind}/{name}" for kind, parts in order.items() for name in parts} <= set(FILES)
    assert all(list(catalog.part_names_of(kind))[: len(parts)] == parts for kind, parts in order.items())


@pytest.mark.parametrize("name", ["optane-100", "optane-200", "trainingcxl"])
def test_an_optane_update_reads_and_writes_at_half_the_rate_of_each(name):
    content = loads(TEXT[f"media/{name}"])
    rates = [content[key] for key in ("read-rate", "sequential-write-rate", "in-place-update-rate", "read-write-mix")]
    own = [rates] if name != "trainingcxl" else []  # the prototype's own rates are fitted
    for read_, write, update, mix in (*own, *([one["others"][said] for one in rates] for said in rates[0]["others"])):
        alone = 1 / (1 / read_["value"] + 1 / write["value"])
        for end in ("value", "low", "high"):
            assert update[end] == pytest.approx(mix[end] * alone)


def test_the_200_series_of_optane_is_15_percent_faster_and_otherwise_the_same():
    old, new = (loads(TEXT[f"media/optane-{series}"]) for series in (100, 200))
    faster = {
        key for key in old if isinstance(old[key], dict) and key != tables.AVAILABILITY and old[key]["value"] != new[key]["value"]
    }
    assert faster == {"read-rate", "sequential-write-rate", "in-place-update-rate"}
    assert all(new[key]["value"] / old[key]["value"] == pytest.approx(1.15) for key in faster)


def strangers(put):
    """Add a part of each kind that a knob chooses, each with one constant of its own, and return what is assumed instead."""
    put("fabric/nvlink-9", TEXT["fabric/nvlink-4"].replace("value = 450", "value = 900").replace("high = 450", "high = 900"))
    put("gpu/x900", TEXT["gpu/h100-sxm"].replace("= 3350", "= 8000").replace("nvlink-4", "nvlink-9"))
    put("media/crystal", TEXT["media/optane-100"].replace("value = 6.6\n", "value = 8\n"))
    put("drive/tape", TEXT["drive/pm9a3"].replace("value = 80\n", "value = 90\n"))
    put("host/abacus", TEXT["host/server"].replace("value = 28\n", "value = 20\n"))
    return {
        "gpu": ("x900", {"gpu.memory-bandwidth": 8000.0, "network.fabric-bandwidth": 900.0}),
        "media": ("crystal", {"pmem.read-rate": 8.0}),
        "drive": ("tape", {"ssd.read-latency": 90.0}),
        "host": ("abacus", {"host.EmbeddingBag-rate": 20.0}),
    }


@pytest.mark.parametrize("kind", KNOB)
@pytest.mark.parametrize("system", ["pmem", "ssd", "all-hbm"])
def test_a_strangers_file_runs_as_the_part_it_was_copied_from_does_under_the_same_assumption(kind, system, shelf):
    name, assumed = strangers(shelf)[kind]
    base = with_values(preset("optane-kaggle").scenario, {"system": system, "machine.num_gpus": 4 if system == "all-hbm" else 1})
    own = with_values(base, {KNOB[kind]: name})
    copied = {KNOB[kind]: MODEL[kind].partition("/")[2], "machine.assume": tuple(sorted(assumed.items()))}
    found, expected = estimate(own), estimate(with_values(base, copied))
    assert found.ran and found.results == expected.results
    assert open_link(link(own)).scenario == own


@pytest.mark.parametrize("kind", KNOB)
def test_a_strangers_file_is_a_choice_in_lists_sweeps_and_the_sidebar(kind, shelf, capsys):
    name, own = strangers(shelf)[kind][0], MODEL[kind].partition("/")[2]
    built_in = {path.partition("/")[2] for path in FILES if path.startswith(f"{kind}/")}
    assert set(KNOBS[KNOB[kind]].allowed) - {"trainingcxl", *built_in} == {name}
    assert main(["list", "knobs", "--json"]) == 0
    listed = {one["path"]: one["choices"] for one in json.loads(capsys.readouterr().out)}
    assert name in listed[KNOB[kind]]
    assert any(part == name for one in all_variants("devices").values() for part in one.parts())
    assert main(["list", "parts"]) == 0 and any(line.split()[:2] == [kind, name] for line in capsys.readouterr().out.splitlines())
    stranger, known = parse(f"{KNOB[kind]}={name},{own}").values
    assert re.fullmatch(rf"{name}~[0-9a-f]{{16}}", stranger) and known == own

    def sidebar(path):
        from engine.scenario.presets import preset
        from engine.scenario.scenario import KNOBS
        from pages.ui import session
        from pages.ui.knob_widgets import draw

        session.hold_variation("tiny", preset("tiny").scenario)
        draw(KNOBS[path])

    app = AppTest.from_function(sidebar, args=(KNOB[kind],), default_timeout=HANG_SECONDS).run()
    assert app.selectbox[0].options == list(KNOBS[KNOB[kind]].allowed)


def test_a_strangers_medium_wears_as_its_file_says_and_one_that_says_nothing_never(shelf):
    whole = TEXT["media/optane-100"]
    shelf("media/brittle", whole.replace("value = 1.4e6\nunit", "value = 6e5\nunit"))
    shelf("media/eternal", whole[: whole.index("[endurance]")])
    assert MEDIA.extra_constants("brittle")["endurance"].value == 6e5
    assert MEDIA.extra_constants("eternal") == {}
    site = type("Site", (), {"nodes": 1, "scenario": with_values(preset("optane-rm1").scenario, {"machine.pmem": "eternal"})})
    assert pmem_endurance(site) == float("inf")


READ = "[read-rate]\nvalue = 6.6"
WRONG = [
    (
        "value = 6.6\n",
        'value = "6.6"\n',
        r"read-rate\.value = '6\.6'; write a number above 0 and up to 1,000,000,000,000, in GB/s",
    ),
    ("value = 6.6\n", "value = nan\n", r"read-rate\.value = nan; write a number above 0"),
    ("value = 6.6\n", "value = 0\n", r"read-rate\.value = 0; write a number above 0"),
    ("value = 6.6\n", "value = true\n", r"read-rate\.value = True; write a number"),
    ("value = 6.6\n", f"value = 1{400 * '0'}\n", r"read-rate\.value = 10+…0+; write a number"),
    ("value = 6.6\n", "value = 66\n", r"read-rate = 66 GB/s outside its range of 4\.5 to 8\.5; widen low to high"),
    ("low = 4.5\n", "low = 7\n", r"read-rate = 6\.6 GB/s outside its range of 7 to 8\.5"),
    ("value = 6.6\n", "", r"lacks value of read-rate; a constant has value, low, high, confidence, source and unit"),
    ('unit = "ns"\n', 'unit = "us"\n', r"random-read-latency in 'us', but the unit must be 'ns'; convert the value"),
    ('confidence = "measured"', 'confidence = "mesured"', r"confidence = 'mesured'; did you mean measured\?"),
    ('source = "street prices, 2019"', 'source = ""', r"price\.source in one line of 1 to 300 printable"),
    ('note = "media traffic"', "note = 7", r"read-energy\.note in one line"),
    ("[price]", "[prize]", r"says 'prize', which is not known; did you mean price\?"),
    ("value = 6.6\n", "value = 6.6\nvalues = 6.6\n", r"says 'values' of read-rate, which is not known; did you mean value\?"),
    ("[read-rate.others]", "[read-rate.other]", r"says 'other' of read-rate, which is not known; did you mean others\?"),
    ("\nvisible = {", "\nvisibel = {", r"says 'visibel' of 64-B-persist\.others.*did you mean visible\?"),
    ("paper = { value = 64,", "paper = {", r"lacks value of timed-access\.others\.paper"),
    ("paper = { value = 64, low", "paper = { value = 63, low", r"timed-access\.others\.paper = 63 B outside its range"),
    ('title = "', 'title = "\\n', r"must say title in one line"),
    ('title = "', 'about = "', r"says 'about', which is not known"),
    (TEXT["media/optane-100"], "", r"must say title in one line"),
    ("[availability]\n", "[media]\n", r"says 'media', which is not known; did you mean media-line\?"),
    (READ, "[read-rate", r"is not valid TOML: .*line"),
    (TEXT["media/optane-100"], f"x = {5000 * '['}", r"is not valid TOML"),
    (TEXT["media/optane-100"], b"\xff\xfe", r"strange\.toml:1: the text is UTF-16.* save it as UTF-8"),
    (TEXT["media/optane-100"], "#" * 1_000_001, r"at most 1,000,000 are read"),
    (
        TEXT["media/optane-100"],
        'title = "x"\nsummary = "y"',
        r"lacks module-capacity \[GB\] and 14 more; add a table of value, low",
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_wrong_file_is_refused_with_its_name_what_is_wrong_and_what_to_do(old, new, sentence, shelf, tmp_path, capsys):
    text = TEXT["media/optane-100"]
    assert old in text
    shelf("media/strange", new if old == text else text.replace(old, new, 1))
    with pytest.raises(BadFile, match=sentence) as refused:
        MEDIA["strange"]
    assert str(refused.value).startswith(str(tmp_path / "media" / "strange.toml")) and str(refused.value)[-1] in ".?"
    assert main(["list", "devices"]) == 2
    assert capsys.readouterr().err.strip().endswith(str(refused.value))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("media/Big Box", "", "is not a valid name of a part"),
        ("media/optane-100", TEXT["media/optane-100"], "has the same name as a part in .*give the file another name"),
        ("gpu/trainingcxl", TEXT["gpu/v100"], "has the same name as a part in "),
        ("gpus/x900", TEXT["gpu/v100"], "gpus is not a kind of part; did you mean gpu"),
        ("gpu/x900", TEXT["gpu/v100"].replace("nvlink-2", "nvlnk-2"), "names the fabric 'nvlnk-2'.*did you mean nvlink-2"),
        ("gpu/x900", TEXT["gpu/v100"].replace('fabric = "nvlink-2"\n', ""), 'does not name its fabric; write fabric = "NAME"'),
    ],
)
def test_a_file_in_the_wrong_place_or_with_a_missing_relation_is_refused(name, text, sentence, shelf, capsys):
    shelf(name, text)
    assert main(["list", "devices"]) == 2
    assert re.search(sentence, capsys.readouterr().err)


def test_a_gpu_without_a_known_fabric_is_refused_also_where_no_network_is(shelf):
    shelf("gpu/x900", TEXT["gpu/v100"].replace("nvlink-2", "nvlnk-2"))
    with pytest.raises(BadFile, match="names the fabric 'nvlnk-2'"):
        load_variant("devices", "gpu").build(MachineKnobs(gpu="x900"))


@pytest.mark.more
def test_a_file_of_which_any_line_is_lost_or_garbled_is_read_or_refused_but_never_breaks_the_engine(shelf, tmp_path, monkeypatch):
    lines, outcomes = TEXT["media/cxl-flash"].splitlines(), []
    for number, line in list(enumerate(lines))[:: 1 if SELECTION.all else 8]:
        key = line.partition("=")[0]
        for instead in ("", f"{line}{line}", "= [", f"{key}= [1]", f"{key}= {{}}", f"{key}= 2024-01-01", f"{key}= -0.0"):
            folder = tmp_path / str(len(outcomes))
            (folder / "media").mkdir(parents=True)
            (folder / "media" / "x.toml").write_text("\n".join((*lines[:number], instead, *lines[number + 1 :])))
            monkeypatch.setattr(catalog, "FOLDERS", (BUILT_IN, folder))
            try:
                outcomes.append(MEDIA["x"].read_rate.value)
            except BadFile as refused:
                outcomes.append(str(refused)[-1])
    assert {2, "."} <= set(outcomes) <= {2, ".", "?"} and outcomes.count(".") > outcomes.count(2)


def test_a_gpu_without_a_16_bit_energy_of_its_own_is_doubted_up_to_an_a100s_whole_board_at_its_limit():
    a100, default = ACCELERATORS["a100-80"], Accelerator.half_energy
    assert (default.low, default.value, default.high) == (a100.half_energy.low, a100.half_energy.value, a100.half_energy.high)
    assert default.high == pytest.approx(a100.limit.value / a100.bf16_peak.value, rel=0.02)  # W / TFLOPS are pJ/FLOP
