"""The kernel of each table, which is where the table's rows are looked up."""
