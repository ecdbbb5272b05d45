"""Data, at its old address: a cold server knows an address by its file alone."""

from pages.shell import frame

frame.guard()
frame.lead_to_new_place("workload")
