"""Tests of the face for scripts and notebooks."""
