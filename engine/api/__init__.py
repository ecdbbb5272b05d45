"""The public interface for scripts and notebooks: choose scenarios, run them, read tables.

    >>> import emberpool as ep
    >>> table = ep.estimate("dlrm-kaggle", cxl_bandwidth_GBps=[8, 16, 32], system="pmem")
    >>> table.frame[["CXL bandwidth [GB/s]", "Step time [ms]"]].shape
    (3, 2)

A knob is named by its path (`machine.cxl_bandwidth_GBps`), by its title, or by the last part of its path if no other knob has
the same last part. In a keyword, `__` stands for the point of the path. Any iterable spans an axis; a flat tuple is one value of
a knob that takes several numbers. A base is a preset's name, a scenario, a result, a row of a table, a link or a file. The names
in this module are stable: before a name is removed, its use warns for a whole minor version.
"""

from ..errors import BadInput, BadKnob, CannotRun, EmberpoolError
from ..results.result import Result
from ..scenario.scenario import Scenario
from ..version import release
from .calls import cite, decide, enough, estimate, fit, knobs, link, load, run, scenario, sweep
from .failures import failures
from .parts import parts
from .presets import presets
from .table import Table

__version__ = release()

__all__ = [
    "BadInput",
    "BadKnob",
    "CannotRun",
    "EmberpoolError",
    "Result",
    "Scenario",
    "Table",
    "cite",
    "decide",
    "enough",
    "estimate",
    "failures",
    "fit",
    "knobs",
    "link",
    "load",
    "parts",
    "presets",
    "run",
    "scenario",
    "sweep",
]
