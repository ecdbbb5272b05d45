"""Training systems: a folder for each family, a file for each system.

Read `traffic` (demand of batches), `system` (definition of a system), `steps` (shared tasks), then `trainingcxl/cxl_d.py` before
`trainingcxl/cxl.py`; `placement` and `capacity` say where tables lie and whether they fit.
"""
