"""Features of outlines by correlation with atoms that are learned from their pieces, as a scikit-learn transformer."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_count
from shapelex.estimators.base import ShapeEstimator, all_or_nothing, as_generator
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ParameterError, UnsupportedBySpaceError
from shapelex.shapes.collection import Shapes
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import choose_space

_N_SAMPLES = 96
_MIN_POINTS = 4
_MAX_PIECES = 3000
_QUANTILES = (0.25, 0.5, 0.75, 0.9)
_POOLS = (*(f"q{100 * quantile:.0f}" for quantile in _QUANTILES), "max", "mean")
_BLOCK_ROWS = 256
# Squared norm of a piece, relative to that of the outline, below which it has no direction.
_MIN_SQUARE = 1e-12
_QUICK: dict[str, Any] = {"coder": "ormp", "tie": 0, "n_swaps": 0, "max_iter": 10, "tol": 1e-2, "nested": False}


class PieceCorrelations(TransformerMixin, ShapeEstimator):  # type: ignore[misc]
    """Features of closed outlines by correlation with learned pieces, pooled over all start points.

    For each length, pieces of that length are cut out of the training outlines at random points, and a dictionary is
    learned from them. The response of atom ``d`` at a point of an outline is the cosine ``|d* p| / |p|`` of the
    centered piece ``p`` that starts there: 1 where the piece has the shape of the atom, at any size and angle. All
    points are computed at once by FFT. The features of an atom are the shares of the responses above four thresholds
    (quantiles of the responses of the training outlines), the largest response, and the mean.

    Unlike those of :class:`OutlineConvolutions`, these features can be drawn and named: ``dictionaries_`` holds the
    atoms. They are fewer and, on most sets, less accurate. See the how-to page on classification.

    Parameters
    ----------
    n_atoms : int, default 24
        Number of atoms of each length.
    lengths : sequence of float, default (1/12, 1/6, 1/3, 2/3, 1)
        Lengths of the pieces, as shares of the outline; 1 is the whole outline at all start points.
    space : Space, optional
        Space of closed curves; when not given, that of a `ShapeSet`, otherwise closed landmarks.
    random_state : int, Generator, RandomState or None, default None
        Seed of the choice of pieces and of the dictionaries.

    Attributes
    ----------
    dictionaries_ : list of ShapeDictionary
        The dictionary of each length, in a space of open landmarks.
    thresholds_ : ndarray of float, shape (n_lengths, 4, n_atoms)
        Thresholds of the responses.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> t = 2j * np.pi * np.arange(48) / 48
    >>> X = np.exp(t) + np.linspace(0.1, 0.3, 20)[:, None] * np.exp(-2 * t)
    >>> pieces = sx.PieceCorrelations(n_atoms=3, lengths=(0.25, 1), random_state=0).fit(X)
    >>> pieces.transform(X).shape
    (20, 36)
    >>> moved = 3j * np.roll(X, 7, axis=1) + 5
    >>> bool(np.allclose(pieces.transform(moved), pieces.transform(X), atol=1e-6))
    True
    """

    def __init__(
        self,
        n_atoms: int = 24,
        lengths: Sequence[float] = (1 / 12, 1 / 6, 1 / 3, 2 / 3, 1),
        space: Space | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.lengths = lengths
        self.space = space
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "PieceCorrelations":  # noqa: ARG002
        """Learn the pieces and the thresholds.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations of closed curves.
        y : None
            Ignored.

        Returns
        -------
        PieceCorrelations
            The transformer itself.

        Raises
        ------
        UnsupportedBySpaceError
            If the space is open.
        """
        n_atoms = check_count(self.n_atoms, 1, "n_atoms")
        counts = self._piece_points()
        generator = as_generator(self.random_state)
        configurations = self._read_fit_input(X)
        if not self.space_.closed:
            raise UnsupportedBySpaceError(
                f"PieceCorrelations cuts pieces out of closed curves, but {self.space_} is open: if the outlines are "
                f"closed, give a space with {parameter('closed', True)}."
            )
        points = self._points(configurations, "X", 0)
        self.dictionaries_ = []
        thresholds = []
        for count in counts:
            n_pieces = min(points.size, max(_MAX_PIECES, 20 * n_atoms))
            rows, starts = np.divmod(generator.choice(points.size, n_pieces, replace=False), _N_SAMPLES)
            pieces = points[rows[:, None], (starts[:, None] + np.arange(count)) % _N_SAMPLES]
            seed = int(generator.integers(2**31))
            model = ShapeDictionary(n_atoms, min(2, n_atoms), space=Landmarks(count), random_state=seed, **_QUICK)
            self.dictionaries_.append(_fit_quietly(model, pieces))
            responses = _responses(points, self.dictionaries_[-1].atoms_)
            thresholds.append(np.quantile(responses.reshape(-1, n_atoms), _QUANTILES, axis=0))
        self.thresholds_ = np.stack(thresholds)
        return self

    @keeps_array_kind
    def transform(self, X: ArrayLike) -> FloatArray:
        """Compute the features.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, n_lengths * 6 * n_atoms)
            Numbers between 0 and 1.
        """
        shapes = self._open_new_input(X)
        features = np.empty((len(shapes), self._n_features_out))
        for block in shapes.blocks(_BLOCK_ROWS):
            points = self._points(block.configurations, block.name, block.first_row)
            parts = []
            for model, thresholds in zip(self.dictionaries_, self.thresholds_, strict=True):
                responses = _responses(points, model.atoms_)
                parts += [(responses > threshold).mean(axis=1) for threshold in thresholds]
                parts += [responses.max(axis=1), responses.mean(axis=1)]
            features[block.start : block.start + len(block)] = np.concatenate(parts, axis=1)
        return features

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, np.dtype[np.object_]]:  # noqa: ARG002
        """Names such as ``length16_max_atom3``: number of points of the piece, pooling, and atom.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str, shape (n_features,)
            The names.
        """
        check_is_fitted(self)
        names = [
            f"length{model.space_.n_coordinates}_{pool}_atom{atom}"
            for model in self.dictionaries_
            for pool in _POOLS
            for atom in range(len(model.atoms_))
        ]
        return np.array(names, dtype=object)

    def _points(self, configurations: ComplexArray, name: str, first_row: int) -> ComplexArray:
        """Return points along the curves, which are run counter-clockwise."""
        self.space_.whitened_preshapes(configurations, name, first_row)
        preshapes = self.space_.preshape(configurations).astype(np.complex128, copy=False)
        points = preshapes @ self.space_.basis(self.space_.parameters(_N_SAMPLES)).T
        areas = np.sum((points.conj() * np.roll(points, -1, axis=1)).imag, axis=1)
        return np.where(areas[:, None] < 0, points[:, ::-1], points)

    def _piece_points(self) -> list[int]:
        shares = [float(length) for length in self.lengths]
        if not shares or not all(_MIN_POINTS / _N_SAMPLES <= share <= 1 for share in shares):
            raise ParameterError(
                f"{parameter('lengths')} must be shares of the outline between 1/{_N_SAMPLES // _MIN_POINTS} and 1, at "
                f"least one, got {self.lengths!r}."
            )
        return [round(share * _N_SAMPLES) for share in shares]

    def _open_input(self, X: Any, space: Space | None, sample_weight: ArrayLike | None = None) -> Shapes:
        shapes = super()._open_input(X, space, sample_weight)
        if choose_space(space, X) is None:
            return shapes.in_space(Landmarks(shapes.shape[1], closed=True))
        return shapes

    @property
    def _n_features_out(self) -> int:
        return len(self.dictionaries_) * len(_POOLS) * int(self.thresholds_.shape[2])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "thresholds_")


def _responses(points: ComplexArray, atoms: ComplexArray) -> FloatArray:
    """Return the cosines between atoms and the pieces that start at every point, ``(n_shapes, n_points, n_atoms)``."""
    n_points, length = points.shape[1], atoms.shape[1]
    spectra = np.fft.fft(points, axis=1)
    # Atoms are centered, so the pieces need not be.
    products = np.fft.ifft(spectra[:, :, None] * np.fft.fft(atoms.conj()[:, ::-1], n_points, axis=1).T, axis=1)
    products = np.roll(products, 1 - length, axis=1)
    window = np.fft.fft(np.ones(length), n_points)
    sums = np.roll(np.fft.ifft(spectra * window, axis=1), 1 - length, axis=1)
    squares = np.roll(np.fft.ifft(np.fft.fft(np.abs(points) ** 2, axis=1) * window, axis=1).real, 1 - length, axis=1)
    squares = squares - np.abs(sums) ** 2 / length
    norms = np.sqrt(np.maximum(squares, _MIN_SQUARE))
    return np.asarray(np.minimum(np.abs(products) / norms[:, :, None], 1))


def _fit_quietly(model: ShapeDictionary, pieces: ComplexArray) -> ShapeDictionary:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # A few updates are enough for features.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(pieces)
