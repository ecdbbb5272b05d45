"""Insights into the network between GPUs: simulated collectives and steps beside published ones."""
