"""Devices of a machine: seconds, joules and dollars of their work.

`device` defines what a device is, `devices` has a file for each device. The constants come from the catalogue of parts.
"""
