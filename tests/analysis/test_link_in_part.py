"""Does a link with bad values keep its good ones, and does it say what was left out?"""

from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.linked import open_in_part, open_or_error
from engine.scenario.presets import preset
from engine.sweep import links

GOOD = [("preset", "dlrm-kaggle"), ("machine.cxl_bandwidth_GBps", "8.0"), ("data.batch_size", "256")]
TOGETHER = [("model.embedding_dim", "64"), ("model.bottom_mlp", "512-256-64")]  # each alone contradicts the preset
BAD = [
    ("machine.cxl_bandwidth_GBps", "-1"),
    ("no.such.knob", "3"),
    ("data.batch_size", "many"),
    ("where", "nonsense"),
    ("crash", "v1:x"),
    ("v", "99"),
]


def values(opened):
    return opened.scenario.machine.cxl_bandwidth_GBps, opened.scenario.data.batch_size, opened.scenario.model.embedding_dim


def test_a_good_link_opens_whole():
    opened, left_out = open_in_part([*GOOD, *TOGETHER])
    assert (values(opened), left_out) == ((8.0, 256, 64), ())


def test_one_bad_value_costs_itself_alone_even_beside_values_that_are_only_good_together():
    opened, left_out = open_in_part([*GOOD, ("faults.machines", "0.5"), *TOGETHER])
    assert values(opened) == (8.0, 256, 64)
    assert len(left_out) == 1 and left_out[0].startswith("Left out of the link, faults.machines=0.5: ")


@given(st.lists(st.sampled_from(BAD), max_size=6), st.randoms())
def test_whatever_is_bad_is_said_and_the_rest_opens(bad, order):
    pairs = [*GOOD, *bad]
    order.shuffle(pairs)
    opened, left_out = open_in_part(pairs)
    assert not left_out if isinstance(open_or_error(pairs), links.OpenedLink) else left_out
    names = [sentence.partition(", ")[2].partition("=")[0] for sentence in left_out]
    assert {*names} <= {name for name, _ in pairs} and all(len(sentence) > 40 for sentence in left_out)
    assert opened.scenario.data.batch_size == (
        256 if "data.batch_size" not in names or ("data.batch_size", "many") in bad else 128
    )


def test_an_unknown_preset_is_the_first_one_and_said():
    opened, left_out = open_in_part([("preset", "nobody"), ("data.batch_size", "256")])
    assert opened.scenario.data.batch_size == 256 and opened.scenario.model == preset("dlrm-kaggle").scenario.model
    assert "nobody" in left_out[0]


def test_a_page_refuses_what_the_engine_takes():
    opened, left_out = open_in_part(GOOD, lambda opened: "No eights." if opened.scenario.machine.cxl_bandwidth_GBps == 8 else "")
    assert opened.scenario.data.batch_size == 256 and left_out == (
        "Left out of the link, machine.cxl_bandwidth_GBps=8.0: No eights.",
    )


def test_a_value_that_is_good_only_with_a_later_one_is_taken_beside_two_bad_ones():
    bad = [("no.such.knob", "3"), ("data.batch_size", "many")]
    opened, left_out = open_in_part(
        [("preset", "dlrm-kaggle"), ("model.embedding_dim", "64"), ("model.interaction", "concat"), *bad]
    )
    assert opened.scenario.model.embedding_dim == 64 and len(left_out) == 2


def test_a_knob_that_contradicts_the_preset_is_left_out_and_not_the_preset():
    opened, left_out = open_in_part([("preset", "meta-856"), ("machine.num_gpus", "24")])
    assert (opened.preset, opened.scenario) == ("meta-856", preset("meta-856").scenario)
    assert len(left_out) == 1 and left_out[0].startswith("Left out of the link, machine.num_gpus=24: ")
