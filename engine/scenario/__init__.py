"""The scenario, one frozen value of knobs: its groups, presets, keys, data file and fault trace."""
