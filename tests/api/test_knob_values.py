"""Does any iterable span an axis, is one value one value, and is what could be either refused?"""

import itertools
import time
from collections import deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from engine import api
from engine.api.knob_values import settings, split_axes
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS, values
from tests.cases import each

GBPS = "machine.cxl_bandwidth_GBps"
ROWS = "model.num_embeddings"
ITERABLES = {
    "list": [8, 16.0],
    "tuple": (8, 16),
    "array": np.array([8, 16]),
    "array of 32 bits": np.array([8, 16], np.float32),
    "column": pd.Series([8, 16], index=["a", "b"]),
    "index": pd.Index([8, 16]),
    "set": {16, 8},
    "frozen set": frozenset((16, 8)),
    "generator": (x for x in (8, 16)),
    "range": range(8, 17, 8),
    "map": map(float, ("8", "16")),
    "keys": {8: "a", 16: "b"}.keys(),
    "dictionary's values": {"a": 8, "b": 16}.values(),
    "deque": deque((8, 16)),
    "texts": ["8", " 16.0 "],
    "decimals": [Decimal("8"), Fraction(16)],
    "Arrow": pa.array([8, 16]),
    "chunked Arrow": pa.chunked_array([[8], [16]]),
    "objects": np.array([8, "16"], object),
}


MASKED = (
    np.ma.masked,
    [8, np.ma.masked],
    np.ma.array([8, 16], mask=[False, True]),
    np.array([8, np.ma.masked], object),
)


def odd_values() -> list[Any]:
    return [
        *(None, True, 0, -1, 10**400, 1.5, float("nan"), float("inf"), "", "x", "1,2", "1:2:3", "10%", "8 GB/s", b"8", 1j),
        *(
            (),
            [],
            set(),
            {},
            {"a": 1},
            [[1, 2]],
            [[[1]]],
            [1, (2,)],
            (1, (2, 3)),
            [None],
            ["x"],
            [("a", 1)],
            [{"a": 1}],
            ("a", 1),
        ),
        *(
            Path("x"),
            object(),
            len,
            np.zeros((2, 2)),
            np.array(8),
            pd.NA,
            pd.Timestamp(0),
            pd.DataFrame({"a": [1]}),
            Decimal("NaN"),
            Decimal("sNaN"),
            Fraction(10**400),
            np.ma.masked,
            np.ma.array([8.0, 16.0], mask=[False, True]),
        ),
        *(iter(()), (x for x in "ab"), range(3), slice(3), pa.scalar(8), pa.scalar(None), np.datetime64("2020-01-01"), "\udcff"),
    ]


@each("kind", ITERABLES)
def test_any_iterable_spans_an_axis(kind: str) -> None:
    (axis,) = split_axes({"cxl_bandwidth_GBps": ITERABLES[kind]})[1]
    assert (axis.path, axis.values) == (GBPS, (8.0, 16.0))


def test_an_axis_of_names_keeps_its_order_and_a_set_is_sorted() -> None:
    for names in (["pmem", "cxl"], ("pmem", "cxl"), dict.fromkeys(("pmem", "cxl")), np.array(["pmem", "cxl"])):
        written = names.keys() if isinstance(names, dict) else names
        assert split_axes({"system": written})[1][0].values == ("pmem", "cxl")
    assert split_axes({"system": {"pmem", "cxl"}})[1][0].values == ("cxl", "pmem")
    assert split_axes({"cxl_bandwidth_GBps": {"10", 9, None}})[1][0].values == (None, 9.0, 10.0)


def test_the_widths_of_an_mlp_are_one_value_and_lists_of_them_an_axis() -> None:
    for widths in ([5, 8, 4], (5, 8, 4), np.array([5, 8, 4]), "5-8-4", range(4, 6), pd.Series([5, 8, 4])):
        found, axes = split_axes({"bottom_mlp": widths})
        assert not axes and found == {"model.bottom_mlp": (4, 5) if isinstance(widths, range) else (5, 8, 4)}
    for several in (
        [[5, 4], [5, 8, 4]],
        ((5, 4), (5, 8, 4)),
        ["5-4", (5, 8, 4)],
        [np.array([5, 4]), [5, 8, 4]],
        ("5-4", "5-8-4"),
    ):
        (axis,) = split_axes({"bottom_mlp": several})[1]
        assert axis.values == ((5, 4), (5, 8, 4))
    assert api.estimate("tiny", bottom_mlp=[5, 8, 4])[0].scenario.model.bottom_mlp == (5, 8, 4)


def test_a_flat_tuple_is_one_value_and_a_flat_list_an_axis_where_both_may_be() -> None:
    assert split_axes({"num_embeddings": (10, 20, 30)}) == ({ROWS: (10, 20, 30)}, ())
    for several in ([10, 20], np.array([10, 20]), range(10, 21, 10), {20, 10}, ["10", "20"], [(10,), [20]], ((10,), (20,))):
        (axis,) = split_axes({"num_embeddings": several})[1]
        assert axis.values == ((10,), (20,))
    (axis,) = split_axes({"num_embeddings": np.array([[10, 20], [30, 40]])})[1]
    assert axis.values == ((10, 20), (30, 40))
    assert split_axes({"power_loss_at_seconds": ()}) == ({"faults.power_loss_at_seconds": ()}, ())


def test_of_a_knob_with_one_value_for_all_tables_or_one_each_a_flat_tuple_is_one_each_and_a_list_an_axis() -> None:
    assert split_axes({"embedding_dim": (8, 4, 4)}) == ({"model.embedding_dim": (8, 4, 4)}, ())
    assert split_axes({"optimizer": ("sgd", "adam", "sgd")}) == ({"model.optimizer": ("sgd", "adam", "sgd")}, ())
    assert split_axes({"embedding_dim": "8;4*2", "row_precision": "fp16"})[0] == {
        "model.embedding_dim": (8, 4, 4),
        "model.row_precision": "fp16",
    }
    for several in ([4, 8], np.array([4, 8]), {8, 4}, range(4, 9, 4), ["4", "8"]):
        assert split_axes({"embedding_dim": several})[1][0].values == (4, 8)
    (axis,) = split_axes({"optimizer": ["sgd", ("sgd", "adam", "adam"), "sgd*2;adam"]})[1]
    assert axis.values == ("sgd", ("sgd", "adam", "adam"), ("sgd", "sgd", "adam"))
    assert split_axes({"embedding_dim": {8, (4, 8, 8)}})[1][0].values == (8, (4, 8, 8))
    assert settings({"embedding_dim": np.array([8, 4, 4])}) == {"model.embedding_dim": (8, 4, 4)}
    assert settings({"row_precision": pd.Series(["fp16", "fp32", "fp16"])}) == {"model.row_precision": ("fp16", "fp32", "fp16")}
    with pytest.raises(api.BadKnob, match=r"model\.optimizer='fast' is not known"):
        settings({"optimizer": ["sgd", "fast"]})
    with pytest.raises(api.BadKnob, match=r"model\.embedding_dim has 2 values for 3 tables"):
        api.scenario("tiny", embedding_dim=(8, 4), interaction="concat")


def test_a_frame_says_lists_of_tables_as_links_do_and_its_rows_come_back() -> None:
    table = api.estimate("tiny", embedding_dim=[8, (8, 4, 4), (8, 8, 4)], interaction="concat")
    assert table.frame["Embedding dim"].tolist() == [8, "8;4*2", "8*2;4"]
    assert [api.scenario(table.frame.iloc[number]) for number in range(3)] == [one.scenario for one in table]
    assert api.sweep("tiny", embedding_dim=[8, 4], interaction="concat").frame["Embedding dim"].tolist() == [8, 4]


def test_what_could_be_one_value_or_an_axis_is_refused_with_both_ways() -> None:
    for odd in ((10, (20, 30)), (10, [20])):
        with pytest.raises(
            api.BadKnob, match=r"mixes numbers and lists; write num_embeddings=\(8, 4\) for one value, \[\(8, 4\)"
        ):
            split_axes({"num_embeddings": odd})
    with pytest.raises(api.BadKnob, match="mixes numbers and lists"):
        split_axes({"bottom_mlp": [5, (4, 4)]})
    with pytest.raises(api.BadKnob, match="can be one value or an axis"):
        api.sweep("tiny", "system=pmem,cxl", num_embeddings=[10, 20])
    with pytest.raises(api.BadKnob, match="can be one value or an axis; write a dict"):
        split_axes({"assume": [("a.b", 1), ("c.d", 2)]})


def test_a_set_is_no_value_of_several_numbers_as_it_has_no_order() -> None:
    for read in (split_axes, settings):
        with pytest.raises(api.BadKnob, match="is a set, which has no order"):
            read({"bottom_mlp": {5, 8, 4}})
    with pytest.raises(api.BadKnob, match="is a set, which has no order"):
        settings({"num_embeddings": frozenset((10, 20, 30))})


def test_assumptions_are_a_dict_or_pairs() -> None:
    wanted = {"machine.assume": (("cxl.latency", 2.0), ("pmem.rate", 1.0))}
    for pairs in ({"pmem.rate": 1, "cxl.latency": 2}, (("pmem.rate", 1), ("cxl.latency", 2)), "pmem.rate=1;cxl.latency=2"):
        assert split_axes({"assume": pairs}) == (wanted, ())
    assert split_axes({"assume": [{"pmem.rate": 1}, {}]})[1][0].values == ((("pmem.rate", 1.0),), ())


@each(
    ("changes", "sentence"),
    [
        ({"cxl_bandwidth_GBps": []}, "is given an empty list; give at least one value"),
        ({"power_loss_at_seconds": []}, r"give at least one value, or \(\) for none"),
        ({"cxl_bandwidth_GBps": [8, "8.0"]}, "gives 8.0 twice; name each value once"),
        ({"cxl_bandwidth_GBps": [[8, 16]]}, "is a list inside a list; write one flat list"),
        ({"cxl_bandwidth_GBps": "8,16"}, "is a text of several values; write a list for an axis"),
        ({"cxl_bandwidth_GBps": "8:64:4"}, r"is a range; write it as ep.sweep\(BASE, 'machine.cxl_bandwidth_GBps=8:64:4'\)"),
        ({"system": "pmem,cxl"}, r"write a list for an axis: system=\[...\]"),
        ({"cxl_bandwidth_GBps": "8 GB/s"}, "is not a number; write only the number, in GB/s"),
        ({"cxl_bandwidth_GBps": {"a": 8}}, "is a dict; write one value, or a list"),
        ({"cxl_bandwidth_GBps": pd.DataFrame({"a": [8]})}, "has type DataFrame, which no knob takes"),
        ({"cxl_bandwidth_GBps": b"8"}, "has type bytes"),
        (
            {"cxl_bandwidth_GBps": 8, "CXL bandwidth [GB/s]": 9},
            "are two names of the knob machine.cxl_bandwidth_GBps; give it once",
        ),
        ({"data": "x.csv"}, r"data= is not a knob; it is an argument of ep.run\(data=FILE\), .* an estimate reads no file"),
        ({"jobs": 2}, "jobs= is not a knob; it is of ep.run"),
        ({"preset": "tiny"}, "preset= is not a knob; it is the first argument, without a name"),
        ({"ids": ["user"]}, "ids= is not a knob; it is a key of mapping=, beside data="),
        ({"cxl_bandwidth_GBps": Decimal("sNaN")}, r"Decimal\('sNaN'\) has type .*, which no knob takes"),
        *(({"cxl_bandwidth_GBps": odd}, "has a masked cell, which has no value; fill it") for odd in MASKED),
        *(({"passes": odd}, "has a masked cell, which has no value; fill it") for odd in MASKED),
        ({"seed": 1}, "is the last part of several knobs: data.seed and"),
    ],
)
def test_a_refusal_says_what_to_write(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(api.BadInput, match=sentence):
        api.estimate("tiny", **changes)


def test_an_endless_axis_is_refused_at_once() -> None:
    start = time.process_time()
    for endless in (itertools.count(1), range(1, 10**12), np.broadcast_to(8.0, 10**9)):
        with pytest.raises(api.BadKnob, match="more than 100,000 values; give fewer"):
            split_axes({"cxl_bandwidth_GBps": endless})
    assert time.process_time() - start < 2.0


def test_every_knob_takes_or_refuses_whatever_it_is_given() -> None:
    """Nothing but BadInput comes out, and what is taken is a value that the knob can have."""
    for path, knob in KNOBS.items():
        for odd in odd_values():
            for read in (split_axes, lambda changes: (settings(changes), ())):
                try:
                    found, axes = read({path: odd})
                except api.BadInput as error:
                    assert str(error).endswith((".", "?")) and "\n" not in str(error)
                    continue
                taken = [*found.values(), *(value for axis in axes for value in axis.values)]
                assert taken and all(knobs.parse(knob, knobs.write(knob, value)) == value for value in taken)


def test_a_scenario_has_one_value_of_each_knob() -> None:
    with pytest.raises(api.BadKnob, match=r"has several values, but this call takes one; a list is an axis of ep.estimate"):
        api.scenario("tiny", cxl_bandwidth_GBps=[8, 16])
    assert api.scenario("tiny", num_embeddings=[10, 20, 30]) == api.scenario("tiny", num_embeddings=(10, 20, 30))
    assert values(api.scenario("tiny", batches=np.int32(7), near_data_compute=np.bool_(False)))["run.batches"] == 7


def test_switches_of_a_call_are_true_or_false() -> None:
    for odd in ("no", 0, None, [True]):
        with pytest.raises(api.BadInput, match="is neither True nor False"):
            api.sweep("tiny", "system=pmem", full=odd)


def test_axes_of_a_sweep_are_texts_dicts_lists_and_keywords() -> None:
    wanted = api.sweep("tiny", "system=pmem,cxl", "cxl_bandwidth_GBps=8,16").csv
    assert api.sweep("tiny", ["system=pmem,cxl", "cxl_bandwidth_GBps:8,16"]).csv == wanted
    assert api.sweep("tiny", {"system": ("pmem", "cxl")}, cxl_bandwidth_GBps=[8, 16]).csv == wanted
    for odd in (3, None, {"system": "pmem"}, [1], b"system=pmem", "system", {"system": []}):
        with pytest.raises(api.BadInput):
            api.sweep("tiny", odd)
    spread = [
        len(api.sweep("tiny", "cxl_bandwidth_GBps=8:64:9", sample=sample)) for sample in (None, 4, np.int64(4), " random:4")
    ]
    assert spread == [9, 4, 4, 4]
    for odd in (2.5, True, "4", [4], 0, -3):
        with pytest.raises(api.BadInput):
            api.sweep("tiny", "cxl_bandwidth_GBps=8:64:9", sample=odd)
