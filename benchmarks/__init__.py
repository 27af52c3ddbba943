"""Measurements against other libraries and on real collections. Run with ``python -m benchmarks.<name>``."""
