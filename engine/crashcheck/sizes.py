"""How small the explorer's runs are: from one that can be explored to the last word to one of thousands of rows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Rows of the table, elements of a row, bytes of the MLP, batches, and rows that a batch touches."""

    num_rows: int
    dim: int
    mlp_bytes: int
    batches: int
    touched: int


SIZES = {
    "tiny": Size(3, 3, 16, 3, 2),
    "small": Size(8, 9, 88, 5, 4),
    "large": Size(2048, 16, 4096, 8, 200),
}
