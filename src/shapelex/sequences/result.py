"""Codes of shapes over time, and how much they change from frame to frame."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray
from shapelex.coding import SparseCodes, decode
from shapelex.shapes.time_order import TimeOrder
from shapelex.spaces import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class SequenceCodes:
    """Codes of the shapes of one or more time series, in the order of the rows that were given.

    Parameters
    ----------
    codes : SparseCodes
        Atoms and complex weights of each shape, in the pose of its pre-shape. Frames that could not be coded, because
        coordinates are missing, have no atoms.
    errors : ndarray of float, shape (n_shapes,)
        Full Procrustes distance from each shape to its reconstruction; NaN for frames that could not be coded.
    rotations : ndarray of float, shape (n_shapes,)
        Angle in radians by which each shape is turned, relative to the tracked pose of its series: rotated by
        ``exp(−1j * rotation)``, every shape lies closest to the one before it. NaN for frames that could not be coded.
    frames : ndarray, shape (n_shapes,)
        Frame number or time of each shape; the place in its series where no frames were given.
    sequence : ndarray, shape (n_shapes,)
        Series of each shape.
    times : ndarray of float, shape (n_shapes,), or None
        Times in seconds, where they are known.
    fps : float or None
        Frames per second, where they are known.
    switch_cost : float
        Cost of a change of the set of atoms.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The dictionary.
    space : Space
        Its space.
    time_order : TimeOrder
        Which frames follow each other.
    remarks : tuple of str
        What was noticed, in words: frames left out, rows that were sorted, how the cost was chosen.
    cost_table : mapping of str to ndarray, optional
        What the choice of the cost is based on, see :attr:`cost_curve`.
    """

    codes: SparseCodes
    errors: FloatArray
    rotations: FloatArray
    frames: np.ndarray[Any, Any]
    sequence: np.ndarray[Any, Any]
    times: FloatArray | None
    fps: float | None
    switch_cost: float
    atoms: ComplexArray
    space: Space
    time_order: TimeOrder
    remarks: tuple[str, ...] = ()
    cost_table: dict[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        rate = "" if self.flicker_rate is None else f", {self.flicker_rate:.3g} changes per second"
        return (
            f"SequenceCodes({len(self)} frames of {self.n_series} series, {self.codes.n_nonzero} of "
            f"{self.codes.n_atoms} atoms, RMSE {self.rmse:.4f}, flicker {self.flicker:.3f}{rate}, "
            f"switch_cost={self.switch_cost:.3g})"
        )

    @property
    def n_series(self) -> int:
        """Number of time series."""
        return int(self.time_order.series.max(initial=-1)) + 1

    @property
    def is_coded(self) -> BoolArray:
        """Which frames have a code, shape (n_shapes,)."""
        return np.isfinite(self.errors)

    @property
    def rmse(self) -> float:
        """Root mean squared error over the frames that were coded."""
        return float(np.sqrt(np.nanmean(self.errors**2))) if self.is_coded.any() else float("nan")

    @cached_property
    def is_switch(self) -> BoolArray:
        """Which frames have another set of atoms than the frame before, shape (n_shapes,).

        Only where that is the next frame of the same series, without a gap between them.
        """
        order = self.time_order.order
        sets = np.sort(self.codes.support[order], axis=1)
        changed = np.zeros(len(self), dtype=bool)
        changed[order[1:]] = (sets[1:] != sets[:-1]).any(axis=1) & self.time_order.is_next[1:]
        return changed

    @property
    def flicker(self) -> float:
        """Share of consecutive frames of a series whose sets of atoms differ; NaN where no frames are consecutive."""
        n_pairs = int(self.time_order.is_next.sum())
        return float(self.is_switch.sum() / n_pairs) if n_pairs else float("nan")

    @property
    def flicker_rate(self) -> float | None:
        """Changes of the set of atoms per second; None where the frame rate is not known."""
        return None if self.fps is None else self.flicker * self.fps

    @cached_property
    def weights(self) -> ComplexArray:
        """Weights in the tracked pose, shape (n_shapes, n_atoms): 0 for atoms that a shape does not use."""
        turns = np.exp(-1j * np.where(self.is_coded, self.rotations, 0))
        weights: ComplexArray = self.codes.toarray() * turns[:, None]
        return weights

    @cached_property
    def phases(self) -> FloatArray:
        """Phases of the weights in the tracked pose, in radians, shape (n_shapes, n_atoms); NaN for atoms not used.

        As long as consecutive frames use an atom, its phase is continuous: it may leave the range from −π to π.
        """
        phases = np.where(self.weights != 0, np.angle(self.weights), np.nan)
        order = self.time_order.order
        ordered = phases[order]
        jumps = np.zeros_like(ordered)
        jumps[1:] = ordered[1:] - ordered[:-1]
        # Where the atom was not used before, or the series begins, the phase starts anew.
        goes_on = np.isfinite(jumps)
        goes_on[self.time_order.steps == 0] = False
        turns = np.where(goes_on, -2 * np.pi * np.round(np.where(goes_on, jumps, 0) / (2 * np.pi)), 0)
        total = np.cumsum(turns, axis=0)
        starts = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(order))[:, None]), axis=0)
        phases[order] = ordered + total - np.take_along_axis(total, starts, axis=0)
        return phases

    @property
    def cost_curve(self) -> "pd.DataFrame":
        """What the choice of the cost is based on: one row for each cost that was tried; empty where it was given.

        Columns ``switch_cost``, ``held_out_rmse`` (error of frames left out, over the atoms of their neighbors),
        ``rmse`` and ``flicker``.
        """
        import pandas as pd

        return pd.DataFrame(self.cost_table)

    def reconstruct(self, *, tracked: bool = False) -> ComplexArray:
        """Approximations of the pre-shapes.

        Parameters
        ----------
        tracked : bool, default False
            Whether to turn each shape into the tracked pose, instead of its own.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            Configurations; 0 for frames that could not be coded.
        """
        if tracked:
            return np.asarray(self.weights @ self.atoms)
        return decode(self.codes, self.atoms)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return one row per frame.

        Returns
        -------
        pandas.DataFrame
            Columns ``sequence``, ``frame``, ``time`` (seconds, where known), ``error``, ``switch``, ``rotation``, and
            for every atom ``modulus_a0``, ``phase_a0``, …: missing where a frame does not use it.
        """
        import pandas as pd

        columns: dict[str, Any] = {"sequence": self.sequence, "frame": self.frames}
        if self.times is not None:
            columns["time"] = self.times
        columns |= {"error": self.errors, "switch": self.is_switch, "rotation": self.rotations}
        moduli = np.where(self.weights != 0, np.abs(self.weights), np.nan)
        for atom in range(self.codes.n_atoms):
            columns[f"modulus_a{atom}"] = moduli[:, atom]
            columns[f"phase_a{atom}"] = self.phases[:, atom]
        return pd.DataFrame(columns)

    def plot(
        self,
        picture: str = "ethogram",
        *,
        series: Any = None,
        states: Any = "support",
        min_duration: int = 1,
        X: ArrayLike | None = None,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> "Axes":
        """Draw the codes over time.

        Parameters
        ----------
        picture : {"ethogram", "weights", "phases", "portrait", "kymograph", "transitions"}, default "ethogram"
            What to draw: the states as colored strips; amplitudes and phases of the weights; phases as curves; the path
            of the postures in the plane of two atoms; the curvature along the body against time; or how states follow
            each other, as a graph.
        series : int or str, optional
            Series to draw. By default all series for ``"ethogram"`` and ``"transitions"``, else the longest.
        states, min_duration
            For ``"ethogram"`` and ``"transitions"``: as in :func:`~shapelex.sequences.bouts`.
        X : array_like or set of shapes, optional
            For ``"kymograph"``: the shapes that were coded; their reconstructions are drawn when not given.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; the current ones of pyplot when not given.
        **options
            Options of the function of ``shapelex.plotting`` that draws: :func:`~shapelex.plotting.plot_ethogram`,
            :func:`~shapelex.plotting.plot_weights`, :func:`~shapelex.plotting.plot_phases`,
            :func:`~shapelex.plotting.plot_phase_portrait`, :func:`~shapelex.plotting.plot_kymograph` or
            :func:`~shapelex.plotting.plot_transitions`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ParameterError
            If there is no such picture or series.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> import shapelex as sx
        >>> worms = sx.datasets.make_worms(60, random_state=0)
        >>> model = sx.ShapeDictionary(4, 2, random_state=0).fit(worms)
        >>> result = sx.sequences.encode_sequence(worms, model, switch_cost=0.01, fps=20)
        >>> result.plot("weights", ax=Figure().subplots()).get_xlabel()
        'time (s)'
        """
        from shapelex.sequences.pictures import plot_sequence

        told: dict[str, Any] = {"series": series, "states": states, "min_duration": min_duration, "X": X, "ax": ax}
        return plot_sequence(self, picture, **told, **options)

    def save_movie(self, path: str | Path, X: ArrayLike, *, series: Any = None, **options: Any) -> Path:
        """Write a movie of one series: the shape with its reconstruction, its weighted atoms, and the weights.

        Parameters
        ----------
        path : str or Path
            Path of the file: ``.gif``, or ``.mp4``, which needs the extra ``sequences``.
        X : array_like or set of shapes
            The shapes that were coded.
        series : int or str, optional
            Series to show; the longest when not given.
        **options
            Options of :func:`shapelex.plotting.save_movie`: ``rate`` and ``max_frames``.

        Returns
        -------
        Path
            Path of the written file.

        Raises
        ------
        ParameterError
            If there is no such series.
        ShapeInputError
            If `X` are other shapes than those that were coded.
        """
        from shapelex.sequences.pictures import write_movie

        return write_movie(self, path, X, series, **options)
