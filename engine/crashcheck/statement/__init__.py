"""The statement: medium, recovery and persistence models once more, as docs/persistence.md states them.

These modules share no code with `engine.persistence`. So an error there that its own reader undoes is found too.
"""
