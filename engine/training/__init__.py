"""Functional training: a real DLRM on only the rows that a run uses.

A training step has a forward pass, a backward pass and a sparse update of the rows.

Read in this order: `shape` (the model's shape), `weights` (the state), `lookup` and `layers` (the parts), `step` and
`optimizers` (one batch), and `loop` (many batches, and evaluation).

    seen = rows_of([*ids_of_batches, held_out.ids])
    shape = scaled_shape(scenario, seen)
    trained = train(shape, initial_weights(shape, seen, seed), source.batch, 0, 1000, held_out=held_out)
"""
