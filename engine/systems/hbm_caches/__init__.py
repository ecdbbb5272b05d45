"""Systems with a cache of rows in HBM."""
