"""Knobs in groups, the scenario that holds all knobs, its key, and presets.

The modules in the order of their imports are `knobs`, the groups (`groups`, `data`, `machine`, `fault_knobs`), then `scenario`,
`keys` and `presets`.
"""
