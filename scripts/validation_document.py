"""Writes the tables of docs/validation.md from the accepted record; with --check compares, and ends with 1 where they differ.

python scripts/validation_document.py [--check]
"""

import re
import sys
from collections.abc import Callable, Mapping
from math import log
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
DOCUMENT = ROOT / "docs" / "validation.md"

from engine.core.figures import times  # noqa: E402
from engine.scenario.presets import preset_names  # noqa: E402
from engine.validation.accepted import AcceptedRecord, read_record  # noqa: E402
from engine.validation.claims import claims  # noqa: E402
from engine.validation.scoreboard import FamilyScore, score_lines  # noqa: E402

BLOCK = re.compile(r"<!-- (?P<name>[\w ]+) -->\n.*?<!-- end -->", re.DOTALL)
HEAD = (
    "| family | numbers | median error | share within 25 % | numbers with a roofline | median error of the roofline "
    "| our median error on these |"
)
WORST_MISSES = 4
ON_CPUS = {  # a row of the table of CPUs: the number's name in the record, its text, and its error before kernels were computed
    "torchrec-terabyte: Throughput, cpu-only, MLPerf v1.0, 32 sockets of 28 cores [samples/s]": (
        "3.03 M samples/s of 16 hosts (fitted, at the end of the range of the share of peak)",
        "\N{MINUS SIGN}92 %",
    ),
    "a100-terabyte: Throughput, cpu-only [samples/s]": (
        "17,700 samples/s of two EPYC 7742 under TensorFlow",
        "\N{MINUS SIGN}12.7 %",
    ),
    "fae-kaggle: Speed-up over CPU only": ("FAE's speed-up of 2.3 over CPU only", "+0.9 %"),
    "fae-kaggle: Speed-up over CPU-GPU": ("FAE's speed-up of 1.52 over CPU-GPU", "\N{MINUS SIGN}7.3 %"),
    "hotline-kaggle: Speed-up over CPU-GPU": ("Hotline's speed-up of 2.2", ""),
}
HOST_LOOKUPS = "a100-terabyte: Throughput, cpu-gpu, one A100 [samples/s]"


def document(record: AcceptedRecord, text: str) -> str:
    """Return the document with the text between each pair of its markers written from the record."""
    return BLOCK.sub(lambda block: f"<!-- {block['name']} -->\n{BLOCKS[block['name']](record)}\n<!-- end -->", text)


def scoreboard(record: AcceptedRecord) -> str:
    """Return the table of all families, with the record's model version below."""
    rows = (f"| {' | '.join(_score_cells(score))} |" for score in score_lines(record.counted_numbers))
    return "\n".join((HEAD, "|---|---|---|---|---|---|---|", *rows, "", f"These are results of model version {record.model}."))


def _score_cells(score: FamilyScore) -> tuple[str, ...]:
    percents = score.median_percent, score.near_percent, score.roofline_percent, score.model_percent
    errors, near, roofline, ours = (
        "-" if number is None else f"{number:.{places}f} %" for number, places in zip(percents, (1, 0, 1, 1), strict=True)
    )
    return score.family, str(score.count), errors, near, str(score.roofline_count), roofline, ours


def misses(record: AcceptedRecord) -> str:
    """Return the table of the published numbers out of sample that are missed most."""
    ratios = {score.name: score.simulated_value / score.nearest for score in record.counted_numbers}
    worst_names = sorted(ratios, key=lambda name: -abs(log(ratios[name])))[:WORST_MISSES]
    rows = [f"| {name} | {times(ratios[name])} |" for name in worst_names]
    return "\n".join(("| published number | ours over it |", "|---|---|", *rows))


def cpus(record: AcceptedRecord) -> str:
    """Return the table of numbers of CPUs, with the medians below."""
    errors = {name: record.numbers[name].error_percent for name in ON_CPUS}
    rows = [f"| {text} | {_signed(errors[name])} | {earlier} |" for name, (text, earlier) in ON_CPUS.items()]
    table = ("| published number | our error | earlier |", "|---|---|---|", *rows)
    counted_errors = [abs(errors[name]) for name in ON_CPUS if record.numbers[name].family]
    return "\n".join(
        (
            f"The errors are of model version {record.model}.",
            "",
            *table,
            f"| median | {median(map(abs, errors.values())):.1f} % | |",
            "",
            f"{len(counted_errors)} of these numbers are out of sample; their median error is {median(counted_errors):.1f} %.",
            f"For one A100 whose host looks all tables up, the error is {_signed(record.numbers[HOST_LOOKUPS].error_percent)}.",
        )
    )


def tolerances(_: AcceptedRecord) -> str:
    """Return the sentence on the tolerances that were set when our number was known."""
    marked = sum(bool(claim.tolerance_note) for name in preset_names() for claim in claims(name))
    return (
        f"`tolerance_note` marks {marked} tolerances that were set when our number was already known: git shows tolerance and\n"
        "mechanism in the same change."
    )


def _signed(error_percent: float) -> str:
    return f"{error_percent:+z.1f} %".replace("-", "\N{MINUS SIGN}") if error_percent else "0 %"


BLOCKS: Mapping[str, Callable[[AcceptedRecord], str]] = {
    "scoreboard": scoreboard,
    "misses": misses,
    "cpus": cpus,
    "tolerances": tolerances,
}

if __name__ == "__main__":
    written = DOCUMENT.read_text(encoding="utf-8")
    fresh = document(read_record(), written)
    if "--check" in sys.argv:
        sys.exit(fresh != written and "docs/validation.md differs: run python scripts/validation_document.py")
    DOCUMENT.write_text(fresh, encoding="utf-8")
