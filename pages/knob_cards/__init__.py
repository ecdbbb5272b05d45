"""Cards of knobs: a knob, its strip of step time, energy and price, and a line on what it moves."""
