"""What the model learns from, and which model it is: ``python -m benchmarks.models``; docs/models.md."""
