"""Contradictions: pairs of knobs of which only one may be set.

Both decide the same thing. While the second of a pair differs from its default, the first has no effect. So a scenario that sets
both is refused, and a page that changes one sets the other back.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from ..errors import BadKnob
from . import knobs
from .knobs import Knob

Declarations = Mapping[str, Knob]  # by path
Settings = Callable[[str], Any]  # the value of a knob by path
MAX_TEXT_LENGTH = 40


class Contradiction(NamedTuple):
    """Two knobs that decide the same thing.

    unused: path of the knob that has no effect while the other is set.
    deciding: path of the other knob.
    subject: the thing that both decide.
    """

    unused: str
    deciding: str
    subject: str


CONTRADICTIONS = (
    Contradiction("machine.num_gpus", "machine.target_throughput", "the number of GPUs"),
    Contradiction("policy.sharding", "policy.plan", "the parts of each table"),
)
CONTRADICTING_KNOBS = frozenset(path for pair in CONTRADICTIONS for path in pair[:2])


def check_contradictions(declared: Declarations, setting: Settings, changes: Collection[str] = ()) -> None:
    """Refuse two knobs that decide the same thing; raises BadKnob.

    The sentence has both values and the remedy. A number is set by hand, even at its default, if it is among `changes`, and the
    knob that decides is not.
    """
    for pair in CONTRADICTIONS:
        unused, default = setting(pair.unused), declared[pair.unused].default
        by_hand = pair.unused in changes and pair.deciding not in changes and unused is not None
        if setting(pair.deciding) != declared[pair.deciding].default and (unused != default or by_hand):
            texts = " and ".join(_text(declared[path], setting(path)) for path in pair[:2])
            remedies = " or ".join(_remedy(declared[path], path in changes) for path in pair[:2])
            raise BadKnob(f"{texts} contradict each other, since both decide {pair.subject}; {remedies}.")


def _text(knob: Knob, setting: Any) -> str:
    return f"{knob.path}={_value_text(knob, setting)} {knob.unit}".rstrip()


def _remedy(knob: Knob, is_changed: bool) -> str:
    if is_changed:
        return f"leave out {knob.path}"
    return f"set {knob.path} to {_value_text(knob, knob.default)}"


def _value_text(knob: Knob, setting: Any) -> str:
    return knobs.write(knob, setting)[:MAX_TEXT_LENGTH] or "nothing"


def without_contradictions(declared: Declarations, setting: Settings, changes: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return `changes` with contradicting knobs set back to their defaults, and a sentence.

    The sentence is "" if none contradicts. Contradictions among the changes themselves are left for `check_contradictions`.
    """
    mended_changes, sentences = dict(changes), list[str]()
    for pair in CONTRADICTIONS:
        for path, rival in (pair[:2], pair[1::-1]):
            is_set = path in changes and changes[path] != (None if path == pair.unused else declared[path].default)
            if is_set and rival not in changes and setting(rival) != declared[rival].default:
                mended_changes[rival] = declared[rival].default
                usual = _value_text(declared[rival], declared[rival].default)
                sentences.append(f"{rival} is {usual} now, since {path} decides {pair.subject}.")
    return mended_changes, " ".join(sentences)
