"""Who strikes, when, and what is lost: `hazard` (instants), `fault` (strikes), `catalog` (a row each)."""
