"""The information projection where q can only be sampled: stochastic ascent on the dual of Eq. 8.

    θ ← Π[θ + η_k·D⁻¹·c∘(∇U*(−c∘θ) − m̂(θ))],      m̂: expectations over a few steps of Markov chains at these prices

Π keeps prices where U* is finite. D is the curvature of the dual: the variance of each row's sum, as the chains show it
at the start of a stage, and c²U*″ of the penalty. So a scaled gradient of one is one standard deviation of what varies
anyway. The chains go on from price to price and from round to round: prices move little, so they are always near their
distribution.

The prices of the second half of a stage are averaged, and steps shrink once the gradient is lost in the noise, which
takes out most of it (Polyak and Juditsky 1992). **When is it enough?** A stage ends with the mean of the gradient over
it and the standard error of that mean. While the mean stands out of the noise, there is something to gain, and the next
stage goes on; of many rows some always look as if they did, so that it depends on how many there are
(``_stands_out``). If it does not, either the noise is below ``tol`` and the search is over, or it is not, and the
chains run longer for each step.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from tiltfit.arrays import FloatArray
from tiltfit.inference.diagnostics import effective_sample_size, split_r_hat
from tiltfit.inference.potentials import Marginals, Potentials
from tiltfit.inference.priced import PricedChains, marginals
from tiltfit.inference.whole import WholeMarginals
from tiltfit.projections.information import Dual, Projection, Sampling, Start, Tilt
from tiltfit.projections.shards import TiltShard

TOL = 0.1
"""The largest scaled gradient that may remain, noise included: about a tenth of a standard deviation of the sum."""

_STAGE = 12  # steps of ascent from one decision to the next
_SHORT, _LONG = 8, 256  # steps of the chains for one step of ascent
_BURN_IN = 20  # before the first: chains begin at draws from the chain model
_FIRST = 16  # steps in which variances are seen, at the start of a stage
_FLAT = 16.0  # the variance of a share is not taken to be below so much less than one per place
FINAL, REPORTED = 60, 240  # steps of the chains for q within a fit, and for the expectations that are reported
_NOISE = 2.5  # standard errors up to which a gradient may be an accident
_ALONE, _TOGETHER = 0.3, 0.05  # how often noise may be taken for more, by some row or by all rows: it costs a stage
_STUCK = 1e-4  # by how much a constraint must be off for chains that never move to be stuck
_CORRELATED = 2.0  # consecutive steps are not independent: their mean is about so much less certain in variance


def stochastic_projection(
    tilt: Tilt,
    base: Potentials,
    *,
    start: Start | None = None,
    tol: float = TOL,
    max_stages: int = 40,
    final: int = FINAL,
) -> Projection:
    """Project ``base`` from ``start``. ``final``: over how many steps of the chains expectations are told."""
    search = _Search(tilt, base, start)
    converged = not len(search.dual.scale)
    n_stages = 0
    while not converged and n_stages < max_stages:
        n_stages += 1
        converged = search.stage(tol)
    return search.finish(final, n_stages, converged)


def _stands_out(mean: FloatArray, error: FloatArray, tol: float) -> bool:
    """True if some entry above ``tol`` is no accident: by itself, among so many others, or all of them together."""
    large, noisy = mean > tol, error > 0
    if not np.any(large & noisy):
        return bool(np.any(large))
    n, degrees = int(np.sum(noisy)), _STAGE - 1
    z = mean[noisy] / error[noisy]  # about Student's t each, with as many degrees of freedom as a stage has steps but 1
    alone = large[noisy] & (z > max(_NOISE, stats.t.isf(_ALONE / (2 * n), degrees)))
    together = float(np.sum(z**2)) * (degrees - 2) / degrees > stats.chi2.isf(_TOGETHER, n)
    return bool(np.any(large & ~noisy) or np.any(alone) or together)


class _Search:
    """Prices and chains on their way."""

    def __init__(self, tilt: Tilt, base: Potentials, start: Start | None) -> None:
        assert isinstance(tilt.structure, PricedChains)
        self.dual = Dual(tilt, [TiltShard(tilt, base)], None if start is None else start.duals, TOL)
        self._tilt, self._base, self._structure = tilt, base, tilt.structure
        self._duals = np.clip(self.dual.start / self.dual.scale, self.dual.low, self.dual.high) * self.dual.scale
        chains = None if start is None else start.chains
        self._fresh = chains is None
        self._chains = tilt.structure.start() if chains is None else chains
        self._length, self._quiet = _SHORT, 0

    def stage(self, tol: float) -> bool:
        """A stage of ascent; whether it was the last that is needed."""
        scale = self._curvature()
        low, high = (self.dual.scale * bound / scale for bound in (self.dual.low, self.dual.high))
        place = self._duals / scale
        places, slopes = np.empty((2, _STAGE, len(scale)))
        for k in range(_STAGE):
            found = self._walk(self._tilted(place * scale), self._length)
            slopes[k] = self.dual.gradient(place * scale, self._expectation(found)) * scale
            places[k] = place
            step = 0.5 / (1 + self._quiet + k / _STAGE) ** 0.6
            place = np.clip(place - step * slopes[k], low, high)
        late = places[_STAGE // 2 :].mean(axis=0)
        self._duals = np.clip(late, low, high) * scale
        free = ~(((late <= low) & (slopes.mean(axis=0) > 0)) | ((late >= high) & (slopes.mean(axis=0) < 0)))
        mean = np.abs(slopes[_STAGE // 2 :].mean(axis=0)) * free
        error = slopes.std(axis=0, ddof=1) * np.sqrt(_CORRELATED / (_STAGE - _STAGE // 2)) * free
        if _stands_out(mean, error, tol):
            self._quiet = 0  # there is some way to go yet
            return False
        self._quiet += 1
        if np.max(error, initial=0.0) <= tol or self._length >= _LONG:
            return True
        self._length = min(_LONG, 2 * self._length)
        return False

    def finish(self, n_steps: int, n_stages: int, converged: bool) -> Projection:
        """q over ``n_steps`` steps of the chains at the prices found, taken one by one: the series tell what they are
        worth."""
        tilt, duals = self._tilt, self._duals
        series, potentials = np.empty((n_steps, len(tilt.penalty))), self._tilted(duals)
        found = self._walk(potentials, 1)
        sums = [found.node, found.edge, found.whole]
        for k in range(n_steps):
            series[k] = self._expectation(found)
            if k + 1 < n_steps:
                found = self._walk(potentials, 1)
                sums = [a + b for a, b in zip(sums, (found.node, found.edge, found.whole), strict=True)]
        q = Marginals(found.log_z, *(total / n_steps for total in sums))
        m, effective, r_hat = tilt.shared_expectation(q), effective_sample_size(series), split_r_hat(series)
        error = series.std(axis=0, ddof=1) / np.sqrt(effective)
        # A series that never moves is worth everything if it is where it should be, and nothing if it is not.
        stuck = (np.ptp(series, axis=0) == 0) & (tilt.violation(m) > _STUCK)
        effective[stuck], r_hat[stuck], error[stuck] = 0.0, np.inf, np.inf
        return Projection(
            prices=self.dual.prices(duals),
            duals=duals,
            marginals=q,
            value=np.nan,
            divergence=np.nan,
            expectation=m,
            violation=tilt.violation(m),
            gap=self.dual.fenchel_gap(duals, m),
            n_eval=n_stages * _STAGE + 1,
            converged=converged,
            sampling=Sampling(self._chains, effective, r_hat, error),
        )

    def _tilted(self, duals: FloatArray) -> Potentials:
        return self._tilt.features.tilted(self._base, self.dual.prices(duals), self._tilt.workers.buffers)

    def _walk(self, potentials: Potentials, n_steps: int) -> WholeMarginals:
        tilt = self._tilt
        found = self._structure.walk(
            potentials,
            self._chains,
            n_steps,
            tilt.workers,
            weight=tilt.weight,
            burn_in=_BURN_IN if self._fresh else 0,
        )
        assert found.state is not None
        self._chains, self._fresh = found.state, False
        return found

    def _curvature(self) -> FloatArray:
        """One by the root of D, from the variances that the chains show at the present prices."""
        here = self._tilted(self._duals)
        seen = np.array([self._expectation(self._walk(here, 1)) for _ in range(_FIRST)])
        return self.dual.natural_scale(seen.var(axis=0, ddof=1), 1 / _FLAT)

    def _expectation(self, found: WholeMarginals) -> FloatArray:
        return self._tilt.shared_expectation(marginals(found))
