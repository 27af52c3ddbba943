"""How the joint objective is minimised, and what it is compared with."""
