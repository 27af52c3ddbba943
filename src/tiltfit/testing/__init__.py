"""Conformance checks for what a package adds to tiltfit."""

from tiltfit.testing.methods import check_method as check_method

__all__ = ["check_method"]
