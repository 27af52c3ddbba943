"""Slow, obvious answers that fast code is compared with."""
