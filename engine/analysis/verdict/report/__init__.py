"""A verdict for readers: `asked` (questions as links write them), `content` (JSON and CSV) and `sentences`."""
