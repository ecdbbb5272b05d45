"""Workload: how the data is accessed; the page is `pages/workload.py`, where a cold server looks."""
