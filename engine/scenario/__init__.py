"""The question: knobs in groups, the scenario that holds them, its key, and presets.

The modules are `knobs`, the groups (`groups`, `data`, `machine`, `fault_knobs`), then `scenario`, `keys` and `presets`.
"""
