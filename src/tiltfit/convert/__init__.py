"""Files of other tools, as files that tiltfit reads."""
