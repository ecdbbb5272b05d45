"""Faults, their strikes and losses: `fault` (instants and strikes), `catalog` (a row each), published `rates`."""
