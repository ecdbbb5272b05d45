"""The engine's answers for pages: computed at once, in another process, or as a run; and baselines."""
