"""Shapes made in code as sums of known atoms.

In come numbers and a seed; out go shapes, with the atoms and codes they were made from. Equal seeds give equal shapes.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_configurations, check_count, check_not_negative
from shapelex.coding import SparseCodes, decode
from shapelex.exceptions import ParameterError
from shapelex.shapes import ShapeSet
from shapelex.spaces import Landmarks, Space


@dataclass(frozen=True)
class DictionarySample:
    """Shapes that are sums of known atoms.

    Parameters
    ----------
    shapes : ShapeSet
        The shapes, noise included.
    atoms : ndarray of complex, shape (n_atoms, n_coordinates)
        The true atoms, pre-shapes.
    codes : SparseCodes
        The true codes: without noise, ``decode(codes, atoms)`` gives the shapes.
    """

    shapes: ShapeSet
    atoms: ComplexArray
    codes: SparseCodes


def make_from_dictionary(
    n_samples: int = 1000,
    n_atoms: int = 10,
    n_nonzero: int = 3,
    *,
    space: Space | None = None,
    atoms: ArrayLike | None = None,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> DictionarySample:
    """Return shapes that are sparse sums of known atoms, so that a method can be checked.

    The shapes follow the model of the paper [1]_ (section 5.2, "Sparse coding with ORMP", equation 35).

    Parameters
    ----------
    n_samples : int, default 1000
        How many shapes.
    n_atoms : int, default 10
        Number of atoms.
    n_nonzero : int, default 3
        Atoms in each sum, chosen at random, with random phases and moduli between 0.5 and 1.5 before scaling.
    space : Space, optional
        Space of the shapes; ``Landmarks(32, closed=True)`` when not given.
    atoms : array_like of complex, shape (n_atoms, n_coordinates), optional
        Atoms to use instead of random smooth curves; `n_atoms` is then not used.
    noise : float, default 0.0
        Root mean squared norm of what is added to a shape, whose norm is 1.
    random_state : int, Generator or None, default None
        Seed.

    Returns
    -------
    DictionarySample
        ``shapes``, ``atoms`` and ``codes``.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import shapelex as sx
    >>> sample = sx.datasets.make_from_dictionary(200, n_atoms=6, n_nonzero=2, random_state=0)
    >>> sample.shapes.shape, sample.atoms.shape, sample.codes.n_nonzero
    ((200, 32), (6, 32), 2)
    """
    n_shapes = check_count(n_samples, 1, "n_samples")
    target = Landmarks(32, closed=True) if space is None else space
    generator = np.random.default_rng(random_state)
    if atoms is None:
        true_atoms = _smooth_curves(check_count(n_atoms, 1, "n_atoms"), target, generator)
    else:
        true_atoms = target.preshape(as_configurations(atoms, name="atoms", n_coordinates=target.n_coordinates)[0])
    n_used = check_count(n_nonzero, 1, "n_nonzero")
    if n_used > len(true_atoms):
        raise ParameterError(f"n_nonzero must be between 1 and n_atoms={len(true_atoms)}, got {n_nonzero}.")
    support = np.argsort(generator.random((n_shapes, len(true_atoms))), axis=1)[:, :n_used]
    phases = np.exp(2j * np.pi * generator.uniform(size=support.shape))
    coefs = generator.uniform(0.5, 1.5, size=support.shape) * phases
    sums = decode(SparseCodes(support, coefs, len(true_atoms)), true_atoms)
    codes = SparseCodes(support, coefs / target.norm(sums)[:, None], len(true_atoms))
    shapes = decode(codes, true_atoms)
    rows = _complex_normal(generator, shapes.shape) / np.sqrt(2 * max(target.n_coordinates - 1, 1))
    shapes = shapes + check_not_negative(noise, "noise") * target.centered(target.unwhiten(rows))
    return DictionarySample(ShapeSet(shapes, target), true_atoms, codes)


def _smooth_curves(n_curves: int, space: Space, generator: np.random.Generator) -> ComplexArray:
    """Return pre-shapes of random curves, whose finer waves are the weaker ones."""
    t = space.parameters(space.n_coordinates if isinstance(space, Landmarks) else 20 * space.n_coordinates)
    orders = np.arange(1, 7)
    if space.closed:
        waves = np.exp(2j * np.pi * np.concatenate([orders, -orders])[:, None] * t)
        weights = np.tile(orders, 2) ** -1.5
    else:
        waves = np.cos(np.pi * orders[:, None] * t) + 0j
        weights = orders**-1.5
    curves = (weights * _complex_normal(generator, (n_curves, len(weights)))) @ waves
    return space.preshape(curves if isinstance(space, Landmarks) else space.fit(curves, t=t))


def _complex_normal(generator: np.random.Generator, shape: tuple[int, ...]) -> ComplexArray:
    parts = generator.normal(size=(2, *shape))
    return np.asarray(parts[0] + 1j * parts[1])
