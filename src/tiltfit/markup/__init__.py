"""HTML and SVG as values. Text is escaped whatever it holds; markup comes from ``Element`` alone."""
