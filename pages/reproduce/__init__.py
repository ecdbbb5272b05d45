"""Reproduce: published numbers beside ours; the page is `pages/reproduce.py`, where a cold server looks."""
