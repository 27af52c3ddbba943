"""The calibration of probabilities: ``python -m experiments.calibration``; docs/calibration.md."""
