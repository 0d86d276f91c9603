"""Dictionaries: their atoms, and what they make of the shapes."""

from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._typing import ArrayLike, FloatArray
from shapelex._validation import as_numeric_array
from shapelex.exceptions import ShapeInputError
from shapelex.geometry import align_onto, distance
from shapelex.plotting.axes import resolve_axes
from shapelex.plotting.drawing import with_defaults
from shapelex.plotting.galleries import draw_gallery
from shapelex.plotting.palette import FONT_SIZE, ORANGE
from shapelex.plotting.poses import Pose, pose_rotations
from shapelex.shapes.opening import read_configurations
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_atoms(
    atoms: ArrayLike,
    space: Space | None = None,
    *,
    usage: ArrayLike | None = None,
    pose: Pose | ArrayLike = "mean",
    numbers: bool = True,
    n_columns: int | None = None,
    points: bool = False,
    fontsize: float = FONT_SIZE,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw the atoms of a dictionary as a gallery, in a common pose, most used first.

    Parameters
    ----------
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The atoms, as ``ShapeDictionary.atoms_``. They are drawn as pre-shapes.
    space : Space, optional
        Space of the atoms; landmarks when not given.
    usage : array_like of float, shape (n_atoms,), optional
        Share of the shapes that use each atom, as ``ShapeDictionary.usage_``. It is written in percent under the atoms
        and orders them; without it they stay in their order.
    pose : {"mean", "principal", "given"} or array_like of complex, shape (n_coordinates,), default "mean"
        How to turn the atoms: along their mean, weighted by use, which lies flat; each along its own long axis; not at
        all; or along a given configuration.
    numbers : bool, default True
        Write the number of each atom, its row in `atoms`, in gray before its use.
    n_columns : int, optional
        Atoms in a row; as many as make the atoms largest when not given.
    points : bool, default False
        Whether to mark the landmarks, knots or control points too.
    fontsize : float, default 8
        Size of the labels, in points.
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
        If `atoms` are no configurations of the space, or `usage` is not one share an atom.

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
        fontsize=fontsize,
        **line,
    )
    return resolved


def plot_reconstructions(
    X: ArrayLike,
    reconstructions: ArrayLike,
    space: Space | None = None,
    *,
    pose: Pose | ArrayLike = "principal",
    n_columns: int | None = None,
    points: bool = False,
    fontsize: float = FONT_SIZE,
    ax: "Axes | None" = None,
    **line: Any,
) -> "Axes":
    """Draw reconstructions over the shapes they stand for, which are gray, with the errors in percent.

    The error is the full Procrustes distance. Each reconstruction is drawn in the size and pose that attain it, where
    a least-squares reconstruction of the pre-shape lies already.

    Parameters
    ----------
    X : array_like of complex, shape (n_shapes, n_coordinates)
        The original configurations, drawn as pre-shapes.
    reconstructions : array_like of complex, shape (n_shapes, n_coordinates)
        Their reconstructions, as ``ShapeDictionary.reconstruct(X)``.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    pose : {"principal", "mean", "given"} or array_like of complex, shape (n_coordinates,), default "principal"
        How to turn the originals: each along its own long axis; along their mean, which lies flat; not at all; or
        along a given configuration.
    n_columns : int, optional
        Shapes in a row; as many as make the shapes largest when not given.
    points : bool, default False
        Whether to mark the landmarks, knots or control points of the reconstructions too.
    fontsize : float, default 8
        Size of the labels, in points.
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
        If the arrays are no configurations of the space, or not as many.

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
    configurations, space = read_configurations(X, space, "X")
    approximations, _ = read_configurations(reconstructions, space, "reconstructions")
    if len(configurations) != len(approximations):
        raise ShapeInputError(
            f"reconstructions must be one for each of the {len(configurations)} shapes of X, got {len(approximations)}."
        )
    preshapes = space.preshape(configurations)
    rotations = pose_rotations(preshapes, space, pose)[:, None]
    errors = distance(preshapes, approximations, space=space)
    draw_gallery(
        resolved := resolve_axes(ax),
        rotations * align_onto(approximations, preshapes, space),
        space,
        [in_percent(error) for error in errors],
        under=rotations * preshapes,
        n_columns=n_columns,
        points=points,
        fontsize=fontsize,
        **with_defaults(line, color=ORANGE, linewidth=1.1),
    )
    return resolved


def in_percent(error: float) -> str:
    """Write an error so that small ones keep their digits."""
    percent = 100 * error
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %"


def _as_shares(usage: ArrayLike, n_atoms: int) -> FloatArray:
    shares = as_numeric_array(usage, "usage")
    if shares.shape != (n_atoms,) or np.iscomplexobj(shares):
        raise ShapeInputError(f"usage must be {n_atoms} real shares, one per atom, got shape {shares.shape}.")
    if not (np.isfinite(shares).all() and shares.min() >= 0):
        raise ShapeInputError("usage must be finite and not negative: the share of the shapes that use each atom.")
    return shares.astype(np.float64)
