"""Does the bar name the model that is asked about, and every knob that differs from its preset?"""

from tests import apps

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
