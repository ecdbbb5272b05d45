"""Insights: the causes of a result, computed as differences between estimates.

The explorer's pages print each insight as a sentence.
Read `cost` (seconds and joules of one estimated batch) first. Then read `decomposition` (the saving of each step from system
pmem to system cxl), `relaxation` (how old the MLP log must be allowed to be, and when that saves time) and `saturation` (the CXL
bandwidth beyond which the step gets no faster).
"""
