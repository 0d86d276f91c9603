"""Exponential, logarithm, geodesics and parallel transport (paper, appendix, "Riemannian structure").

A tangent vector at a shape is held as a horizontal vector ``v`` at one of its pre-shapes ``z``: centered, with
``z* Phi v = 0``. It belongs to that pre-shape: turn ``z`` and ``v`` turns with it.
"""

from typing import Any

import numpy as np

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_configurations, as_numeric_array, check_same_count, name_rows
from shapelex.exceptions import NotHorizontalError, ShapeInputError
from shapelex.geometry.alignment import phases, preshape_pair, remove_along, resolve_space
from shapelex.geometry.distances import row_residuals
from shapelex.spaces.base import Space, row_norms


@keeps_array_kind
def horizontal_projection(z: ArrayLike, v: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Part of `v` that is tangent to the shape space at the pre-shape of `z`.

    ``v − (u* Phi v / |u|²) u − (z* Phi v) z``: neither translation, nor scaling, nor rotation.

    Parameters
    ----------
    z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations.
    v : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Any vectors; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Horizontal vectors.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = np.array([0, 1, 1j])
    >>> bool(np.allclose(horizontal_projection(triangle, 2j * triangle + 1), 0))
    True
    """
    space = resolve_space(space, z, "z")
    base = space.whitened_preshapes(z, "z")
    vectors, _ = as_configurations(v, name="v", n_coordinates=space.n_coordinates)
    check_same_count(len(base), len(vectors), "z", "v")
    horizontal = space.unwhiten_rows(remove_along(base, space.whiten_rows(vectors)))
    return horizontal[0] if np.ndim(z) == np.ndim(v) == 1 else horizontal


@keeps_array_kind
def exp(z: ArrayLike, v: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Pre-shape reached from the pre-shape of `z` along the geodesic with velocity `v`, at time 1.

    ``cos(|v|) z + sin(|v|) v / |v|``.

    Parameters
    ----------
    z : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations.
    v : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Horizontal vectors at the pre-shapes of `z`; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Pre-shapes.

    Raises
    ------
    NotHorizontalError
        If `v` is not horizontal at `z`.

    Examples
    --------
    >>> import numpy as np
    >>> z, w = np.array([0, 1, 1j]), np.array([0, 1, 3j])
    >>> reached = exp(z, log(z, w))
    >>> from shapelex.geometry import distance
    >>> float(distance(reached, w)) < 1e-15
    True
    """
    space = resolve_space(space, z, "z")
    base = space.whitened_preshapes(z, "z")
    velocity = _whiten_horizontal(v, base, space)
    reached = space.unwhiten_rows(exp_rows(base, velocity))
    return reached[0] if np.ndim(z) == np.ndim(v) == 1 else reached


@keeps_array_kind
def log(z: ArrayLike, w: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Horizontal vector at the pre-shape of `z` whose geodesic reaches the shape of `w` at time 1.

    ``rho (w' − cos(rho) z) / sin(rho)``, with ``w'`` the pre-shape of `w` optimally rotated along `z`. Its norm is the
    geodesic distance.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Horizontal vectors.

    Notes
    -----
    Shapes at the largest distance, ``rho = π / 2``, are joined by many shortest geodesics. The one chosen is that of
    the pre-shape of `w` as it was given, not rotated.

    Examples
    --------
    >>> import numpy as np
    >>> z, w = np.array([0, 1, 1j]), np.array([0, 1, 3j])
    >>> from shapelex.geometry import distance
    >>> bool(np.isclose(np.linalg.norm(log(z, w)), distance(z, w, kind="geodesic")))
    True
    """
    first, second, space, is_single = preshape_pair(z, w, space)
    vectors = space.unwhiten_rows(log_rows(first, second))
    return vectors[0] if is_single else vectors


@keeps_array_kind
def geodesic(z: ArrayLike, w: ArrayLike, t: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Pre-shapes along the shortest geodesic from the shape of `z` to the shape of `w`.

    ``(sin((1 − t) rho) z' + sin(t rho) w) / sin(rho)``, with ``z'`` the pre-shape of `z` optimally rotated along `w`
    (paper [1]_, appendix, "Riemannian structure of the shape space", equation 61). It runs at constant speed, from
    exactly ``z'`` to exactly the pre-shape of `w`.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the other.
    t : float or array_like of float, shape (n_times,)
        Times; 0 is `z`, 1 is `w`, others go on along the same geodesic.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape ([n_shapes,] [n_times,] n_coordinates)
        Pre-shapes; the axes of shapes and of times are there where the arguments have them.

    Notes
    -----
    At ``rho = π / 2``, see :func:`log`: `z` is taken as given, not rotated.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> z, w = np.array([0, 1, 1j]), np.array([0, 1, 3j])
    >>> path = geodesic(z, w, [0, 0.5, 1])
    >>> path.shape
    (3, 3)
    >>> from shapelex.geometry import distance
    >>> bool(np.isclose(*distance(path[[0, 2]], path[1])))
    True
    """
    times = as_numeric_array(t, "t")
    if times.ndim > 1 or np.iscomplexobj(times) or not np.isfinite(times).all():
        raise ShapeInputError(f"t must be a finite time or a list of them, got shape {times.shape}.")
    first, second, space, is_single = preshape_pair(z, w, space)
    products = np.vecdot(first, second)
    angles = np.arctan2(row_residuals(first, second, products), np.abs(products))
    # Linear combinations commute with whitening, so the pre-shapes themselves are combined: the ends stay exact.
    start = phases(products)[:, None] * space.preshape(z)
    end = np.broadcast_to(space.preshape(w), start.shape)
    steps = np.atleast_1d(times).astype(angles.dtype)
    from_start = _sine_ratio(1 - steps, angles)
    from_end = _sine_ratio(steps, angles)
    path: Any = from_start[:, :, None] * start[:, None, :] + from_end[:, :, None] * end[:, None, :]
    configurations: ComplexArray = path[:, 0] if times.ndim == 0 else path
    return configurations[0] if is_single else configurations


@keeps_array_kind
def parallel_transport(z: ArrayLike, w: ArrayLike, v: ArrayLike, space: Space | None = None) -> ComplexArray:
    """Carry the tangent vector `v` from the shape of `z` to the shape of `w` along the shortest geodesic.

    ``v − (w'* Phi v) / (1 + cos rho) (z + w')`` with ``w'`` the pre-shape of `w` rotated along `z`; then turned with
    ``w'`` onto the pre-shape of `w`.

    Parameters
    ----------
    z, w : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Configurations; a single one goes with every row of the others.
    v : array_like of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Horizontal vectors at the pre-shapes of `z`.
    space : Space, optional
        Space of the configurations; landmarks when not given.

    Returns
    -------
    ndarray of complex, shape (n_shapes, n_coordinates) or (n_coordinates,)
        Horizontal vectors at the pre-shapes of `w`, of the same norms.

    Raises
    ------
    NotHorizontalError
        If `v` is not horizontal at `z`.

    Notes
    -----
    At ``rho = π / 2``, see :func:`log`: the geodesic to `w` as given, not rotated, is taken.

    Examples
    --------
    >>> import numpy as np
    >>> z, w = np.array([0, 1, 1j]), np.array([0, 1, 3j])
    >>> carried = parallel_transport(z, w, log(z, w))
    >>> bool(np.allclose(carried, -log(w, z)))
    True
    """
    first, second, space, is_single = preshape_pair(z, w, space)
    vectors = _whiten_horizontal(v, first, space)
    products = np.vecdot(first, second)
    rotation = phases(products)[:, None]
    end = rotation.conj() * second
    factors = np.vecdot(end, vectors) / (1 + np.abs(products))
    transported = space.unwhiten_rows(rotation * (vectors - factors[:, None] * (first + end)))
    return transported[0] if is_single and np.ndim(v) == 1 else transported


def _whiten_horizontal(v: ArrayLike, base: ComplexArray, space: Space) -> ComplexArray:
    """Return whitened tangent vectors; refuse those with a part along the shift or along ``base``.

    The part tangent to the orbit of rotations counts as vertical too.
    """
    vectors, _ = as_configurations(v, name="v", n_coordinates=space.n_coordinates)
    check_same_count(len(base), len(vectors), "z", "v")
    rows = space.whiten_rows(vectors)
    lengths = row_norms(rows)
    along_base = np.abs(np.vecdot(base, rows))
    along_shift = np.abs(space.center(vectors)) * space.norm(space.shift.astype(vectors.dtype))
    precision = np.finfo(lengths.dtype).eps
    allowed = 4 * np.sqrt(precision) * np.maximum(lengths, along_shift) + 16 * precision
    not_horizontal = np.hypot(along_base, along_shift) > allowed
    if not_horizontal.any():
        first = int(np.argmax(not_horizontal))
        along_base, along_shift = (np.broadcast_to(part, not_horizontal.shape) for part in (along_base, along_shift))
        raise NotHorizontalError(
            f"v must be horizontal at z, but is not in {name_rows(not_horizontal)}: there, first, |z* Phi v| = "
            f"{along_base[first]:.3g} and |u* Phi v| / |u| = {along_shift[first]:.3g} should be 0; use "
            "horizontal_projection(z, v)."
        )
    return remove_along(base, rows)


def exp_rows(base: ComplexArray, velocity: ComplexArray) -> ComplexArray:
    """Return the exponential of whitened horizontal vectors at whitened pre-shapes."""
    lengths = row_norms(velocity)[:, None]
    return np.cos(lengths) * base + _sinc(lengths) * velocity


def log_rows(base: ComplexArray, target: ComplexArray) -> ComplexArray:
    """Return the logarithm of whitened pre-shapes at whitened pre-shapes."""
    products = np.vecdot(base, target)
    direction = remove_along(base, phases(products).conj()[:, None] * target)
    sines = row_norms(direction)
    angles = np.arctan2(sines, np.abs(products))
    return direction / _sinc(angles)[:, None]


def _sinc(angles: FloatArray) -> FloatArray:
    """Return ``sin(a) / a``, 1 at 0."""
    return np.asarray(np.sinc(angles / np.pi))


def _sine_ratio(times: FloatArray, angles: FloatArray) -> FloatArray:
    """Return ``sin(t a) / sin(a)`` for all angles and times; its limit t as a goes to 0."""
    return times * _sinc(times * angles[:, None]) / _sinc(angles)[:, None]
