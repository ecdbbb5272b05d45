"""Memory of a row: its vector by precision, and fp32 optimizer state.

The words are beside the row and beside each MLP weight. A narrow row has elements of 2 B or 1 B; int8 has one fp32 scale a row
more. Optimizer state is always fp32: SGD keeps none, Adagrad a sum of squared gradients of each element, row-wise Adagrad one of
a whole row's mean square (its MLPs have Adagrad's), Adam two running means of each element, of the gradient and of its square.
"""

from ..units import FLOAT32

OPTIMIZERS = ("sgd", "rowwise-adagrad", "adagrad", "adam")
ACCUMULATING_OPTIMIZERS = ("rowwise-adagrad", "adagrad")  # optimizers with sums, which can begin above 0
STATE_WORDS = {"sgd": 0, "rowwise-adagrad": 1, "adagrad": 1, "adam": 2}
ELEMENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}  # bytes of a vector's element by precision
PRECISIONS = tuple(ELEMENT_BYTES)


def row_state(optimizer: str, dim: int) -> int:
    """Return the words of optimizer state of a row of `dim` elements."""
    return 1 if optimizer == "rowwise-adagrad" else STATE_WORDS[optimizer] * dim


def mlp_state(optimizer: str) -> int:
    """Return the words of optimizer state of each weight and bias of the MLPs."""
    return STATE_WORDS[optimizer]


def scale_words(precision: str) -> int:
    """Return the scale words of a row: one, or none."""
    return int(precision == "int8")


def stored_bytes(precision: str, dim: int) -> int:
    """Return the bytes of a stored vector of `dim` elements, with its scale."""
    return dim * ELEMENT_BYTES[precision] + scale_words(precision) * FLOAT32
