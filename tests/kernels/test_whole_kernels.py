"""A single sweep, position by position: the conditional probabilities it draws from are those of the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inference.whole_cases import BIO, PLAIN, every_statistic, make_chains, make_potentials, parts
from tests.oracles.whole import conditional

from tiltfit.inference.segmental import pack
from tiltfit.kernels.form import measure, memories, new_tally, set_prices, values
from tiltfit.kernels.gibbs import open_tables, sweep, sweep_logs
from tiltfit.kernels.mixture import Problem, new_sampler_room
from tiltfit.kernels.propose import filter_forward


def one_sweep(chains, potentials, statistics, prices, labels, logs):
    """The probabilities that labels were drawn from, and the counts kept up; ``labels`` become those drawn."""
    form, n = pack(statistics), len(chains)
    problem = Problem(
        potentials.node, chains.offsets, chains.kind, open_tables(potentials.edge), form, prices[None], np.ones(n)
    )
    room, tables = new_sampler_room(problem, 0, n), problem.tables
    filter_forward(
        potentials.node, chains.offsets, chains.kind, tables, room.local, room.ahead, np.zeros(n, dtype=np.int8), 0, n
    )
    set_prices(form, problem.whole, 0, room.prices, 0)
    for s in range(n):
        measure(form, labels, chains.offsets[s], chains.lengths[s], room.tally, s)
    room.states[:] = np.arange(n) + 17
    room.active[:] = 1.0
    edge = np.zeros(tables.factor.shape)
    shared = (
        form, room.prices, room.price, labels, room.tally, room.site, room.states, room.active, problem.weight,
        room.node, edge, room.done, 0, n,
    )  # fmt: skip
    if logs:
        sweep_logs(potentials.node, chains.offsets, chains.kind, tables.log, tables.log_t, *shared)
    else:
        sweep(room.local, chains.offsets, chains.kind, tables.factor, tables.factor_t, *shared)
    return room.node[0, :, : potentials.node.shape[1]], edge, room.tally.counts, room.done, form


sweeps = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "fields": st.sampled_from([PLAIN, BIO]),
        "chosen": st.lists(st.integers(0, 14), min_size=1, max_size=4, unique=True),
        "lengths": st.lists(st.integers(1, 9), min_size=1, max_size=3),
        "scale": st.sampled_from([0.0, 1.0, 5.0]),
        "forbid": st.sampled_from([0.0, 0.2]),
    }
)


def check_sweep(case, logs, statistics):
    rng = np.random.default_rng(case["seed"])
    chains = make_chains(case["lengths"], rng, 2)
    potentials = make_potentials(chains, case["fields"].n_labels, rng, case["scale"], case["forbid"])
    prices = 2.0 * rng.normal(size=len(statistics))
    labels = chains.sample(potentials, 1, 0)[0].astype(np.int16)
    if np.any(labels < 0):
        return
    old = labels.copy()
    node, edge, counts, done, form = one_sweep(chains, potentials, statistics, prices, labels, logs)
    assert np.array_equal(done, chains.lengths)
    for where, sequence in parts(chains, potentials):
        for t in range(where.stop - where.start):
            mixed = np.concatenate([labels[where][:t], old[where][t:]]).astype(np.intp)
            p = conditional(*sequence, statistics, prices, mixed, t)
            np.testing.assert_allclose(node[where][t], p, atol=1e-12)
            assert p[labels[where][t]] > 0.0
    expected = np.zeros_like(edge)
    for t in np.setdiff1d(np.arange(len(labels)), chains.first):
        expected[chains.kind[t], labels[t - 1], : node.shape[1]] += node[t]
    np.testing.assert_allclose(edge, expected, atol=1e-12)
    assert_counts_are_kept(form, chains, labels, counts)


def assert_counts_are_kept(form, chains, labels, counts):
    tally = new_tally(form, len(chains))
    for s in range(len(chains)):
        measure(form, labels, chains.offsets[s], chains.lengths[s], tally, s)
    assert np.array_equal(tally.counts[:, :-1], counts[:, :-1])


@settings(max_examples=60)
@given(case=sweeps)
def test_sweeps_on_logarithms_draw_from_the_conditional_probabilities(case):
    check_sweep(case, True, [every_statistic(case["fields"])[k] for k in case["chosen"]])


@settings(max_examples=60)
@given(case=sweeps)
def test_sweeps_on_products_draw_from_the_conditional_probabilities(case):
    statistics = [every_statistic(case["fields"])[k] for k in case["chosen"] if k not in {6, 10, 11, 12, 13, 14}]
    if statistics:
        check_sweep(case, False, statistics)


def test_products_stop_where_they_would_lose_something_and_logarithms_go_on():
    rng = np.random.default_rng(3)
    chains = make_chains([6, 6], rng)
    potentials = make_potentials(chains, 3, rng)
    potentials.edge[:, :, 0] = -np.inf
    potentials.node[9, 0] = 1e4  # what is possible there is too small for a product
    statistics, prices = every_statistic(PLAIN)[2:3], np.array([-1.0])
    labels = np.tile([1, 2], 6).astype(np.int16)
    *_, done, _ = one_sweep(chains, potentials, statistics, prices, labels, False)
    assert done.tolist() == [6, 3]
    *_, done, _ = one_sweep(chains, potentials, statistics, np.array([-200.0]), labels, False)
    assert np.all(done == 0)


@settings(max_examples=60)
@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=10),
    fields=st.sampled_from([PLAIN, BIO]),
    chosen=st.lists(st.integers(0, 14), min_size=1, max_size=5, unique=True),
)
def test_compiled_counts_are_those_of_the_statistics(labels, fields, chosen):
    statistics = [every_statistic(fields)[k] for k in chosen]
    form, labels = pack(statistics), (np.array(labels) % fields.n_labels).astype(np.int16)
    tally, out = new_tally(form, 1), np.empty(len(statistics))
    measure(form, labels, 0, len(labels), tally, 0)
    values(form, tally, 0, out)
    assert out.tolist() == [statistic.count(labels.astype(np.intp)) for statistic in statistics]


def test_straight_lines_need_no_counter_of_several_fields():
    form = pack([every_statistic(PLAIN)[0], every_statistic(PLAIN)[2]])
    assert form.counters.shape == (4, 1)
    assert form.cap.tolist() == [1, 1, 1]


@pytest.mark.parametrize(("n", "expected"), [(1, 4.0), (2, 7.0), (5, 8.0)])
def test_what_can_be_remembered(n, expected):
    assert memories(pack(every_statistic(PLAIN)[2:3]), n)[-1] == expected
