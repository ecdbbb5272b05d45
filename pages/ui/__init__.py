"""The parts that every page draws with: charts, tables, numbers, text, knobs, downloads, the session."""
