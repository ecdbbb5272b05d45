"""Two groups of knobs: model and policy.

The other groups are in data.py, machine.py and fault_knobs.py.
"""

from dataclasses import dataclass
from typing import Annotated

from ..registry import variant_names
from .knobs import brief_group, knob
from .storage import OPTIMIZERS, PRECISIONS


@dataclass(frozen=True)
class Model:
    """The knobs of the model: embedding tables, two MLPs, their interaction, and the optimizer."""

    __repr__ = brief_group

    name: str = knob(
        "dlrm-kaggle",
        "Model",
        "Published model whose tables and layers the scenario takes; choosing a model sets all other model knobs.",
        choices=lambda: variant_names("models"),
    )
    num_tables: int = knob(26, "Embedding tables", "Number of embedding tables of the model.", low=1, high=10_000)
    num_embeddings: tuple[int, ...] = knob(
        (1_000_000,),
        "Rows per table",
        "Rows of each table: one number for all tables, or one per table separated by ';'.",
        low=1,
        high=10**11,
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
        (1,), "Pooling factor", "Lookups per sample in each table; one number, or one per table.", low=1, high=10_000
    )
    features: int | tuple[int, ...] = knob(
        1,
        "Features of a table",
        "Number of features that share one table: each sample has one pooled vector per feature, and the table's lookups are "
        "divided among its features; one number, or one per table.",
        low=1,
        high=1000,
        by_table=True,
        added_later=True,
    )
    field_copies: int = knob(
        1,
        "Copies of a file's fields",
        "Number of tables that each field of a data file fills, each by its own hash; for models made of several copies of one "
        "model.",
        low=1,
        high=1000,
        acts="file",
    )
    feature_kind: str | tuple[str, ...] = knob(
        "bag",
        "Kind of features",
        "What a sample's lookups in a table are: a bag, pooled into one vector for each feature; or a sequence, a user's history "
        "whose vectors all reach the sequence layers. One for all tables, or one per table.",
        choices=("bag", "sequence"),
        by_table=True,
        added_later=True,
    )
    bottom_mlp: Annotated[tuple[int, ...], "widths"] = knob(
        (13, 512, 256, 64, 16),
        "Bottom MLP",
        "Layer widths, beginning with the number of dense features, such as 13-512-16; a single width: the dense features have "
        "no layers.",
        low=1,
        high=10**6,
    )
    top_mlp: Annotated[tuple[int, ...], "widths"] = knob(
        (512, 256, 1), "Top MLP", "Layer widths after the interaction; the last width is 1, the click's logit.", low=1, high=10**6
    )
    interaction: str = knob(
        "dot",
        "Feature interaction",
        "How bottom MLP and tables are joined: pairwise dot products, plain concatenation, DCNv2's cross network over the "
        "concatenation, or HSTU's attention over the events of sequence tables.",
        choices=("dot", "concat", "cross", "hstu"),
    )
    interaction_stride: int = knob(
        1,
        "Averaged features",
        "Number of neighbouring features that are averaged into one before the top MLP; only with interaction=concat.",
        low=1,
        high=1000,
        added_later=True,
    )
    projection_dim: int | None = knob(
        None,
        "Projection dim",
        "Width of the vectors in dot products: a linear layer for each table of another width brings its vectors to this width; "
        "auto: the width of the widest table.",
        low=1,
        high=4096,
        added_later=True,
    )
    cross_layers: int = knob(3, "Cross layers", "Number of layers of the cross network.", low=1, high=64)
    cross_rank: int | None = knob(
        512, "Cross rank", "Rank of the low-rank weight matrix in each cross layer; auto: the full matrix.", low=1, high=10**5
    )
    hstu_layers: int = knob(3, "HSTU layers", "Number of attention layers over a history.", low=1, high=64, added_later=True)
    hstu_dim: int = knob(
        512, "HSTU width", "Elements of a position of a history between HSTU layers.", low=1, high=16_384, added_later=True
    )
    hstu_heads: int = knob(4, "HSTU heads", "Attention heads of each HSTU layer.", low=1, high=256, added_later=True)
    hstu_head_dim: int = knob(
        128,
        "HSTU head dim",
        "Elements of a query, a key, a value and a gate in one attention head.",
        low=1,
        high=4096,
        added_later=True,
    )
    hstu_concat: bool = knob(
        True,
        "HSTU concatenation",
        "Gives the last matrix of an HSTU layer the attention, the gates and their product, as in DLRMv4; else the product.",
        added_later=True,
    )
    event_positions: int = knob(
        1,
        "Positions of an event",
        "Positions that HSTU layers attend to for each event of a history: 1, or 2 where item and action alternate.",
        low=1,
        high=8,
        added_later=True,
    )
    optimizer: str | tuple[str, ...] = knob(
        "sgd",
        "Optimizer",
        "Optimizer of the embedding tables: plain SGD; Adagrad, with one sum per row (row-wise) or per element; or lazy Adam, "
        "which updates only the rows of the batch. One for all tables, or one per table.",
        choices=OPTIMIZERS,
        by_table=True,
    )
    dense_optimizer: str | None = knob(
        None,
        "Dense optimizer",
        "Optimizer of the dense layers, in which row-wise Adagrad counts as Adagrad; auto: that of the tables, or of the first "
        "table if they differ.",
        choices=OPTIMIZERS,
        added_later=True,
    )
    row_precision: str | tuple[str, ...] = knob(
        "fp32",
        "Row precision",
        "Number format of a row's vector in memories, links and logs: fp32, fp16, bf16, or int8 with a scale per row; updates "
        "are rounded to it. One for all tables, or one per table.",
        choices=PRECISIONS,
        by_table=True,
    )
    learning_rate: float = knob(0.05, "Learning rate", "Learning rate of the optimizer.", low=1e-9, high=100.0, acts="training")
    embedding_learning_rate: float | None = knob(
        None, "Embedding learning rate", "Learning rate of the optimizer for embedding rows.", low=1e-9, high=1e6, acts="training"
    )
    initial_accumulator: float = knob(
        0.0,
        "Initial accumulator",
        "Initial value of Adagrad's sums of squared gradients; a larger value makes the first updates of a row smaller.",
        low=0.0,
        high=1e6,
        acts="training",
    )


@dataclass(frozen=True)
class Policy:
    """The knobs of the system's policies: log, lookup, caches, sharding, protection.

    "auto" means the policy that the system itself has.
    """

    __repr__ = brief_group

    log: str | None = knob(
        None,
        "Log",
        "Log of the changed rows: undo logs old values before the update, redo logs new values after it; auto: the system's own.",
        choices=("undo", "redo"),
    )
    row_checksums: bool = knob(
        False, "Row checksums", "Stores an 8 B checksum with each embedding row; a lookup checks it before the row is used."
    )
    recovery_scan: str = knob(
        "dirty",
        "Recovery scan",
        "When recovery reads the whole table to compare it with its digest: only after a dirty shutdown, or always.",
        choices=("dirty", "always"),
        acts="outages",
    )
    mlp_staleness_bound_batches: int | None = knob(
        None,
        "Checkpoint relaxation",
        "Largest age of the logged MLP, in batches, when a batch commits; 0: the MLP is logged with every batch; auto: the "
        "system's own.",
        unit="batches",
        low=0,
        high=100_000,
        main=True,
    )
    relaxed_lookup: bool | None = knob(
        None,
        "Relaxed lookup",
        "Looks up the rows of the next batch before this batch updates them, and then corrects the pooled vectors; this "
        "hides the lookup.",
    )
    input_dedup: bool = knob(
        False,
        "Input dedup",
        "Sends each row that a GPU's batch asks for once, in tables of sequences: its id and vector cross once, after a sort; "
        "in systems whose GPUs exchange the vectors that they look up.",
        added_later=True,
    )
    balanced_histories: bool = knob(
        False,
        "Balanced histories",
        "Shuffles a batch's samples among the GPUs so that each has as many events of histories to attend to.",
        added_later=True,
    )
    row_dedup: str = knob(
        "memory",
        "Row coalescing",
        "Where repeated rows of a batch are read only once, for memory behind CXL or on a card: nowhere, in the memory's logic, "
        "or on the GPU.",
        choices=("off", "memory", "gpu"),
    )
    sharding: str | None = knob(
        None,
        "Sharding",
        "How tables are divided among GPUs or nodes: whole tables, by rows, by columns, in two levels, by a planner, or evenly.",
        choices=lambda: variant_names("plans"),
    )
    plan: str = knob(
        "",
        "Plan by hand",
        "Part (GPU or node) of each table, separated by ';': 3 for a whole table, 0-7 or 0+2 for its rows over several parts, "
        "0/1 for its columns; empty: the plan of policy.sharding.",
        high=100_000,
    )
    kernel: str | tuple[str, ...] = knob(
        "auto",
        "Table kernel",
        "Where the rows of a table are looked up: hbm: in HBM; uvm: in host memory, read directly by the GPU; uvm-cache: in "
        "host memory through a cache in HBM; host: on the host, which sends pooled vectors; auto: the system's own way. One for "
        "all tables, or one per table.",
        choices=("auto", "hbm", "uvm", "uvm-cache", "host"),
        by_table=True,
        added_later=True,
    )
    stashing: str = knob(
        "off",
        "Stashing",
        "State of tables in HBM that moves to host memory while the dense layers train, in system all-hbm: nothing, the "
        "optimizer's state, the rows' weights, or both. Stashing frees HBM for activations.",
        choices=("off", "state", "weights", "both"),
    )
    prefetch: bool = knob(
        True, "Prefetch", "Reads rows for the next batch while this batch trains; in the systems mtrains and proactive."
    )
    cache_load_factor: float = knob(
        0.01, "Cache load factor", "Share of all rows that the row cache in host DRAM or HBM can hold.", low=0.0, high=1.0
    )
    cache_policy: str | None = knob(
        None,
        "Cache policy",
        "Which rows a cache evicts: the least recently used, the least often used, or the rarest in the data; with hash none, "
        "because the hash of a row decides whether it lies in HBM or in host memory.",
        choices=("lru", "lfu", "frequency", "hash"),
    )
    warm_caches: bool = knob(
        True,
        "Warm caches",
        "A full run starts with caches as filled as after long training, those inside a medium too (but not LFU caches in "
        "sets); off: it starts with empty caches.",
        acts="memories",
    )
    prefetch_batches: int = knob(
        1,
        "Prefetched together",
        "Number of batches whose rows CachedEmbedding fetches together.",
        unit="batches",
        low=1,
        high=1000,
    )
    look_ahead_batches: int = knob(
        200,
        "Look-ahead",
        "Number of next batches that Bagpipe knows: a row stays in the cache if one of them uses it.",
        unit="batches",
        low=1,
        high=100_000,
    )
    replicated_rows: float | None = knob(
        None,
        "Replicated rows",
        "GPU memory for copies of the most popular rows on every GPU, in system all-hbm; vectors of these rows need no exchange "
        "between GPUs. auto: the size with the shortest step, which is 0 unless policy.sharding=planner.",
        unit="MiB",
        low=0,
        high=1e6,
    )
    hot_rows_MiB: float = knob(
        256.0,
        "Hot rows",
        "GPU memory for the most popular rows of all tables, in systems that divide hot from cold rows.",
        unit="MiB",
        low=0.01,
        high=1e6,
        log=True,
    )

    protection: str = knob(
        "periodic-full",
        "Protection",
        "How training survives faults in a campaign of days to weeks: by a log, by checkpoints, or by copies in memory.",
        choices=lambda: variant_names("protections"),
        acts="campaign",
    )
    checkpoint_minutes: float | None = knob(
        None,
        "Checkpoint period",
        "Training time between two copies of the state, for every protection that copies; auto: the period with the least loss.",
        unit="min",
        low=1e-6,
        high=1e6,
        acts="campaign",
    )
