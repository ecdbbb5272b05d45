"""Version numbers that travel with results: MODEL changes when a result can change."""

MODEL = "0.2"
LINK = 1
