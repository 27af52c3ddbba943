"""Penalties: U, the cost of missing a target, and its conjugate.

``interval`` holds every penalty that is a distance to an interval (L2, equality, at most, at least, box, L1);
``kl`` the generalised Kullback–Leibler divergence; ``stacked`` puts rows of several side by side.
"""
