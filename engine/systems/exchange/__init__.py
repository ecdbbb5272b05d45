"""Exchange: the traffic between parts with tables, and the rows that need none."""
