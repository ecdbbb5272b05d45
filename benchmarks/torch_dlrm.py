"""Emberpool's DLRM in PyTorch, the peer of P1: EmbeddingBag with sparse gradients.

The optimizer is SGD or Adagrad.
"""

from typing import Any

import numpy as np

from engine.training.lookup import LocalBatch
from engine.training.optimizers import EPSILON
from engine.training.shape import Shape
from engine.training.weights import Weights, layers


class TorchDlrm:
    """A PyTorch model that starts with Emberpool's weights; its tables are all alike.

    `step` trains on one batch and returns the mean loss.
    """

    def __init__(self, shape: Shape, weights: Weights) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch, self.shape = torch, shape
        (rows,) = weights.blocks
        self.table = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(rows.vectors), freeze=False, mode="sum", sparse=True)
        self.bottom = self._mlp(layers(shape, weights.mlp, "bottom"), last_relu=True)
        self.top = self._mlp(layers(shape, weights.mlp, "top"), last_relu=False)
        parameters = [*self.table.parameters(), *self.bottom.parameters(), *self.top.parameters()]
        rate = shape.learning_rate
        sgd = shape.dense_optimizer == "sgd"
        self.optimizer = torch.optim.SGD(parameters, lr=rate) if sgd else torch.optim.Adagrad(parameters, lr=rate, eps=EPSILON)
        self.pairs = torch.tril_indices(len(shape.rows) + 1, len(shape.rows) + 1, offset=-1)

    def _mlp(self, parts: Any, last_relu: bool) -> Any:
        torch, modules = self.torch, []
        for number, part in enumerate(parts):
            linear = torch.nn.Linear(part.weight.shape[1], part.weight.shape[0])
            linear.weight.data, linear.bias.data = torch.tensor(part.weight), torch.tensor(part.bias)
            modules.append(linear)
            if last_relu or number + 1 < len(parts):
                modules.append(torch.nn.ReLU())
        return torch.nn.Sequential(*modules)

    def step(self, batch: LocalBatch) -> float:
        """Train on a batch with equally many lookups in each bag; return the mean loss."""
        torch, tables, samples = self.torch, len(self.shape.rows), len(batch.labels)
        ids = torch.from_numpy(batch.lookups[0].places.astype(np.int64))
        pooled = self.table(ids, torch.arange(0, ids.numel(), self.shape.pooling[0])).view(tables, samples, -1).transpose(0, 1)
        dense = self.bottom(torch.from_numpy(batch.dense))
        vectors = torch.cat([dense[:, None], pooled], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        logits = self.top(torch.cat([dense, products], dim=1)).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(batch.labels))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())
