"""Why: where a speed-up comes from; the page is `pages/why.py`, where a cold server looks."""
