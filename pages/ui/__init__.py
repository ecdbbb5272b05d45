"""Parts with which every page is drawn: tables, numbers, text, knobs, downloads, the session."""
