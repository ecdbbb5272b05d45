"""The cache policies that need a file of their own; LRU, the look-ahead cache and the static one need none."""
