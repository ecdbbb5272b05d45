"""The check of each request before the pages: the server's names, and the visitor's token."""
