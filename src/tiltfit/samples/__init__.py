"""One sample: data with what is known of their labels, whatever they are."""
