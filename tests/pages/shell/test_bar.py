"""Does the bar name the model that is asked about, and every knob that differs from its preset?"""

from hypothesis import given
from hypothesis import strategies as st

from engine.scenario import knobs
from engine.scenario.scenario import KNOBS
from pages.shell.bar import MOST_LETTERS, chip_text
from tests import apps
from tests.cases import examples
from tests.strategies import knob_values

OWN = {
    "preset": "dlrm-kaggle",
    "model.num_tables": "200",
    "model.num_embeddings": "10000000",
    "model.embedding_dim": "128",
    "model.bottom_mlp": "512-256-64-128",
    "model.pooling": "30",
    "data.batch_size": "8192",
    "data.popularity": "meta",
    "machine.cxl_bandwidth_GBps": "16",
}


def _label(app):
    return app.selectbox(key="preset").label


def test_the_bar_names_an_own_model_by_its_size():
    assert _label(apps.opened("design", {"preset": "dlrm-kaggle", "data.batch_size": "8192"})) == "Model and machine"
    assert _label(apps.opened("design", OWN)) == "Your model (200 tables, 1.03 TB)"
    assert _label(apps.opened("decide", OWN)) == "Your model (200 tables, 1.03 TB)"


def test_another_preset_is_the_answer_to_an_own_model():
    app = apps.opened("design", OWN)
    app.selectbox(key="preset").set_value("tiny").run()
    assert app.selectbox(key="preset").value == "tiny"
    assert _label(app) == "Model and machine"
    assert not [button for button in app.button if str(button.key).startswith("chip ")]


def test_a_chip_for_each_knob_that_differs_and_a_long_list_is_counted():
    app = apps.opened("design", {**OWN, "model.num_embeddings": ";".join(["10000000"] * 199 + ["5"])})
    chips = {button.key.removeprefix("chip "): button.label for button in app.button if str(button.key).startswith("chip ")}
    assert chips.keys() == OWN.keys() - {"preset"}
    assert "200 values" in chips["model.num_embeddings"] and "16" in chips["machine.cxl_bandwidth_GBps"]


def test_a_switch_on_a_chip_is_on_or_off():
    app = apps.opened("design", {"preset": "dlrm-kaggle", "machine.near_data_compute": "off"})
    chip = app.button(key="chip machine.near_data_compute")
    assert chip.label.replace("\\", "") == "Near-data compute off ×" and chip.help == "Restores the preset's on."


@examples(200)
@given(st.data())
def test_a_chip_reads_back_as_the_value_of_its_knob(data):
    knob = data.draw(st.sampled_from(list(KNOBS.values())))
    setting = data.draw(knob_values(knob))
    _assert_reads_back(knob, chip_text(knob, setting), setting)


def test_a_name_stands_whole_in_its_chip():
    names = [(knob, name) for knob in KNOBS.values() if knob.kind == "choice" for name in knob.allowed]
    assert max(len(name) for _, name in names) > MOST_LETTERS
    for knob, name in names:
        assert chip_text(knob, name) == name


def test_neighbours_in_a_range_have_chips_of_their_own():
    for knob in KNOBS.values():
        if knob.kind != "float" or knob.high is None:
            continue
        middle = (knob.low + knob.high) / 2
        texts = {number: chip_text(knob, number) for number in (knob.low, middle, middle * (1 - 1e-12), knob.high)}
        for number, text in texts.items():
            _assert_reads_back(knob, text, number)
        assert len({*texts.values()}) == len(texts), knob.path


def test_groups_of_digits_leave_decimals_names_and_digests_alone():
    shown = {
        "model.learning_rate": {0.00025: "0.00025", 2.089325: "2.089325"},
        "model.num_embeddings": {(10_000_000,): "10,000,000", (10_000, 20_000): "10,000;20,000", (10_000_000,) * 2: "2 values"},
        "data.digest": {"1234567890": "1234567890"},
        "machine.assume": {(("gpu.a-long-name-of-a-constant", 12345.5),): "1 value"},
    }
    for path, texts in shown.items():
        assert {setting: chip_text(KNOBS[path], setting) for setting in texts} == texts


def _assert_reads_back(knob, text, setting):
    if isinstance(setting, tuple) and text.endswith((" value", " values")):
        assert text == f"{len(setting)} value{'s' * (len(setting) != 1)}"
    elif knob.kind == "text":
        assert text == setting or (text.endswith("…") and setting.startswith(text[:-1]) and len(text) > 20)
    else:
        assert knobs.parse(knob, text if knob.kind == "choice" else text.replace(",", "")) in (setting, (setting,))
