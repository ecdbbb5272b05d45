"""Validation: published claims, figures of real click logs, and estimates against full runs."""
