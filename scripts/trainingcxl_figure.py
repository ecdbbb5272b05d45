"""The step times of TrainingCXL RM1 and RM4 as read off the paper's figure: Kwon et al., IEEE Micro 43(2), 2023."""

# Milliseconds of one batch, read off the paper's figure (about ±0.05 ms): Embedding, Transfer, Bottom, Top, Checkpoint.
DIGITISED = {
    ("rm1", "pmem"): (14.81, 2.32, 0, 1.23, 2.25),
    ("rm1", "pcie"): (3.82, 1.09, 0, 1.30, 2.25),
    ("rm1", "cxl-d"): (3.82, 0, 0, 1.23, 1.64),
    ("rm1", "cxl-b"): (3.82, 0, 0, 1.23, 0.42),
    ("rm1", "cxl"): (3.48, 0, 0.07, 1.23, 0),
    ("rm4", "pmem"): (7.05, 1.19, 0.08, 1.27, 3.49),
    ("rm4", "pcie"): (0.04, 1.15, 3.56, 1.31, 3.48),
    ("rm4", "cxl-d"): (0.04, 0, 3.60, 1.27, 2.14),
    ("rm4", "cxl-b"): (0.04, 0, 3.60, 1.27, 0.83),
    ("rm4", "cxl"): (0.04, 0, 3.60, 1.27, 0),
}
