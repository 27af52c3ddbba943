"""Table 3 of the paper: citations with few labels, and what is known of citations."""
