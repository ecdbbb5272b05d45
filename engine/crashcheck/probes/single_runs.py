"""The probes that run once, by the size in a configuration's name."""

from ..far_rows import far_rows_problem
from ..reference_run import Configuration, Wrap
from .media import media_problem
from .misuse import misuse_problem
from .writer import writer_problem

PROBES = {"far": far_rows_problem, "media": media_problem, "misuse": misuse_problem, "writer": writer_problem}


def single_run_problem(variant: Configuration, seed: int, wrap: Wrap | None) -> str:
    """Return a sentence if the probe of a configuration finds an error, else "". Raises NoVerdict."""
    return PROBES[variant.size](variant, seed, wrap)
