"""A changed embedding dim brings an untouched bottom MLP along, and says so, wherever knobs are set by hand."""

import pytest

import emberpool as ep
from engine.__main__ import main
from engine.scenario.presets import preset
from engine.scenario.scenario import BOTTOM, DIM, fit_bottom_mlp
from tests import apps

KAGGLE = preset("dlrm-kaggle").scenario


def test_an_untouched_bottom_mlp_follows_and_one_that_is_set_does_not() -> None:
    changes, said = fit_bottom_mlp(KAGGLE, {DIM: 128})
    assert changes[BOTTOM] == (*KAGGLE.model.bottom_mlp[:-1], 128) and "128" in said
    for given in ({DIM: 128, BOTTOM: (13, 64)}, {DIM: KAGGLE.model.embedding_dim}, {DIM: 128, "model.interaction": "concat"}, {}):
        assert fit_bottom_mlp(KAGGLE, given) == (given, "")


def test_the_command_line_notes_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--estimate", "--preset", "dlrm-kaggle", "--set", "model.embedding_dim=32"]) == 0
    assert "ends in 32 now" in capsys.readouterr().err


def test_a_script_is_warned() -> None:
    with pytest.warns(UserWarning, match="ends in 32 now"):
        assert ep.scenario("dlrm-kaggle", embedding_dim=32).model.bottom_mlp[-1] == 32


def test_the_drawer_takes_it_over() -> None:
    app = apps.opened("design", {"preset": "dlrm-kaggle"}, **{"group Model": True, "group model": True})
    app.session_state[f"knob {DIM}"] = "32"
    app.run()
    model = app.session_state["scenario"].model
    assert not app.exception and not app.error and (model.embedding_dim, model.bottom_mlp[-1]) == (32, 32)
