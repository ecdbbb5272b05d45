"""Who strikes, when, and what is lost: `fault` (instants and strikes), `catalog` (a row each), published `rates`."""
