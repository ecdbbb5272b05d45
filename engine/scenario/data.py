"""The knobs of the data: spread and correlation of lookups, or a data file."""

from dataclasses import dataclass
from typing import Any

from .knobs import brief_group, knob

BY_TABLE = ("zipf_exponents", "zipf_shifts", "hottest_shares", "once_shares")


def _number_per_table(label: str, summary: str, high: float) -> Any:
    """Declare a knob that has a number for each table."""
    return knob((), label, f"{summary}, ';' between them; empty: the same for all.", low=0.0, high=high)


@dataclass(frozen=True)
class DataKnobs:
    """The training data: the calibrated generator, or a data file known by its digest."""

    __repr__ = brief_group

    digest: str = knob(
        "", "Data file", "SHA-256 of a data file; empty for the generator. Opening a link asks for the file.", acts="full run"
    )
    id_numbering: str = knob(
        "first-seen",
        "Ids of a file",
        "How a column's ids become rows: numbered in the order first seen if all of them fit into its table, else hashed; "
        "or always hashed. A mapping's `rows` comes before it.",
        choices=("first-seen", "hashed"),
        acts="file",
    )
    popularity: str = knob(
        "kaggle",
        "Popularity",
        "How lookups spread over rows: fitted to Criteo Kaggle or 1TB, to shares of Avazu's rows, or to Meta's reuse counts; "
        "a plain Zipf, or uniform.",
        choices=("kaggle", "terabyte", "avazu", "meta", "zipf", "uniform"),
    )
    zipf_exponent: float = knob(1.05, "Zipf exponent", "Skew of the plain Zipf popularity.", low=0.0, high=12.0)
    zipf_exponents: tuple[float, ...] = _number_per_table("Exponents by table", "Skew of the plain Zipf in each table", 12.0)
    zipf_shift: float = knob(
        0.0, "Zipf shift", "Flattens the head of the plain Zipf: rank r weighs (r + shift)^-exponent.", low=0.0, high=1e9
    )
    zipf_shifts: tuple[float, ...] = _number_per_table("Shifts by table", "Shift of the plain Zipf in each table", 1e9)
    hottest_shares: tuple[float, ...] = knob(
        (),
        "Hottest row",
        "Share of a table's lookups that one row takes besides the plain Zipf; one number, or one per table.",
        low=0.0,
        high=0.99,
    )
    once_share: float = knob(
        0.0, "Ids seen once", "Share of lookups of ids that hardly return, besides the plain Zipf.", low=0.0, high=0.99
    )
    once_shares: tuple[float, ...] = _number_per_table(
        "Seen once by table", "Share of each table's lookups of ids that hardly return", 0.99
    )
    bag_length_cv: tuple[float, ...] = knob(
        (),
        "Bag length spread",
        "Standard deviation of a sample's lookups in a table over their mean, the pooling factor; 0 or empty: all samples have "
        "as many; 1 at a pooling factor of 1: as chance throws them. One number, or one per table.",
        low=0.0,
        high=10.0,
        learned=True,
    )
    locality: float = knob(0.0, "Locality", "Share of repeats that come soon after the row's last use.", low=0.0, high=0.9)
    sample_correlation: float = knob(
        0.0,
        "Sample correlation",
        "Share of samples that are equally rare in all five largest Criteo Kaggle fields, as real ones are; 0: independent.",
        low=0.0,
        high=1.0,
        learned=True,
    )
    click_rate: float = knob(
        0.256,
        "Click rate",
        "Share of generated samples that are clicks; Criteo Kaggle's by default.",
        low=0.001,
        high=0.999,
        acts="training",
    )
    batch_size: int = knob(128, "Batch size", "Samples per batch.", unit="samples", low=1, high=10**6)
    held_out_samples: int = knob(
        8192,
        "Held-out samples",
        "Samples kept for AUC and loss (a file keeps its last tenth).",
        unit="samples",
        low=20,
        high=10**7,
        acts="training",
    )
    seed: int = knob(1, "Data seed", "Seeds data, teacher and initial weights.", low=0, high=2**31 - 1, acts="full run")


def by_table(data_knobs: DataKnobs, name: str, tables: int) -> tuple[float, ...]:
    """Return the number of each table of a knob in BY_TABLE.

    The numbers are its list, or else the one number for all tables.
    """
    numbers: tuple[float, ...] = getattr(data_knobs, name) or (getattr(data_knobs, name[:-1], 0.0),)
    return numbers if len(numbers) == tables else numbers * tables
