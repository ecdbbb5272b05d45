"""Values of many design points that are computed as one value."""
