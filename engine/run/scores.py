"""How good a trained model is, on samples that it has not seen and on those that it trained on last."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """What the functional training reached; None where it was off or cannot be said."""

    loss: float | None = None
    auc: float | None = None
    accuracy: float | None = None
    training_loss: float | None = None
    training_auc: float | None = None
