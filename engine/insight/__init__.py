"""Insights: the causes of a result, as differences between many estimates.

Pages say them in words.
Read `cost` (one estimate's seconds and joules), then `decomposition` (what each step from pmem to cxl saves),
`relaxation` (how stale the MLP log must be allowed to be, and when that pays) and `saturation` (when more CXL bandwidth
stops helping).
"""
