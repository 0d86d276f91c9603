"""The datasets of the paper: sizes, the numbers it reports, and the sets of shapes that stand for them here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray
from shapelex._validation import as_configurations
from shapelex.datasets import deform, fetch
from shapelex.exceptions import DatasetUnavailableError
from shapelex.shapes import ShapeSet
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

SAME_DATA = "The paper's own numbers."


@dataclass(frozen=True)
class PaperSet:
    """One dataset of the paper (its table of RMSE and parameters).

    Attributes
    ----------
    name : str
        Its number in the paper.
    title : str
        What the shapes are.
    file : str
        Name of the set of shapes, as :func:`shapelex.datasets.fetch` takes it.
    space : Space
        Space of the configurations.
    n_nonzero, n_atoms : int
        The paper's sparsity and number of atoms.
    paper_shapes, paper_seconds : str
        Number of shapes and run-time, as the paper writes them.
    paper_rmse, paper_align_first : float
        The paper's RMSE of its method and of align-first, in percent.
    data : str
        How the data in `file` are related to the paper's.
    own_file : str
        Name of the set that the paper itself uses, taken instead of `file` where it can be had; empty if that is
        `file`.
    own_data : str
        How the data in `own_file` are related to the paper's.
    sparsities : tuple of int
        Where the RMSE curves are measured; nowhere if empty.
    n_deformations : int
        Deformed copies of each outline in the file; 0 takes the outlines as they are.
    n_seeds : int
        How many times the paper's algorithm is run.
    batch_size : int or None
        Number of shapes per batch of the paper's algorithm; None where each of its updates codes all shapes.
    settings : mapping
        Options of both kinds of dictionaries that differ from the defaults. The paper compares errors of the shapes
        learned from, which swaps make small.
    refinement : mapping
        Options of a second fit, which starts where the first one ended; none if empty.
    points : bool
        Whether figures mark the knots of the atoms, as the paper does.
    cost : float
        Seconds it takes, roughly, for the progress bar.
    """

    name: str
    title: str
    file: str
    space: Space
    n_nonzero: int
    n_atoms: int
    paper_shapes: str
    paper_seconds: str
    paper_rmse: float
    paper_align_first: float
    data: str = SAME_DATA
    own_file: str = ""
    own_data: str = SAME_DATA
    sparsities: tuple[int, ...] = ()
    n_deformations: int = 0
    n_seeds: int = 5
    batch_size: int | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: {"n_swaps": 50})
    refinement: Mapping[str, Any] = field(default_factory=dict)
    points: bool = False
    cost: float = 10.0

    @property
    def is_same_data(self) -> bool:
        """Whether the data are the paper's."""
        return self.data == SAME_DATA

    def find(self, folder: Path | None) -> tuple["PaperSet", ShapeSet]:
        """Return this dataset as it can be had, and its shapes: the paper's own where possible, else the relative.

        Parameters
        ----------
        folder : Path or None
            The only folder to look in; None to look wherever :func:`shapelex.datasets.fetch` does.

        Returns
        -------
        paper_set : PaperSet
            The dataset, with `file` and `data` of the shapes.
        shapes : ShapeSet
            The shapes.

        Raises
        ------
        DatasetUnavailableError
            If neither can be had.
        """
        if not self.own_file:
            return self, fetch(self.file, folder=folder)
        try:
            return replace(self, file=self.own_file, data=self.own_data), fetch(self.own_file, folder=folder)
        except DatasetUnavailableError as error:
            own_error = error
        try:
            shapes = fetch(self.file, folder=folder)
        except DatasetUnavailableError as error:
            raise DatasetUnavailableError(f"{own_error} Nor is there a relative: {error}") from error
        return replace(self, data=f"{self.data} Why not the paper's own: {own_error}"), shapes

    def configurations(self, shapes: ShapeSet, random_state: int = 0, max_shapes: int | None = None) -> ComplexArray:
        """Return configurations, with deformed copies where the paper makes them.

        Parameters
        ----------
        shapes : ShapeSet
            What :meth:`find` returned.
        random_state : int
            Seed of the deformations.
        max_shapes : int, optional
            Most shapes, taken evenly from the set.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations.
        """
        configurations, _ = as_configurations(
            shapes.configurations, name=self.file, n_coordinates=self.space.n_coordinates
        )
        if self.n_deformations:
            configurations = deform(configurations, self.n_deformations, random_state=random_state)
        if max_shapes is not None and len(configurations) > max_shapes:
            configurations = configurations[np.linspace(0, len(configurations) - 1, max_shapes).astype(int)]
        return configurations


_TEN = tuple(range(1, 11))
_TWENTY = (1, 2, 3, 4, 5, 7, 10, 20)

PAPER_SETS: tuple[PaperSet, ...] = (
    PaperSet(
        "1",
        "worms, 20 landmarks",
        "worms_open_from_hermite_20",
        Landmarks(20),
        5,
        10,
        "> 5500",
        "21 s",
        2.36,
        4.19,
        data="A relative of the paper's crawling worms of the Yemini database: the worms of dataset 2, which loop and "
        "crowd, resampled to 20 landmarks along the midline.",
        own_file="worms",
        sparsities=_TEN,
        cost=45,
    ),
    PaperSet(
        "2",
        "worms, open Hermite splines",
        "6376_open_worms_6ctrlpts",
        HermiteSpline(6),
        5,
        10,
        "> 6300",
        "24 s",
        4.04,
        7.95,
        sparsities=_TEN,
        points=True,
        cost=40,
    ),
    PaperSet("3", "hands, 56 landmarks", "hands", Landmarks(56), 3, 10, "40", "< 0.4 s", 2.48, 2.73, sparsities=_TEN),
    PaperSet(
        "4",
        "leaves, 200 landmarks",
        "leaves_kaggle_outlines_200",
        Landmarks(200, closed=True),
        5,
        20,
        "> 1500",
        "18 s",
        6.45,
        7.12,
        data="A relative: the same 1584 leaf images, but outlines that were extracted anew and start at their topmost "
        "point. The paper's outlines start at the stem or the tip, so they correspond better.",
        own_file="leaves_sym",
        sparsities=_TWENTY,
        cost=200,
    ),
    PaperSet(
        "4b",
        "leaves, cubic B-splines",
        "leaves_Bsplines",
        BSpline(40),
        5,
        20,
        "> 1500",
        "12 s",
        6.41,
        7.01,
        sparsities=_TWENTY,
        cost=150,
    ),
    PaperSet(
        "5",
        "MPEG-7 outlines, deformed, 200 landmarks",
        "mpeg7_outlines_200",
        Landmarks(200, closed=True),
        30,
        230,
        "14000",
        "441 s",
        1.57,
        2.71,
        data="A relative: 10 deformations of each of the 1400 MPEG-7 outlines by the paper's model, but other draws of "
        "outlines that were extracted anew (topmost start point, pixel steps not smoothed). The paper does not say how "
        "large its deformations are; here their root mean squared norm is 0.3 of the shape's.",
        own_file="mpeg7",
        own_data="A relative: 10 deformations of each of the paper's own outlines by its model, but other draws than "
        "the paper's, which are not public. The paper does not say how large its deformations are; here their root "
        "mean squared norm is 0.3 of the shape's.",
        n_deformations=10,
        n_seeds=1,
        batch_size=4096,
        settings={"coder": "ormp", "n_swaps": 0, "max_iter": 30},
        refinement={"coder": "beam", "max_iter": 5},
        cost=200,
    ),
)
