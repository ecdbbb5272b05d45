"""Answers of the engine as pages ask for them: at once, later, or as a run; for what data, and against which baseline."""
