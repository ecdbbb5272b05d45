"""Whether a machine can be built, and of which parts.

`contents` counts its parts, `places` says which parts do not fit. All are pure functions over a settled scenario. A node is one
chassis.
"""

from .contents import parts_of, states_of
from .places import does_not_fit

__all__ = ["does_not_fit", "parts_of", "states_of"]
