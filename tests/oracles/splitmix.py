"""SplitMix64's finaliser in plain integers, word by word, as published with its reference implementation."""


def mixed(word: int) -> int:
    """Return the mixed word; of a longer one its last 64 bits."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) % 2**64
    return word ^ (word >> 31)
