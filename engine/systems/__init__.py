"""Training systems: a folder for each family, a file for each system.

Read the modules in this order: `traffic` (what batches demand), `system` (what defines a system), `steps` (tasks that systems
share), `trainingcxl/cxl_d.py`, `trainingcxl/cxl.py`. `placement` and `capacity` compute where tables lie and whether they fit.
"""
