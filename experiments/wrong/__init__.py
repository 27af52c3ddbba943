"""What a wrong constraint costs: ``python -m experiments.wrong``; docs/wrong.md."""
