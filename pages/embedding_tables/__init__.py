"""Single embedding tables: a list to edit, paste and save, and results by table."""
