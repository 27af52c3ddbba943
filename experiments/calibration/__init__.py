"""Whether probabilities can be believed: ``python -m experiments.calibration``; docs/calibration.md."""
