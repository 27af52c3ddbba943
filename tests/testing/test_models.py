"""The conformance check of models: every built-in and a small network pass, and every law that is broken is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.models.test_registered import Hidden, make

from tiltfit.models.registry import MODELS
from tiltfit.testing import check_model


@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_here_is_right(name):
    check_model(MODELS[name].make, sequences=MODELS[name].sequences)


@pytest.mark.parametrize("sequences", [False, True])
def test_a_network_is_right(sequences):
    check_model(make, sequences=sequences)
    check_model(make, sequences=sequences, classes=[0, 1], seed=1)


class Shared(Hidden):
    """The scores of the first call, again and again."""

    def potentials(self, weights):
        if "kept" not in self.__dict__ or not np.array_equal(self.kept[0], weights):
            object.__setattr__(self, "kept", (weights.copy(), super().potentials(weights)))
        return self.kept[1]


def spoilt(parent=Hidden, **changed):
    kind = type("Spoilt", (parent,), changed)
    return lambda plain, classes: kind(**{name: getattr(make(plain, classes), name) for name in FIELDS})


FIELDS = ("X", "labels", "structure", "base", "width")
BROKEN = {
    "potentials are finite": spoilt(potentials=lambda self, w: Hidden.potentials(self, w + (np.nan if w.any() else 0))),
    "potentials contain base": spoilt(potentials=lambda self, w: Hidden.potentials(replace(self, base=None), w)),
    "potentials are the same when asked": spoilt(Shared),
    "pull is the adjoint": spoilt(pull=lambda self, w, node, edge=None: 1.001 * Hidden.pull(self, w, node, edge)),
    "in their order": spoilt(take=lambda self, instances: Hidden.take(self, np.sort(instances))),
    "pull of two parts": spoilt(
        pull=lambda self, w, node, edge=None: Hidden.pull(self, w, node, edge) + (1e-6 if len(node) < 10 else 0.0)
    ),
    r"moments sum ω·log Z": spoilt(moments=lambda self, w, weight: Hidden.moments(self, w, np.ones(len(weight)))),
    "moments are the gradient": spoilt(
        moments=lambda self, w, weight: replace(Hidden.moments(self, w, weight), expectation=np.ones(len(w)))
    ),
    "must return a tiltfit.Potentials": spoilt(potentials=lambda self, w: w),
    "must return a tiltfit.Model, but returned None": lambda plain, classes: None,
}


def overwrite(self, weights):
    weights[:] = weights + 1.0
    return Hidden.potentials(self, weights)


BROKEN["potentials leave the weights as they are"] = spoilt(potentials=overwrite)


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("law", list(BROKEN))
def test_a_broken_law_is_found(law, sequences):
    with pytest.raises(AssertionError, match=law):
        check_model(BROKEN[law], sequences=sequences)
