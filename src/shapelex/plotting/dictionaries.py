"""Dictionaries: their atoms, and what they make of the shapes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import as_numeric_array, check_count
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import align_onto, distance
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.drawing import Points, spread_rows, with_defaults
from shapelex.plotting.galleries import draw_gallery
from shapelex.plotting.models import atoms_of, is_model, reconstruct
from shapelex.plotting.poses import Pose, pose_rotations
from shapelex.plotting.style import cycle_color, styled, text_size
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_SHAPES_OF_MODEL = 24
_ROUNDING = 1e-10  # percent


@styled
def plot_atoms(
    atoms: Any,
    space: Space | None = None,
    *,
    usage: ArrayLike | None = None,
    pose: Pose | ArrayLike = "mean",
    numbers: bool = True,
    n_columns: int | None = None,
    points: Points = False,
    fontsize: float | None = None,  # noqa: ARG001 -- read by styled
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw the atoms of a dictionary as a gallery, in a common pose, most used first.

    Parameters
    ----------
    atoms : fitted dictionary, or array_like of complex, shape (n_atoms, n_coordinates)
        A model such as :class:`~shapelex.ShapeDictionary`, whose space and use are drawn too, or atoms. They are drawn
        as pre-shapes.
    space : Space, optional
        Space of the atoms; that of the model, or landmarks, when not given.
    usage : array_like of float, shape (n_atoms,), optional
        Share of the shapes that use each atom, as ``ShapeDictionary.usage_``, from which it is taken for a model. It is
        written in percent under the atoms and orders them; without it they stay in their order.
    pose : {"mean", "principal", "given"} or array_like of complex, shape (n_coordinates,), default "mean"
        How to turn the atoms: along their mean, weighted by use, which lies flat; each along its own long axis; not at
        all; or along a given configuration.
    numbers : bool, default True
        Write the number of each atom, its row in `atoms`, in gray before its use.
    n_columns : int, optional
        Atoms in a row; as many as make the atoms largest when not given.
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points too; ``"numbers"`` also numbers those of the first
        atom, from 1.
    fontsize : float, optional
        Size of the labels, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the lines, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If `atoms` are neither a model with atoms nor configurations of the space, or `usage` is not one share per
        atom.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> atoms = np.array([circle + a * circle**-2 for a in (0.1, 0.2, 0.4)])
    >>> ax = sx.plotting.plot_atoms(atoms, usage=[0.2, 1, 0.75], numbers=False, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['100 %', '75 %', '20 %']
    """
    if is_model(atoms):
        atoms, space, usage = atoms_of(atoms, space, usage)
    configurations, space = read_configurations(atoms, space, "atoms")
    preshapes = space.preshape(configurations)
    shares = None if usage is None else _as_shares(usage, len(preshapes))
    order = np.arange(len(preshapes)) if shares is None else np.argsort(-shares, kind="stable")
    weights = shares if shares is not None and shares.any() else None
    turned = pose_rotations(preshapes, space, pose, weights)[:, None] * preshapes
    draw_gallery(
        resolved := resolve_axes(ax),
        turned[order],
        space,
        None if shares is None else [f"{100 * share:.0f} %" for share in shares[order]],
        n_columns=n_columns,
        points=points,
        numbers=order.tolist() if numbers else None,
        **line,
    )
    return resolved


@styled
def plot_reconstructions(
    X: Any,
    reconstructions: Any,
    space: Space | None = None,
    *,
    pose: Pose | ArrayLike = "principal",
    n_columns: int | None = None,
    points: Points = False,
    max_shapes: int | None = None,
    fontsize: float | None = None,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw reconstructions over the shapes they stand for, which are gray, with the errors in percent.

    Called as ``plot_reconstructions(model, X)`` or as ``plot_reconstructions(X, reconstructions, space)``. The error is
    the full Procrustes distance. Each reconstruction is drawn in the size and pose that attain it, where a
    least-squares reconstruction of the pre-shape lies already.

    Parameters
    ----------
    X : fitted model, or array_like of complex, shape (n_shapes, n_coordinates)
        A model that reconstructs shapes, or the original configurations, which are drawn as pre-shapes.
    reconstructions : array_like of complex, shape (n_shapes, n_coordinates)
        After a model, the original configurations or a set of them. Otherwise the reconstructions, as
        ``ShapeDictionary.reconstruct(X)``.
    space : Space, optional
        Space of the configurations; that of the model or of the set, or landmarks, when not given.
    pose : {"principal", "mean", "given"} or array_like of complex, shape (n_coordinates,), default "principal"
        How to rotate the originals: each along its own long axis; along their mean, which lies flat; not at all; or
        along a given configuration.
    n_columns : int, optional
        Shapes in a row; as many as make the shapes largest when not given.
    points : bool or "numbers", default False
        Whether to mark the landmarks, knots or control points of the reconstructions too; ``"numbers"`` also numbers
        those of the first shape, from 1.
    max_shapes : int, optional
        Maximum number of shapes to draw: those of evenly spaced ranks from the smallest error to the largest, in this
        order; the title then says how many of all are shown. When not given, 24 where a model is given, else all.
    fontsize : float, optional
        Size of the labels, in points; your ``font.size`` where you set it, else 8, when not given.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; the current ones of pyplot when not given.
    **line
        Properties of the lines of the reconstructions, as in :meth:`matplotlib.axes.Axes.plot`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ShapeInputError
        If the arrays are not configurations of the space, or not as many, the model does not reconstruct shapes, or all
        shapes have missing landmarks: only complete ones are drawn.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> X = np.array([circle + a * circle**-2 for a in (0.1, 0.2)])
    >>> ax = sx.plotting.plot_reconstructions(X, [circle, circle], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts]
    ['10.0 %', '19.6 %']
    """
    if is_model(reconstructions):
        raise ShapeInputError("the model comes first: plot_reconstructions(model, X).")
    if is_model(X):
        X, reconstructions, space = reconstruct(X, reconstructions, space)
        max_shapes = _MOST_SHAPES_OF_MODEL if max_shapes is None else max_shapes
    configurations, space = read_configurations(X, space, "X")
    approximations, _ = read_configurations(reconstructions, space, "reconstructions")
    if len(configurations) != len(approximations):
        raise ShapeInputError(
            f"reconstructions must be one for each of the {len(configurations)} shapes of X, got {len(approximations)}."
        )
    n_shapes = len(configurations)
    preshapes = space.preshape(configurations)
    errors = distance(preshapes, approximations, space=space)
    rows = np.arange(n_shapes)
    if max_shapes is not None and check_count(max_shapes, 1, "max_shapes") < n_shapes:
        rows = np.argsort(errors, kind="stable")[spread_rows(n_shapes, max_shapes)]
    rotations = pose_rotations(preshapes, space, pose)[rows, None]
    ax = resolve_axes(ax)
    draw_gallery(
        ax,
        rotations * align_onto(approximations[rows], preshapes[rows], space),
        space,
        [in_percent(error) for error in errors[rows]],
        under=rotations * preshapes[rows],
        n_columns=n_columns,
        points=points,
        **with_defaults(line, color=cycle_color(1), linewidth=1.1),
    )
    if len(rows) < n_shapes:
        title = f"{len(rows)} of {n_shapes} shapes, by error"
        ax.set_title(title, fontsize=text_size(fontsize))
    return ax


def in_percent(error: float) -> str:
    """Write an error so that small ones keep their digits."""
    percent = 100 * error
    if percent < _ROUNDING:
        return "0 %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def _as_shares(usage: ArrayLike, n_atoms: int) -> FloatArray:
    shares = as_numeric_array(usage, "usage")
    if shares.shape != (n_atoms,) or np.iscomplexobj(shares):
        raise ShapeInputError(f"usage must be {n_atoms} real shares, one per atom, got shape {shares.shape}.")
    if not (np.isfinite(shares).all() and shares.min() >= 0):
        raise ShapeInputError("usage must be finite and not negative: the share of the shapes that use each atom.")
    return shares.astype(np.float64)
