"""Results: the report, the ledger, the table of metrics and the tables that come out of a run or an estimate."""
