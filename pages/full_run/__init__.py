"""Full runs on the page Design: faults placed on a run, the run itself, and the same fault on other machines."""
