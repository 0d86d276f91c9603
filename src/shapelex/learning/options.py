"""What to learn and how: the parameters of a fit, checked once."""

from dataclasses import dataclass, fields, replace
from math import comb
from typing import Any

import numpy as np

from shapelex._messages import parameter
from shapelex._typing import ComplexArray, DistanceKind
from shapelex._validation import check_choice, check_count, check_not_negative, check_number
from shapelex.coding.coders import AUTO_MAX_SUPPORTS, CODERS, Coding
from shapelex.coding.torch.device_coder import has_device
from shapelex.exceptions import ParameterError, ParameterTypeError

STARTS = ("auto", "random")
DISTANCES = ("full", "partial", "geodesic")

SWAPS_PER_EFFORT = 50
"""Number of swaps for each unit of `effort` above 1."""


@dataclass(frozen=True, eq=False)
class LearningOptions:
    """What to learn and how.

    The parameters are those of :class:`~shapelex.ShapeDictionary`, but `init` is one of the names or whitened rows,
    `tie` is 0 where atoms are not held near their start, and `n_threads` takes the place of ``n_jobs``.
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

    def __post_init__(self) -> None:
        n_atoms = check_count(self.n_atoms, 1, "n_atoms")
        n_nonzero = check_count(self.n_nonzero, 1, "n_nonzero")
        if n_nonzero > n_atoms:
            raise ParameterError(
                f"{parameter('n_nonzero')} must be between 1 and {parameter('n_atoms', n_atoms)}, got {n_nonzero}."
            )
        check_choice(self.coder, ("auto", *CODERS), "coder")
        check_not_negative(self.weight_penalty, "weight_penalty")
        check_choice(self.distance, DISTANCES, "distance")
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
        if self.n_swaps is not None:
            check_count(self.n_swaps, 0, "n_swaps")
        check_count(self.n_restarts, 1, "n_restarts")
        check_count(self.max_iter, 0, "max_iter")
        check_not_negative(self.tol, "tol")
        if self.batch_size is not None:
            check_count(self.batch_size, 1, "batch_size")
            if self.n_restarts != 1:
                raise ParameterError(
                    f"learning from batches needs {parameter('n_restarts', 1)}, got {self.n_restarts}."
                )
        if not isinstance(self.device, str):
            raise ParameterTypeError(
                f'{parameter("device")} must be a string such as "cpu" or "cuda", got {self.device!r}.'
            )

    @classmethod
    def of(cls, estimator: Any, **others: Any) -> "LearningOptions":
        """Return the parameters of an estimator that have the same name, and `others`."""
        for field in fields(cls):
            if field.name not in others and hasattr(estimator, field.name):
                others[field.name] = getattr(estimator, field.name)
        return cls(**others)

    def for_local_shapes(self) -> "LearningOptions":
        """Return options for shapes of a remote collection that were brought here; the device may be a worker's."""
        return self if has_device(self.device) else replace(self, device="cpu")

    @property
    def swaps(self) -> int:
        """Number of swaps of a descent."""
        return round(SWAPS_PER_EFFORT * (self.effort - 1)) if self.n_swaps is None else int(self.n_swaps)

    @property
    def is_fast(self) -> bool:
        """Whether learning codes by a faster method than the dictionary: ``"auto"``, where exact codes are slow."""
        return self.coder == "auto" and comb(self.n_atoms, self.n_nonzero) > AUTO_MAX_SUPPORTS

    def coding(self, atoms: ComplexArray, *, fast: bool = True) -> Coding:
        """Return how to code shapes over a dictionary, by the faster method where there is one and `fast` says so."""
        is_fast = fast and self.is_fast
        return Coding(
            atoms,
            self.n_nonzero,
            "ormp" if is_fast else self.coder,
            polish=True if is_fast else None,
            weight_penalty=self.weight_penalty,
            n_threads=self.n_threads,
            device=self.device,
        )
