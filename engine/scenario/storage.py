"""What an optimizer keeps in memory beside the model, in words of fp32: beside a row's vector, and beside each MLP weight.

SGD keeps nothing. Adagrad keeps a sum of squared gradients of each element, row-wise Adagrad one of a whole row's mean square
(its MLPs have Adagrad's). Adam keeps two running means of each element, of the gradient and of its square.
"""

OPTIMIZERS = ("sgd", "rowwise-adagrad", "adagrad", "adam")
BESIDE_A_WEIGHT = {"sgd": 0, "rowwise-adagrad": 1, "adagrad": 1, "adam": 2}


def row_state(optimizer: str, dim: int) -> int:
    """Return the words of state of a row of `dim` elements."""
    return 1 if optimizer == "rowwise-adagrad" else BESIDE_A_WEIGHT[optimizer] * dim


def mlp_state(optimizer: str) -> int:
    """Return the words of state of each weight and bias of the MLPs."""
    return BESIDE_A_WEIGHT[optimizer]
