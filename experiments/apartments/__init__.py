"""Fields of apartment advertisements, learned from 33 words and no labelled token."""
