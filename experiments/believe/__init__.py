"""What a user gets without turning a knob: ``python -m experiments.believe``; docs/believe.md."""
