"""Fields of apartment advertisements, learned from words that people name."""
