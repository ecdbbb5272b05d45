"""The knobs of the data and of a run."""

from dataclasses import dataclass
from typing import Any

from .knobs import brief_group, knob

BY_TABLE = ("zipf_exponents", "zipf_shifts", "hottest_shares", "once_shares")
LISTS = (*BY_TABLE, "bag_length_cv", "hot_rank_factor")  # knobs with one number, or one for each table


def _number_per_table(label: str, summary: str, high: float) -> Any:
    """Declare a knob that has a number for each table."""
    return knob(
        (), label, f"{summary}; one number per table, separated by ';'; empty: the value for all tables.", low=0.0, high=high
    )


@dataclass(frozen=True)
class DataKnobs:
    """The knobs of the training data: a calibrated generator, or a file by its digest."""

    __repr__ = brief_group

    digest: str = knob(
        "",
        "Data file",
        "SHA-256 of a data file; empty: samples come from the generator. A link with this knob asks for the file.",
        acts="full run",
    )
    id_numbering: str = knob(
        "first-seen",
        "Ids of a file",
        "How the ids of a file become rows of a table. auto: numbered in the order first seen if all ids of a column fit into "
        "its table, else hashed; hashed: always hashed. An entry `rows` in the file's mapping takes precedence.",
        choices=("first-seen", "hashed"),
        acts="file",
    )
    popularity: str = knob(
        "kaggle",
        "Popularity",
        "How lookups spread over the rows of a table: fitted to Criteo Kaggle or 1TB, to Avazu's shares of lookups by row, or "
        "to Meta's reuse counts; a plain Zipf law, or uniform.",
        choices=("kaggle", "terabyte", "avazu", "meta", "zipf", "uniform"),
    )
    zipf_exponent: float = knob(
        1.05,
        "Zipf exponent",
        "Exponent of the plain Zipf popularity; a larger exponent sends more lookups to few rows.",
        low=0.0,
        high=12.0,
    )
    zipf_exponents: tuple[float, ...] = _number_per_table(
        "Exponents by table", "Exponent of the plain Zipf popularity of each table", 12.0
    )
    zipf_shift: float = knob(
        0.0,
        "Zipf shift",
        "Shift of the plain Zipf popularity: the row of rank r has the weight (r + shift)^-exponent; a larger shift makes "
        "the top rows more alike.",
        low=0.0,
        high=1e9,
    )
    zipf_shifts: tuple[float, ...] = _number_per_table("Shifts by table", "Shift of the plain Zipf popularity of each table", 1e9)
    hottest_shares: tuple[float, ...] = knob(
        (),
        "Hottest row",
        "Share of a table's lookups that go to one row, in addition to the plain Zipf popularity; one number, or one per table.",
        low=0.0,
        high=0.99,
    )
    once_share: float = knob(
        0.0,
        "Ids seen once",
        "Share of lookups whose id hardly ever returns, in addition to the plain Zipf popularity.",
        low=0.0,
        high=0.99,
    )
    once_shares: tuple[float, ...] = _number_per_table(
        "Seen once by table", "Share of lookups in each table whose id hardly ever returns", 0.99
    )
    bag_length_cv: tuple[float, ...] = knob(
        (),
        "Bag length spread",
        "Standard deviation of the bag length (lookups of one sample in a table) divided by its mean, the pooling factor. 0 or "
        "empty: all bags are equally long; 1 with a pooling factor of 1: random lengths, as in a Poisson process. One number, "
        "or one per table.",
        low=0.0,
        high=10.0,
        learned=True,
    )
    history_cap: int | None = knob(
        None,
        "Longest history",
        "Most events of a user's history that a sample has, in tables of sequences; longer histories are cut. auto: no limit.",
        unit="events",
        low=1,
        high=1_000_000,
        added_later=True,
    )
    samples_per_user: float = knob(
        1.0,
        "Samples of a user",
        "Samples of one user in a GPU's batch, one after the other, each with a history one event further; 1: users are mixed.",
        unit="samples",
        low=1.0,
        high=1e6,
        added_later=True,
    )
    hot_rank_factor: tuple[float, ...] = knob(
        (),
        "Hot-rank factor",
        "Lookups of the busiest part over the mean, in a table whose rows are spread over several GPUs, nodes, servers or "
        "modules; the first part is the busiest. 0 or empty: as a hash spreads the rows. One number, or one per table.",
        low=0.0,
        high=10_000.0,
        added_later=True,
    )
    locality: float = knob(
        0.0, "Locality", "Share of repeated lookups of a row that come soon after its last use.", low=0.0, high=0.9
    )
    sample_correlation: float = knob(
        0.0,
        "Sample correlation",
        "Share of samples whose values are equally rare in all of the five largest Criteo Kaggle fields, as in real data; 0: "
        "the fields are independent.",
        low=0.0,
        high=1.0,
        learned=True,
    )
    click_rate: float = knob(
        0.256,
        "Click rate",
        "Share of generated samples with a click; the default is that of Criteo Kaggle.",
        low=0.001,
        high=0.999,
        acts="training",
    )
    batch_size: int = knob(128, "Batch size", "Samples per batch.", unit="samples", low=1, high=10**6)
    held_out_samples: int = knob(
        8192,
        "Held-out samples",
        "Samples kept out of training, on which AUC and loss are measured; a data file always keeps its last tenth.",
        unit="samples",
        low=20,
        high=10**7,
        acts="training",
    )
    seed: int = knob(
        1,
        "Data seed",
        "Seed of the generated data, of the labels' teacher model and of the initial weights.",
        low=0,
        high=2**31 - 1,
        acts="full run",
    )


def by_table(data_knobs: DataKnobs, name: str, tables: int) -> tuple[float, ...]:
    """Return the number of each table, (T,), for a knob with a list by table.

    The numbers are those of the knob's list, or else the one number that holds for all tables.
    """
    numbers: tuple[float, ...] = getattr(data_knobs, name) or (getattr(data_knobs, name[:-1], 0.0),)
    return numbers if len(numbers) == tables else numbers * tables


@dataclass(frozen=True)
class RunKnobs:
    """The knobs of a run: its length, and its limits on computing on this computer."""

    __repr__ = brief_group

    batches: int = knob(1000, "Batches", "Number of batches to train.", unit="batches", low=1, high=10**6)
    passes: int | None = knob(
        None, "Passes", "Number of passes over a data file, instead of a number of batches.", low=1, high=10_000, acts="file"
    )
    training: bool = knob(
        True,
        "Functional training",
        "Trains real weights, so that loss and AUC are known; off: only time, energy and faults.",
        acts="full run",
    )
    train_every: int = knob(
        1,
        "Train each N-th batch",
        "1 trains every batch; N trains only batches 0, N, 2N and so on, so that the run of a large model takes less time. All "
        "batches are counted and timed: time, energy and faults stay the same. Loss and AUC are those of a shorter training.",
        unit="batches",
        low=1,
        high=10**6,
        acts="training",
        added_later=True,
    )
    evaluations: int = knob(
        10,
        "Evaluations",
        "Number of measurements of held-out loss and AUC in a run.",
        low=1,
        high=1000,
        acts="training",
    )
    memory_budget_GiB: float = knob(
        2.0,
        "Memory budget",
        "Memory for the weights of a full run, which keeps only the rows that it uses; tables that need more are folded to "
        "fewer rows.",
        unit="GiB",
        low=0.01,
        high=1024,
        acts="training",
    )
    step_budget_GFLOP: float = knob(
        1.0,
        "Step budget",
        "Arithmetic of one training step in a full run; above this limit, hidden layers are narrowed by a power of two.",
        unit="GFLOP",
        low=1e-6,
        high=1e6,
        acts="training",
    )
    target_samples: float | None = knob(
        None,
        "Samples to target",
        "Samples after which the model reaches its target accuracy, for the time to target; auto: not stated.",
        unit="samples",
        low=1.0,
        high=1e15,
        added_later=True,
    )
    setup_seconds: float = knob(
        0.0,
        "Set-up time",
        "Time before the first batch that counts in the time to target.",
        unit="s",
        low=0.0,
        high=1e7,
        added_later=True,
    )
    evaluation_samples: float | None = knob(
        None,
        "Samples between evaluations",
        "Samples trained between two evaluations that count in the time to target; auto: none count.",
        unit="samples",
        low=1.0,
        high=1e15,
        added_later=True,
    )
    evaluation_seconds: float = knob(
        0.0,
        "Evaluation time",
        "Time of an evaluation that counts in the time to target; training waits for it.",
        unit="s",
        low=0.0,
        high=1e7,
        added_later=True,
    )
