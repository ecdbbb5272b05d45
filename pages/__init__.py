"""The explorer: shared parts below, a room for each page, the shell around them, scripts on top."""
