"""Learning curves over constraints and over labels: ``python -m experiments.curves``; docs/curves.md."""
