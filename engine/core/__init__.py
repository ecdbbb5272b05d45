"""The words that every room speaks: arrays, tasks and graphs, kinds of work, parts' constants, memo; no scenario is known."""
