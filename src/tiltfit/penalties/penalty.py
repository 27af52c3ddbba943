"""Penalties: U(m) = Σ_k U_k(m_k), convex, and its conjugate U*(η) = sup_m η·m − U(m).

The information projection needs only the conjugate (Eq. 8): it minimises D(q‖p) + U(m), and with q ∝ p·exp(prices·f′)
the penalty sees η = −support·prices. Every penalty here is separable, so all methods work elementwise on arrays with
one entry per constraint row and return such arrays; nothing is summed inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from tiltfit.arrays import BoolArray, FloatArray, IntArray
from tiltfit.errors import ConstraintError, UnsupportedError
from tiltfit.registry import Registry


class Penalty(ABC):
    """U, elementwise over rows: a frozen dataclass of arrays with one entry per row.

    Every argument and result of its methods is such an array, of ``len(self)``.
    """

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._arrays[0])

    @abstractmethod
    def value(self, m: FloatArray) -> FloatArray:
        """U_k(m_k); ``inf`` outside the domain."""

    @abstractmethod
    def conjugate(self, eta: FloatArray) -> FloatArray:
        """U*_k(η_k) = sup_m η_k m − U_k(m); ``inf`` outside its domain."""

    @abstractmethod
    def grad_conjugate(self, eta: FloatArray) -> FloatArray:
        """An element of ∂U*_k(η_k): the m at which the supremum is attained."""

    @abstractmethod
    def curvature_conjugate(self, eta: FloatArray) -> FloatArray:
        """The second derivative of U*_k at η_k (0 on straight pieces): scales the dual variables."""

    @abstractmethod
    def dual_bounds(self) -> tuple[FloatArray, FloatArray]:
        """An interval of η that contains every maximiser of the dual."""

    @abstractmethod
    def domain(self) -> tuple[FloatArray, FloatArray]:
        """The closed interval of m on which U_k is finite (or its closure)."""

    def take(self, rows: IntArray) -> Penalty:
        """The penalty of these rows alone, in this order."""
        return type(self)(*(array[rows] for array in self._arrays))

    @abstractmethod
    def times(self, factor: FloatArray) -> Penalty:
        """factor_k·U_k; an indicator stays what it is."""

    @property
    def hard(self) -> BoolArray:
        """The rows that are indicators: zero on an interval, infinite elsewhere."""
        return np.zeros(len(self), dtype=np.bool_)

    def softened(self, slack: FloatArray) -> Penalty:
        """The same, but U_k = d²/(2·slack_k) in place of an indicator, d the distance to where it is zero."""
        return self

    def squared(self) -> Penalty:
        """The same, but U_k = w·d² in place of w·d: as hard a pull half a unit away, and none at the target.
        Itself where nothing changes."""
        return self

    def grad(self, m: FloatArray) -> FloatArray | None:
        """U′_k(m_k) if every row is smooth, else None (generalized expectation needs it)."""
        return None

    def parts(self) -> tuple[Penalty, IntArray]:
        """U_k = Σ_{j: origin_j = k} V_j with every V*_j smooth inside its dual bounds: ``(V, origin)``.

        A sum of penalties of the same m has one dual variable per part, and the price of the row is their sum.
        This is how a box, whose conjugate has a kink at 0, becomes two one-sided bounds that L-BFGS-B can take.
        """
        return self, np.arange(len(self), dtype=np.intp)

    def strongest_pull(self, support: FloatArray) -> float:
        """The largest price that a soft row can have while m is a share: max(abs(U′(0)), abs(U′(1))) / c. Hard rows:
        0."""
        low, high = self.dual_bounds()
        ends = [np.abs(np.where(np.isfinite(bound), bound, 0.0)) for bound in (low, high)]
        bend = self.curvature_conjugate(np.clip(0.0, low, high))
        soft = np.divide(1.0, bend, out=np.zeros(len(self)), where=bend > 0)
        return float(np.max(np.maximum(np.maximum(*ends), soft) / support, initial=0.0))

    def instance_form(self) -> tuple[IntArray, FloatArray]:
        """(kind, parameters) by which the kernel of instance-level prices knows each row; parameters are rows × 4."""
        raise UnsupportedError(f"The penalty {type(self).__name__} has no instance-level form: use per='dataset'.")

    def fenchel_gap(self, m: FloatArray, eta: FloatArray) -> FloatArray:
        """U_k(m_k) + U*_k(η_k) − η_k m_k ≥ 0, zero exactly where η_k ∈ ∂U_k(m_k).

        Summed over rows this *is* the duality gap of the information projection. U is taken at the nearest point
        of its domain, because an indicator is infinite at any inexact m; that distance is the violation, which is
        reported beside the gap.
        """
        low, high = self.domain()
        gap = self.value(np.clip(m, low, high)) + self.conjugate(eta) - eta * m
        return np.abs(gap)

    def violation(self, m: FloatArray) -> FloatArray:
        """Distance from m to the nearest point where U_k is least."""
        goal = self.grad_conjugate(np.zeros(len(self)))
        return np.abs(m - goal)

    @property
    def _arrays(self) -> tuple[FloatArray, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


Factory = Callable[[FloatArray, FloatArray], Penalty]
"""Makes U of rows with these targets and softnesses β."""


@dataclass(frozen=True)
class NamedPenalty:
    """A penalty that ``about(u, penalty=...)`` names: ``make(target, beta)``, growing as its deviation to ``power``."""

    make: Factory
    power: int = 2

    def softness(self, within: float) -> float:
        """β at which a deviation of ``within`` costs ½: within²/(2β) = ½, or within/β = ½ if ``power`` is 1."""
        return within * within if self.power == 2 else 2 * within


PENALTIES: Registry[NamedPenalty] = Registry("penalty")
"""The penalties that ``about(u, penalty=...)`` takes."""


def register_penalty(name: str, make: Factory, *, power: int = 2) -> None:
    """Make ``about(u, penalty=name)`` work, in Python and in constraint files.

    Parameters
    ----------
    name : str
        What constraints call it.
    make : callable
        ``make(target, beta)`` returns the ``Penalty`` of rows with these targets and softnesses, two arrays with one
        entry per row. Smaller ``beta`` means a stronger penalty.
    power : {2, 1}
        U grows as the deviation d to this power near the target, as d²/(2·beta) or as d/beta. It scales ``beta`` for
        shares of other events (``of=``), and says which ``beta`` is meant by ``about(u, within=d)``.
    """
    if not callable(make):
        raise ConstraintError(f"The penalty {name!r} needs a function make(target, beta), but got {make!r}.")
    if power not in (1, 2):
        raise ConstraintError(f"power={power!r} of the penalty {name!r} must be 1 or 2.")
    try:
        made = make(np.array([0.25, 0.75]), np.array([1.0, 0.5]))
    except Exception as error:
        raise ConstraintError(
            f"The penalty {name!r} cannot be made for the targets 0.25 and 0.75: {type(error).__name__}: {error}."
        ) from error
    if not isinstance(made, Penalty) or _count_rows(name, made) != 2:
        raise ConstraintError(
            f"make(target, beta) of the penalty {name!r} must return a tiltfit.Penalty with one row per target, but "
            f"returned {made!r}."
        )
    PENALTIES.register(name, NamedPenalty(make, power), origin=make)


def _count_rows(name: str, made: Penalty) -> int:
    """The number of rows; a penalty whose rows cannot be taken one by one, or joined with others, is refused."""
    from tiltfit.penalties.stacked import stack

    try:
        n = len(made)
        right = len(made.take(np.arange(1, dtype=np.intp))) == 1 and len(stack([made, made])) == 2 * n
    except Exception as error:
        raise ConstraintError(
            f"Rows of the penalty {name!r} cannot be taken or joined: {type(error).__name__}: {error}. Every field of "
            f"{type(made).__name__} must be an array with one entry per row."
        ) from error
    if not right:
        raise ConstraintError(
            f"Rows of the penalty {name!r} cannot be taken or joined: every field of {type(made).__name__} must be an "
            "array with one entry per row."
        )
    return n
