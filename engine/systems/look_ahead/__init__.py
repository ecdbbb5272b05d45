"""Systems that look at coming batches to have their rows in HBM in time."""
