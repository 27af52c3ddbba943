"""From potentials to log Z and marginals. ``kernels`` holds everything that is compiled."""
