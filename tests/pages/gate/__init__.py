"""The gate before the pages."""
