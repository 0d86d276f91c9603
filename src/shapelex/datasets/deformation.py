"""Random smooth deformations of shapes, by which the paper made its largest dataset.

In come configurations of landmarks; out go several deformed copies of each.
"""

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_configurations, check_count
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.spaces import Landmarks


def deform(
    X: ArrayLike,
    n_deformations: int = 10,
    *,
    amplitude: float = 0.3,
    random_state: int | np.random.Generator | None = None,
) -> ComplexArray:
    r"""Return deformed copies of shapes, as the paper makes its dataset 5.

    To each pre-shape ``z`` is added ``c K g``, where ``g`` has a random Gaussian planar vector for each landmark, and
    ``K_ij = |z_i − z_j|²`` smooths them. ``K`` has rank 4, so the deformation of the plane is
    ``a_0 + a_1 x + a_2 y + a_3 |z|²`` with random complex coefficients: it shears and bends the shape as a whole, and
    leaves details what they are.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_landmarks) or real (n_shapes, n_landmarks, 2)
        Configurations of landmarks.
    n_deformations : int, default 10
        Copies of each shape.
    amplitude : float, default 0.3
        Root mean squared norm of what is added to a pre-shape, whose norm is 1. The paper does not say what it took; at
        0.3 the copies look like those in its figures.
    random_state : int, Generator or None, default None
        Seed of the deformations.

    Returns
    -------
    ndarray of complex, shape (n_shapes * n_deformations, n_landmarks)
        Pre-shapes; the copies of one shape follow each other.

    Raises
    ------
    ShapeInputError
        If `X` holds no configurations, or shapes whose points all coincide.
    TypeError, ValueError
        If `n_deformations` is no positive integer, or `amplitude` no finite number that is not negative.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> square = np.array([[0, 1, 1 + 1j, 1j]])
    >>> copies = sx.datasets.deform(square, 3, random_state=0)
    >>> copies.shape
    (3, 4)
    >>> bool(sx.distance(square, copies).max() < 0.5)
    True
    """
    configurations, _ = as_configurations(X)
    n_copies = check_count(n_deformations, 1, "n_deformations")
    if isinstance(amplitude, bool) or not isinstance(amplitude, int | float | np.integer | np.floating):
        raise ParameterTypeError(f"amplitude must be a number, got {amplitude!r}.")
    if not (np.isfinite(amplitude) and amplitude >= 0):
        raise ParameterError(f"amplitude must be finite and not negative, got {amplitude}.")
    generator = np.random.default_rng(random_state)
    n_shapes, n_landmarks = configurations.shape
    space = Landmarks(n_landmarks)
    preshapes = space.preshape(configurations)
    parts = generator.normal(size=(2, n_shapes, n_copies, n_landmarks))
    smoothed = _smooth(preshapes, parts[0] + 1j * parts[1])
    deformed = preshapes[:, None] + amplitude * smoothed
    return space.preshape(deformed.reshape(-1, n_landmarks).astype(preshapes.dtype, copy=False))


def _smooth(shapes: ComplexArray, vectors: ComplexArray) -> ComplexArray:
    """Return ``K v`` for the vectors of each shape, over the square root of its expected squared norm.

    ``K_ij = |z_i|² + |z_j|² − 2 (x_i x_j + y_i y_j)`` has four factors, and is never formed. The shapes are centered,
    so the mixed terms of its squared norm are zero; real and imaginary parts of the vectors have variance 1.
    """
    x, y = shapes.real[:, :, None], shapes.imag[:, :, None]
    radii = x**2 + y**2
    constant, linear_x, linear_y = vectors @ radii, vectors @ x, vectors @ y
    quadratic = vectors.sum(axis=2, keepdims=True)
    moments = (x**2).sum(axis=1) ** 2 + 2 * (x * y).sum(axis=1) ** 2 + (y**2).sum(axis=1) ** 2
    norms = 2 * shapes.shape[1] * (radii**2).sum(axis=1) + 2 * radii.sum(axis=1) ** 2 + 4 * moments
    along = (part.transpose(0, 2, 1) for part in (radii, x, y))
    terms = [part * factor for part, factor in zip(along, (quadratic, -2 * linear_x, -2 * linear_y), strict=True)]
    scaled: ComplexArray = (constant + terms[0] + terms[1] + terms[2]) / np.sqrt(2 * norms)[:, :, None]
    return scaled
