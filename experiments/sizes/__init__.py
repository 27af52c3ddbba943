"""Sizes of data, numbers of labels: what the defaults make of them."""
