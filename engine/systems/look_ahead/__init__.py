"""Systems that read the next batches' indices, to have their rows in HBM in time."""
