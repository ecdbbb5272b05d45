"""Devices of a machine: seconds, joules and dollars of their work.

`device` defines a device, `devices` has a file for each, `catalog` the constants of their parts.
"""
