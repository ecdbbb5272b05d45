"""The schedule: when each task of each batch runs and at what cost, for one design point or many."""
