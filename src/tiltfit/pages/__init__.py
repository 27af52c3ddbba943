"""A fitted model and some data as one page of HTML that needs nothing else."""
