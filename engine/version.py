"""Version numbers that travel with results: MODEL changes when a result can change."""

MODEL = "0.4"
LINK = 1
