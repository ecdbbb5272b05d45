"""The gate before the pages: the server's names, and the visitors' token."""
