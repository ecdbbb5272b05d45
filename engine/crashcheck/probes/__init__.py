"""Probes of what training does not reach.

These are formatting, the explorer's medium, the simulator's writer, and misuse.
"""
