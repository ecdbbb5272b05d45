"""A verdict for readers: its questions, its content and its sentences.

`asked` has questions as links write them, `content` JSON and CSV, `sentences` the words.
"""
