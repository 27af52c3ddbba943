"""The parts of online learning, and citations online."""
