"""Experiments whose tables are committed. Run with ``python -m experiments.<name>``."""
