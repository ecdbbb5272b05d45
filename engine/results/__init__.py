"""Results of a run or an estimate: report, ledger, metrics and tables."""
