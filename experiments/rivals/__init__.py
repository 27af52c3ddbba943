"""The methods of the paper side by side, and beside MALLET."""
