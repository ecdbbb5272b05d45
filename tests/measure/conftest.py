"""Constants of a machine that is made up, as files of measured parts."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from engine.core import catalog, memo
from engine.core.part_files import known
from engine.core.part_files.curves import LatencyPoints
from engine.measure.fitted import MeasuredFigure
from engine.measure.host import KINDS
from engine.measure.part_files import NO_CURVES, write_parts

MADE_UP = {
    "fp32-peak-a-core": 50.0,
    "embedding-software-per-lookup": 4.0,
    "EmbeddingBag-rate": 40.0,
    "GEMM-share-of-peak": 0.8,
    "GEMM-extra-samples": 20.0,
    "layer-launch": 10.0,
    "lookup-of-a-table": 30.0,
    "lookup-of-a-new-line": 5.0,
    "plain-update-of-a-table": 100.0,
    "plain-update-of-a-lookup": 80.0,
    "plain-update-of-a-byte": 0.05,
    "plain-update-of-a-new-line": 13.0,
    "stateful-update-of-a-table": 400.0,
    "stateful-update-of-a-lookup": 250.0,
    "stateful-update-of-a-byte": 0.07,
    "stateful-update-of-a-new-line": 80.0,
    "vector-products": 0.02,
    "pair-of-vectors": 9.0,
    "training-loop": 0.2,
}
MEMORY = {"channel-peak": 16.0, "random-line-efficiency": 1.0, "random-latency": 150.0}


def figures(values: Mapping[str, float]) -> dict[str, MeasuredFigure]:
    return {
        key: MeasuredFigure(
            number, 0.9 * number, min(1.1 * number, 1.0) if "of-peak" in key or "efficiency" in key else 1.1 * number, "made up"
        )
        for key, number in values.items()
    }


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[Path]]]:
    """Write the made-up machine's parts and take them; return what does so."""
    monkeypatch.setattr(catalog, "FOLDERS", catalog.FOLDERS[:1])
    monkeypatch.setattr(known, "_parts_by_key", OrderedDict())

    def write(
        curves: Mapping[str, LatencyPoints] = NO_CURVES,
        host_more: Mapping[str, MeasuredFigure] = MappingProxyType({}),
        further_kinds: tuple[str, ...] = (),
        **extra_parts: Mapping[str, MeasuredFigure],
    ) -> list[Path]:
        parts = {kind: figures({key: np.float64(MADE_UP[key]) for key in keys}) for kind, keys in KINDS.items()}
        parts["host"] |= figures(
            {"physical-cores": 2.0, "sockets": 1.0, "DRAM-channels": 1.0, "DRAM-lines-in-flight-a-thread": 20.0}
        )
        parts["host"] |= {
            key: MeasuredFigure(number, number, number, "")
            for key, number in (("physical-cores", 2.0), ("sockets", 1.0), ("DRAM-channels", 1.0))
        }
        parts["host"] |= host_more
        all_parts = {**parts, "dram": figures(MEMORY), **extra_parts}
        paths = write_parts(tmp_path / "own", 'A "made-up" CPU, 2 cores', all_parts, curves=curves, beside=further_kinds)
        catalog.FOLDERS = (*catalog.FOLDERS[:1], tmp_path / "own")
        memo.clear_memos()
        catalog.look_again()
        return paths

    yield write
    monkeypatch.undo()
    memo.clear_memos()
    catalog.look_again()
