"""What the network between GPUs does to a collective and to a step, beside what was measured."""
