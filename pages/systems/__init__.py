"""Compare: training systems side by side; the page is `pages/compare.py`, where a cold server looks."""
