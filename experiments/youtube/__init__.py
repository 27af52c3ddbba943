"""Ten keyword rules as conditions: ``python -m experiments.youtube``; docs/youtube.md."""
