"""The bar on top of every page: the scenario in a line, what it is measured against, what differs, undo and Share."""
