"""PyTorch's HSTU in float64, trained on the weights and batches of the tests: what the engine's training is held to."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from engine.training.shape import Shape
from engine.training.weights import Weights, dense_layers
from engine.workload.batch import Batch
from tests.training.histories.history_models import ORACLES, oracle_run


def row_vectors(weights: Weights) -> np.ndarray:
    """Return the vectors of all rows, which are equally wide, (R, dim)."""
    return np.concatenate([block.vectors for block in weights.blocks])


class Hstu(nn.Module):
    """The trained model, with the rows of all tables as one parameter."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        super().__init__()
        self.shape, layers = shape, dense_layers(shape, weights.mlp)
        self.rows = nn.Parameter(torch.from_numpy(row_vectors(weights).astype(np.float64)))
        everything = (*layers.bottom, *layers.top, *layers.histories.linear)
        self.dense = nn.ParameterList([torch.from_numpy(part.astype(np.float64)) for layer in everything for part in layer])
        self.numbers = weights.rows

    def mlp(self, parameters, count: int, x, last_relu: bool = False):
        """Return the output of an MLP of so many layers, whose weights and biases come next."""
        for number in range(count):
            x = functional.linear(x, next(parameters), next(parameters))
            x = torch.relu(x) if last_relu or number < count - 1 else x
        return x

    def forward(self, batch: Batch):
        """Return the logits of a batch."""
        hstu, parameters, size = self.shape.hstu, iter(self.dense), len(batch.labels)
        vectors, position = self.rows[torch.from_numpy(np.searchsorted(self.numbers, batch.ids))], 0
        dense = self.mlp(parameters, len(self.shape.bottom) - 1, torch.from_numpy(batch.dense).double(), last_relu=True)
        top = iter([next(parameters) for _ in range(2 * len(self.shape.top))])
        history, bags = [], []
        for pooling, lookups in zip(self.shape.pooling, hstu.lookups, strict=True):
            bag = vectors[position : position + size * pooling].reshape(size, pooling, -1)
            position += size * pooling
            (history if lookups else bags).append(bag)
        history = torch.cat(history, dim=2)
        events, candidate = self.mlp(parameters, 2, history[:, :-1]), self.mlp(parameters, 2, history[:, -1:])
        contexts = self.mlp(parameters, 2, torch.stack([dense, *(bag.sum(dim=1) for bag in bags)], dim=1))
        x = torch.cat([contexts, events, candidate], dim=1)
        seen = torch.ones(x.shape[1], x.shape[1]).tril().bool()
        seen[:, : contexts.shape[1]] = True
        for _ in range(hstu.layers):
            x = self.layer(parameters, x, seen)
        return self.mlp(top, len(self.shape.top), x[:, -1])[:, 0]

    def layer(self, parameters, x, seen):
        """Return the output of one HSTU layer, heads by einsum."""
        hstu, positions = self.shape.hstu, x.shape[1]
        normed = functional.layer_norm(x, x.shape[-1:], eps=1e-6)
        active = functional.silu(functional.linear(normed, next(parameters), next(parameters)))
        u, v, q, k = (part.reshape(len(x), positions, hstu.heads, -1) for part in active.chunk(4, dim=2))
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / hstu.head_dim**0.5
        attention = functional.silu(scores) / positions * seen
        attended = torch.einsum("bhij,bjhd->bihd", attention, v).flatten(2)
        attended, u = functional.layer_norm(attended, attended.shape[-1:], eps=1e-6), u.flatten(2)
        return x + functional.linear(torch.cat([attended, u, u * attended], dim=2), next(parameters), next(parameters))


def torch_history_run(name: str) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Return the loss of each step, then the dense weights and the vectors of rows after all steps."""
    torch.set_num_threads(1)
    shape, (weights, batches) = ORACLES[name], oracle_run(name)
    net, losses = Hstu(shape, weights), []
    if shape.dense_optimizer == "sgd":
        optimizer: torch.optim.Optimizer = torch.optim.SGD(net.parameters(), lr=shape.learning_rate)
    else:
        first = shape.initial_accumulator
        optimizer = torch.optim.Adagrad(net.parameters(), lr=shape.learning_rate, eps=1e-8, initial_accumulator_value=first)
    for batch in batches:
        loss = functional.binary_cross_entropy_with_logits(net(batch), torch.from_numpy(batch.labels).double())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    dense = torch.cat([part.detach().reshape(-1) for part in net.dense]).numpy()
    return losses, dense, net.rows.detach().numpy()
