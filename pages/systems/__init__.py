"""Systems: training systems side by side, a section of Design."""
