"""On this machine, with PyTorch: are parts measured that the catalogue takes, and are real steps predicted from them?"""

from importlib.util import find_spec

import pytest

from engine.__main__ import main


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_quick_measurement_predicts_real_training(tmp_path, capsys):
    """A loose bound, since other tests run beside it; `docs/machines.md` has what a quiet machine gives."""
    assert find_spec("torch"), "make slow installs PyTorch; see requirements-slow.txt"
    out = tmp_path / "parts"
    assert main(["measure", "--quick", "--out", str(out)]) == 0
    assert "To use them, add --parts-dir" in capsys.readouterr().out
    assert {path.parent.name for path in out.glob("*/measured.toml")} >= {"host", "dram", "host-software", "framework"}
    assert main(["validate", "--here", "--shapes", "6", "--seed", "5", "--parts-dir", str(out)]) == 0
    told = capsys.readouterr().out
    assert "For 6 models, the predicted step differs by" in told
    median = float(told.rpartition("predicted within ")[2].split(" %")[0])
    assert median < 60
