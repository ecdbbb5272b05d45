"""Parts of the section Systems of Design: training systems side by side."""
