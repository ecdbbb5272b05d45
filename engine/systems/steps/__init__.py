"""Tasks that training systems share, by where embeddings live."""
