"""A verdict for readers: as JSON and CSV, and as sentences.

`asked` has questions as links write them, `content` JSON and CSV, `sentences` the sentences.
"""
