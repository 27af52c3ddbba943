"""Hypothesis strategies for the whole constraint language, except ``when``, which no file can hold."""

from __future__ import annotations

from hypothesis import strategies as st

from tiltfit.language.condition import all_of, any_of
from tiltfit.language.conditions import (
    Column,
    Condition,
    Feature,
    Lexicon,
    Near,
    Phrase,
    Regex,
    Witness,
    Word,
    Words,
    column,
    first,
    last,
    position,
    punctuation,
)
from tiltfit.language.constraint import Among, Constraint
from tiltfit.language.events import (
    Change,
    End,
    Event,
    Labels,
    Repeats,
    Segments,
    Start,
    Statistic,
    Stay,
    Transition,
)
from tiltfit.language.relations import About, AtLeast, AtMost, Between, DistributedAs, Exactly
from tiltfit.language.values import exact

# Plain words, and everything that could break a writer: quotes, backslashes, newlines, control characters, any script.
NASTY = ['"', "'", "\\", "\n", "\r\n", "\t", "\x00", "\x1b", "\x7f", "a.b", "true", "1", "#", "İ", "\u2028", "😀", "é"]
texts = st.one_of(
    st.sampled_from(["puck", "Bat", "new york", *NASTY]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)
integers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
labels = st.one_of(texts, st.just(""), integers, st.integers(0, 2), st.booleans(), floats, st.sampled_from([0.0, 1.0]))


def label_sets(min_size: int = 1) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(labels, min_size=min_size, max_size=4, unique_by=exact).map(tuple)


columns = texts.map(Column)
sources = st.one_of(columns, texts.map(Feature))
thresholds = st.one_of(integers, floats)
cases = st.sampled_from([None, True, False])
maybe_column = st.one_of(st.none(), texts)
phrases = st.one_of(st.sampled_from(["new york", "a"]), texts.map(lambda t: f"a {t}"))
patterns = st.one_of(st.sampled_from([r"\d+", r"(?i)a|b", r"[^\"']\\"]), texts.map(lambda t: "".join(map(_escape, t))))


def _escape(c: str) -> str:
    return f"\\{c}" if not c.isalnum() and c.isascii() else c


leaves: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Word, texts, cases, maybe_column),
    st.builds(Phrase, phrases, cases, maybe_column),
    st.builds(Regex, patterns, maybe_column),
    st.builds(Witness, texts, st.one_of(st.none(), labels)),
    st.builds(Words, st.lists(texts, min_size=1, max_size=3).map(tuple), cases, maybe_column),
    st.builds(
        Lexicon,
        st.lists(phrases, min_size=1, max_size=5).map(tuple),
        st.one_of(st.none(), texts),
        st.booleans(),
        maybe_column,
    ),
    st.builds(
        Near,
        st.lists(phrases, min_size=1, max_size=3).map(tuple),
        st.floats(0, 1, exclude_min=True),
        st.one_of(st.just("static"), texts),
        maybe_column,
    ),
    st.builds(Feature, texts),
    st.builds(lambda s, v: s.above(v), sources, thresholds),
    st.builds(lambda s, v: s.below(v), sources, thresholds),
    st.builds(lambda s, v: s.between(*sorted(v)), sources, st.tuples(thresholds, thresholds)),
    st.builds(lambda name, values: column(name).isin(*values), texts, label_sets()),
    st.sampled_from([punctuation, first, last]),
    st.integers(-5, 5).map(position),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(all_of),
        st.lists(inner, min_size=1, max_size=3).map(any_of),
        inner.map(lambda c: ~c),
        inner.map(lambda c: c.before),
        inner.map(lambda c: c.after),
    ),
    max_leaves=8,
)

share_events: st.SearchStrategy[Event] = st.one_of(
    label_sets().map(Labels),
    st.builds(Stay),
    st.builds(Change),
    st.builds(Transition, labels, labels),
    label_sets().map(Start),
    label_sets().map(End),
)
option_names = st.sampled_from(["labels", "first", "then", "below", "other"])
options = st.dictionaries(option_names, st.one_of(labels, label_sets()), max_size=3).map(lambda d: tuple(d.items()))
count_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Segments, labels), label_sets(0).map(Repeats), st.builds(Statistic, texts, options)
)

shares = st.floats(0, 1)
counts = st.floats(0, 1e9)
scopes = st.one_of(st.sampled_from(["dataset", "instance", "sequence"]), columns)
parts = st.sampled_from(["unlabelled", "all"])
maybe_text = st.one_of(st.none(), texts)
betas = st.one_of(st.none(), st.floats(1e-12, 1e12))
withins = st.one_of(st.none(), st.floats(1e-12, 1, exclude_max=True))
slacks = st.one_of(st.none(), st.just(0.0), st.floats(0, 1e12))


def relations(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.builds(About, numbers, st.sampled_from(["l2", "l1"]), withins),
        st.builds(AtLeast, numbers),
        st.builds(AtMost, numbers),
        st.builds(Exactly, numbers),
        st.tuples(numbers, numbers).map(lambda pair: Between(*sorted(pair))),
    )


@st.composite
def distributions(draw: st.DrawFn) -> DistributedAs:
    names = draw(label_sets())
    weights = draw(st.lists(st.integers(0, 10), min_size=len(names), max_size=len(names)).filter(any))
    return DistributedAs(tuple((name, weight / sum(weights)) for name, weight in zip(names, weights, strict=True)))


@st.composite
def _statements(draw: st.DrawFn) -> tuple[Event, object, Among | None]:
    """An event, a relation that suits it, and perhaps the event it is a share of."""
    kind = draw(st.sampled_from(["share", "count", "distribution", "of"]))
    if kind == "distribution":
        return Labels(), draw(distributions()), None
    if kind == "count":
        return draw(count_events), draw(relations(counts)), None
    event = draw(share_events)
    if kind == "share":
        return event, draw(relations(shares)), None
    others = st.one_of(share_events.filter(lambda e: not isinstance(e, Labels)), st.builds(Segments, labels))
    return event, draw(relations(shares)), Among(draw(others), draw(st.one_of(st.none(), conditions)))


@st.composite
def constraints(draw: st.DrawFn) -> Constraint:
    event, relation, of = draw(_statements())
    given = draw(st.one_of(st.none(), conditions))
    if of is not None and of.event == event:  # its share of itself may be 1 whatever happens, which is refused
        of = None
    return Constraint(
        event,
        relation,  # type: ignore[arg-type]
        given,
        of,
        draw(scopes),
        draw(parts),
        draw(betas) if not relation.hard and relation.within is None else None,  # type: ignore[attr-defined]
        draw(slacks) if relation.hard else None,  # type: ignore[attr-defined]
        draw(maybe_text),
        draw(maybe_text),
    )
