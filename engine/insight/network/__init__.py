"""Insights into the network between GPUs: collectives and steps beside measured ones."""
