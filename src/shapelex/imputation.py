"""Missing landmarks, filled in by a dictionary."""

import logging
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_incomplete_configurations, check_choice, check_count, check_number, check_positive
from shapelex.coding import decode, encode
from shapelex.coding.encoding import equal_masks
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import NonFiniteError, ParameterError, ParameterTypeError, PreparationError
from shapelex.geometry import mean_shape
from shapelex.geometry.alignment import phases
from shapelex.geometry.missing import centered_on, check_landmarks, complete_by, normalized_on
from shapelex.shapes.opening import as_shapes, choose_space, read_configurations
from shapelex.spaces.base import row_norms

__all__ = ["Imputation", "impute"]

# A learned dictionary and the shapes it completes have settled when landmarks move by less of the size of their shape.
_ROUND_TOL = 1e-3
# Every trial of a dictionary that is learned from the set itself learns one more.
_MOST_LEARNED_TRIALS = 3
# Noise to try, as multiples of the mean squared error per coordinate of the shapes that were fitted.
_NOISE_FACTORS = (1.0, 3.0, 10.0, 30.0)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Imputation:
    """Completed shapes, and how far to trust them.

    Parameters
    ----------
    configurations : ndarray of complex, shape (n_shapes, n_points)
        The shapes, at their own places, sizes and angles; landmarks that were present are as they came.
    is_imputed : ndarray of bool, shape (n_shapes, n_points)
        Which landmarks were filled in.
    dictionary : ShapeDictionary
        The fitted dictionary.
    noise : float or None
        Variance of a coordinate that the codes leave unexplained; None for ``method="sparse"``.
    hidden_error : float
        RMS distance of landmarks that were present, hidden and filled in, to where they are; as a share of the
        centroid size of the landmarks that their shape has, the root of the sum of squared distances from the centroid
        (:attr:`shapelex.ShapeSet.centroid_size`).
    hidden_error_of_mean : float
        The same, with the mean shape laid over the other landmarks.
    n_hidden : int
        How many landmarks were hidden.

    Examples
    --------
    See :func:`shapelex.impute`.
    """

    configurations: ComplexArray
    is_imputed: BoolArray
    dictionary: ShapeDictionary
    noise: float | None
    hidden_error: float
    hidden_error_of_mean: float
    n_hidden: int

    def __str__(self) -> str:
        n_filled, n_all = int(np.count_nonzero(self.is_imputed)), self.is_imputed.size
        n_shapes = int(np.count_nonzero(self.is_imputed.any(axis=1)))
        return (
            f"{n_filled} of {n_all} landmarks filled in, in {n_shapes} of {len(self.is_imputed)} shapes.\n"
            f"{self.n_hidden} landmarks hidden on purpose were missed by {100 * self.hidden_error:.2f} % of the "
            f"centroid size (RMS); the mean shape misses them by {100 * self.hidden_error_of_mean:.2f} %."
        )

    __repr__ = __str__


@single_blas_thread()
def impute(
    X: ArrayLike,
    dictionary: ShapeDictionary,
    *,
    reference: ArrayLike | None = None,
    method: str = "posterior",
    noise: float | None = None,
    hide: float = 0.1,
    n_repeats: int = 10,
    max_rounds: int = 10,
    random_state: int = 0,
) -> Imputation:
    """Fill in missing landmarks by a dictionary.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_points) or real (n_shapes, n_points, 2)
        Landmarks; missing ones are NaN. Each shape needs three.
    dictionary : ShapeDictionary
        Over landmarks. One that is fitted is used as it is. One that is not is cloned and learned from `X` itself, by
        turns: missing landmarks come from the mean shape first, then from the dictionary of the turn before, by
        ``"posterior"``.
    reference : array_like, complex (n_shapes, n_points) or real (n_shapes, n_points, 2), optional
        Complete shapes, as a rule those that the dictionary was fitted to. They say not only how large weights are but
        also how they vary together once shapes are turned along their mean; ``"posterior"`` then averages both guesses.
        The second is made for shapes that are alike and noisy; compare `hidden_error` with it and without.
        A dictionary that is not fitted takes the shapes that it learns from.
    method : {"posterior", "sparse"}, default "posterior"
        How a shape is found from the landmarks it has.

        - ``"posterior"``: all atoms, with the weights that are expected given these landmarks, if weights have the
          second moments that the fitted shapes' codes had, and coordinates some noise. No shape has to be aligned,
          since moments do not change when weights are turned.
        - ``"sparse"``: the sparse code of these landmarks, see ``mask`` of :func:`shapelex.encode`. It is the
          paper's model, but knows no typical weights: as a rule it is worse.
    noise : float, optional
        Variance of a coordinate about the sum of atoms, for shapes of centroid size 1. By default the one of four,
        about the mean squared error of the dictionary, that finds hidden landmarks best.
    hide : float, default 0.1
        Share of the present landmarks of a shape that are hidden to measure the error, at least one.
    n_repeats : int, default 10
        How often each shape has landmarks hidden.
    max_rounds : int, default 10
        Most turns of learning and completing, for a dictionary that is not fitted.
    random_state : int, default 0
        Seed of what is hidden.

    Returns
    -------
    Imputation
        The completed configurations, and the error on hidden landmarks.

    Raises
    ------
    NonFiniteError
        If a shape has fewer than three landmarks.
    UnsupportedBySpaceError
        If the dictionary is not one of landmarks.

    Notes
    -----
    The error is that of new shapes only if the dictionary was fitted to other shapes, or to shapes that are alike. A
    dictionary that has seen these very shapes complete knows the hidden landmarks, and the error is too small.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + 0.3 * rng.normal(size=(60, 2)) @ [circle**-1, circle**2]
    >>> model = sx.ShapeDictionary(n_atoms=4, n_nonzero=3, random_state=0).fit(X[:40])
    >>> incomplete = np.where(rng.random((20, 12)) < 0.1, np.nan, X[40:])
    >>> found = sx.impute(incomplete, model)
    >>> bool(np.abs(found.configurations - X[40:]).max() < 1e-3)
    True
    >>> found.hidden_error < 0.01 * found.hidden_error_of_mean
    True
    """
    check_choice(method, ("posterior", "sparse"), "method")
    check_count(n_repeats, 1, "n_repeats")
    check_count(max_rounds, 1, "max_rounds")
    if not 0 < check_number(hide, "hide") < 1:
        raise ParameterError(f"{parameter('hide')} must be a share between 0 and 1, got {hide}.")
    if noise is not None:
        check_positive(noise, "noise")
    if not isinstance(dictionary, ShapeDictionary):
        raise ParameterTypeError(
            f"dictionary must be a ShapeDictionary, fitted or not, got {type(dictionary).__name__}; for given atoms "
            "use decode(encode(X, atoms, n_nonzero, mask=mask), atoms)."
        )
    is_fitted = dictionary.__sklearn_is_fitted__()
    space = choose_space(dictionary.space_ if is_fitted else dictionary.space, X)
    if space is not None:
        check_landmarks(space, "impute fills in")
    configurations, present = as_incomplete_configurations(as_shapes(X, space)[:], name="X")
    generator = np.random.default_rng(check_count(random_state, 0, "random_state"))
    n_trials = n_repeats if is_fitted else min(n_repeats, _MOST_LEARNED_TRIALS)
    trials = _hide_landmarks(present, hide, n_trials, generator)
    if is_fitted:
        if dictionary._missing_registration(X) is not None:
            raise PreparationError(
                "X is not registered, but dictionary was learned from registered outlines, and outlines with missing "
                "points cannot be registered: use a dictionary that was learned from outlines as they are."
            )
        if reference is not None:
            reference, _ = read_configurations(reference, dictionary.space_, "reference")
            # The dictionary would call collapsed ones those of X.
            dictionary.space_.whitened_preshapes(reference, "reference")
        final = _Guesser(dictionary, method, reference)
        guessers = [final] * n_trials
    else:
        if reference is not None:
            raise ParameterError(f"{parameter('reference')} needs a fitted dictionary: fit it, or add the shapes to X.")
        dictionary = clone(dictionary).set_params(space=space)
        # Landmarks that are hidden in every shape are shown again: they could not be learned.
        trials = [kept | (present & ~kept.any(axis=0)) for kept in trials]
        # What a dictionary has seen it finds again: each trial learns without the landmarks that it hides.
        masks = [present, *trials]
        final, *guessers = [_learn(configurations, kept, dictionary, method, max_rounds) for kept in masks]
    noises = final.noises if noise is None else np.array([noise])
    sizes = row_norms(centered_on(configurations, present)[1])[:, None]
    squares, n_hidden = np.zeros(len(noises) + 1), 0
    for kept, guesser in zip(trials, guessers, strict=True):
        is_hidden = present & ~kept
        errors = np.abs((guesser.guess(configurations, kept, noises) - configurations) / sizes) ** 2
        squares += np.where(is_hidden, errors, 0).sum(axis=(1, 2))
        n_hidden += int(np.count_nonzero(is_hidden))
    hidden_errors = np.sqrt(squares / n_hidden)
    best = int(np.argmin(squares[:-1]))
    guess = final.guess(configurations, present, noises[best : best + 1])[0]
    completed = np.where(present, configurations, guess).astype(configurations.dtype)
    chosen_noise = None if method == "sparse" else float(noises[best])
    missed = float(hidden_errors[best]), float(hidden_errors[-1])
    return Imputation(completed, ~present, final.dictionary, chosen_noise, *missed, n_hidden)


class _Guesser:
    """Guesses missing landmarks by a fitted dictionary.

    The model of pre-shapes is ``z = Σ_j a_j d_j + noise``, where weights have the second moments ``E[a_i conj(a_j)]``
    of the codes of the shapes that were fitted. It does not change when shapes are turned, so nothing has to be
    aligned; size and translation are fitted to the landmarks that are present.
    """

    def __init__(self, dictionary: ShapeDictionary, method: str, reference: ComplexArray | None = None) -> None:
        self.dictionary, self.method = dictionary, method
        memory = dictionary._memory
        # Rows B with z = Σ_j c_j B_j for weights c of unit variance: the moments are L L*, and B = Lᵀ D.
        values, vectors = np.linalg.eigh(memory.gram.conj() / memory.weight)
        self.basis: ComplexArray = (np.sqrt(np.maximum(values, 0)) * vectors).T @ dictionary.atoms_.astype(complex)
        # The shape of least squared full distance to all shapes of the model.
        self.mean: ComplexArray = np.linalg.svd(self.basis, full_matrices=False)[2][0]
        self.aligned = None if reference is None else _AlignedModel(dictionary.reconstruct(reference), self.mean)

    @property
    def noises(self) -> FloatArray:
        """Variances to choose from; the guesses of sparse codes do not depend on them."""
        floor = np.finfo(np.float32).eps ** 2
        scale = max(float(self.dictionary.rmse_) ** 2, floor) / max(self.basis.shape[1] - 1, 1)
        return np.asarray(scale * np.array(_NOISE_FACTORS))

    def guess(self, Z: ComplexArray, present: BoolArray, noises: FloatArray) -> ComplexArray:
        """Return all landmarks of all shapes as guessed with each noise, and last as the mean shape has them."""
        completed = complete_by(self.mean, normalized_on(Z, present, "X"), present)
        guesses = np.empty((len(noises) + 1, *Z.shape), dtype=np.complex128)
        guesses[-1] = completed
        if self.method == "sparse":
            guesses[:-1] = self._code(completed, present)
        else:
            for numbers, landmarks in equal_masks(present):
                guesses[:-1, numbers] = self._expect(completed[numbers], landmarks, noises)
        # From the size and place of completed shapes to those of the given ones.
        centers, centered = centered_on(Z, present)
        sizes = row_norms(centered) / row_norms(centered_on(completed, present)[1])
        guesses -= np.where(present, guesses, 0).sum(axis=2, keepdims=True) / present.sum(axis=1)[:, None]
        return np.asarray(guesses * sizes[:, None] + centers[:, None])

    def _expect(self, completed: ComplexArray, landmarks: IntArray, noises: FloatArray) -> ComplexArray:
        """Return the shapes to be expected from some landmarks of completed shapes, for each noise."""
        part = self.basis[:, landmarks]
        part -= part.mean(axis=1, keepdims=True)
        # Sums along another order of memory would round a row by how many others there are.
        known = np.take(completed, landmarks, axis=1)
        known -= known.mean(axis=1, keepdims=True)
        expected: ComplexArray = _expected_weights(part, known, noises) @ self.basis
        if self.aligned is None:
            return expected
        return (expected + self.aligned.expect(completed, landmarks, noises)) / 2

    def _code(self, completed: ComplexArray, present: BoolArray) -> ComplexArray:
        """Return the sparse reconstructions, of the size and angle that fit the landmarks that are present best."""
        model = self.dictionary
        rebuilt = decode(encode(completed, model.atoms_, model.n_nonzero, model.coder, mask=present), model.atoms_)
        (_, known), (_, found) = centered_on(completed, present), centered_on(rebuilt, present)
        squares = np.vecdot(found, found).real
        return np.asarray((np.vecdot(found, known) / np.where(squares > 0, squares, 1))[:, None] * rebuilt)


class _AlignedModel:
    """Mean and covariance of shapes that are turned along a mean, as real coordinates.

    Place, size and angle are left free, to first order, by four directions of large variance.
    """

    def __init__(self, shapes: ComplexArray, mean: ComplexArray) -> None:
        turned = phases(shapes.conj() @ mean)[:, None] * shapes
        self.center: ComplexArray = turned.mean(axis=0)
        rows = _as_reals(turned - self.center)
        scales, directions = np.linalg.svd(rows / np.sqrt(len(rows)), full_matrices=False)[1:]
        ones = np.ones_like(self.center)
        poses = _as_reals(np.array([ones, 1j * ones, self.center, 1j * self.center]))
        poses /= np.linalg.norm(poses, axis=1, keepdims=True)
        self.basis: FloatArray = np.concatenate([scales[:, None] * directions, poses])

    def expect(self, completed: ComplexArray, landmarks: IntArray, noises: FloatArray) -> ComplexArray:
        """Return the shapes to be expected from some landmarks of completed shapes, for each noise."""
        factors = (completed.conj() @ self.center) / np.vecdot(completed, completed).real
        gaps = (factors[:, None] * completed - self.center)[:, landmarks]
        both = np.concatenate([landmarks, len(self.center) + landmarks])
        real, imaginary = np.split(_expected_weights(self.basis[:, both], _as_reals(gaps), noises) @ self.basis, 2, -1)
        return np.asarray((self.center + real + 1j * imaginary) / factors[:, None])


def _expected_weights(
    part: ComplexArray | FloatArray, known: ComplexArray | FloatArray, noises: FloatArray
) -> ComplexArray:
    """Return weights of unit variance to be expected where ``weights @ part``, plus noise, is known."""
    values, vectors = np.linalg.eigh(part.conj() @ part.T)
    along = vectors.conj().T @ (part.conj() @ known.T)
    shrunk = along / (np.maximum(values, 0)[:, None] + np.asarray(noises)[:, None, None])
    return np.asarray(np.swapaxes(vectors @ shrunk, 1, 2))


def _as_reals(Z: ComplexArray) -> FloatArray:
    return np.concatenate([Z.real, Z.imag], axis=1)


def _learn(Z: ComplexArray, present: BoolArray, dictionary: ShapeDictionary, method: str, max_rounds: int) -> _Guesser:
    """Learn a dictionary from incomplete shapes: complete, fit, complete again."""
    rows = normalized_on(Z, present, "X")
    completed = complete_by(mean_shape(np.where(present, Z, np.nan), missing="allow"), rows, present)
    for number in range(max_rounds):
        model: ShapeDictionary = clone(dictionary).fit(completed)
        if present.all():
            break
        # Not by sparse codes: a bad guess of theirs would be learned, and confirmed the next time.
        guesser = _Guesser(model, "posterior", completed)
        guess = guesser.guess(completed, present, guesser.noises[len(_NOISE_FACTORS) // 2 :][:1])[0]
        following = normalized_on(np.where(present, completed, guess), np.ones_like(present), "X")
        moved = float(np.sqrt(np.mean(np.abs(following - completed)[~present] ** 2)))
        _logger.info("round %d: missing landmarks moved by %.2g of the size of their shapes", number + 1, moved)
        completed = following
        if moved <= _ROUND_TOL:
            break
    return _Guesser(model, method, completed)


def _hide_landmarks(present: BoolArray, share: float, n_times: int, generator: np.random.Generator) -> list[BoolArray]:
    """Return masks in which some of the landmarks of every shape are hidden; three always stay."""
    counts = present.sum(axis=1)
    n_hidden = np.clip(np.round(share * counts), 1, np.maximum(counts - 3, 0)).astype(int)
    if not n_hidden.any():
        raise NonFiniteError("X has no shape of more than three landmarks, so none can be hidden to measure the error.")
    # The smallest keys of the present landmarks are hidden; missing ones come last.
    keys = np.where(present, generator.random((n_times, *present.shape)), 2.0)
    ranks = np.argsort(np.argsort(keys, axis=2), axis=2)
    return list(present & (ranks >= n_hidden[:, None]))
