"""What online learning is made of, and citations online."""
