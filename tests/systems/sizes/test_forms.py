"""Forms: does a chassis say which GPUs its places take, and is a list of anything else refused by what to write?"""

import re
from tomllib import loads

import pytest

from engine.core import catalog
from engine.core.part_files.tables import FORMS
from engine.errors import BadFile
from engine.hardware.devices.chassis import CHASSIS, GPU_FORMS, PLACE_FORMS, gpu_forms
from engine.hardware.devices.gpu import ACCELERATORS
from engine.hardware.devices.network import FABRICS
from tests.parts.conftest import folder, shipped

__all__ = ["folder"]


@pytest.mark.parametrize("name", CHASSIS)
def test_a_chassis_takes_forms_of_gpu_that_the_catalogue_has_and_no_superchip(name):
    taken = gpu_forms(name)
    assert catalog.list_words("chassis", name, GPU_FORMS) == taken and {*taken} <= {*FORMS} - {"superchip"}
    assert {catalog.form("gpu", one) for one in ACCELERATORS} & {*taken}


def test_pcie_cards_go_into_pcie_servers_and_boards_into_the_eight_gpu_server():
    taken = {name: gpu_forms(name) for name in CHASSIS}
    assert taken["two-socket"] == taken["gpu-4-pcie"] == taken["one-socket"] == ("PCIe",)
    assert taken["gpu-8-sxm"] == ("SXM", "OAM") and taken["trainingcxl"] == PLACE_FORMS
    assert catalog.form("gpu", "h100-pcie") == "PCIe"


def test_a_chassis_of_ones_own_says_its_forms_or_takes_any(folder):
    text = shipped("chassis/two-socket")
    folder.put("chassis/any", text.replace('GPU-forms = ["PCIe"]\n', ""))
    folder.put("chassis/both", text.replace('["PCIe"]', '["PCIe", "OAM"]'))
    folder.elsewhere(folder.path)
    assert gpu_forms("any") == PLACE_FORMS
    assert gpu_forms("both") == ("PCIe", "OAM")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ('["pcie"]', "GPU-forms of 'pcie', which is not known; write GPU-forms = "),
        ('["superchip"]', "GPU-forms of 'superchip'"),
        ('"PCIe"', "GPU-forms = 'PCIe', which is no list of different words"),
        ("[]", "no list of different words"),
        ('["PCIe", "PCIe"]', "no list of different words"),
        ("[4]", "no list of different words"),
        ('[["PCIe"]]', "no list of different words"),
    ],
)
def test_wrong_forms_of_a_chassis_are_refused_by_what_to_write(written, says):
    content = loads(shipped("chassis/two-socket").replace('["PCIe"]', written))
    with pytest.raises(BadFile, match=re.escape(says)):
        CHASSIS.check("mine.toml", content)


def test_a_pcie_card_is_an_h100_with_less_of_all():
    card, board = ACCELERATORS["h100-pcie"], ACCELERATORS["h100-sxm"]
    for name in ("peak", "tf32_peak", "bf16_peak", "fp16_peak", "bandwidth", "limit", "price"):
        assert getattr(card, name).value < getattr(board, name).value
    assert FABRICS["h100-pcie"].link.value == 2 * FABRICS["a100-80-mig-3g"].link.value
