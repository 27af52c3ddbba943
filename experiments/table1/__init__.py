"""Labelled words for text classification: Table 1 of the paper."""
