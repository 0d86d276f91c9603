"""The intrinsic dictionary of Xie et al. 2013 and Ben Tanfous et al. 2018, on the shape space, as a peer of ours."""

import warnings
from typing import Any, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shapelex._arrays import keeps_array_kind
from shapelex._blas import single_blas_thread
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_count, check_not_negative, check_weights
from shapelex.estimators.atom_plot import AtomPlotMixin
from shapelex.estimators.base import ShapeReconstructor, all_or_nothing, as_generator
from shapelex.geometry.geodesics import exp_rows
from shapelex.learning.initialization import initial_atoms
from shapelex.riemannian.descent import intrinsic_codes, learn_intrinsic
from shapelex.riemannian.objective import logarithm_parts, tangent_energy, tangent_sums
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.spaces import Space
from shapelex.spaces.plain import PlainRows
from shapelex.store.schema import Array, Count, Number, Schema


class RiemannianDictionary(AtomPlotMixin, ShapeReconstructor):
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

    _schema = Schema(
        (
            Array("atoms_", "complex", ("n_atoms", "n_coordinates")),
            Array("loss_curve_", "float", ("n_losses",)),
            Number("objective_"),
            Count("n_iter_"),
        )
    )

    def __init__(
        self,
        n_atoms: int = 20,
        *,
        alpha: float = 0.01,
        space: Space | None = None,
        init: str | ArrayLike = "spread",
        max_iter: int = 100,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.alpha = alpha
        self.space = space
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @all_or_nothing
    @single_blas_thread()
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002
        sample_weight: ArrayLike | None = None,
    ) -> "RiemannianDictionary":
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
        rows = self._as_rows(configurations)
        shares = check_weights(sample_weight, len(rows), np.dtype(np.float64), "sample_weight")
        init = self.init if isinstance(self.init, str) else self.space_.whitened_preshapes(self.init, "init")
        shapes = as_shapes(rows, PlainRows(rows.shape[1]), sample_weight)
        atoms = initial_atoms(shapes, self.n_atoms, init, as_generator(self.random_state))
        learned = learn_intrinsic(rows, shares, atoms.astype(np.complex128), self.alpha, self.max_iter, self.tol)
        self.atoms_ = self.space_.unwhiten(learned.atoms.astype(configurations.dtype))
        self.loss_curve_ = learned.loss_curve
        self.objective_ = float(learned.loss_curve[-1])
        self.n_iter_ = len(learned.loss_curve) - 1
        if not learned.converged and self.max_iter > 0:
            warnings.warn(
                Message(
                    f"The objective still fell after {parameter('max_iter', self.max_iter)} iterations, by more than "
                    f"{self.tol:g} of it: raise {parameter('max_iter')}, or {parameter('tol')}."
                ),
                ConvergenceWarning,
                stacklevel=4,
            )
        return self

    @single_blas_thread()
    @keeps_array_kind
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
        configurations = read_configurations(self._open_new_input(X))[0]
        codes = self._code(self._as_rows(configurations))
        return codes.astype(configurations.real.dtype, copy=False)

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
            "shape that was coded, which the code does not hold. Use reconstruct(X) with the shapes themselves, or "
            "ShapeDictionary."
        )

    @single_blas_thread()
    @keeps_array_kind
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
        configurations = read_configurations(self._open_new_input(X))[0]
        rows = self._as_rows(configurations)
        atoms = self._atom_rows()
        sums = tangent_sums(rows, atoms, self._code(rows), logarithm_parts(rows, atoms))
        return self.space_.unwhiten(exp_rows(rows, sums).astype(configurations.dtype))

    @single_blas_thread()
    @keeps_array_kind
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
        configurations = read_configurations(self._open_new_input(X))[0]
        rows = self._as_rows(configurations)
        angles = np.sqrt(tangent_energy(rows, self._atom_rows(), self._code(rows)))
        return np.abs(np.sin(angles)).astype(configurations.real.dtype)

    def _as_rows(self, configurations: ComplexArray) -> ComplexArray:
        # Angles and their ratios lose half the digits near zero: single precision would leave too few.
        return self.space_.whitened_preshapes(configurations.astype(np.complex128), "X")

    def _atom_rows(self) -> ComplexArray:
        return self.space_.whitened_preshapes(self.atoms_.astype(np.complex128), "atoms_")

    def _code(self, rows: ComplexArray) -> FloatArray:
        return intrinsic_codes(rows, self._atom_rows(), float(self.alpha))

    def _check_parameters(self) -> None:
        check_count(self.n_atoms, 1, "n_atoms")
        check_count(self.max_iter, 0, "max_iter")
        check_not_negative(self.alpha, "alpha")
        check_not_negative(self.tol, "tol")

    def _check_loaded(self) -> None:
        self._check_parameters()
        self.errors(self.atoms_[:1])

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)
