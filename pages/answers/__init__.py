"""The engine's answers for pages: at once, later, or as a run, and against which baseline."""
