"""What is asked: `knobs`, the groups (`groups`, `data`, `machine`, `fault_knobs`), then `scenario`, `keys` and `presets`."""
