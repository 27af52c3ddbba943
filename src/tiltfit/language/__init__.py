"""The constraint language: what is expected of which labels, where, how firmly; in Python, as data and as sentences."""
