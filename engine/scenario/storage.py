"""Memory of an embedding row: its vector in the chosen precision, and optimizer state.

An element of a narrow row has 2 B or 1 B; an int8 row has one fp32 scale more. Optimizer state is always fp32. SGD keeps no
state. Adagrad keeps, for each element, the sum of its squared gradients. Row-wise Adagrad keeps, for each row, the sum of its
mean squared gradients, and Adagrad's state for MLPs. Adam keeps, for each element, two running means: of the gradient and of its
square. MLP weights have the same state as elements.
"""

from ..units import FLOAT32

OPTIMIZERS = ("sgd", "rowwise-adagrad", "adagrad", "adam")
ACCUMULATING_OPTIMIZERS = ("rowwise-adagrad", "adagrad")  # optimizers with sums, which can begin above 0
STATE_WORDS = {"sgd": 0, "rowwise-adagrad": 1, "adagrad": 1, "adam": 2}
ELEMENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}  # bytes of a vector's element by precision
PRECISIONS = tuple(ELEMENT_BYTES)


def row_state(optimizer: str, dim: int) -> int:
    """Return the fp32 words of optimizer state of an embedding row with `dim` elements."""
    return 1 if optimizer == "rowwise-adagrad" else STATE_WORDS[optimizer] * dim


def mlp_state(optimizer: str) -> int:
    """Return the fp32 words of optimizer state of each weight and bias of the MLPs."""
    return STATE_WORDS[optimizer]


def scale_words(precision: str) -> int:
    """Return the fp32 scale words of an embedding row: 1 for int8, else 0."""
    return int(precision == "int8")


def stored_bytes(precision: str, dim: int) -> int:
    """Return the bytes of a stored vector of `dim` elements, including its scale."""
    return dim * ELEMENT_BYTES[precision] + scale_words(precision) * FLOAT32
