"""Populations of dictionaries: what they find, and that nothing but the seed decides it."""

from itertools import pairwise

import numpy as np
import pytest

from shapelex.coding import encode_rows, squared_residuals
from shapelex.geometry.atom_matching import match_atoms
from shapelex.learning import Learner, LearningOptions, learn
from shapelex.learning import population as module
from shapelex.learning.population import ISLANDS_FROM, TRIAL_UPDATES, Population, Proposal, count_passes, explore
from shapelex.learning.trials import Trials
from tests.learning.samples import clustered, plain_shapes, planted, random_rows

SIZES = {"n_atoms": 6, "n_nonzero": 2}


def search(rows, seed=0, start=None, **options):
    """Return all that an exploration reports."""
    options = LearningOptions(**(SIZES | options))
    start = rows[: options.n_atoms] if start is None else start
    return list(explore(plain_shapes(rows), options, start, np.random.default_rng(seed)))


def make_population(n_members=3, **options):
    rows = clustered(100)
    trials = Trials(rows, np.ones(100), LearningOptions(**(SIZES | options)))
    members = [trials.descend(random_rows(6, 10, seed), 8) for seed in range(n_members)]
    return Population(trials, members, np.random.default_rng(0))


@pytest.mark.parametrize("nested", [False, True])
def test_same_bits_for_any_number_of_threads(nested, monkeypatch):
    # As many threads as are allowed, however short the work is.
    monkeypatch.setattr(module, "count_threads", lambda n_threads, work_ns: n_threads)
    found = [search(clustered(150), n_swaps=20, nested=nested, n_threads=n_threads)[-1] for n_threads in (1, 2, 5)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.best.atoms, found[0].best.atoms)
        assert (other.best.judgement, other.n_trials) == (found[0].best.judgement, found[0].n_trials)


def test_the_seed_decides():
    rows = clustered(150)
    one, again, other = (search(rows, seed, n_swaps=12)[-1].best for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.atoms, again.atoms)
    assert not np.array_equal(one.atoms, other.atoms)


@pytest.mark.parametrize("coder", ["exact", "beam", "ormp"])
def test_never_worse_on_the_sample_than_its_start(coder):
    rows = clustered(150)
    trials = Trials(rows, np.ones(150), LearningOptions(**SIZES, coder=coder))
    start = trials.descend(rows[:6], TRIAL_UPDATES)
    judgements = [report.best.judgement for report in search(rows, n_swaps=30, coder=coder)]
    assert judgements[0] <= start.judgement * (1 + 1e-12)
    assert all(after <= before for before, after in pairwise(judgements))
    assert judgements[-1] < judgements[0]


def test_given_atoms_are_where_the_search_starts():
    rows = clustered(150)
    start = random_rows(6, 10, 9)
    reports = search(rows, start=start, init=start, n_swaps=2)
    expected = Trials(rows, np.ones(150), LearningOptions(**SIZES)).descend(start, TRIAL_UPDATES)
    np.testing.assert_allclose(reports[0].best.atoms, expected.atoms, atol=1e-12)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("n_swaps", [0, 1, 4, 23])
def test_n_swaps_is_the_number_of_trials(n_swaps, nested):
    reports = search(clustered(150), n_swaps=n_swaps, nested=nested)
    assert reports[-1].n_trials == n_swaps
    assert [report.n_trials for report in reports] == sorted(report.n_trials for report in reports)


@pytest.mark.parametrize("options", [{}, {"nested": True}, {"effort": 4}, {"nested": True, "effort": 4}])
def test_the_share_that_is_done_grows_to_one(options, monkeypatch):
    monkeypatch.setattr(module, "_PASSES", 30)
    shares = [report.share for report in search(clustered(100), **options)]
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == pytest.approx(1)


def test_effort_is_the_number_of_passes():
    trials = {effort: Trials(clustered(50), np.ones(50), LearningOptions(6, 2, effort=effort)) for effort in (1, 4)}
    assert count_passes(trials[4]) == 4 * count_passes(trials[1])


@pytest.mark.parametrize(("effort", "n_islands"), [(1, 1), (ISLANDS_FROM - 0.1, 1), (ISLANDS_FROM, 2), (9, 4)])
@pytest.mark.parametrize("nested", [False, True])
def test_islands(effort, n_islands, nested, monkeypatch):
    monkeypatch.setattr(module, "_PASSES", 30)
    sizes, united = [], []

    class Recorded(module.PopulationSearch):
        def make_round(self, *arguments, **options):
            sizes.append([len(population.members) for population in self.populations])
            super().make_round(*arguments, **options)

        def unite(self):
            best = [population.best for population in self.populations]
            super().unite()
            (population,) = self.populations
            united.append(population.members == best)

    monkeypatch.setattr(module, "PopulationSearch", Recorded)
    search(clustered(100), effort=effort, nested=nested)
    assert len(sizes[0]) == n_islands
    assert len(set(sizes[0])) == 1
    assert [len(group) for group in sizes] == sorted((len(group) for group in sizes), reverse=True)
    # The last population consists of the best dictionary of each island.
    assert united == [True] * (n_islands > 1)
    assert sizes[-1] == (sizes[0] if n_islands == 1 else [n_islands])


def test_the_first_phase_of_nested_dictionaries_has_one_atom_per_shape(monkeypatch):
    phases = []

    class Recorded(Trials):
        def __init__(self, rows, weights, options):
            super().__init__(rows, weights, options)
            phases.append((options.sparsities, options.tie))

    monkeypatch.setattr(module, "Trials", Recorded)
    search(clustered(100), n_nonzero=3, nested=True, n_swaps=3, tie=0.3)
    assert phases == [((1,), 0.0), ((1, 2, 3), 0.3)]


def test_crossovers_have_atoms_of_both_parents():
    population = make_population()
    proposals = [proposal for _ in range(60) for proposal in population.propose(exchanges=True)]
    crossovers = [proposal for proposal in proposals if proposal.is_crossover]
    assert 0.7 < len(crossovers) / len(proposals) < 0.9
    parents = np.array([member.atoms for member in population.members])
    for proposal in crossovers:
        is_from = (proposal.atoms[:, None, None] == parents).all(axis=-1).any(axis=-1)
        assert is_from.any(axis=1).all()
        assert is_from.any(axis=0).sum() == 2
        used = np.flatnonzero(is_from.any(axis=0))
        # It competes with the worse one.
        worse = max(used, key=lambda place: population.members[place].objective)
        assert proposal.place == worse
        assert proposal.limit == population.members[worse].objective


def test_swaps_put_a_shape_in_the_place_of_an_atom():
    population = make_population()
    proposals = population.propose(exchanges=False)
    assert [proposal.place for proposal in proposals] == [0, 1, 2]
    for proposal, member in zip(proposals, population.members, strict=True):
        changed = np.flatnonzero((proposal.atoms != member.atoms).any(axis=1))
        assert len(changed) == 1
        assert (population.trials.rows == proposal.atoms[changed]).all(axis=1).any()
        assert proposal.limit == member.objective


def test_equal_dictionaries_are_not_crossed():
    population = make_population(1)
    turned = population.trials.descend(1j * population.members[0].atoms[::-1], 0)
    population.members.append(turned)
    assert not any(proposal.is_crossover for proposal in population.propose(exchanges=True))


def test_members_are_replaced_by_better_dictionaries_alone():
    population = make_population(2)
    worst, best = sorted(population.members, key=lambda member: member.judgement)[::-1]
    place = population.members.index(best)
    population.accept(Proposal(worst.atoms, place, best.objective, is_crossover=False), worst)
    assert population.members[place] is best
    better = population.trials.descend(best.atoms, 40)
    population.accept(Proposal(better.atoms, place, best.objective, is_crossover=False), better)
    assert population.members[place] is better
    assert population.best is better


def test_a_copy_of_another_member_competes_with_that_one():
    population = make_population(2)
    worst, best = sorted(range(2), key=lambda place: -population.members[place].judgement)
    copy = population.trials.descend(population.members[best].atoms, 1)
    kept = population.members[worst]
    population.accept(Proposal(copy.atoms, worst, kept.objective, is_crossover=True), copy)
    assert population.members[worst] is kept
    assert population.best.judgement <= copy.judgement


@pytest.mark.parametrize("nested", [False, True])
def test_a_known_dictionary_is_found(nested):
    rows, atoms = planted(n_rows=400, n_atoms=8, n_coordinates=10, n_nonzero=2, noise=0.01)
    found = learn(rows, 8, 2, nested=nested, generator=1)
    assert match_atoms(atoms, found.atoms)[1].max() < 0.05**2


@pytest.mark.parametrize("nested", [False, True])
def test_a_set_without_error_gets_its_dictionary(nested):
    # Some shapes are single atoms, so that the penalty does not contradict.
    rows, atoms = planted(n_rows=300, n_atoms=6, n_coordinates=8, n_nonzero=2)
    rows = np.concatenate([rows, atoms])
    found = learn(rows, 6, 2, nested=nested, generator=0, max_iter=300)
    assert found.rmse < 1e-5
    assert match_atoms(atoms, found.atoms)[1].max() < 1e-4**2


def test_sets_without_error_end_the_search():
    rows = np.repeat(random_rows(6, 8), 5, axis=0)
    reports = search(rows, start=rows[::5])
    assert reports[-1].n_trials == 0
    assert reports[-1].best.losses[-1] < 1e-15
    # Also one that is found after some trials.
    reports = search(planted(n_rows=300)[0])
    assert reports[-1].n_trials > 0
    assert reports[-1].share < 0.9
    assert reports[-1].best.losses[-1] < 1e-15


def test_weights_of_zero_do_not_count():
    rows, others = np.repeat(random_rows(6, 8), 30, axis=0), random_rows(50, 8, 4)
    found = learn(np.concatenate([others, rows]), 6, 1, generator=0, sample_weight=np.repeat([0.0, 1.0], [50, 180]))
    squares = squared_residuals(rows, found.atoms, encode_rows(rows, found.atoms, 1))
    assert squares.max() < 1e-12


@pytest.mark.parametrize("nested", [False, True])
def test_interrupted_searches_keep_the_best(nested):
    rows = clustered(150)
    seen = []

    def interrupt(step):
        if step.n_trials is not None:
            seen.append(step)
            if step.explored > 0.4:
                raise KeyboardInterrupt

    options = LearningOptions(**SIZES, nested=nested, n_swaps=30)
    learner = Learner(plain_shapes(rows), options, np.random.default_rng(0), interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.run()
    assert len(seen) > 1
    np.testing.assert_array_equal(learner.best.atoms, seen[-1].atoms)
    expected = squared_residuals(rows, learner.best.atoms, encode_rows(rows, learner.best.atoms, 2)).mean()
    assert learner.best.rmse**2 == pytest.approx(expected)
