"""What every page draws with: charts, tables, numbers, plain text, knobs, downloads, and what its session holds."""
