"""Parts of the section Why of Design: the sources of a speed-up."""
