"""Exchange: what crosses between the parts that have tables, and which rows need not."""
