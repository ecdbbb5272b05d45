"""Sweep: many design points, and which of them is best; the page is `pages/sweep.py`, where a cold server looks."""
