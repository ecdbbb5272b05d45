"""The explorer: what pages share below (`gate`, `ui`, `answers`), a room a page, `shell` around them, `scripts` on top."""
