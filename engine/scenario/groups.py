"""The groups of knobs model, policy and run, each declared once.

data.py, machine.py and fault_knobs.py have the other groups.
"""

from dataclasses import dataclass
from typing import Annotated

from ..registry import variant_names
from .knobs import brief_group, knob
from .storage import OPTIMIZERS, PRECISIONS


@dataclass(frozen=True)
class Model:
    """The recommendation model: embedding tables, two MLPs, their interaction, and the optimizer."""

    __repr__ = brief_group

    name: str = knob(
        "dlrm-kaggle", "Model", "A named model; choosing one sets the other model knobs.", choices=lambda: variant_names("models")
    )
    num_tables: int = knob(26, "Embedding tables", "How many tables the model has.", low=1, high=10_000)
    num_embeddings: tuple[int, ...] = knob(
        (1_000_000,), "Rows per table", "One number for all tables, or one per table separated by ';'.", low=1, high=10**11
    )
    embedding_dim: int | tuple[int, ...] = knob(
        16,
        "Embedding dim",
        "Elements of an embedding vector: one number for all tables, or one per table separated by ';', as in 128*10;16*600.",
        low=1,
        high=4096,
        by_table=True,
    )
    pooling: tuple[int, ...] = knob(
        (1,), "Pooling factor", "Lookups per sample and table; one number, or one per table.", low=1, high=10_000
    )
    features: int | tuple[int, ...] = knob(
        1,
        "Features of a table",
        "Features that share a table: each sample has a pooled vector of each, and its lookups are divided among them; "
        "one number, or one per table.",
        low=1,
        high=1000,
        by_table=True,
        added_later=True,
    )
    field_copies: int = knob(
        1,
        "Copies of a file's fields",
        "How many tables each field of a data file fills, each by a hash of its own, for models that are several copies of one.",
        low=1,
        high=1000,
        acts="file",
    )
    bottom_mlp: Annotated[tuple[int, ...], "widths"] = knob(
        (13, 512, 256, 64, 16),
        "Bottom MLP",
        "Layer widths, dense features first, e.g. 13-512-16; one width alone: features go in as they are.",
        low=1,
        high=10**6,
    )
    top_mlp: Annotated[tuple[int, ...], "widths"] = knob(
        (512, 256, 1), "Top MLP", "Layer widths after the interaction; the last is 1.", low=1, high=10**6
    )
    interaction: str = knob(
        "dot",
        "Feature interaction",
        "Pairwise dot products, plain concatenation, or DCNv2's cross network over the concatenation.",
        choices=("dot", "concat", "cross"),
    )
    interaction_stride: int = knob(
        1,
        "Averaged features",
        "So many neighbours of the concatenated features are averaged into one before the top MLP, under interaction=concat.",
        low=1,
        high=1000,
        added_later=True,
    )
    projection_dim: int | None = knob(
        None,
        "Projection dim",
        "Dot products need vectors of one width: a layer of each table of another width brings its vectors to this one; "
        "auto: the widest table's.",
        low=1,
        high=4096,
        added_later=True,
    )
    cross_layers: int = knob(3, "Cross layers", "Layers of the cross network.", low=1, high=64)
    cross_rank: int | None = knob(
        512, "Cross rank", "Rank of the matrix of each cross layer; auto: its full matrix.", low=1, high=10**5
    )
    optimizer: str | tuple[str, ...] = knob(
        "sgd",
        "Optimizer",
        "Plain SGD; Adagrad, with one sum for each row (row-wise) or element; or Adam, of each batch's rows alone (lazy). "
        "One for all tables, or one per table.",
        choices=OPTIMIZERS,
        by_table=True,
    )
    dense_optimizer: str | None = knob(
        None,
        "Dense optimizer",
        "The optimizer of the dense layers, which know row-wise Adagrad as Adagrad; auto: the tables', or the first table's "
        "where they have several.",
        choices=OPTIMIZERS,
        added_later=True,
    )
    row_precision: str | tuple[str, ...] = knob(
        "fp32",
        "Row precision",
        "How memories, links and logs hold a row's vector: in fp32, fp16, bf16, or int8 with a scale; updates are rounded. "
        "One for all tables, or one per table.",
        choices=PRECISIONS,
        by_table=True,
    )
    learning_rate: float = knob(0.05, "Learning rate", "Step of the optimizer.", low=1e-9, high=100.0, acts="training")
    embedding_learning_rate: float | None = knob(
        None, "Embedding learning rate", "Step of the optimizer for embedding rows.", low=1e-9, high=1e6, acts="training"
    )
    initial_accumulator: float = knob(
        0.0,
        "Initial accumulator",
        "What Adagrad's sums of squared gradients begin with: the larger, the shorter a row's first steps.",
        low=0.0,
        high=1e6,
        acts="training",
    )


@dataclass(frozen=True)
class Policy:
    """How the system keeps its guarantees; "auto" is the system's own way."""

    __repr__ = brief_group

    log: str | None = knob(
        None, "Log", "Undo: old values before the update. Redo: new values after it.", choices=("undo", "redo")
    )
    row_checksums: bool = knob(
        False, "Row checksums", "Each embedding row carries 8 B more: a checksum that a lookup checks before the row is used."
    )
    recovery_scan: str = knob(
        "dirty",
        "Recovery scan",
        "When recovery reads the whole table to compare it with its digest: after a dirty shutdown, or always.",
        choices=("dirty", "always"),
        acts="outages",
    )
    mlp_staleness_bound_batches: int | None = knob(
        None,
        "Checkpoint relaxation",
        "Largest age of the MLP log at a batch's commit; 0 is strict, auto is the system's own.",
        unit="batches",
        low=0,
        high=100_000,
        main=True,
    )
    relaxed_lookup: bool | None = knob(
        None, "Relaxed lookup", "Look the next batch up before this one's update, and correct the pooled vectors."
    )
    row_dedup: str = knob(
        "memory",
        "Row coalescing",
        "Who unites a batch's repeated rows in memory behind CXL or on a card: nobody, the memory's logic, or the GPU.",
        choices=("off", "memory", "gpu"),
    )
    sharding: str | None = knob(
        None,
        "Sharding",
        "How tables are divided among GPUs or nodes: whole, by rows, by columns, in two levels, by a planner, or evenly.",
        choices=lambda: variant_names("plans"),
    )
    plan: str = knob(
        "",
        "Plan by hand",
        "The part of each table, ';' between tables: 3, rows over several 0-7 or 0+2, columns 0/1; empty: as sharding says.",
        high=100_000,
    )
    kernel: str | tuple[str, ...] = knob(
        "auto",
        "Table kernel",
        "Where a table's rows are looked up: in HBM (hbm); in host memory by the GPU, directly (uvm) or through a cache in HBM "
        "(uvm-cache); or by the host, which sends pooled vectors (host). auto: the system's own way. One for all tables, or one "
        "per table.",
        choices=("auto", "hbm", "uvm", "uvm-cache", "host"),
        by_table=True,
        added_later=True,
    )
    stashing: str = knob(
        "off",
        "Stashing",
        "What of tables in HBM waits in host memory while the dense layers train, in system all-hbm: nothing, the optimizer's "
        "state, the rows' weights, or both. It frees HBM for activations.",
        choices=("off", "state", "weights", "both"),
    )
    prefetch: bool = knob(True, "Prefetch", "Systems mtrains and proactive read rows for the next batch while this one trains.")
    cache_load_factor: float = knob(
        0.01, "Cache load factor", "Share of rows that a cache keeps: in host DRAM, or in HBM.", low=0.0, high=1.0
    )
    cache_policy: str | None = knob(
        None,
        "Cache policy",
        "Which rows a cache lets go: the least recently used, the least often used, the rarest in the data; or none, since the "
        "hash of a row says where it stays.",
        choices=("lru", "lfu", "frequency", "hash"),
    )
    warm_caches: bool = knob(
        True,
        "Warm caches",
        "A full run begins with caches, a medium's own too, as long training fills them (not with counts in sets); off: empty.",
        acts="memories",
    )
    prefetch_batches: int = knob(
        1, "Prefetched together", "CachedEmbedding fetches the rows of so many batches at once.", unit="batches", low=1, high=1000
    )
    look_ahead_batches: int = knob(
        200, "Look-ahead", "Bagpipe keeps a row if one of so many next batches uses it.", unit="batches", low=1, high=100_000
    )
    replicated_rows: float | None = knob(
        None,
        "Replicated rows",
        "GPU memory for copies of the most popular rows, in system all-hbm; their vectors then need no exchange. "
        "auto: the size with the shortest step; 0 unless the planner shards the tables.",
        unit="MiB",
        low=0,
        high=1e6,
    )
    hot_rows_MiB: float = knob(
        256.0,
        "Hot rows",
        "GPU memory for the most frequent rows of all tables, of a system that splits hot from cold.",
        unit="MiB",
        low=0.01,
        high=1e6,
        log=True,
    )

    protection: str = knob(
        "periodic-full",
        "Protection",
        "What brings training back after a fault, in a campaign of days to weeks.",
        choices=lambda: variant_names("protections"),
        acts="campaign",
    )
    checkpoint_minutes: float | None = knob(
        None,
        "Checkpoint period",
        "Training time between two checkpoints of a protection that has them; auto: its best.",
        unit="min",
        low=1e-3,
        high=1e6,
        acts="campaign",
    )


@dataclass(frozen=True)
class RunKnobs:
    """The extent of a run, and its budget of this computer."""

    __repr__ = brief_group

    batches: int = knob(1000, "Batches", "Batches to train.", unit="batches", low=1, high=10**6)
    passes: int | None = knob(
        None, "Passes", "Passes over a data file, instead of a number of batches.", low=1, high=10_000, acts="file"
    )
    training: bool = knob(
        True, "Functional training", "Train real weights; off: timing, energy and faults only.", acts="full run"
    )
    evaluations: int = knob(10, "Evaluations", "How often held-out loss and AUC are taken.", low=1, high=1000, acts="training")
    memory_budget_GiB: float = knob(
        2.0,
        "Memory budget",
        "Rows touched by the run are kept; beyond this, tables are folded.",
        unit="GiB",
        low=0.01,
        high=1024,
        acts="training",
    )
    step_budget_GFLOP: float = knob(
        1.0,
        "Step budget",
        "Beyond this, hidden widths are divided by a power of two.",
        unit="GFLOP",
        low=1e-6,
        high=1e6,
        acts="training",
    )
