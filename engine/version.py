"""Version numbers that travel with results: MODEL changes when a result can change."""

MODEL = "0.1"
LINK = 1
