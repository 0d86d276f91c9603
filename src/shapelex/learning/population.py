"""A better dictionary to start a descent from: populations of dictionaries that exchange atoms, on a sample of shapes.

In come shapes; out goes the best dictionary that was found on a sample of them. Updates alone only reach the nearest
local minimum. *Swaps* put a badly approximated shape in the place of an atom; *crossovers* take some atoms from one
dictionary of a population and the others from another one. Each is followed by a few updates, and kept if the result
is better than the dictionary whose place it takes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shapelex._typing import ComplexArray
from shapelex.coding.threads import count_threads, run_blocks
from shapelex.geometry.atom_matching import match_atoms
from shapelex.learning.initialization import initial_atoms
from shapelex.learning.options import LearningOptions
from shapelex.learning.sampling import draw_index, draw_rows
from shapelex.learning.trials import Trial, Trials
from shapelex.learning.update import mutual_coherences
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.spaces.plain import PlainRows

SAMPLE_ROWS = 2000
"""Number of shapes that dictionaries are tried on, or 20 for each atom if that is more."""

TRIAL_UPDATES = 8
"""Maximum number of updates after a swap or crossover."""

FIRST_SHARE = 0.1
"""Part of the passes that the dictionaries of a population take before they exchange atoms."""

CROSSOVER_SHARE = 0.85
"""Part of the trials that are crossovers, once the dictionaries exchange atoms; the others are swaps."""

ISLANDS_FROM = 4
"""From this effort on there are several populations, one for each 2 of the effort."""

CHAMPIONS_SHARE = 0.5
"""Part of the passes of one population of the best dictionaries of several."""

# Passes over a sample at effort 1, where a pass takes as long as the second number says; more of shorter ones.
_PASSES, _PASS_NS = 500, 13e6
# Between two kernels a thread holds the lock of the interpreter for about so long in a pass.
_SERIAL_NS = 2e5
# With one atom per shape a pass is short, and the sample is so many times as large.
_ONE_ATOM_ROWS = 4
# Maximum number of updates with all sparsities, on the sample, and how much worse than the best with one atom per shape
# a dictionary may be that they start from.
_NESTED_UPDATES = 40
_NEARLY_EQUAL = 0.02
_MOST_EQUAL = 8
# Part of the time of a search that these updates take, about.
_NESTED_SHARE = 0.4
# Trials of a population that start from the same dictionaries. The number does not depend on that of the threads, so
# the result does not either.
_ROUND = 4
# Matched atoms closer than this count as the same, and so do dictionaries all of whose atoms are closer than this.
_SAME_ATOM = 0.01
_SAME_DICTIONARY = 0.02


@dataclass(frozen=True)
class Exploration:
    """Where the search for a first dictionary stands.

    Parameters
    ----------
    best : Trial
        The best dictionary so far.
    n_trials : int
        Number of swaps and crossovers that were tried.
    share : float
        Part of the search that is done, between 0 and 1.
    """

    best: Trial
    n_trials: int
    share: float


def explore(
    shapes: Shapes, options: LearningOptions, atoms: ComplexArray, generator: np.random.Generator
) -> Iterator[Exploration]:
    """Search a dictionary on a random sample of the shapes; `atoms` is one of those that the search starts from.

    A nested dictionary is searched with one atom per shape, where good minima are few, so that other samples and seeds
    lead to similar atoms. Descents with all sparsities follow, from all that are nearly as good as the best. From the
    effort ``ISLANDS_FROM`` on, several populations do not exchange anything at first; then one population of the best
    dictionary of each goes on.
    """
    n_rows = SAMPLE_ROWS * (_ONE_ATOM_ROWS if options.n_nonzero == 1 else 1)
    chosen = draw_rows(shapes, max(n_rows, 20 * options.n_atoms), generator)
    sample = ArrayShapes(shapes.preshape_rows(chosen), PlainRows(shapes.shape[1]), shapes.weights_of(chosen))
    is_nested = len(options.sparsities) > 1
    searched = replace(options, n_nonzero=1, nested=False, tie=0.0) if is_nested else options
    trials = Trials(sample.configurations, sample.weights_of(slice(None)), searched)
    has_islands = options.effort >= ISLANDS_FROM and options.n_trials is None
    n_islands = int(options.effort / 2) if has_islands else 1
    n_passes = count_passes(trials)
    # From given atoms all dictionaries would begin alike.
    n_members = min(max(round(n_passes / n_islands / 330), 4), 8) if isinstance(options.init, str) else 1
    starts = [[_draw_start(sample, options, generator) for _ in range(n_members)] for _ in range(n_islands)]
    starts[0][0] = atoms
    search = PopulationSearch(trials, starts, generator, _runner(shapes, trials))
    while True:
        share = search.n_passes / n_passes
        if options.n_trials is not None:
            share = search.n_trials / max(options.n_trials, 1)
        yield Exploration(search.best, search.n_trials, (1 - _NESTED_SHARE * is_nested) * min(share, 1.0))
        if share >= 1 or options.n_trials == 0 or search.best.losses[-1] <= trials.rounding:
            break
        if len(search.populations) > 1 and share >= 1 - CHAMPIONS_SHARE:
            search.unite()
        search.make_round(exchanges=share >= FIRST_SHARE, n_most=options.n_trials)
    if is_nested:
        together = Trials(trials.rows, trials.weights, options)
        limit = (1 + _NEARLY_EQUAL) * search.best.judgement
        members = [member for population in search.populations for member in population.members]
        equals = sorted((member for member in members if member.judgement <= limit), key=lambda one: one.judgement)
        equals = equals[: max(int(_MOST_EQUAL * min(options.effort, 1)), 1)]
        found = _runner(shapes, together)([(member.atoms, _NESTED_UPDATES, np.inf) for member in equals])
        yield Exploration(min(found, key=lambda member: member.judgement), search.n_trials, 1.0)


def count_passes(trials: Trials) -> float:
    """Return how many passes over a sample a search makes: more where a pass is short."""
    ratio = _PASS_NS / trials.cost_ns
    return float(trials.options.effort * _PASSES * ratio ** (0.34 if ratio > 1 else 0.5))


def _draw_start(sample: ArrayShapes, options: LearningOptions, generator: np.random.Generator) -> ComplexArray:
    return initial_atoms(sample, options.n_atoms, options.init, generator)


Runner = Callable[[list[tuple[ComplexArray, int, float]]], list[Trial]]
"""Makes descents, each from atoms, with a maximum number of updates and an objective to reach."""


def _runner(shapes: Shapes, trials: Trials) -> Runner:
    """Return what makes the descents: the workers that hold the shapes, or threads."""
    if shapes.is_remote:
        from shapelex.shapes.dask import DaskShapes

        assert isinstance(shapes, DaskShapes)
        return partial(shapes.run_tasks, Trials.descend, shapes.share(trials))
    return partial(_run_threads, trials)


def _run_threads(trials: Trials, inputs: list[tuple[ComplexArray, int, float]]) -> list[Trial]:
    tried: dict[int, Trial] = {}

    def try_one(number: int, _: int) -> None:
        tried[number] = trials.descend(*inputs[number])

    # Short passes gain nothing from a second thread.
    work_ns = len(inputs) * TRIAL_UPDATES * max(trials.cost_ns - _SERIAL_NS, 0)
    n_threads = count_threads(trials.options.n_threads, work_ns) if trials.options.device == "cpu" else 1
    run_blocks(try_one, len(inputs), 1, n_threads)
    return [tried[number] for number in range(len(inputs))]


class PopulationSearch:
    """Populations that are improved side by side, and do not exchange anything with each other.

    Parameters
    ----------
    trials : Trials
        Makes short descents on the sample.
    starts : list of list of ndarray
        The first dictionaries of each population.
    generator : numpy.random.Generator
        Source of all draws.
    run : callable
        Makes descents side by side; results do not depend on how.
    """

    def __init__(
        self, trials: Trials, starts: list[list[ComplexArray]], generator: np.random.Generator, run: Runner
    ) -> None:
        self.trials = trials
        self.n_passes = 0
        self.n_trials = 0
        self._run = run
        members = iter(self._try_all([(atoms, np.inf) for group in starts for atoms in group]))
        self.populations = [Population(trials, [next(members) for _ in group], generator) for group in starts]

    @property
    def best(self) -> Trial:
        """The best dictionary of all populations."""
        return min((population.best for population in self.populations), key=lambda member: member.judgement)

    def unite(self) -> None:
        """Make one population of the best dictionary of each."""
        first = self.populations[0]
        first.members = [population.best for population in self.populations]
        self.populations = [first]

    def make_round(self, exchanges: bool, n_most: int | None) -> None:
        """Try one round of swaps, or of swaps and crossovers, in each population, but `n_most` trials in all."""
        proposals = [
            (population, proposal) for population in self.populations for proposal in population.propose(exchanges)
        ]
        if n_most is not None:
            proposals = proposals[: n_most - self.n_trials]
        tried = self._try_all([(proposal.atoms, proposal.limit) for _, proposal in proposals])
        for (population, proposal), trial in zip(proposals, tried, strict=True):
            population.accept(proposal, trial)
        self.n_trials += len(tried)

    def _try_all(self, dictionaries: list[tuple[ComplexArray, float]]) -> list[Trial]:
        tried = self._run([(atoms, TRIAL_UPDATES, limit) for atoms, limit in dictionaries])
        self.n_passes += sum(trial.n_passes for trial in tried)
        return tried


@dataclass(frozen=True, eq=False)
class Proposal:
    """A dictionary to try, the member of the population that it competes with, and the objective of that one."""

    atoms: ComplexArray
    place: int
    limit: float
    is_crossover: bool


class Population:
    """Dictionaries of one sample, and the trials that improve them."""

    def __init__(self, trials: Trials, members: list[Trial], generator: np.random.Generator) -> None:
        self.trials = trials
        self.members = members
        self.generator = generator

    @property
    def best(self) -> Trial:
        """The best dictionary so far."""
        return min(self.members, key=lambda member: member.judgement)

    def propose(self, exchanges: bool) -> list[Proposal]:
        """Return a round of crossovers and swaps, or of one swap for each member."""
        if not exchanges:
            return [self._swap(place) for place in range(len(self.members))]
        return [self._cross_or_swap() for _ in range(_ROUND)]

    def accept(self, proposal: Proposal, trial: Trial) -> None:
        """Put a tried dictionary into its place, if it is better than the one there."""
        place = proposal.place
        if not trial.judgement < self.members[place].judgement:
            return
        if proposal.is_crossover:
            # A copy of another member would leave nothing to exchange: it competes with that one.
            for other, member in enumerate(self.members):
                if other != place and match_atoms(trial.atoms, member.atoms)[1].max() < _SAME_DICTIONARY**2:
                    if trial.judgement < member.judgement:
                        self.members[other] = trial
                    return
        self.members[place] = trial

    def _cross_or_swap(self) -> Proposal:
        n_members, generator = len(self.members), self.generator
        first = int(generator.integers(n_members))
        if n_members > 1 and generator.random() < CROSSOVER_SHARE:
            second = (first + 1 + int(generator.integers(n_members - 1))) % n_members
            crossed = self._cross(first, second)
            if crossed is not None:
                return crossed
        return self._swap(first)

    def _cross(self, first: int, second: int) -> Proposal | None:
        """Take each of the matched atoms from either of two members; return None where these are the same."""
        one, other = self.members[first], self.members[second]
        partners, squares = match_atoms(one.atoms, other.atoms)
        differing = np.flatnonzero(squares > _SAME_ATOM**2)
        if len(differing) < 2:
            return None
        is_first = self.generator.random(len(one.atoms)) < 0.5
        # At least one atom of each, or the child would be a copy.
        is_first[self.generator.choice(differing, 2, replace=False)] = True, False
        atoms = np.where(is_first[:, None], one.atoms, other.atoms[partners])
        worse = first if one.objective > other.objective else second
        return Proposal(atoms, worse, self.members[worse].objective, is_crossover=True)

    def _swap(self, place: int) -> Proposal:
        """Replace an atom of little worth by a badly approximated shape.

        The shape is drawn in proportion to its weight and its squared distance to its approximation, the atom in
        inverse proportion to its worth: ``Σ_k |a_kj|²`` times the squared distance to the nearest other atom, which is
        what the codes use it for that no other atom could do.
        """
        member, trials = self.members[place], self.trials
        tiny = float(np.finfo(np.float64).tiny)
        worth = member.energies * (1 - mutual_coherences(member.atoms).max(axis=1) ** 2)
        outgoing = draw_index(1 / np.maximum(worth, worth.max() * 1e-3 + tiny), self.generator)
        incoming = draw_index(trials.weights * (member.values + tiny), self.generator)
        atoms = member.atoms.copy()
        atoms[outgoing] = trials.rows[incoming]
        return Proposal(atoms, place, member.objective, is_crossover=False)
