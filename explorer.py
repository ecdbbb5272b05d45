"""Starts the explorer as `make run` does: app.py behind the gate that keeps other sites away and knows the token."""

import sys

from pages.gate.launch import main

if __name__ == "__main__":
    sys.exit(main())
