"""Faults: what failures cost under each protection; the page is `pages/faults.py`, where a cold server looks."""
