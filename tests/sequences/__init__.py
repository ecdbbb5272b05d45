"""Tests of models that read histories: lengths, layers, exchange, memory, claims."""
