"""Runs: what was run; the page is `pages/runs.py`, where a cold server looks."""
