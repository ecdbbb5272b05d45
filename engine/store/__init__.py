"""The store: one SQLite file with results, trainings, requests and their points."""
