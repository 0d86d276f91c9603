"""Options of a learner, checked once and passed to everything that learns."""

from dataclasses import dataclass, replace

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, DistanceKind
from shapelex._validation import check_choice, check_count, check_flag, check_not_negative, check_number, check_positive
from shapelex.coding.coders import CODERS
from shapelex.coding.torch.device_coder import has_device
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.learning.distance_values import DISTANCES
from shapelex.learning.initialization import INITIALIZATIONS
from shapelex.learning.objective import Objective

DEFAULT_TIE = 0.2
"""Default strength of the penalty on the distance from each atom to its nearest shape, for large sets. At 0.2 an atom
that is 0.05 from its nearest shape counts as much as 0.05 % of root mean squared distance."""

NESTED_FROM = 20
"""Number of shapes per atom from which on dictionaries are nested by default. With fewer, atoms depend on the shapes at
hand either way."""


def default_target_share(n_atoms: int, n_shapes: float) -> float:
    """Return the weight of the highest sparsity of a nested dictionary, relative to each lower one.

    It is ``4 + 120 n_atoms / n_shapes``: in small sets, the minima of different sparsities are farther apart.
    """
    return 4 + 120 * n_atoms / n_shapes


def default_tie(n_atoms: int, n_nonzero: int, n_shapes: float) -> float:
    """Return the default strength of the penalty: ``0.2 + n_atoms / n_shapes``, but at most 0.5.

    It is stronger for small sets, where a dictionary may approximate all shapes by atoms that look like none of them.
    An atom that stands for shapes alone, at one atom per shape, is like them without a penalty.
    """
    return 0.0 if n_nonzero == 1 else min(DEFAULT_TIE + n_atoms / n_shapes, 0.5)


@dataclass(frozen=True, eq=False)
class LearningOptions:
    """Options of a learner.

    Parameters
    ----------
    n_atoms : int
        Number of atoms.
    n_nonzero : int
        Maximum number of atoms per shape.
    coder : str, default "auto"
        A method of :func:`shapelex.coding.encode_rows`.
    max_weight : float, optional
        Largest modulus of a weight.
    switch_cost : float, optional
        Cost of a change of atoms, for shapes of time series; None or 0 for shapes without time.
    distance : {"full", "partial", "geodesic"}
        Distance whose squares are summed (paper, section 4, "Shape Dictionary").
    init : {"spread", "random"} or ndarray of complex, shape (n_atoms, n_coordinates)
        First dictionary, see :func:`~shapelex.learning.initialization.initial_atoms`.
    tie : float, default 0.5
        Strength of the penalty: the objective is the root mean squared distance, plus `tie` times the mean over atoms
        of the squared full distance to the nearest shape.
    nested : bool, default False
        Whether to lower the losses of several sparsities up to `n_nonzero` together.
    target_share : float, default 4
        Weight of `n_nonzero` then, relative to each lower sparsity.
    effort : float, default 1
        How long to search for a first dictionary, see :func:`~shapelex.learning.population.explore`.
    n_swaps : int, optional
        Number of swaps and crossovers tried in that search. By default `effort` decides, and there is no search where
        `init` is an array.
    n_restarts : int, default 1
        Number of descents from different first dictionaries; the best is kept.
    max_iter : int, default 100
        Maximum number of updates per descent.
    tol : float, default 1e-5
        A descent ends when an update changes the objective by no more than this fraction of it, divided by `effort`
        where that is above 1.
    n_threads : int, optional
        Maximum number of threads. Results do not depend on it.
    device : str, default "cpu"
        ``"cpu"`` for the compiled kernels, ``"torch"`` for torch on the CPU, or any torch device.
    """

    n_atoms: int
    n_nonzero: int
    coder: str = "auto"
    max_weight: float | None = None
    switch_cost: float | None = None
    distance: DistanceKind = "full"
    init: str | ComplexArray = "spread"
    tie: float = 0.5
    nested: bool = False
    target_share: float = 4.0
    effort: float = 1
    n_swaps: int | None = None
    n_restarts: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    n_threads: int | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        n_atoms = check_count(self.n_atoms, 1, "n_atoms")
        n_nonzero = check_count(self.n_nonzero, 1, "n_nonzero")
        if n_nonzero > n_atoms:
            raise ParameterError(
                f"{parameter('n_nonzero')} must be between 1 and {parameter('n_atoms', n_atoms)}, got {n_nonzero}."
            )
        check_choice(self.coder, ("auto", *CODERS), "coder")
        if self.max_weight is not None:
            check_positive(self.max_weight, "max_weight")
        check_choice(self.distance, DISTANCES, "distance")
        if self.switch_cost:
            self._check_switch_cost()
        if isinstance(self.init, str):
            check_choice(self.init, INITIALIZATIONS, "init")
        check_not_negative(self.tie, "tie")
        check_flag(self.nested, "nested")
        if self.max_weight is not None and self.device != "cpu":
            raise ParameterError(
                f"{parameter('max_weight')} has no implementation for torch devices: leave it out, or use "
                f"{parameter('device', 'cpu')}, got {self.device!r}."
            )
        if not (
            np.isfinite(check_number(self.effort, "effort", "a positive number, such as 1 or 4")) and self.effort > 0
        ):
            raise ParameterError(
                f"{parameter('effort')} must be a positive number, such as 1 or 4, got {self.effort}; "
                f"{parameter('n_swaps', 0)} omits the search."
            )
        if self.n_swaps is not None:
            check_count(self.n_swaps, 0, "n_swaps")
        check_count(self.n_restarts, 1, "n_restarts")
        check_count(self.max_iter, 0, "max_iter")
        check_not_negative(self.tol, "tol")
        if self.n_threads is not None:
            check_count(self.n_threads, 1, "n_threads")
        if not isinstance(self.device, str):
            raise ParameterTypeError(
                f'{parameter("device")} must be a string such as "cpu" or "cuda", got {self.device!r}.'
            )

    def _check_switch_cost(self) -> None:
        """Refuse what does not go with paths over time."""
        assert self.switch_cost is not None
        check_not_negative(self.switch_cost, "switch_cost")
        for name, needed in (("device", "cpu"), ("distance", "full")):
            if getattr(self, name) != needed:
                raise ParameterError(
                    f"{parameter('switch_cost')} needs {parameter(name, needed)}, got {getattr(self, name)!r}: leave "
                    f"out one of them."
                )

    def for_local_shapes(self) -> "LearningOptions":
        """Return options for shapes of a remote collection that were brought here; the device may be a worker's."""
        return self if has_device(self.device) else replace(self, device="cpu")

    @property
    def sparsities(self) -> tuple[int, ...]:
        """Sparsities whose losses are lowered together, in ascending order."""
        if not self.nested:
            return (int(self.n_nonzero),)
        first, second = 1, 2
        below = []
        while first < self.n_nonzero:
            below.append(first)
            first, second = second, first + second
        return (*below, int(self.n_nonzero))

    @property
    def objective(self) -> Objective:
        """What the updates lower."""
        shares = np.ones(len(self.sparsities))
        shares[-1] = self.target_share
        return Objective(shares / shares.sum(), float(self.tie))

    @property
    def settled_change(self) -> float:
        """Relative change of the objective at which a descent ends: a better start deserves a longer descent."""
        return self.tol / max(self.effort, 1)

    @property
    def n_trials(self) -> int | None:
        """Number of swaps and crossovers before a descent; None where `effort` decides."""
        if self.n_swaps is not None:
            return int(self.n_swaps)
        return None if isinstance(self.init, str) else 0
