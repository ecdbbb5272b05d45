"""The command, as `python -m emberpool`: the same as `emberpool`."""

import sys

from .engine.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
