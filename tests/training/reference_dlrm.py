"""An independent DLRM step in float64 numpy, written from the model's definition and used as an oracle.

Embeddings are dictionaries from row to vector, MLPs lists of (weight, bias); nothing is shared with the engine
but the streams of random bits that narrow rows are rounded by.
"""

from itertools import pairwise

import numpy as np

from engine.core.hashing import Purpose, key
from tests.oracles.stochastic_rounding import rounded, words
from tests.training.training_models import all_rows


class ReferenceDlrm:
    """A DLRM whose `loss` is a plain formula and whose `step` follows the chain rule written out."""

    def __init__(self, shape, weights):
        self.shape = shape
        self.kinds = [span for span in shape.spans for _ in range(span.tables)]  # of each table
        self.ends = np.cumsum(shape.rows)
        self.table = {row: vector.astype(np.float64) for row, vector in all_rows(weights)}
        self.bottom, self.top, self.cross, self.projections = self.dense_layers(weights.mlp.astype(np.float64))
        self.state: dict = {}  # what the optimizer keeps of each row and array, by a name of its own
        self.batches, self.seed = 0, weights.seed

    def dense_layers(self, flat):
        """Return (weight, bias) of each MLP, (weight, bias, projection) of the cross network, and projected tables' matrices."""
        shape, width = self.shape, self.shape.bottom[-1]
        count = len(self.kinds)
        features = width + sum(kind.dim for kind in self.kinds)
        dots = shape.interaction == "dot"

        def take(*size):
            nonlocal flat
            part, flat = flat[: int(np.prod(size))].reshape(size), flat[int(np.prod(size)) :]
            return part

        top = (width + (count + 1) * count // 2 if dots else features, *shape.top)
        mlps = [[(take(n, m), take(n)) for m, n in pairwise(widths)] for widths in (shape.bottom, top)]
        cross = [[take(features, r or features), take(features), take(r, features) if r else None] for r in shape.ranks]
        projections = {t: take(width, kind.dim) for t, kind in enumerate(self.kinds) if dots and kind.dim != width}
        assert not flat.size
        return *mlps, cross, projections

    def bags(self, batch):
        """Yield (table, sample, rows of the bag)."""
        position, size = 0, len(batch.labels)
        for table, pooling in enumerate(self.shape.pooling):
            for sample in range(size):
                length = pooling if batch.starts is None else int(np.diff(batch.starts)[table * size + sample])
                yield table, sample, [int(row) for row in batch.ids[position : position + length]]
                position += length

    def forward(self, batch):
        """Return (bottom activations, pooled vectors of each table, top activations)."""
        dense = [batch.dense.astype(np.float64)]
        for w, b in self.bottom:
            dense.append(np.maximum(self.operand(dense[-1]) @ self.operand(w).T + b, 0.0))
        pooled = [np.zeros((len(batch.labels), kind.dim)) for kind in self.kinds]
        for table, sample, rows in self.bags(batch):
            pooled[table][sample] = sum(self.table[row] for row in rows)
        top = [self.crossed(self.interact(dense[-1], pooled))]
        for k, (w, b) in enumerate(self.top):
            z = self.operand(top[-1]) @ self.operand(w).T + b
            top.append(z if k == len(self.top) - 1 else np.maximum(z, 0.0))
        return dense, pooled, top

    def interact(self, dense, pooled):
        """Return the top MLP's input."""
        if self.shape.interaction != "dot":
            return np.concatenate([dense, *pooled], axis=1)
        vectors = self.vectors(dense, pooled)
        products = [(vectors[:, i] * vectors[:, j]).sum(1) for i in range(vectors.shape[1]) for j in range(i)]
        return np.concatenate([dense, np.stack(products, axis=1)], axis=1)

    def vectors(self, dense, pooled):
        """Return the vectors of which products are made, (B, T + 1, D)."""
        projected_vectors = [
            self.operand(v) @ self.operand(self.projections[t]).T if t in self.projections else v for t, v in enumerate(pooled)
        ]
        return np.stack([dense, *projected_vectors], axis=1)

    def loss(self, batch):
        """Return the mean binary cross-entropy, straight from its definition."""
        probability = 1.0 / (1.0 + np.exp(-self.forward(batch)[2][-1][:, 0]))
        clicks = batch.labels.astype(np.float64)
        return float(-np.mean(clicks * np.log(probability) + (1.0 - clicks) * np.log1p(-probability)))

    def gradients(self, batch):
        """Return (row gradients, bottom gradients, top gradients, those of the cross network and of projections)."""
        dense, pooled, top = self.forward(batch)
        delta = (1.0 / (1.0 + np.exp(-top[-1])) - batch.labels[:, None]) / len(batch.labels)
        top_gradient, delta = self.mlp_gradient(self.top, top, delta)
        cross_gradient, delta = self.cross_gradient(self.interact(dense[-1], pooled), delta)
        dense_delta, pooled_delta, matrices = self.interact_gradient(dense[-1], pooled, delta)
        bottom_gradient, _ = self.mlp_gradient(self.bottom, dense, dense_delta * (dense[-1] > 0))
        rows: dict[int, np.ndarray] = {}
        for table, sample, bag in self.bags(batch):
            for row in bag:
                rows[row] = rows.get(row, 0.0) + pooled_delta[table][sample]
        return rows, bottom_gradient, top_gradient, cross_gradient, matrices

    def crossed(self, inputs):
        """Return x0 * (W x + b) + x of each layer of the cross network."""
        x = inputs
        for weight, bias, projection in self.cross:
            x = inputs * ((x if projection is None else x @ projection.T) @ weight.T + bias) + x
        return x

    def cross_gradient(self, inputs, delta):
        """Return the gradients of each (weight, bias, projection) and of the inputs: by complex steps, as it is a polynomial."""
        tiny, layers = 1e-30, self.cross
        gradients = [[None if part is None else np.empty_like(part) for part in layer] for layer in layers]
        for layer, parts in enumerate(layers):
            for k, part in enumerate(parts):
                for place in np.ndindex(() if part is None else part.shape):
                    if part is not None:
                        self.cross = [list(arrays) for arrays in layers]
                        self.cross[layer][k] = part.astype(complex)
                        self.cross[layer][k][place] += 1j * tiny
                        gradients[layer][k][place] = (delta * self.crossed(inputs).imag / tiny).sum()
        self.cross, of_inputs = layers, np.empty_like(delta)
        for column in range(inputs.shape[1]):
            turned = inputs.astype(complex)
            turned[:, column] += 1j * tiny
            of_inputs[:, column] = (delta * self.crossed(turned).imag / tiny).sum(axis=1)
        return gradients, of_inputs if layers else delta

    def interact_gradient(self, dense, pooled, delta):
        """Return the gradients of the dense and the pooled vectors, and of the projections."""
        width = dense.shape[1]
        if self.shape.interaction != "dot":
            cuts = np.cumsum([kind.dim for kind in self.kinds])[:-1]
            return delta[:, :width], np.split(delta[:, width:], cuts, axis=1), {}
        vectors = self.vectors(dense, pooled)
        square = np.zeros((len(dense), vectors.shape[1], vectors.shape[1]))
        square[:, *np.tril_indices(vectors.shape[1], -1)] = delta[:, width:]
        vector_gradients = (square + square.transpose(0, 2, 1)) @ vectors
        of_pooled, matrices, scale = [], {}, 128.0 * len(dense)
        for t, vector in enumerate(pooled):
            slope = vector_gradients[:, 1 + t]
            if t in self.projections:
                less = self.operand(slope * scale) / scale
                matrices[t], slope = less.T @ self.operand(vector), less @ self.operand(self.projections[t])
            of_pooled.append(slope)
        return vector_gradients[:, 0] + delta[:, :width], of_pooled, matrices

    def step(self, batch):
        """Train on `batch` and return its loss before the update."""
        loss = self.loss(batch)
        rows, *parts, matrices = self.gradients(batch)
        self.batches += 1
        for row, gradient in rows.items():
            kind = self.kinds[int(np.searchsorted(self.ends, row, side="right"))]
            self.table[row] = self.rounded_row(
                row, self.table[row] - self.descent(row, gradient, kind.optimizer, is_row=True), kind
            )
        for part, (layers, gradients) in enumerate(zip((self.bottom, self.top, self.cross), parts, strict=True)):
            for layer, (pair, slopes) in enumerate(zip(layers, gradients, strict=True)):
                for k, (weights, slope) in enumerate(zip(pair, slopes, strict=True)):
                    if slope is not None:
                        weights -= self.descent((part, layer, k), slope, self.shape.dense_optimizer, is_row=False)
        for t, slope in matrices.items():
            self.projections[t] -= self.descent(("projection", t), slope, self.shape.dense_optimizer, is_row=False)
        return loss

    def rounded_row(self, row, values, kind):
        """Return what the row holds of its new values, rounded at random where it is narrow."""
        precision = kind.precision
        if precision == "fp32":
            return values
        return rounded(precision, values, words(int(key(self.seed, Purpose.ROUNDING, self.batches - 1)), row, len(values)))

    def descent(self, name, slope, kind, is_row):
        """Return the step against a gradient by the optimizer's published formula; `name` is what it keeps its state under."""
        rate = (self.shape.row_rate if is_row else None) or self.shape.learning_rate
        if kind == "sgd":
            return rate * slope
        if kind == "adam":
            mean, square = self.state.get(name, (0.0, 0.0))
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            self.state[name] = mean, square
            mean_correction, square_correction = 1 - 0.9**self.batches, 1 - 0.999**self.batches
            small = 1e-8 / np.sqrt(square_correction) if is_row else 1e-8  # PyTorch's SparseAdam adds it before the correction
            return rate * (mean / mean_correction) / (np.sqrt(square / square_correction) + small)
        gained = np.mean(slope**2) if is_row and kind == "rowwise-adagrad" else slope**2
        self.state[name] = self.state.get(name, self.shape.initial_accumulator) + gained
        return rate * slope / (np.sqrt(self.state[name]) + 1e-8)

    def mlp_gradient(self, layers, outputs, delta):
        """Return the gradients of each (weight, bias), and that of the input; `delta` is that of the last linear output."""
        gradients, scale = [], 128.0 * len(delta)
        for k in range(len(layers) - 1, -1, -1):
            less = self.operand(delta * scale) / scale
            gradients.insert(0, (less.T @ self.operand(outputs[k]), delta.sum(0)))
            delta = less @ self.operand(layers[k][0])
            if k:
                delta = delta * (outputs[k] > 0)
        return gradients, delta

    def operand(self, values):
        """Return what a product of the shape's precision takes: the nearest number of so many binary digits, ties to even."""
        digits = {"fp32": 53, "tf32": 11, "bf16": 8, "fp16": 11}[self.shape.matrix_precision]
        if digits == 53:
            return values
        _, power = np.frexp(values)
        place = power - digits
        if self.shape.matrix_precision == "fp16":
            place = np.maximum(place, -24)
        return np.ldexp(np.rint(np.ldexp(values, -place)), place)
