"""Whether a machine can be built, of which parts, and which software runs it.

`contents` counts the parts of a machine, `places` says which parts do not fit, and `software` which software runs
the machine. All functions are pure functions of a settled
scenario, which is a scenario with all sizes chosen. A node is one chassis.
"""

from .contents import parts_of, spare_gpus_note, states_of
from .places import does_not_fit
from .software import missing_words, software_sentence

__all__ = ["does_not_fit", "missing_words", "parts_of", "software_sentence", "spare_gpus_note", "states_of"]
