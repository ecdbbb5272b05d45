"""Is text of the engine shown in the words of the pages: knobs by label, systems by title, one unit a number?"""

from pages.ui.plain import spell_out_knobs


def test_a_knob_has_its_label_and_one_unit():
    assert spell_out_knobs("machine.cxl_bandwidth_GBps=8 is too much") == "CXL bandwidth 8 GB/s is too much"
    assert spell_out_knobs("at machine.cxl_bandwidth_GBps=8 GB/s it fits") == "at CXL bandwidth 8 GB/s it fits"


def test_a_system_has_its_title():
    assert spell_out_knobs("system=cxl-d trains on one GPU") == "CXL-D trains on one GPU"
    assert (
        spell_out_knobs("The baseline, system dram, cannot run; choose system=all-hbm.")
        == "The baseline, DRAM, cannot run; choose All in HBM."
    )
    assert spell_out_knobs("the system pmem-like") == "the system pmem-like"
