"""The defaults, chosen by experiment."""
