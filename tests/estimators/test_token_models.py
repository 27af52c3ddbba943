"""``TiltTagger(model=module)``: networks of PyTorch as the scores of tokens.

Oracles: a network that is a matrix is the linear model; ``tiltfit.objective`` on the same scores; finite differences.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from tiltfit import TiltTagger, WithFeatures, expect, leave_one_out, load, objective, word
from tiltfit.errors import DataError, ModelFileError, UnsupportedError
from tiltfit.features.attributes import AttributeFeatures
from tiltfit.features.beside import Vectors
from tiltfit.features.chains import ChainFeatures
from tiltfit.features.tokens import TokenTemplates
from tiltfit.methods.problem import Problem
from tiltfit.models.token_network import NetworkChains, TokenNetwork
from tiltfit.storage.container import read, write
from tiltfit.testing import check_model

torch = pytest.importorskip("torch")

ADS = [
    ["big", "room", "call", "Ann"],
    ["sunny", "room", "call", "Bob"],
    ["big", "garden", "phone", "Ann"],
    ["garden", "phone"],
    ["call", "Bob", "sunny"],
]
TAGS = [["size", "size", "contact", "contact"], None, ["size", None, None, "contact"], None, None]
ALL_TAGS = [["size", "size", "contact", "contact"][: len(ad)] for ad in ADS]
CLASSES = ["contact", "size"]
SAID = [
    expect("contact", given=word("call")).about(0.95),
    expect("size", given=word("sunny")).about(0.9),
    expect.stay().about(0.8),
]


class Letters:
    def encode(self, words):
        return np.array([[w.count(letter) - 0.5 for letter in "aeiog"] for w in words])


VECTORS = [Letters().encode(ad) * (1 + t) for t, ad in enumerate(ADS)]


class Recurrent(torch.nn.Module):
    """Looks at the whole sequence."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.LSTM(5, 3, bidirectional=True), torch.nn.Linear(6, 2)

    def forward(self, vectors):
        return self.outer(self.inner(vectors)[0])


class Wrapped(torch.nn.Module):
    """The same as what is inside, but nobody knows that it looks at each token alone."""

    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, vectors):
        return self.inside(vectors)


def layers():
    return torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def made(make):
    torch.manual_seed(0)
    return make()


KINDS = {
    "matrix": lambda: torch.nn.Linear(5, 2),
    "layers": layers,
    "recurrent": Recurrent,
    "wrapped": lambda: Wrapped(layers()),
}


def tagger(module, constraints=SAID, **options):
    return TiltTagger(constraints, **{"classes": CLASSES, "model": module} | options)


def problem_of(fitted, y=TAGS):
    beliefs = fitted.infer(WithFeatures(ADS, VECTORS), y)
    return Problem.of(beliefs.scorer, beliefs.sample, fitted.ground(beliefs), fitted.ridge(beliefs.scorer), 1.0)


@pytest.fixture(scope="module")
def fitted():
    return tagger(made(layers)).fit(ADS, TAGS, features=VECTORS)


# What it computes


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_model_like_any_other(kind):
    def make(plain, classes):
        X = plain.features.nodes.X
        X = X.toarray() if sparse.issparse(X) else X
        module = made(lambda: torch.nn.Sequential(torch.nn.Linear(X.shape[1], 5), torch.nn.Tanh(), KINDS[kind]()))
        whole = torch.nn.Sequential(module, torch.nn.Linear(2, len(classes)))
        none = AttributeFeatures(sparse.csr_array((len(X), 1)), len(classes), intercept=False)
        rest = ChainFeatures(none, plain.features.kinds)
        return NetworkChains(TokenNetwork.of(whole), Vectors(X), rest, plain.structure, plain.base)

    check_model(make, sequences=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_agrees_with_finite_differences(kind):
    problem = problem_of(tagger(made(KINDS[kind]), max_iter=500).fit(ADS, TAGS, features=VECTORS))
    rng = np.random.default_rng(0)
    weights = 0.5 * rng.normal(size=problem.model.n_weights)
    told = problem.evaluate(weights, None, 1e-10)
    for direction in rng.normal(size=(3, len(weights))):
        ahead, behind = (problem.evaluate(weights + s * direction, None, 1e-10).value for s in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(told.gradient @ direction, abs=1e-3, rel=1e-5)


def test_a_matrix_is_the_linear_model():
    crf = TiltTagger(SAID, classes=CLASSES, features=TokenTemplates.only()).fit(ADS, TAGS, features=VECTORS)
    net = tagger(torch.nn.Linear(5, 2, bias=False)).fit(ADS, TAGS, features=VECTORS)
    linear, network = problem_of(crf), problem_of(net)
    table = np.random.default_rng(0).normal(size=(5, 2))
    edges = np.random.default_rng(1).normal(size=linear.model.n_weights - 10)
    one = linear.evaluate(np.concatenate([table.ravel(), edges]), None, 1e-10)
    other = network.evaluate(np.concatenate([table.T.ravel(), edges]), None, 1e-10)
    assert other.value == pytest.approx(one.value, abs=1e-8)
    np.testing.assert_allclose(other.gradient[10:], one.gradient[10:], atol=1e-6)
    np.testing.assert_allclose(other.gradient[:10].reshape(2, 5).T, one.gradient[:10].reshape(5, 2), atol=1e-6)


def test_with_labels_alone_a_matrix_arrives_where_the_linear_model_does():
    crf = TiltTagger(classes=CLASSES, features=TokenTemplates.only(), tol=1e-7).fit(ADS, ALL_TAGS, features=VECTORS)
    net = tagger(torch.nn.Linear(5, 2, bias=False), (), tol=1e-7).fit(ADS, ALL_TAGS, features=VECTORS)
    assert net.objective_ == pytest.approx(crf.objective_, abs=1e-6)
    pairs = zip(*(t.predict_marginals(ADS, features=VECTORS) for t in (crf, net)), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_the_objective_is_that_of_the_loss_on_its_scores():
    options = {"transitions": {"before": {}}, "features": TokenTemplates.only()}
    ours = tagger(made(Recurrent), **options).fit(ADS, TAGS, features=VECTORS)
    factor = ours.encoder_.vectors.factor
    module = ours.estimator_.double()
    with torch.no_grad():
        scores = np.concatenate([module(torch.as_tensor(factor * V)).numpy() for V in VECTORS])
    transitions = ours.weights_[-4:].reshape(2, 2)
    loss = objective(SAID, ADS, TAGS, classes=CLASSES)
    value = loss.value_and_grad(scores, transitions)[0]
    ridge = 0.5 * np.sum(ours.weights_**2)
    assert ours.objective_ == pytest.approx(value + ridge, rel=1e-4)  # estimator_ has the 32 bits of the module
    p = np.concatenate(ours.predict_marginals(ADS, features=VECTORS))
    np.testing.assert_allclose(loss.proba(scores, transitions), p, atol=1e-5)
    assert ours.predict(ADS, features=VECTORS) == loss.decode(scores, transitions)
    q = np.concatenate(ours.project(ADS, TAGS, features=VECTORS, prices="solve"))
    np.testing.assert_allclose(loss.projected(scores, transitions), q, atol=1e-4)


@pytest.mark.parametrize("encoder", [None, Letters()], ids=["given", "encoder"])
def test_looking_at_each_token_alone_is_the_same_and_faster(encoder):
    features = None if encoder is None else {"vectors": encoder}
    vectors = VECTORS if encoder is None else None
    known, wrapped = (
        tagger(module, features=features, random_state=0).fit(ADS, TAGS, features=vectors)
        for module in (made(layers), made(lambda: Wrapped(layers())))
    )
    assert known.token_network_.looks_at_each_alone
    assert not wrapped.token_network_.looks_at_each_alone
    assert known.objective_ == pytest.approx(wrapped.objective_, abs=1e-8)
    for a, b in zip(
        known.predict_marginals(ADS, features=vectors), wrapped.predict_marginals(ADS, features=vectors), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_attributes_stand_beside_the_network_if_they_are_named():
    alone = tagger(made(layers)).fit(ADS, TAGS, features=VECTORS)
    assert alone.attribute_names_.tolist() == [f"vector {j}" for j in range(5)]
    beside = tagger(made(layers), features=TokenTemplates.only(lower=(0,))).fit(ADS, TAGS, features=VECTORS)
    assert "lower=call" in beside.attribute_names_.tolist()
    assert len(beside.weights_) == len(alone.weights_) + 2 * 8
    assert beside.objective_ < alone.objective_


# Everything through the same estimator


def test_it_is_the_same_whenever_it_is_made(fitted):
    again = tagger(made(layers)).fit(ADS, TAGS, features=VECTORS)
    np.testing.assert_array_equal(again.weights_, fitted.weights_)
    starts = [tagger(made(layers), n_init=3, random_state=1).fit(ADS, TAGS, features=VECTORS) for _ in range(2)]
    np.testing.assert_array_equal(starts[0].weights_, starts[1].weights_)
    assert starts[0].objective_ <= fitted.objective_ + 1e-6


def test_the_module_that_was_given_stays_as_it_is():
    module = made(Recurrent)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    module.train()
    found = tagger(module).fit(ADS, TAGS, features=VECTORS)
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert not any(torch.equal(before[name], value) for name, value in found.estimator_.state_dict().items())
    assert next(found.estimator_.parameters()).dtype == torch.float32
    assert not hasattr(found, "coef_")


def test_reports_projections_scores_and_options(fitted):
    assert fitted.converged_
    assert next(entry.name or entry.sentence for entry in fitted.constraint_report_).startswith("about 95%")
    assert fitted.score(ADS, ALL_TAGS, features=VECTORS) > 0.5
    assert len(fitted.predict_k_best(ADS, 2, features=VECTORS)) == len(ADS)
    best = fitted.project(ADS, features=VECTORS, decode=True)
    assert [len(row) for row in best] == [len(row) for row in ADS]
    dev = (WithFeatures(ADS[:1], VECTORS[:1]), TAGS[:1])
    assert tagger(made(layers)).fit(ADS, TAGS, features=VECTORS, dev=dev).history_[-1].dev_score is not None
    built = tagger(made(layers), base=fitted, boundaries=True).fit(ADS, TAGS, features=VECTORS)
    assert len(built.predict(ADS, features=VECTORS)) == len(ADS)
    assert len(leave_one_out(tagger(made(layers)), WithFeatures(ADS, VECTORS), TAGS)) == 3


def test_the_fit_goes_on_from_a_trained_network(fitted):
    again = tagger(fitted.estimator_).fit(ADS, TAGS, features=VECTORS)
    assert again.objective_ == pytest.approx(fitted.objective_, rel=1e-2)


# Files


def test_a_file_holds_the_weights_and_asks_for_the_module(fitted, tmp_path):
    fitted.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    with pytest.raises(UnsupportedError, match="Set tagger.model to a module of the same architecture") as error:
        again.predict(ADS, features=VECTORS)
    assert error.value.parameter == "model"
    again.save(tmp_path / "again.tilt")
    assert (tmp_path / "again.tilt").read_bytes() == (tmp_path / "m.tilt").read_bytes()
    again.model = layers()
    for a, b in zip(
        again.predict_marginals(ADS, features=VECTORS), fitted.predict_marginals(ADS, features=VECTORS), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    again.project(ADS, features=VECTORS)
    again.save(tmp_path / "third.tilt")
    assert (tmp_path / "third.tilt").read_bytes() == (tmp_path / "m.tilt").read_bytes()
    with pytest.raises(UnsupportedError, match="stands for a network in a model file"):
        load(tmp_path / "m.tilt").fit(ADS, TAGS, features=VECTORS)


def test_what_is_not_trained_is_kept_in_the_file(tmp_path):
    def half(value):
        module = made(layers)
        module[0].requires_grad_(False)
        module[0].weight.fill_(value)
        return module

    found = tagger(half(0.3)).fit(ADS, TAGS, features=VECTORS)
    assert torch.all(found.estimator_[0].weight == 0.3)
    found.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    again.model = half(0.7)
    assert torch.all(again.estimator_[0].weight == 0.3)
    for a, b in zip(
        again.predict_marginals(ADS, features=VECTORS), found.predict_marginals(ADS, features=VECTORS), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "other",
    [
        lambda: torch.nn.Linear(5, 2),
        lambda: torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)),
    ],
)
def test_a_module_of_another_architecture(fitted, tmp_path, other):
    fitted.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    again.model = other()
    with pytest.raises(DataError, match="not of the architecture of the Sequential that was fitted. Its '0.weight' is"):
        again.predict(ADS, features=VECTORS)


@pytest.mark.parametrize(
    "change",
    [
        {"shapes": [["0.weight", [10**6, 10**6]]]},
        {"shapes": [["0.weight", [-1, 5]]]},
        {"shapes": "nonsense"},
        {"shapes": None},
    ],
    ids=["large", "negative", "text", "none"],
)
def test_damaged_files(fitted, tmp_path, change):
    path = tmp_path / "m.tilt"
    fitted.save(path)
    document, arrays = read(path)
    document["network"] |= change
    write(path, document, arrays)
    with pytest.raises(ModelFileError):
        load(path)


# Refused


@pytest.mark.parametrize(
    ("module", "message", "kind"),
    [
        (lambda: torch.nn.Linear(5, 3), r"must return tokens × classes scores, \(17, 2\) here", DataError),
        (lambda: torch.nn.Linear(4, 2), "failed on the vectors of 17 tokens × 5 dimensions with Runtime", DataError),
        (lambda: torch.nn.LSTM(5, 2), "but returned tuple", DataError),
        (lambda: torch.nn.Sequential(torch.nn.Linear(5, 2), torch.nn.Flatten(0)), "the shape", DataError),
        (lambda: _filled(torch.nn.Linear(5, 2), np.nan), "returned NaN or infinite scores", DataError),
        (torch.nn.Identity, "no parameters to train", UnsupportedError),
        (lambda: torch.nn.Linear(5, 2).requires_grad_(False), "no parameters to train", UnsupportedError),
        (lambda: torch.nn.Linear(5, 2, device="meta"), "cannot be copied to the CPU", UnsupportedError),
        (
            lambda: torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(5, 2)),
            "gives other scores in training than afterwards",
            UnsupportedError,
        ),
        (
            lambda: torch.nn.Sequential(torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2)),
            "gives other scores in training than afterwards",
            UnsupportedError,
        ),
    ],
)  # fmt: skip
def test_modules_that_cannot_be_trained(module, message, kind):
    with pytest.raises(kind, match=message) as error:
        tagger(made(module)).fit(ADS, TAGS, features=VECTORS)
    assert error.value.parameter == "model"


def _filled(module, value):
    with torch.no_grad():
        module.weight.fill_(value)
    return module


def test_half_precision_is_trained_in_double():
    found = tagger(made(lambda: torch.nn.Linear(5, 2).half())).fit(ADS, TAGS, features=VECTORS)
    assert found.converged_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalize_intercept": False}, "penalize_intercept=False with model=Sequential"),
        ({"warm_start": True}, "warm_start=True with model=Sequential"),
        ({"init": TiltTagger()}, "init=TiltTagger is not a fitted tagger with the same attributes"),
        ({"init": "supervised"}, "linear in its weights"),
        ({"solver": "alternating"}, "solver='alternating' needs scores that are linear"),
        ({"solver": "online"}, "solver='online' needs scores that are linear"),
        ({"method": "codl"}, "linear in the weights"),
        ({"sharpen": 2.0}, "not linear in its weights"),
    ],
    ids=str,
)
def test_parameters_that_a_network_cannot_follow(options, message):
    with pytest.raises(UnsupportedError, match=message):
        tagger(made(layers), **options).fit(ADS, TAGS, features=VECTORS)


def test_a_network_needs_vectors_and_a_tagger():
    with pytest.raises(UnsupportedError, match="sees vectors of tokens, but there are none"):
        tagger(made(layers)).fit(ADS, TAGS)
    with pytest.raises(UnsupportedError):
        tagger(made(layers)).partial_fit(ADS, TAGS)
    with pytest.raises(UnsupportedError, match="is not supported"):
        tagger(torch.nn.Linear).fit(ADS, TAGS, features=VECTORS)
    with pytest.raises(AttributeError, match="not a network"):
        _ = TiltTagger(classes=CLASSES).fit(ADS, ALL_TAGS).estimator_


def test_sequences_of_new_lengths(fitted):
    found = tagger(made(Recurrent), features={"vectors": Letters()}).fit(ADS, TAGS)
    new = [[], ["Ann"], ["big"] * 30, []]
    assert [len(row) for row in found.predict(new)] == [0, 1, 30, 0]
    assert found.predict([]) == []
    apart = list(itertools.chain(*(found.predict([x]) for x in new)))
    assert apart == found.predict(new)


class Tied(torch.nn.Module):
    """One matrix under two names."""

    def __init__(self):
        super().__init__()
        self.inner, self.again = torch.nn.Linear(5, 5, bias=False), torch.nn.Linear(5, 5, bias=False)
        self.again.weight, self.outer = self.inner.weight, torch.nn.Linear(5, 2)

    def forward(self, vectors):
        return self.outer(torch.tanh(self.again(torch.tanh(self.inner(vectors)))))


def test_a_parameter_with_two_names_is_given_back_as_it_was_learned(tmp_path):
    module = Tied().double()
    found = TiltTagger(SAID, model=module).fit(ADS, TAGS, features=VECTORS)
    network, theta = found.token_network_, found.weights_[: found.token_network_.n_weights]
    expected = network.scores(theta, [VECTORS[0]], 2)
    network.scores(0 * theta, [VECTORS[0]], 2)  # whatever was asked for last
    np.testing.assert_allclose(found.estimator_(torch.as_tensor(VECTORS[0])).detach().numpy(), expected)
    found.save(tmp_path / "m.tilt")
    again = load(tmp_path / "m.tilt")
    again.model = Tied()
    assert again.predict(ADS, features=VECTORS) == found.predict(ADS, features=VECTORS)
