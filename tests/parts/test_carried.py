"""Links with parts of one's own: do they open elsewhere with the same numbers, and is a hostile one refused in a sentence?"""

import csv
import io
import json
import tracemalloc
import zlib
from base64 import urlsafe_b64encode
from random import Random
from tomllib import loads
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import api as ep
from engine.__main__ import main
from engine.core import catalog
from engine.core.constants import COUNTS, upper_limit
from engine.core.part_files import carried, known, use
from engine.core.part_files.canonical import canonical, digest
from engine.errors import BadInput, BadKnob, BadLink
from engine.estimate import estimate
from engine.results.result import from_json
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.store.result_rows import row_text
from engine.sweep.axes import parse
from engine.sweep.links import MOST_CHARACTERS, link, open_link
from engine.sweep.questions import LinkQuestions
from tests.cases import each
from tests.parts.conftest import BUILT_IN, shipped

FILES = sorted(BUILT_IN.glob("*/*.toml"))


def made(folder):
    """Return a scenario with a GPU, its fabric and a medium of one's own."""
    use.use_folder(folder.path)
    changes = {"machine.gpu": "mine", "machine.pmem": "crystal"}
    return with_values(preset("dlrm-kaggle").scenario, changes)


def text_of(content, kind="gpu", name="mine", given=None):
    """Return a part as links carry it, whatever it says."""
    plain = content if isinstance(content, str) else canonical(content)
    packed = urlsafe_b64encode(zlib.compress(plain.encode(), 9)).decode().rstrip("=")
    return f"{kind}:{name}:{given or digest(plain)}:{packed}"


def test_a_link_opens_elsewhere_with_the_same_key_and_the_same_numbers(folder):
    scenario = made(folder)
    found, text = estimate(scenario).results, link(scenario)
    assert len(text) < MOST_CHARACTERS * 0.65
    folder.elsewhere()
    opened = open_link(text)
    assert opened.scenario == scenario and key(opened.scenario, "full") == key(scenario, "full")
    assert found and estimate(opened.scenario).results == found
    assert [part.name for part in opened.parts] == ["own-link", "mine", "crystal"]
    assert "The gpu mine is a part of the link's sender, whose values the link carries." in opened.banner
    assert link(opened.scenario) == text


def test_the_senders_own_link_says_nothing_and_a_scenario_without_such_parts_carries_none(folder):
    scenario = made(folder)
    assert open_link(link(scenario)).banner == ""
    assert "part=" not in link(preset("dlrm-kaggle").scenario)


def test_a_part_of_the_same_name_with_other_values_here_is_said_and_the_links_values_are_taken(folder, tmp_path):
    text, scenario = link(made(folder)), made(folder)
    found = estimate(scenario).results
    folder.put("media/crystal", shipped("media/optane-200"))
    folder.elsewhere(folder.path)
    opened = open_link(text)
    assert "The media crystal is a part of the link's sender, with other values than your part of that name" in opened.banner
    assert "The gpu mine" not in opened.banner
    assert opened.scenario == scenario and estimate(opened.scenario).results == found


def test_a_part_with_the_name_of_one_of_ours_is_said(folder):
    content = loads(shipped("gpu/h100-sxm")) | {"title": "Another"}
    opened = open_link(f"machine.gpu=v100&part={text_of(content, name='v100')}")
    assert "with other values than the catalogue's part of that name; the values of the link are used" in opened.banner
    assert opened.scenario.machine.gpu == f"v100~{digest(canonical(content))}"
    assert open_link("machine.gpu=v100").scenario.machine.gpu == "v100"


@pytest.mark.parametrize("sign", [":", "="])
def test_a_link_may_name_its_part_by_its_name_alone_also_in_axes(folder, sign):
    scenario = made(folder)
    text = link(
        scenario, axes=[f"machine.pmem{sign}crystal,optane-100"], questions=LinkQuestions(allowed_words=("machine.gpu:mine",))
    )
    axes = open_link(text).axes
    short = text.replace(scenario.machine.gpu, "mine").replace(scenario.machine.pmem, "crystal").replace("pmem:", f"pmem{sign}")
    folder.elsewhere()
    opened = open_link(short)
    assert axes == (f"machine.pmem:{scenario.machine.pmem},optane-100",)
    assert opened.axes == (f"machine.pmem{sign}{scenario.machine.pmem},optane-100",)
    assert opened.scenario == scenario and opened.questions.allowed_words == (f"machine.gpu:{scenario.machine.gpu}",)
    assert parse(axes[0]).values[0] == scenario.machine.pmem


def test_commands_and_scripts_open_such_links_and_rows_have_them(folder, capsys):
    scenario = made(folder)
    text = link(scenario)
    folder.elsewhere()
    assert main(["run", "--estimate", "--link", text, "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert "part of the link's sender" in captured.err
    result = json.loads(captured.out)
    assert result["scenario"]["machine.gpu"] == scenario.machine.gpu and open_link(result["link"]).scenario == scenario
    with pytest.warns(UserWarning, match="part of the link's sender"):
        assert ep.load(text) == scenario
    assert main(["run", "--estimate", "--link", text, "--csv", "-"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["machine.pmem"] == scenario.machine.pmem and row["scenario key"] == key(scenario, "estimate")


def test_a_kept_result_is_read_where_nobody_knows_the_part(folder):
    result = estimate(made(folder))
    text = json.dumps(result.as_json())
    folder.elsewhere()
    assert from_json(json.loads(text)).scenario == result.scenario


@each("path", FILES)
def test_the_canonical_text_says_what_the_file_says(path):
    content = loads(path.read_text(encoding="utf-8"))
    text = canonical(content)
    assert loads(text) == content and canonical(loads(text)) == text and len(text) * 4 < carried.MAX_TEXT_LENGTH


def hostile():
    """Yield what a link may carry as a part, and what it is told."""
    gpu = loads(shipped("gpu/h100-sxm"))
    yield "", "is not a part, which is written KIND:NAME:DIGEST:VALUES"
    yield "gpu:mine", "is not a part"
    yield text_of(gpu, name="../../etc/passwd"), "is not a part"
    yield text_of(gpu, name="Mine"), "is not a part"
    yield text_of(gpu, kind="../gpu"), "is not a part"
    yield text_of(gpu, kind="gpus"), "is not a part"
    yield text_of(gpu, given=16 * "0"), "has the digest [0-9a-f]{16}, but the link says 0000"
    yield text_of(gpu)[:-40], "is damaged"
    yield text_of(gpu) + "AAAA", "is damaged"
    yield f"gpu:mine:{16 * '0'}:{'A' * 100}", "is damaged"
    yield text_of(f"# {'x' * 4_000_000}"), "is longer than 32,768 bytes"
    yield text_of("x = ["), "is not valid TOML"
    yield text_of(f"x = {5000 * '['}"), "is not valid TOML"
    yield text_of(f"x = 1{5000 * '0'}"), "is not valid TOML"
    yield text_of("# mine\n" + canonical(gpu)), "is not in the form in which links contain parts"
    yield text_of({}), "must say title"
    yield text_of(gpu | {"price": gpu["price"] | {"value": -1, "low": -1}}), "price.value = -1; write a number above 0"
    yield text_of(gpu | {"price": gpu["price"] | {"value": float("nan")}}), "price.value = nan"
    yield text_of(gpu | {"price": gpu["price"] | {"low": 1e-300}}), "price.low = 1e-300"
    yield text_of(gpu | {"title": "a\u202eb"}), "must say title in one line"
    yield text_of(gpu | {"fabric": "../../nvlink-4"}), "names the fabric '../../nvlink-4', which has no file"
    yield text_of(gpu | {"fabric": f"own-link~{16 * '0'}"}), "which does not stand before it in the link"
    yield text_of(loads(shipped("room/server-room")), kind="room"), "which no knob chooses"
    yield text_of(loads(shipped("media/optane-100"))), "is not known"


HOSTILE = list(hostile())


@pytest.mark.parametrize(("text", "sentence"), HOSTILE, ids=map(str, range(len(HOSTILE))))
def test_a_hostile_part_is_refused_in_a_sentence_and_in_little_memory(text, sentence, folder):
    use.accept_parts(())  # imports are not of the part
    with pytest.raises(BadLink, match=r"^The link's parts cannot be read\. "):
        open_link(f"part={text}")
    tracemalloc.start()
    with pytest.raises(BadInput, match=sentence) as refused:
        use.accept_parts((text,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6 and len(str(refused.value)) < 600
    assert not known._parts_by_key


KNOB = {
    "gpu": "machine.gpu",
    "media": "machine.pmem",
    "drive": "machine.ssd",
    "host": "machine.host",
    "chassis": "machine.chassis",
    "expander": "machine.expander",
    "host-software": "machine.host_software",
}
COPIED = {
    "gpu": "gpu/h100-sxm",
    "media": "media/cxl-flash",
    "drive": "drive/pm9a3",
    "host": "host/server",
    "chassis": "chassis/gpu-8-sxm",
    "expander": "expander/cmm-d-256",
    "host-software": "host-software/tuned",
}


REFUSED = ("is not the generation of a CXL link", "leaves no power for its devices")


def extreme(kind, rng):
    """Return the content of a part, some or all of its numbers as small or as large as a file may say."""
    content, share = loads(shipped(COPIED[kind])), rng.choice((0.1, 0.5, 1))
    quantities = {one.key: one for one in catalog.KINDS[kind]._fields.values()}
    for name, table in content.items():
        if name in quantities and rng.random() < share:
            small = (1,) if quantities[name].unit in COUNTS else (1e-12, 1e-6)
            large = {number for number in (1.0, 1e6, 1e12) if number <= upper_limit(quantities[name].name, quantities[name].unit)}
            number = rng.choice((*small, *sorted(large), *([0] if quantities[name].zero else ())))
            table.update(value=number, low=number, high=number)
            table.pop("others", None)
    return content


@pytest.mark.parametrize("kind", KNOB)
@pytest.mark.filterwarnings("error")
def test_numbers_as_extreme_as_a_file_may_say_are_computed_or_refused(kind, folder):
    rng = Random(kind)
    for _ in range(15):
        (part,) = use.accept_parts((text_of(extreme(kind, rng), kind=kind),))
        system = rng.choice(("cxl", "pmem", "ssd", "all-hbm", "mtrains", "dram", "cpu-only"))
        changes = {"system": system, KNOB[kind]: part.reference, "machine.num_gpus": rng.choice((1, 8))}
        changes["machine.energy_level"] = rng.choice(("device", "room"))
        try:
            assert row_text(estimate(with_values(preset("dlrm-kaggle").scenario, changes)))
        except BadKnob as refusal:
            assert any(said in str(refusal) for said in REFUSED)


def test_a_module_s_link_is_of_a_known_generation_and_counts_are_whole(folder):
    content = loads(shipped("media/nv-cmm"))

    def said(key, number):
        return text_of(content | {key: content[key] | {"value": number, "low": number, "high": number}}, "media")

    (part,) = use.accept_parts((said("link-generation", 7),))
    scenario = with_values(preset("dlrm-kaggle").scenario, {"machine.pmem": part.reference})
    for one in (scenario, with_values(preset("dlrm-kaggle").scenario, {"machine.assume": (("pmem.link-generation", 7.0),)})):
        with pytest.raises(
            BadKnob, match=r"pmem\.link-generation=7 is not the generation of a CXL link; write one of 4, 5 and 6"
        ):
            estimate(one)
    with pytest.raises(BadInput, match=r"link-lanes\.value = 0\.4; write a number 0, or from 1 to 1,000,000,000,000, in lanes"):
        use.accept_parts((said("link-lanes", 0.4),))
    with pytest.raises(BadInput, match=r"interleave-set\.value = 0\.4; write a number from 1 to 1,000,000,000,000, in modules"):
        use.accept_parts(
            (text_of(content | {"interleave-set": content["link-lanes"] | {"value": 0.4, "unit": "modules"}}, "media"),)
        )


def test_a_link_has_few_parts(folder):
    text = text_of(loads(shipped("gpu/v100")))
    with pytest.raises(BadInput, match="More than 32 parts"):
        use.accept_parts((text,) * 33)
    assert open_link(f"part={text}&part={text}").parts[0].name == "mine"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_a_part_or_refused(text):
    with pytest.raises(BadInput):
        use.accept_parts((text,))


def test_a_link_that_loses_any_character_of_its_part_is_refused(folder):
    text = link(made(folder))
    begins = text.index("part=gpu:mine:") + 5
    for place in range(begins, text.index("&", begins), 37):
        with pytest.raises(BadInput):
            open_link(text[:place] + text[place + 1 :])


def test_the_parts_of_a_link_are_few_parameters_of_letters_that_nothing_quotes(folder):
    text = link(made(folder)).partition("?")[2]
    assert [name for name, _ in parse_qsl(text)].count("part") == 3
    assert "%" not in text.partition("part=")[2].partition("&v=")[0]


def test_no_more_parts_are_known_than_some_thousands(folder, monkeypatch):
    monkeypatch.setattr(known, "MAX_KNOWN_PARTS", 3)
    gpu = loads(shipped("gpu/v100"))
    for number in range(5):
        open_link(f"part={text_of(gpu | {'title': f'GPU {number}'})}")
    assert len(known._parts_by_key) == 3
