"""How the joint objective is minimised, and what it is compared with."""

from tiltfit.methods.alternating import alternate
from tiltfit.methods.descent import alternate_descending
from tiltfit.methods.joint import solve_jointly
from tiltfit.methods.sampled import alternate_sampled

SOLVERS = {"alternating": alternate, "joint": solve_jointly, "sgd": alternate_descending}

__all__ = ["SOLVERS", "alternate_sampled"]
