"""History: what was run; the page is `pages/history.py`, where a cold server looks."""
