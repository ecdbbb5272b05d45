"""Readers of recorded click logs."""
