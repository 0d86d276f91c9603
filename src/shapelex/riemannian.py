"""The intrinsic dictionary of Xie et al. 2013 and Ben Tanfous et al. 2018, on the shape space, as a peer of ours."""

import logging
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shapelex._blas import single_blas_thread
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_choice, check_count, check_not_negative, check_weights
from shapelex.estimators.base import AtomReconstructor, all_or_nothing, as_generator
from shapelex.files.schema import Array, Count, Number, Schema
from shapelex.geometry.alignment import phases, remove_along
from shapelex.geometry.geodesics import exp_rows
from shapelex.learning.sampling import initial_atoms
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces.base import PlainRows, Space

__all__ = ["RiemannianDictionary"]

# Weights are solved for so many entries of Gram matrices at a time, to this share of the largest entry.
_BLOCK_ENTRIES = 2_000_000
_WEIGHT_TOL = 1e-9
_MOST_WEIGHT_STEPS = 1_000
# Added to the diagonal of Gram matrices, as a share of the largest entry: it keeps a matrix definite that is singular
# to rounding, and settles which of many solutions is taken. It is far below the tolerance.
_WEIGHT_RIDGE = 1e-12
# Steps of the atoms between two codings: more of them gain next to nothing, as the curvature is nearly right.
_STEPS = 3
# A step must gain this share of what the gradient promises (Armijo), or it is halved, so often at most.
_LEAST_GAIN = 1e-4
_HALVINGS = 30
_RIDGE = 1e-6
# Below this angle the slope of angle / sin(angle) is taken from its series, which is then exact to 1e-11.
_SMALL_ANGLE = 3e-3

_logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class RiemannianDictionary(AtomReconstructor):
    """Dictionary whose atoms are combined in the tangent space of each shape.

    Learns pre-shape atoms ``d_j`` and real weights that minimize the mean over shapes ``z_k`` of
    ``|Σ_j a_kj log_{z_k}(d_j)|² + alpha |a_k|₁``, subject to ``Σ_j a_kj = 1``: seen from the shape itself, the atoms
    balance (Xie et al. 2013, Ben Tanfous et al. 2018).

    A code does not give its shape back. The logarithms are taken at the shape, so a reconstruction from the code needs
    the very shape that is to be reconstructed: :meth:`reconstruct` takes shapes, and :meth:`inverse_transform` raises.
    :class:`ShapeDictionary` has no such limit.

    Parameters
    ----------
    n_atoms : int, default 20
        Number of atoms.
    alpha : float, default 0.01
        Price of the absolute values, a squared geodesic distance. Weights of sum one have ``|a|₁ ≥ 1``, so a large one
        gives convex combinations, not ever sparser codes.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    init : {"spread", "random"} or array_like of complex, shape (n_atoms, n_coordinates), default "spread"
        First dictionary: shapes far from each other, shapes at random, or given configurations.
    max_iter : int, default 100
        Most updates of the dictionary: each is a few steps down the Riemannian gradient with a line search, then all
        shapes are coded again.
    tol : float, default 1e-3
        Ends when an update lowers the objective by no more than this share.
    random_state : int, Generator, RandomState or None, default None
        Seed of the first dictionary.

    Attributes
    ----------
    atoms_ : ndarray of complex, shape (n_atoms, n_coordinates)
        The atoms: pre-shapes.
    objective_ : float
        The mean that was minimized.
    loss_curve_ : ndarray of float, shape (n_losses,)
        Objective of every dictionary on the way, the first one included. It never rises.
    n_iter_ : int
        Updates made.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    The codes are the exact minimum, to rounding. They are seldom sparse: the atoms move outwards until shapes are
    convex combinations of them, and those cost ``alpha`` however many atoms they use. At geodesic distance ``π / 2``
    the logarithm is not unique, see :func:`shapelex.log`.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + 0.3 * rng.uniform(size=(50, 2)) @ [circle**-1, circle**2]
    >>> model = sx.RiemannianDictionary(n_atoms=4, alpha=1e-4, tol=0.01, random_state=0).fit(X)
    >>> codes = model.transform(X)
    >>> codes.shape, bool(np.allclose(codes.sum(axis=1), 1))
    ((50, 4), True)
    >>> float(model.errors(X).max()) < 0.05
    True
    """

    n_atoms: int = 20
    _: KW_ONLY
    alpha: float = 0.01
    space: Space | None = None
    init: str | ArrayLike = "spread"
    max_iter: int = 100
    tol: float = 1e-3
    random_state: Any = None

    _schema = Schema(
        Array("atoms_", "complex", ("n_atoms", "n_coordinates")),
        Array("loss_curve_", "float", ("n_losses",)),
        Number("objective_"),
        Count("n_iter_"),
    )

    @all_or_nothing
    @single_blas_thread()
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> "RiemannianDictionary":  # noqa: ARG002
        """Learn the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            How much each shape counts.

        Returns
        -------
        RiemannianDictionary
            The estimator itself.

        Raises
        ------
        ShapeInputError
            If there are fewer shapes than atoms.

        Warns
        -----
        ConvergenceWarning
            If the objective still fell after `max_iter` updates.
        """
        self._check_parameters()
        configurations = self._read_fit_input(X)
        rows = self._as_rows(configurations, "X")
        shares = check_weights(sample_weight, len(rows), np.dtype(np.float64), "sample_weight")
        init = self.init if isinstance(self.init, str) else self.space_.whitened_preshapes(self.init, "init")
        shapes = as_shapes(rows, PlainRows(rows.shape[1]), sample_weight)
        atoms = initial_atoms(shapes, self.n_atoms, init, as_generator(self.random_state))
        logarithms = _Logarithms(rows, atoms.astype(np.complex128))
        codes = _solve_codes(logarithms, self.alpha)
        curve = [float(shares @ logarithms.losses(codes, self.alpha))]
        converged = False
        while not converged and len(curve) <= self.max_iter:
            logarithms = _descend(logarithms, codes, shares)
            losses = logarithms.losses(codes, self.alpha)
            new = _solve_codes(logarithms, self.alpha, codes)
            new_losses = logarithms.losses(new, self.alpha)
            # The old codes are still allowed; where the solver stopped early they may be better.
            codes = np.where((new_losses < losses)[:, None], new, codes)
            curve.append(float(shares @ np.minimum(losses, new_losses)))
            converged = curve[-2] - curve[-1] <= self.tol * curve[-2]
            _logger.debug("intrinsic dictionary: iteration %d, loss %.6g", len(curve) - 1, curve[-1])
        self.atoms_ = self.space_.unwhiten(logarithms.atoms.astype(configurations.dtype))
        self.loss_curve_ = np.array(curve)
        self.objective_ = curve[-1]
        self.n_iter_ = len(curve) - 1
        if not converged and self.max_iter > 0:
            told = Message(
                f"The objective still fell after {parameter('max_iter', self.max_iter)} iterations, by more than "
                f"{self.tol:g} of it: raise {parameter('max_iter')}, or {parameter('tol')}."
            )
            warnings.warn(told, ConvergenceWarning, stacklevel=4)
        return self

    @single_blas_thread()
    def transform(self, X: ArrayLike) -> FloatArray:
        """Code shapes over the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_atoms)
            Real weights that sum to one, some of them zero. They do not depend on the pose of a shape.
        """
        _, codes, dtype = self._code(X)
        return codes.astype(dtype, copy=False)

    def inverse_transform(self, codes: ArrayLike) -> NoReturn:
        """Raise: codes alone do not determine shapes here.

        Parameters
        ----------
        codes : array_like of float, shape (n_shapes, n_atoms)
            Codes.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "RiemannianDictionary cannot turn codes into shapes: its weights combine atoms in the tangent space of the "
            "coded shape, which the code does not hold. Use reconstruct(X) with the shapes, or ShapeDictionary."
        )

    @single_blas_thread()
    def reconstruct(self, X: ArrayLike) -> ComplexArray:
        """Approximate shapes by combining the atoms in the tangent spaces of these very shapes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``exp_z(Σ_j a_j log_z(d_j))``: pre-shapes, in the poses of ``space_.preshape(X)``.
        """
        logarithms, codes, dtype = self._code(X)
        rebuilt = exp_rows(logarithms.rows, logarithms.sums(codes))
        return self.space_.unwhiten(rebuilt.astype(np.result_type(dtype, np.complex64)))

    @single_blas_thread()
    def errors(self, X: ArrayLike) -> FloatArray:
        """Full Procrustes distance of each shape to its reconstruction, which has seen the shape itself.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Distances between 0 and 1: the sine of ``|Σ_j a_j log_z(d_j)|``.
        """
        logarithms, codes, dtype = self._code(X)
        return np.abs(np.sin(np.sqrt(logarithms.energy(codes)))).astype(dtype)

    def _as_rows(self, configurations: ComplexArray, name: str) -> ComplexArray:
        # Angles and their ratios lose half the digits near zero: single precision would leave too few.
        return self.space_.whitened_preshapes(configurations.astype(np.complex128), name)

    def _code(self, X: ArrayLike) -> "tuple[_Logarithms, FloatArray, np.dtype[Any]]":
        """Return the logarithms of the atoms at given shapes, their codes, and the real dtype of the shapes."""
        configurations = read_configurations(self._open_new_input(X))[0]
        logarithms = _Logarithms(self._as_rows(configurations, "X"), self._as_rows(self.atoms_, "atoms_"))
        return logarithms, _solve_codes(logarithms, self.alpha), configurations.real.dtype

    def _check_parameters(self) -> None:
        check_count(self.n_atoms, 1, "n_atoms")
        if isinstance(self.init, str):
            check_choice(self.init, ("spread", "random"), "init")
        check_count(self.max_iter, 0, "max_iter")
        check_not_negative(self.alpha, "alpha")
        check_not_negative(self.tol, "tol")

    def _check_loaded(self) -> None:
        self._check_parameters()
        self.errors(self.atoms_[:1])


class _Logarithms:
    """The logarithms ``ratio (d_j / rotation − cosine z_k)`` of all atoms ``d_j`` at all rows ``z_k``."""

    def __init__(self, rows: ComplexArray, atoms: ComplexArray) -> None:
        self.rows, self.atoms = rows, atoms
        products = rows.conj() @ atoms.T
        self.rotations = phases(products)
        self.cosines: FloatArray = np.minimum(np.abs(products), 1)
        self._sines: FloatArray = np.sqrt((1 - self.cosines) * (1 + self.cosines))
        self._angles: FloatArray = np.arctan2(self._sines, self.cosines)
        # Geodesic distances over their sines.
        self.ratios: FloatArray = 1 / np.sinc(self._angles / np.pi)

    def grams(self, block: slice) -> FloatArray:
        """Return the real products of the logarithms of all atoms, for each of some rows."""
        rotations, cosines, ratios = self.rotations[block], self.cosines[block], self.ratios[block]
        turned = rotations[:, :, None] * rotations.conj()[:, None, :]
        products = (turned * (self.atoms.conj() @ self.atoms.T)).real - cosines[:, :, None] * cosines[:, None, :]
        return np.asarray(ratios[:, :, None] * ratios[:, None, :] * products)

    def sums(self, codes: FloatArray) -> ComplexArray:
        """Return the sums of the logarithms of the atoms, weighted by codes, for each row."""
        weights = codes * self.ratios
        along = np.einsum("kj,kj->k", weights, self.cosines)
        return remove_along(self.rows, (weights * self.rotations.conj()) @ self.atoms - along[:, None] * self.rows)

    def energy(self, codes: FloatArray) -> FloatArray:
        """Return the squared norms of the sums."""
        sums = self.sums(codes)
        return np.asarray(np.vecdot(sums, sums).real)

    def losses(self, codes: FloatArray, alpha: float) -> FloatArray:
        """Return what codes minimize, for each row."""
        return np.asarray(self.energy(codes) + alpha * np.abs(codes).sum(axis=1))

    def gradient(self, codes: FloatArray, shares: FloatArray) -> ComplexArray:
        """Return the Riemannian gradient of the mean energy with respect to the atoms.

        With ``f`` the ratio, ``c`` the cosine, ``e`` the rotation and ``w = d_j / e``, a change ``h`` of the atom
        changes ``<v, log_z(d_j)>`` by ``Re(g* h)`` for ``g = e (f v + (f' Re(v* w) + i f / c Im(v* w)) z)``. At
        ``c = 0``, the cut locus, the last term has no limit and is left out.
        """
        sums = self.sums(codes)
        products = self.rotations.conj() * (sums.conj() @ self.atoms.T)
        is_small = self._angles < _SMALL_ANGLE
        slopes = -(self._sines - self._angles * self.cosines) / np.where(is_small, 1, self._sines) ** 3
        slopes = np.where(is_small, -1 / 3 - 2 / 15 * self._angles**2, slopes)
        reachable = self.cosines > 4 * np.finfo(self.cosines.dtype).eps
        inverse = np.where(reachable, 1, 0) / np.where(reachable, self.cosines, 1)
        along = slopes * products.real + 1j * self.ratios * inverse * products.imag
        weights = 2 * shares[:, None] * codes * self.rotations
        return remove_along(self.atoms, (weights * self.ratios).T @ sums + (weights * along).T @ self.rows)

    def curvature(self, codes: FloatArray, shares: FloatArray) -> ComplexArray:
        """Return the second derivatives as if the space were flat: steps of length 1 are then the natural ones."""
        weights = codes * self.ratios * self.rotations.conj()
        curvature: ComplexArray = 2 * (weights.conj().T * shares) @ weights
        # Atoms that no shape uses would make it singular.
        curvature[np.diag_indices(len(curvature))] += _RIDGE * np.trace(curvature).real / len(curvature)
        return curvature


def _descend(logarithms: _Logarithms, codes: FloatArray, shares: FloatArray) -> _Logarithms:
    """Move the atoms down the gradient for fixed codes, by steps that each lower the loss."""
    length, value = 1.0, float(shares @ logarithms.energy(codes))
    for _ in range(_STEPS):
        gradient, atoms = logarithms.gradient(codes, shares), logarithms.atoms
        direction = -remove_along(atoms, np.linalg.solve(logarithms.curvature(codes, shares), gradient))
        slope = float(np.vdot(gradient, direction).real)
        for _ in range(_HALVINGS):
            moved = exp_rows(atoms, length * direction)
            # Rounding of the norms would add up over the steps.
            moved /= np.linalg.norm(moved, axis=1, keepdims=True)
            tried = _Logarithms(logarithms.rows, moved)
            lowered = float(shares @ tried.energy(codes))
            if lowered <= value + _LEAST_GAIN * length * slope:
                break
            length /= 2
        else:
            return logarithms
        logarithms, value = tried, lowered
        length = min(2 * length, 1.0)
    return logarithms


def _solve_codes(logarithms: _Logarithms, alpha: float, start: FloatArray | None = None) -> FloatArray:
    """Return the weights ``a`` of sum one of least ``|Σ_j a_j log_z(d_j)|² + alpha |a|₁``, for each row ``z``."""
    n_rows, n_atoms = logarithms.cosines.shape
    codes = np.empty((n_rows, n_atoms))
    rows_per_block = max(1, _BLOCK_ENTRIES // n_atoms**2)
    for first in range(0, n_rows, rows_per_block):
        block = slice(first, first + rows_per_block)
        codes[block] = _affine_lasso(logarithms.grams(block), alpha, None if start is None else start[block])
    return codes


def _affine_lasso(grams: FloatArray, alpha: float, start: FloatArray | None) -> FloatArray:
    """Return weights that solve ``min a' G a + alpha |a|₁  subject to  Σ_j a_j = 1``, for each Gram matrix ``G``.

    An active set method, for all samples side by side, from the best single atom or from given weights. For given
    signs the minimum is a linear system. On the way there atoms leave one by one, where a weight would change its sign;
    at the minimum they enter one by one, where the optimality conditions are missed. No step raises the objective.
    """
    sizes = 2 * np.abs(grams).max(axis=(1, 2)) + alpha
    scales = np.where(sizes > 0, sizes, 1)
    all_quadratic, all_prices = 2 * grams / scales[:, None, None], alpha / scales
    if start is None:
        start = np.eye(grams.shape[1])[np.einsum("kjj->kj", grams).argmin(axis=1)]
    all_weights, all_signs = start.copy(), np.sign(start)
    remaining = np.arange(len(grams))
    for _ in range(_MOST_WEIGHT_STEPS):
        quadratic, prices = all_quadratic[remaining], all_prices[remaining, None]
        weights, signs = all_weights[remaining], all_signs[remaining]
        target = _solve_for_signs(quadratic, prices, signs)
        crosses = (signs != 0) & (target * signs <= 0)
        # The share of the way to the target at which a weight would change its sign.
        ways = np.where(crosses, weights / np.where(weights != target, weights - target, 1), np.inf)
        leaving, is_blocked = np.argmin(ways, axis=1), crosses.any(axis=1)
        step = np.minimum(ways.min(axis=1, keepdims=True), 1)
        weights = (1 - step) * weights + step * target
        weights[is_blocked, leaving[is_blocked]] = signs[is_blocked, leaving[is_blocked]] = 0
        # Optimal where, for some number, slopes less this number are −price sign(a) on the support, and at most the
        # price elsewhere.
        is_used = weights != 0
        slopes = np.einsum("kij,kj->ki", quadratic, weights)
        priced = slopes + prices * np.sign(weights)
        level = np.mean(priced, axis=1, where=is_used, keepdims=True)
        slopes, priced = slopes - level, priced - level
        gaps = np.where(is_used, np.abs(priced), np.abs(slopes) - prices).max(axis=1)
        is_done = ~is_blocked & (gaps <= _WEIGHT_TOL)
        # The atom that misses its condition most gets the sign that lowers the objective.
        entering = np.argmax(np.where(signs == 0, np.abs(slopes), 0), axis=1)
        enters = ~is_blocked & ~is_done
        signs[enters, entering[enters]] = -np.sign(slopes[enters, entering[enters]])
        all_weights[remaining], all_signs[remaining] = weights, signs
        remaining = remaining[~is_done]
        if not len(remaining):
            return all_weights
    told = f"The weights of {len(remaining)} of {len(grams)} shapes did not converge in {_MOST_WEIGHT_STEPS} steps"
    warnings.warn(f"{told}: raise alpha, or take fewer atoms.", ConvergenceWarning, stacklevel=2)
    return all_weights


def _solve_for_signs(quadratic: FloatArray, prices: FloatArray, signs: FloatArray) -> FloatArray:
    """Return the minimum over weights of the support of `signs`, as if they kept these signs: a linear system."""
    n_samples, n_atoms = signs.shape
    is_used = signs != 0
    system = np.zeros((n_samples, n_atoms + 1, n_atoms + 1))
    diagonal = np.where(is_used, _WEIGHT_RIDGE, 1)[:, :, None] * np.eye(n_atoms)
    system[:, :-1, :-1] = np.where(is_used[:, :, None] & is_used[:, None, :], quadratic, 0) + diagonal
    system[:, :-1, -1] = system[:, -1, :-1] = is_used
    right = np.concatenate([-prices * signs, np.ones((n_samples, 1))], axis=1)
    return np.where(is_used, np.linalg.solve(system, right[:, :, None])[:, :-1, 0], 0)
