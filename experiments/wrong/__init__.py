"""The cost of a wrong constraint: ``python -m experiments.wrong``; docs/wrong.md."""
