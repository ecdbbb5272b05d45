"""Is text of the engine shown in the words of the pages: knobs by label, systems by title, one unit a number?"""

from pages.ui.plain import worded


def test_a_knob_has_its_label_and_one_unit():
    assert worded("machine.cxl_bandwidth_GBps=8 is too much") == "CXL bandwidth 8 GB/s is too much"
    assert worded("at machine.cxl_bandwidth_GBps=8 GB/s it fits") == "at CXL bandwidth 8 GB/s it fits"


def test_a_system_has_its_title():
    assert worded("system=cxl-d trains on one GPU") == "CXL-D trains on one GPU"
    assert (
        worded("The baseline, system dram, cannot run; choose system=all-hbm.")
        == "The baseline, DRAM, cannot run; choose All in HBM."
    )
    assert worded("the system pmem-like") == "the system pmem-like"
