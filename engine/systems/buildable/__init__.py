"""Whether a machine can be built, and of which parts.

`contents` counts the parts of a machine, `places` says which parts do not fit. All functions are pure functions of a settled
scenario, which is a scenario with all sizes chosen. A node is one chassis.
"""

from .contents import parts_of, states_of
from .places import does_not_fit

__all__ = ["does_not_fit", "parts_of", "states_of"]
