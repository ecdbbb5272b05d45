"""Exchange: the traffic between parts with tables, and the replicated rows without traffic."""
