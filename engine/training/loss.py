"""Binary cross-entropy of logits, and its gradient."""

import numpy as np

from ..core.arrays import Singles


def losses(logits: Singles, labels: Singles) -> Singles:
    """Return each sample's loss, in nats, without overflow for any logit."""
    zero = np.float32(0.0)
    positive = np.maximum(logits, zero)
    return np.asarray(positive - logits * labels + np.log1p(np.exp(-np.abs(logits))), dtype=np.float32)


def loss_gradient(logits: Singles, labels: Singles) -> Singles:
    """Return the gradient of the mean loss: (click probability - label) / B."""
    small = np.exp(-np.abs(logits))
    probability = np.where(logits >= 0, np.float32(1.0), small) / (np.float32(1.0) + small)
    return np.asarray((probability - labels) / np.float32(len(labels)), dtype=np.float32)
