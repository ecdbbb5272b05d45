"""Explore: one machine for one model; the page is `pages/explore.py`, where a cold server looks."""
