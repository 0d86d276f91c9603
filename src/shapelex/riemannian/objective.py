"""Weighted sums of logarithms of atoms at shapes, and how they change with the atoms (Xie et al. 2013).

In come whitened rows of norm 1: shapes ``z_k``, atoms ``d_j``, and real weights ``a_kj``; out go the sums
``v_k = Σ_j a_kj log_{z_k}(d_j)``, the Gram matrices of the logarithms, and the gradient of ``Σ_k |v_k|²``. All follow
from the products ``z_k* d_j``: only the Gram matrices have more than two axes.
"""

from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.preshapes import phases, remove_along

# Below this angle the slope of angle / sin(angle) is taken from its series, which is then exact to 1e-11.
_SMALL_ANGLE = 3e-3


@dataclass(frozen=True)
class LogarithmParts:
    """What the logarithms ``ratio (d_j / rotation − cosine z_k)`` are made of, for all pairs ``(k, j)``.

    `slopes` are the derivatives of `ratios` (geodesic distance over its sine) with respect to `cosines`.
    """

    rotations: ComplexArray
    cosines: FloatArray
    ratios: FloatArray
    slopes: FloatArray


def logarithm_parts(rows: ComplexArray, atoms: ComplexArray) -> LogarithmParts:
    """Parts of the logarithms of all atoms at all rows."""
    products = rows.conj() @ atoms.T
    cosines = np.minimum(np.abs(products), 1)
    sines = np.sqrt((1 - cosines) * (1 + cosines))
    angles = np.arctan2(sines, cosines)
    is_small = angles < _SMALL_ANGLE
    safe = np.where(is_small, 1, sines)
    slopes = np.where(is_small, -1 / 3 - 2 / 15 * angles**2, -(sines - angles * cosines) / safe**3)
    return LogarithmParts(phases(products), cosines, np.where(is_small, 1 + angles**2 / 6, angles / safe), slopes)


def tangent_grams(atoms: ComplexArray, parts: LogarithmParts) -> FloatArray:
    """Real products of the logarithms of all atoms, for each row."""
    turned = parts.rotations[:, :, None] * parts.rotations.conj()[:, None, :]
    products = (turned * (atoms.conj() @ atoms.T)).real
    products -= parts.cosines[:, :, None] * parts.cosines[:, None, :]
    grams: FloatArray = parts.ratios[:, :, None] * parts.ratios[:, None, :] * products
    return grams


def tangent_sums(rows: ComplexArray, atoms: ComplexArray, codes: FloatArray, parts: LogarithmParts) -> ComplexArray:
    """Weighted sums of the logarithms of the atoms."""
    weights = codes * parts.ratios
    along = np.einsum("kj,kj->k", weights, parts.cosines)
    return remove_along(rows, (weights * parts.rotations.conj()) @ atoms - along[:, None] * rows)


def atom_gradient(
    rows: ComplexArray, atoms: ComplexArray, codes: FloatArray, shares: FloatArray
) -> tuple[float, ComplexArray]:
    """Weighted sum of the squared norms of the tangent sums, and its Riemannian gradient with respect to the atoms.

    With ``f`` the ratio, ``c`` the cosine, ``e`` the rotation and ``w = d_j / e``, a change ``h`` of the atom changes
    ``<v, log_z(d_j)>`` by ``Re(g* h)`` for ``g = e (f v + (f' Re(v* w) + i f / c Im(v* w)) z)``. At ``c = 0``, the
    cut locus, the last term has no limit and is left out.
    """
    parts = logarithm_parts(rows, atoms)
    sums = tangent_sums(rows, atoms, codes, parts)
    value = float(shares @ np.einsum("kn,kn->k", sums.conj(), sums).real)
    products = parts.rotations.conj() * (sums.conj() @ atoms.T)
    reachable = parts.cosines > 4 * np.finfo(parts.cosines.dtype).eps
    inverse = np.where(reachable, 1, 0) / np.where(reachable, parts.cosines, 1)
    along = parts.slopes * products.real + 1j * parts.ratios * inverse * products.imag
    weights = 2 * shares[:, None] * codes * parts.rotations
    gradient = (weights * parts.ratios).T @ sums + (weights * along).T @ rows
    return value, remove_along(atoms, gradient)


def tangent_energy(rows: ComplexArray, atoms: ComplexArray, codes: FloatArray) -> FloatArray:
    """Squared norms of the tangent sums."""
    sums = tangent_sums(rows, atoms, codes, logarithm_parts(rows, atoms))
    energy: FloatArray = np.einsum("kn,kn->k", sums.conj(), sums).real
    return energy
