"""``TiltTagger`` with constraints on statistics of whole sequences, through its public methods."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from tests.oracles import sequences as oracle
from tests.oracles import whole_projection as whole
from tests.oracles.sequence_primal import primal
from tests.oracles.sequences import World
from tests.oracles.whole_projection import Counted, rows_of

import tiltfit
from tiltfit import ConstraintSet, TiltTagger, column, expect, word
from tiltfit.errors import (
    ConflictError,
    ConstraintError,
    NotConvergedWarning,
    SamplingWarning,
    UnknownLabelError,
    UnmetConstraintWarning,
    UnsupportedError,
)
from tiltfit.inference.statistic import Statistic
from tiltfit.inference.statistics import REGISTRY, register_statistic
from tiltfit.projections import stochastic

ADS = [
    ["big", "room", ",", "call", "Ann"],
    ["sunny", "room", ".", "phone", "Bob"],
    ["big", "garden", "phone", "Ann"],
    ["call", "Bob", ",", "big", "room"],
]
WORDS = [
    expect("contact", given=word("call") | word("phone")).about(0.95),
    expect("size", given=word("big") | word("room")).about(0.95),
]
EVERY = [
    expect.repeats().at_most(0.2),
    expect.repeats("size", per="sequence").about(0.1),
    expect.appears("contact").at_least(0.9),
    expect.before("size", "contact").about(0.7),
    expect.distinct().about(1.9, penalty="l1"),
    expect.short("size", below=2).at_most(0.4, slack=0.1),
    expect.statistic("missing", {"labels": ["size"]}).about(0.05),
    expect.statistic("capped", {"labels": ["size", "contact"], "cap": 2}).about(1.9),
]


@pytest.fixture
def quick(monkeypatch):
    """Sampled projections that take little time and are not precise."""
    monkeypatch.setattr(stochastic, "_LONG", 16)
    monkeypatch.setattr(stochastic, "REPORTED", 60)


def once(constraints, **options):
    """One round is enough to see what comes out of it."""
    given = {"callback": lambda r: True, "random_state": 0} | options
    return TiltTagger([*WORDS, *constraints], **given)


def repeats(y):
    return whole.repeats(*set(y))(y)


def quietly(action):
    """What comes out of few draws is not worth much, and says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplingWarning)
        warnings.simplefilter("ignore", UnmetConstraintWarning)
        warnings.simplefilter("ignore", NotConvergedWarning)
        return action()


# What it learns


def test_every_statistic_exactly():
    tagger = TiltTagger([*WORDS, *EVERY], inference="exact").fit(ADS)
    assert tagger.converged_
    assert np.isfinite(tagger.objective_)
    assert [e.status in ("met", "missed") for e in tagger.constraint_report_] == [True] * 10
    assert all(e.effective is None and e.sampled is None for e in tagger.constraint_report_)
    other = TiltTagger([*WORDS, *EVERY], solver="alternating").fit(ADS)  # auto: few label sequences are looked through
    assert other.objective_ == pytest.approx(tagger.objective_, abs=0.02)


def test_every_statistic_sampled(quick):
    tagger = quietly(lambda: once(EVERY, inference="sampled").fit(ADS))
    assert np.isnan(tagger.objective_)
    for entry in tagger.constraint_report_:
        assert entry.effective is not None
        assert entry.effective > 0
        assert entry.sampled in str(tagger.constraint_report_)
    q = quietly(lambda: tagger.project(ADS))
    assert all(table.sum(axis=1) == pytest.approx(1) for table in q)


def test_it_learns_from_statistics_of_sequences():
    """Words say little: which of the two is where follows from the order, and from what comes once."""
    X = [["a", "b", "c"], ["b", "c", "a", "c"], ["a", "c", "b"], ["b", "a", "c"]]
    constraints = [expect.repeats().at_most(0), expect.before("x", "y").at_least(1), expect("x").about(0.5)]
    tagger = TiltTagger(constraints, classes=["x", "y"]).fit(X)
    for y in tagger.project(X, decode=True):
        assert y == sorted(y)
        assert set(y) == {"x", "y"}
    assert [e.status for e in tagger.constraint_report_][:2] == ["rules", "rules"]
    assert tagger.constraint_report_[0].support == 4


def test_labelled_and_partly_labelled_sequences():
    y = [["size", "size", None, None, "contact"], ["size"] * 3 + ["contact"] * 2, None, None]
    tagger = TiltTagger([*WORDS, expect.repeats(on="all").at_most(0)]).fit(ADS, y)
    assert tagger.constraint_report_[2].support == 4
    rest = TiltTagger([*WORDS, expect.repeats().at_most(0)]).fit(ADS, y)
    assert rest.constraint_report_[2].support == 3


def test_fields_of_tags():
    classes = ["B-N", "I-N", "B-V", "I-V", "O"]
    rules = [expect.repeats("N").at_most(0), expect.appears("V").at_least(1), expect("O").about(0.3)]
    X = [["a", "b", "c", "d"], ["c", "a", "b"]]
    tagger = TiltTagger(rules, classes=classes, valid_only=True, inference="exact").fit(X)
    for y in tagger.project(X, decode=True):
        assert whole.repeats("N")(y) == 0
        assert whole.appears("V")(y)
    assert sorted(tagger.classes_.tolist()) == sorted(classes)
    with pytest.raises(ConflictError, match="No well-formed labelling"):
        TiltTagger([expect.appears("N").at_least(1)], classes=["B-V", "I-V", "I-N"], valid_only=True).fit(X)


# Projections


def test_project_solves_on_new_sequences_and_obeys_rules():
    said = [
        Counted(expect.before("size", "contact").at_least(0.8), number=whole.before("size", "contact")),
        Counted(expect.distinct(per="sequence").about(1.5, beta=0.2), number=whole.distinct("size", "contact")),
    ]
    rule = expect.repeats().at_most(0)
    tagger = TiltTagger([*(s.constraint for s in said), rule, *WORDS]).fit(ADS)
    tagger.constraints_ = ConstraintSet((*(s.constraint for s in said), rule), tuple(tagger.classes_.tolist()))
    new = [["big", "room", "phone"], ["call", "garden", "big", "Ann"]]
    world = World(new, tagger.classes_.tolist())
    ranked = [{tuple(y): p for y, p in best} for best in tagger.predict_k_best(new, 100)]
    world.__dict__["log_p"] = [np.log([ranked[s][y] for y in world.labellings(s)]) for s in range(2)]
    allowed = oracle.allowed_by(world, lambda s, y: repeats(y) > 0)
    _, q = primal(world, rows_of(world, said), allowed)
    for one, two in zip(tagger.project(new, prices="solve"), oracle.node_marginals(world, q), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)
    for s, y in enumerate(tagger.project(new, prices="solve", decode=True)):
        assert tuple(y) == world.labellings(s)[int(np.argmax(q[s]))]
        assert repeats(y) == 0


@pytest.mark.parametrize("how", ["exact", "sampled"])
def test_decoding_obeys_hard_rules(how, quick):
    rules = [expect.repeats().at_most(0), expect.before("contact", "size").at_least(1)]
    # Words that pull as hard as they do by default would leave the sampler without a start at the fitted prices.
    tagger = quietly(lambda: once(rules, inference=how, beta=0.05).fit(ADS))
    # As the words have it, most begin with size; and some come back.
    new = [*ADS, ["call", "room", "call", "room"]]
    for prices in ("solve", "fitted"):
        for y in quietly(lambda prices=prices: tagger.project(new, decode=True, prices=prices)):
            assert repeats(y) == 0
            assert (y[0], y[-1]) == ("contact", "size")


@pytest.mark.filterwarnings("ignore::tiltfit.errors.UnmetConstraintWarning")  # alpha holds it near the votes
def test_fitted_prices_of_statistics():
    tagger = TiltTagger([*WORDS, expect.repeats().about(0.2, beta=0.001)], inference="exact", alpha=100).fit(ADS)
    call, big, price = (entry.price for entry in tagger.constraint_report_)
    assert abs(price) > 0.1
    new = [["call", "big", "phone", "room"]]
    (q,) = tagger.project(new, prices="fitted")
    world = World(new, tagger.classes_.tolist())
    p = {tuple(y): p for y, p in tagger.predict_k_best(new, 100)[0]}
    tilt = [
        call * (y[::2].count("contact")) + big * (y[1::2].count("size")) + price * repeats(y)
        for y in world.labellings(0)
    ]
    weights = np.array([p[y] for y in world.labellings(0)]) * np.exp(tilt)
    np.testing.assert_allclose(q, oracle.node_marginals(world, [weights / weights.sum()])[0], atol=1e-7)


def test_groups_of_sequences():
    table = {"tokens": ADS, "style": ["p", "q", "p", "q"]}
    tagger = TiltTagger([*WORDS, expect.repeats(per=column("style")).at_most(0.1)]).fit(table)
    assert tagger.constraint_report_[2].groups == 2
    assert tagger.constraint_report_[2].status == "met"


# Statistics that people write


class Palindrome(Statistic):
    """Ends as it began: no function of segments."""

    name = "ends as it began"
    least, most = 0.0, 1.0

    def __init__(self, fields):
        self.fields = fields

    def count(self, labels):
        return float(labels[0] == labels[-1])


class Wrong(Palindrome):
    name = "wrong"

    def change(self, labels, t, label):
        return 1.0


@pytest.fixture
def registered():
    register_statistic("ends as it began")(Palindrome)
    register_statistic("wrong")(Wrong)
    yield
    REGISTRY.remove("ends as it began")
    REGISTRY.remove("wrong")


@pytest.mark.usefixtures("registered")
def test_a_statistic_of_ones_own_is_sampled(quick, monkeypatch):
    monkeypatch.setattr(stochastic, "_LONG", 4)
    said = expect.statistic("ends as it began").at_least(0.9)
    tagger = quietly(lambda: once([said]).fit(ADS[:2]))
    assert np.isnan(tagger.objective_)
    assert tagger.constraint_report_[2].model < 0.7
    assert tagger.constraint_report_[2].projected > 0.7
    with pytest.raises(UnsupportedError, match='cannot take the statistic "ends as it began"'):
        once([said], inference="exact").fit(ADS[:2])
    rule = expect.statistic("ends as it began").at_least(1)
    ruled = quietly(lambda: once([rule]).fit(ADS[:2]))
    assert ruled.constraint_report_[2].status == "rules"
    assert all(y[0] == y[-1] for y in quietly(lambda: ruled.project(ADS[:2], decode=True)))


@pytest.mark.usefixtures("registered")
def test_a_statistic_whose_change_disagrees_with_its_count():
    with pytest.raises(ConstraintError, match='statistic "wrong" change and count disagree'):
        once([expect.statistic("wrong").about(0.5)]).fit(ADS)


# What is refused


@pytest.mark.parametrize(
    ("constraint", "error", "says"),
    [
        (expect.statistic("repaets").about(1), ConstraintError, r"no statistic 'repaets'.*Did you mean .repeats"),
        (
            expect.statistic("before", {"frist": "size", "then": "contact"}).about(1),
            ConstraintError,
            r'"before" has no option "frist"; it takes first, then. Did you mean "first"',
        ),
        (expect.statistic("before", {"first": "size"}).about(1), ConstraintError, r'"before".*then'),
        (expect.before("size", "size").about(1), ConstraintError, "before itself"),
        (expect.before("size", "contcat").about(1), UnknownLabelError, r'contcat.*Did you mean "contact"'),
        (expect.distinct("siz").about(1), UnknownLabelError, r'siz.*Did you mean "size"'),
        (expect.short(below=0).about(1), ConstraintError, "an integer of at least 1 as below"),
        (expect.repeats(given=word("big")).about(1), UnsupportedError, "takes no condition on tokens"),
        (expect.appears("size", given=word("big")).about(1), UnsupportedError, "takes no condition on tokens"),
        (expect.repeats(of=expect.change()).about(1), UnsupportedError, "leave of= out"),
        (expect.change(of=expect.repeats()).about(1), UnsupportedError, "leave of= out"),
        (expect.distinct().at_least(20), ConflictError, "cannot hold in sequence 0.*never above 2"),
        (expect.repeats().at_least(100), ConflictError, "cannot hold.*mean number between 0 and"),
        (expect.appears("size", per="sequence").between(1.5, 2), ConflictError, "cannot hold in sequence 0"),
    ],
)
def test_what_cannot_be(constraint, error, says):
    with pytest.raises(error, match=says):
        once([constraint], classes=["size", "contact"]).fit(ADS)


def test_shares_of_statistics_and_empty_options():
    with pytest.raises(ConstraintError, match="leave of= out"):
        expect.appears("size", of=expect.change()).about(1)
    with pytest.raises(ConstraintError, match="leave of= out"):
        expect("size", of=expect.distinct()).about(1)
    with pytest.raises(ConstraintError, match="'labels' of the statistic 'appears' is empty"):
        expect.appears()


def test_rules_that_known_labels_break():
    y = [["size", "contact", "size", "size", "contact"], None, None, None]
    with pytest.raises(ConflictError, match="rules out the label that sequence 0 has"):
        once([expect.repeats(on="all").at_most(0)]).fit(ADS, y)
    y[0][3] = None
    with pytest.raises(ConflictError, match="No label is left for sequence 0: 'once'"):
        once([expect.repeats().at_most(0, name="once")]).fit(ADS, y)


def test_one_label_need_not_be_a_list():
    one, several = (expect.statistic("appears", {"labels": v}).about(1) for v in ("size", ["size"]))
    assert one == several == expect.appears("size").about(1)


LETTERS = list("abcdefghijkl")


def test_sequences_longer_than_exact_inference_can_take(quick):
    X = [[f"w{i % 7}" for i in range(150)]]
    constraint = expect.repeats().about(3)
    with pytest.raises(UnsupportedError, match=r"no answer for 1 of 1 sequences, such as number 0 of 150 tokens"):
        TiltTagger([constraint], classes=LETTERS, inference="exact").fit(X)
    options = {"callback": lambda r: True, "random_state": 0}
    tagger = quietly(lambda: TiltTagger([constraint], classes=LETTERS, **options).fit(X))
    assert np.isnan(tagger.objective_)
    assert tagger.constraint_report_[0].effective is not None


# Files


def test_the_same_model_from_a_file(tmp_path):
    text = """
        version = 1
        classes = ["size", "contact"]

        [[constraint]]
        labels = ["contact"]
        given = { word = "call" }
        about = 0.95

        [[constraint]]
        statistic = { name = "before", first = "size", then = "contact" }
        about = 0.8

        [[constraint]]
        statistic = { name = "short", below = 2, labels = "size" }
        at_most = 0.5

        [[constraint]]
        repeats = true
        per = "sequence"
        at_most = 0.1
        """
    said = [
        expect("contact", given=word("call")).about(0.95),
        expect.before("size", "contact").about(0.8),
        expect.short("size", below=2).at_most(0.5),
        expect.repeats(per="sequence").at_most(0.1),
    ]
    path = tmp_path / "c.toml"
    path.write_text(text, encoding="utf-8")
    one, two = TiltTagger(path).fit(ADS), TiltTagger(said, classes=["size", "contact"]).fit(ADS)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    again = ConstraintSet.from_toml(ConstraintSet.from_toml(path).to_toml())
    assert list(again) == said


@pytest.mark.parametrize("how", ["exact", "sampled"])
def test_saved_and_loaded(how, quick, tmp_path):
    said = [expect.before("size", "contact").about(0.8), expect.repeats().at_most(0), expect.distinct().about(1.5)]
    tagger = quietly(lambda: once(said, inference=how).fit(ADS))
    tagger.save(tmp_path / "m.tilt")
    again = tiltfit.load(tmp_path / "m.tilt")
    assert again.inference == how
    assert again.constraint_report_ == tagger.constraint_report_
    assert again.predict(ADS) == tagger.predict(ADS)
    assert again.objective_ == pytest.approx(tagger.objective_, nan_ok=True)
    assert [r.gradient for r in again.history_] == [r.gradient for r in tagger.history_]
    for name in ("solve", "fitted"):
        one, two = (quietly(lambda t=t, name=name: t.project(ADS, prices=name)) for t in (tagger, again))
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_pickled(quick):
    tagger = quietly(lambda: TiltTagger([*WORDS, expect.repeats().about(0.3)], inference="sampled", max_iter=1,
                                        random_state=0).fit(ADS))  # fmt: skip
    again = pickle.loads(pickle.dumps(tagger))
    assert np.isnan(again.objective_)
    one, two = (quietly(lambda t=t: t.project(ADS)) for t in (tagger, again))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


# What is said of samples


def test_noise_is_no_violation(monkeypatch):
    monkeypatch.setattr(stochastic, "_LONG", 128)
    tagger = TiltTagger([*WORDS, expect.repeats().at_most(0.3), expect.distinct().exactly(1.8)], inference="sampled",
                        beta=0.05, random_state=0, callback=lambda r: True)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnmetConstraintWarning)
        tagger.fit(ADS)
        assert [e.status for e in tagger.constraint_report_][2:] == ["met", "met"]
        assert max(e.violation for e in list(tagger.constraint_report_)[2:]) > 1e-4  # noise there is
        tagger.project(ADS, prices="solve")


def test_chains_that_say_little_are_named(monkeypatch, quick):
    monkeypatch.setattr(stochastic, "REPORTED", 8)
    tagger = once([expect.repeats().at_most(0.2, name="once")], inference="sampled")
    with pytest.warns(SamplingWarning, match=r"'once' is worth \d+ draws, R-hat .*inference='exact'"):
        tagger.fit(ADS)
    with pytest.warns(SamplingWarning, match="'once'") as caught:
        tagger.project(ADS, prices="solve")
    assert all(w.filename == __file__ for w in caught)


@pytest.mark.filterwarnings("ignore::tiltfit.errors.NotConvergedWarning")
def test_chains_that_never_move_are_worth_nothing():
    """A posterior so sharp that no proposal leaves it: the constraint is missed, but nobody can say that it must be."""
    X, Y = [["p"] * 5 + ["q"] * 5 + ["p"] * 5] * 6, [["a"] * 5 + ["b"] * 5 + ["a"] * 5] * 6
    tagger = TiltTagger(
        [expect.repeats().at_most(0.2)], classes=list("abc"), alpha=1e-4, inference="sampled", random_state=0,
        init="supervised", max_iter=1, tol=1e-5,  # at 1e-3 a chain does move once in some ten to forty seeds
    )  # fmt: skip
    with pytest.warns(SamplingWarning):
        tagger.fit(X * 2, Y + [None] * 6)
    entry = tagger.constraint_report_[0]
    assert entry.status != "violated"
    assert entry.effective == 0


def test_a_statistic_that_fails_is_named():
    @register_statistic("fails")
    class Fails(Statistic):
        name = "fails"

        def __init__(self, fields):
            pass

        def count(self, labels):
            return labels[99]

    try:
        with pytest.raises(ConstraintError, match='count of the statistic "fails" failed'):
            once([expect.statistic("fails").about(1)], classes=["size", "contact"]).fit(ADS)
    finally:
        REGISTRY.remove("fails")


def test_soft_targets_that_no_count_reaches_are_refused():
    with pytest.raises(ConstraintError, match="always between 0 and 1"):
        once([expect.appears("size").about(1.5)], classes=["size", "contact"]).fit(ADS)
