"""Intrinsic dictionaries: codes and atoms in turn (Xie et al. 2013, Ben Tanfous et al. 2018).

In come whitened rows and a first dictionary; out go atoms of norm 1 and the loss on the way, which never rises.
"""

import logging
from dataclasses import dataclass

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.geodesics import exp_rows
from shapelex.geometry.preshapes import remove_along
from shapelex.riemannian.affine_lasso import affine_lasso
from shapelex.riemannian.objective import atom_gradient, logarithm_parts, tangent_energy, tangent_grams

logger = logging.getLogger(__name__)

# Steps between two codings: more of them gain next to nothing, as the curvature is nearly right.
_STEPS = 3
# A step must gain this share of what the gradient promises (Armijo), or it is halved, so often at most.
_LEAST_GAIN = 1e-4
_HALVINGS = 30
_RIDGE = 1e-6
_BLOCK_ENTRIES = 2_000_000


@dataclass(frozen=True, eq=False)
class IntrinsicDictionary:
    """What a descent found."""

    atoms: ComplexArray
    loss_curve: FloatArray
    converged: bool


def intrinsic_codes(rows: ComplexArray, atoms: ComplexArray, alpha: float) -> FloatArray:
    """Weights that solve ``min |Σ_j a_j log_z(d_j)|² + alpha |a|₁  subject to  Σ_j a_j = 1``, for each row ``z``."""
    codes = np.empty((len(rows), len(atoms)))
    rows_per_block = max(1, _BLOCK_ENTRIES // len(atoms) ** 2)
    for start in range(0, len(rows), rows_per_block):
        block = slice(start, start + rows_per_block)
        parts = logarithm_parts(rows[block], atoms)
        codes[block] = affine_lasso(tangent_grams(atoms, parts), alpha)
    return codes


def learn_intrinsic(
    rows: ComplexArray, shares: FloatArray, atoms: ComplexArray, alpha: float, max_iter: int, tol: float
) -> IntrinsicDictionary:
    """Minimize ``Σ_k share_k (|Σ_j a_kj log_{z_k}(d_j)|² + alpha |a_k|₁)`` over codes of sum one and atoms."""
    codes = intrinsic_codes(rows, atoms, alpha)
    losses = _losses(rows, atoms, codes, alpha)
    curve = [float(shares @ losses)]
    converged = False
    while not converged and len(curve) <= max_iter:
        atoms = _descend(rows, atoms, codes, shares)
        losses = _losses(rows, atoms, codes, alpha)
        new = intrinsic_codes(rows, atoms, alpha)
        new_losses = _losses(rows, atoms, new, alpha)
        # The old codes are still allowed; where the solver stopped early they may be better.
        codes = np.where((new_losses < losses)[:, None], new, codes)
        curve.append(float(shares @ np.minimum(losses, new_losses)))
        converged = curve[-2] - curve[-1] <= tol * curve[-2]
        logger.debug("intrinsic dictionary: iteration %d, loss %.6g", len(curve) - 1, curve[-1])
    return IntrinsicDictionary(atoms, np.array(curve), converged)


def _losses(rows: ComplexArray, atoms: ComplexArray, codes: FloatArray, alpha: float) -> FloatArray:
    losses: FloatArray = tangent_energy(rows, atoms, codes) + alpha * np.abs(codes).sum(axis=1)
    return losses


def _descend(rows: ComplexArray, atoms: ComplexArray, codes: FloatArray, shares: FloatArray) -> ComplexArray:
    """Move the atoms down the gradient for fixed codes, by steps that each lower the loss."""
    length = 1.0
    for _ in range(_STEPS):
        value, gradient = atom_gradient(rows, atoms, codes, shares)
        direction = -remove_along(atoms, np.linalg.solve(_curvature(rows, atoms, codes, shares), gradient))
        slope = float(np.vdot(gradient, direction).real)
        for _ in range(_HALVINGS):
            moved = exp_rows(atoms, length * direction)
            # Rounding of the norms would add up over the steps.
            moved /= np.linalg.norm(moved, axis=1, keepdims=True)
            if float(shares @ tangent_energy(rows, moved, codes)) <= value + _LEAST_GAIN * length * slope:
                break
            length /= 2
        else:
            return atoms
        atoms = moved
        length = min(2 * length, 1.0)
    return atoms


def _curvature(rows: ComplexArray, atoms: ComplexArray, codes: FloatArray, shares: FloatArray) -> ComplexArray:
    """Return the second derivatives as if the space were flat: steps of length 1 are then the natural ones."""
    parts = logarithm_parts(rows, atoms)
    weights = codes * parts.ratios * parts.rotations.conj()
    curvature: ComplexArray = 2 * (weights.conj().T * shares) @ weights
    # Atoms that no shape uses would make it singular.
    curvature[np.diag_indices(len(atoms))] += _RIDGE * np.trace(curvature).real / len(atoms)
    return curvature
