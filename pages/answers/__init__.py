"""The engine's answers for pages: at once, later, or as a run, with baselines."""
