"""The gate before the pages: under which names the server answers, and who has shown the token."""
