"""Solvers of the joint objective, and the methods it is compared with."""
