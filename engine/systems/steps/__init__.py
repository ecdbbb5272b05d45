"""Tasks that training systems share, in a module for each place of the tables."""
