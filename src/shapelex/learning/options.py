"""What to learn and how: the parameters of a fit, checked once, and the stages of a fit that follow from them."""

from dataclasses import dataclass, field, fields, replace
from math import comb
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, DistanceKind
from shapelex._validation import check_choice, check_count, check_not_negative, check_number
from shapelex.coding.coders import AUTO_MAX_SUPPORTS, CODERS
from shapelex.coding.torch.device_coder import has_device
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.geometry.distances import DISTANCE_KINDS

STARTS = ("auto", "random")

SWAPS_PER_EFFORT = 50
"""Number of swaps for each unit of `effort` above 1."""

STEP = 1.9
"""Updates of the sample go so many times as far as to the least-squares dictionary: for given codes, every factor below
2 lowers the error."""

_FIRST_PASSES, _SAMPLE_PASSES, _SWAP_PASSES, _FULL_PASSES = 15, 45, 8, 3
_SWAP_TOL = 1e-3


@dataclass(eq=False)
class LearningOptions:
    """What to learn and how.

    The parameters are those of :class:`~shapelex.ShapeDictionary`, but `init` is one of the names or whitened rows,
    `tie` is 0 where atoms are not held near their start, `n_swaps` follows from `effort` where it is not given, and
    `n_threads` takes the place of ``n_jobs``. `is_fast` says whether learning codes by a faster method than the
    dictionary: ``"auto"``, where exact codes are slow.
    """

    n_atoms: int
    n_nonzero: int
    coder: str = "auto"
    weight_penalty: float = 0.0
    distance: DistanceKind = "full"
    init: str | ComplexArray = "auto"
    tie: float | None = None
    effort: float = 1
    n_swaps: int | None = None
    n_restarts: int = 1
    max_iter: int = 100
    tol: float = 1e-5
    batch_size: int | None = None
    n_threads: int | None = None
    device: str = "cpu"
    is_fast: bool = field(init=False)

    def __post_init__(self) -> None:
        for name, least in (("n_atoms", 1), ("n_nonzero", 1), ("n_restarts", 1), ("max_iter", 0)):
            check_count(getattr(self, name), least, name)
        for name, least in (("n_swaps", 0), ("batch_size", 1)):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), least, name)
        for name in ("weight_penalty", "tol"):
            check_not_negative(getattr(self, name), name)
        if self.n_nonzero > self.n_atoms:
            n_atoms = parameter("n_atoms", self.n_atoms)
            raise ParameterError(f"{parameter('n_nonzero')} must be between 1 and {n_atoms}, got {self.n_nonzero}.")
        check_choice(self.coder, ("auto", *CODERS), "coder")
        check_choice(self.distance, DISTANCE_KINDS, "distance")
        if isinstance(self.init, str):
            check_choice(self.init, STARTS, "init")
        if self.tie is not None and check_not_negative(self.tie, "tie"):
            raise ParameterError(
                f"{parameter('tie', self.tie)} has no meaning any more, as atoms are not tied to the nearest shapes: "
                f"leave it out to hold atoms near their start, or give {parameter('tie', 0)} not to."
            )
        if not 1 <= check_number(self.effort, "effort", "a number from 1 on, such as 2") < np.inf:
            raise ParameterError(
                f"{parameter('effort')} must be a number from 1 on, got {self.effort}; {parameter('effort', 1)} and "
                f"{parameter('n_swaps', 0)} try no swaps."
            )
        if self.batch_size is not None and self.n_restarts != 1:
            raise ParameterError(f"learning from batches needs {parameter('n_restarts', 1)}, got {self.n_restarts}.")
        if not isinstance(self.device, str):
            raise ParameterTypeError(
                f'{parameter("device")} must be a string such as "cpu" or "cuda", got {self.device!r}.'
            )
        if self.n_swaps is None:
            self.n_swaps = round(SWAPS_PER_EFFORT * (self.effort - 1))
        self.is_fast = self.coder == "auto" and comb(self.n_atoms, self.n_nonzero) > AUTO_MAX_SUPPORTS

    @classmethod
    def of(cls, estimator: Any, **others: Any) -> "LearningOptions":
        """Return the parameters of an estimator that have the same name, and `others`."""
        for one in fields(cls):
            if one.name not in others and hasattr(estimator, one.name):
                others[one.name] = getattr(estimator, one.name)
        return cls(**others)

    def for_local_shapes(self) -> "LearningOptions":
        """Return options for shapes of a remote collection that were brought here; the device may be a worker's."""
        return self if has_device(self.device) else replace(self, device="cpu")


@dataclass(frozen=True)
class Stage:
    """A part of a fit: a descent of at most `n_passes` passes from atoms that `kind` says.

    ``"tails"``, ``"tree"`` and ``"first"`` (drawn or given) are starts, ``"settle"`` goes on from the present
    dictionary, ``"swap"`` from the present one with another atom, ``"best"`` from the best one, ``"all"`` from the best
    one over all shapes, and ``"batches"`` reads all shapes in mini-batches.
    """

    kind: str
    n_passes: int
    tol: float
    on_sample: bool = True
    step: float = STEP


def make_plan(options: LearningOptions, has_more: bool) -> list[Stage]:
    """Return the stages of a fit; `has_more` says whether there are more shapes than the sample has."""
    most, tol, swaps = options.max_iter + 1, options.tol, options.n_swaps or 0
    is_auto = isinstance(options.init, str) and options.init == "auto"
    if options.batch_size is not None and options.max_iter > 0:
        starts = [Stage("tails", 1, tol), Stage("tree", 1, tol)] if is_auto else []
        return [*starts, Stage("batches", options.max_iter, tol, on_sample=False, step=1.0)]
    if not is_auto and swaps == 0:
        # From given atoms every descent would be the same.
        n_descents = options.n_restarts if isinstance(options.init, str) else 1
        return [Stage("first", most, tol, on_sample=False, step=1.0)] * n_descents
    starts = [Stage("first", min(_SAMPLE_PASSES, most), tol)]
    settle = Stage("settle", min(_SAMPLE_PASSES, most), tol)
    if is_auto:
        first = Stage("tails", min(_FIRST_PASSES, most), tol)
        starts = [first, replace(first, kind="tree"), *[settle] * (most > 1)]
    search = [*starts, *[Stage("swap", min(_SWAP_PASSES, most), _SWAP_TOL)] * swaps]
    plan = [*search * options.n_restarts, replace(settle, kind="best")] if swaps else search
    return [*plan, Stage("all", min(_FULL_PASSES, most), tol, on_sample=False, step=1.0)] if has_more else plan
