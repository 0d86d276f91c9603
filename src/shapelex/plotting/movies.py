"""Movies of shapes in time: the shape with its reconstruction, its weighted atoms, and the weights up to now."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import check_choice, check_count, check_positive
from shapelex.exceptions import CodesError, ShapeInputError
from shapelex.files.atomic import put_in_place, work_folder
from shapelex.plotting.axes import clear_axes
from shapelex.plotting.curves import curve_points
from shapelex.plotting.drawing import spread_rows
from shapelex.plotting.grids import arrange, label_size
from shapelex.plotting.models import atoms_of, is_model
from shapelex.plotting.movie_files import write_gif, write_mp4
from shapelex.plotting.palette import GRAY, LIGHT_GRAY
from shapelex.plotting.style import cycle_color, styled, text_size
from shapelex.plotting.time_axis import TimeAxis, time_axis
from shapelex.plotting.weights_in_time import choose_atoms, dense_codes, plot_weights, usual_limit
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from shapelex.coding import SparseCodes

MOVIE_SUFFIXES = (".gif", ".mp4")
_SIZE = (7.2, 4.4)  # inches
_DPI = 100
_MAX_ATOMS = 12
_MOST_IN_CELL = 1.5  # largest modulus of a weight whose atom stays in its cell
# Recordings are shown at their own speed where that can be watched, else at the usual one.
_WATCHABLE, _USUAL_RATE = (4.0, 60.0), 15.0
_MOST_SHOWN = 30.0  # pictures per second


@styled
def save_movie(
    path: str | Path,
    X: ArrayLike,
    codes: "ArrayLike | SparseCodes",
    atoms: Any,
    space: Space | None = None,
    *,
    frames: ArrayLike | None = None,
    fps: float | None = None,
    rate: float | None = None,
    max_frames: int = 1000,
) -> Path:
    """Write a movie of one series: the shape with its reconstruction, its weighted atoms, and the weights along time.

    The pose of the shapes is that of the recording, without their position: each is centered. The size is relative to
    the largest one. Missing frames are passed over; the clock and the line through the weights show the time.

    Parameters
    ----------
    path : str or Path
        Path of the file: ``.gif``, which needs Pillow, or ``.mp4``, which needs ffmpeg: ``pip install
        "shapelex[sequences]"`` brings it. An existing file is replaced.
    X : array_like of complex, shape (n_frames, n_coordinates)
        Configurations of one series, or a set of them.
    codes : SparseCodes or array_like of complex, shape (n_frames, n_atoms)
        Their codes.
    atoms : fitted dictionary, or array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary. At most twelve atoms are drawn, those with the largest weights.
    space : Space, optional
        Space of the configurations; that of the model or of the set, or landmarks, when not given.
    frames : array_like of int, shape (n_frames,), optional
        Frame numbers; the order of the rows when not given.
    fps : float, optional
        Frames per second of the recording, for times in seconds.
    rate : float, optional
        Frames of the recording per second of the movie. When not given, `fps` where it is between 4 and 60, so that the
        movie has the speed of the recording, else 15.
    max_frames : int, default 1000
        Maximum number of pictures; of longer series, frames are taken evenly, at the same speed. At more than 30
        pictures per second, frames are left out too.

    Returns
    -------
    Path
        Path of the written file.

    Raises
    ------
    ShapeInputError
        If there is not one shape and one frame number per code, a frame occurs twice, or no frame can be drawn.
    CodesError
        If `codes` are not over these atoms.
    ImportError
        If what writes the movie is not installed; the message names it.
    OSError
        If the movie cannot be written, because the disk is full for example. An older movie is then left as it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import shapelex as sx
    >>> worms = sx.datasets.make_worms(n_worms=1, n_frames=8, n_points=12, random_state=0)
    >>> model = sx.ShapeDictionary(n_atoms=3, n_nonzero=2, random_state=0).fit(worms)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sx.plotting.save_movie(Path(folder) / "worm.gif", worms, model.encode(worms), model, fps=5)
    ...     path.name
    'worm.gif'
    """
    path = Path(path)
    check_choice(path.suffix.lower(), MOVIE_SUFFIXES, "the end of the name of path")
    if is_model(atoms):
        atoms, space, _ = atoms_of(atoms, space, None)
    dictionary, space = read_configurations(atoms, space, "atoms")
    weights = dense_codes(codes)
    if weights.shape[1] != len(dictionary):
        raise CodesError(f"codes are over {weights.shape[1]} atoms, but {len(dictionary)} were given.")
    shapes, space = read_configurations(X, space, "X")
    if len(shapes) != len(weights):
        raise ShapeInputError(f"X and codes must have as many frames, got {len(shapes)} and {len(weights)}.")
    times = time_axis(len(weights), frames, fps)
    usual = fps if fps is not None and _WATCHABLE[0] <= fps <= _WATCHABLE[1] else _USUAL_RATE
    speed = usual if rate is None else check_positive(rate, "rate")
    # A picture stands for `step` frames.
    step = max(1, -(-len(weights) // check_count(max_frames, 1, "max_frames")), int(np.ceil(speed / _MOST_SHOWN)))
    shown = spread_rows(len(weights), -(-len(weights) // step))
    scene = _Scene(shapes, weights, dictionary, space, times)
    pictures = (scene.picture(int(place)) for place in shown)
    write = write_gif if path.suffix.lower() == ".gif" else write_mp4
    with work_folder(path) as folder:
        part = folder / f"movie{path.suffix.lower()}"
        write(part, pictures, speed / step)
        put_in_place(part, path, folder)
    return path


class _Scene:
    """The figure of a movie, whose lines are moved from picture to picture."""

    def __init__(
        self, shapes: ComplexArray, weights: ComplexArray, atoms: ComplexArray, space: Space, times: TimeAxis
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._weights, self._times = weights[times.order], times
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        self._canvas = cast(Any, FigureCanvasAgg(figure))
        parts: Any = figure.subplot_mosaic([["shape", "atoms"], ["weights", "weights"]], height_ratios=[3, 2])
        centered = space.centered(shapes[times.order])
        # Reconstructions are of pre-shapes; drawn, they have the size of the shape.
        sizes = space.norm(centered)[:, None]
        self._curves = curve_points(centered, space)
        self._sums = curve_points(sizes * (self._weights @ space.centered(atoms)), space)
        self._chosen = choose_atoms(self._weights, None)[:_MAX_ATOMS]
        self._draw_shape(parts["shape"])
        self._draw_atoms(parts["atoms"], space.preshape(atoms), space)
        plot_weights(self._weights, times.frames, fps=self._rate(), atoms=self._chosen.tolist(), ax=parts["weights"])
        self._cursor = parts["weights"].axvline(times.times[0], color="black", linewidth=1.0, zorder=4)
        self._moving = [self._shape, self._sum, self._clock, self._cursor, *(term[0] for term in self._terms)]
        for artist in self._moving:
            artist.set_animated(True)
        # All that stays is drawn once, and each picture begins with it.
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(figure.bbox)

    def picture(self, place: int) -> np.ndarray[Any, Any]:
        """Return the pixels of a frame, ``(height, width, 3)``."""
        for line, curve in ((self._shape, self._curves[place]), (self._sum, self._sums[place])):
            line.set_data(curve.real, curve.imag)
        self._clock.set_text(self._times.say(place))
        for line, curve, origin, atom in self._terms:
            term = self._weights[place, atom] * curve / self._most + origin
            line.set_data(term.real, term.imag)
            line.set_visible(bool(self._weights[place, atom] != 0))
        middle = self._times.times[place] + 0.5 * self._times.step
        self._cursor.set_xdata([middle, middle])
        self._canvas.restore_region(self._still)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()

    def _rate(self) -> float | None:
        """Return the frame rate that the time axis was made with."""
        seconds = {"": None, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}[self._times.unit]
        return None if seconds is None else 1 / (self._times.step * seconds)

    def _draw_shape(self, ax: Any) -> None:
        reach = 1.08 * max(float(np.abs(self._curves).max()), float(np.abs(self._sums).max()))
        (self._shape,) = ax.plot([], [], color=GRAY, linewidth=5.0, alpha=0.7, solid_capstyle="round", label="shape")
        (self._sum,) = ax.plot(
            [], [], color=cycle_color(0), linewidth=1.6, solid_capstyle="round", label="reconstruction"
        )
        clear_axes(ax)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))
        ax.legend(loc="lower left", frameon=False, fontsize=text_size(), handlelength=1.4, borderaxespad=0.0)
        self._clock = ax.text(0.0, 1.0, "", transform=ax.transAxes, va="top", ha="left", fontsize=text_size() + 1)

    def _draw_atoms(self, ax: Any, preshapes: ComplexArray, space: Space) -> None:
        """Draw the atoms in gray, each in a cell of its own; over them go the weighted ones."""
        curves = curve_points(preshapes[self._chosen], space)
        # A term turns about its center, so each cell is a disk. Rather than to draw all atoms tiny, large weights may
        # leave it.
        self._most = float(np.clip(usual_limit(self._weights[:, self._chosen]), 1.0, _MOST_IN_CELL))
        radius = float(np.abs(curves).max())
        disk = radius * np.exp(2j * np.pi * np.arange(32) / 32)
        labels = [f"atom {atom}" for atom in self._chosen]
        grid = arrange(ax, [disk] * len(self._chosen), label=label_size(labels, text_size()))
        self._terms = []
        for cell, atom in enumerate(self._chosen):
            origin = complex(grid.origins[cell])
            ghost = curves[cell] / self._most + origin
            ax.plot(ghost.real, ghost.imag, color=LIGHT_GRAY, linewidth=2.5, solid_capstyle="round")
            (line,) = ax.plot([], [], color=cycle_color(cell), linewidth=1.6, solid_capstyle="round")
            self._terms.append((line, curves[cell], origin, int(atom)))
            grid.write_under(ax, cell, labels[cell], text_size())
