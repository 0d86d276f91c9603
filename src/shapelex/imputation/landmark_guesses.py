"""Landmarks guessed from those that are present, by the atoms of a dictionary and the moments of its codes.

In come landmarks, 0 where they are missing, and which ones are present; out go guesses of all landmarks, in the pose of
those present. Behind them is one model of pre-shapes: ``z = Σ_j a_j d_j + noise``, where weights have the second
moments ``E[a_i conj(a_j)]`` of the codes of the shapes that were fitted. It does not change when shapes are turned, so
nothing has to be aligned; size and translation are fitted to the landmarks that are present.
"""

import numpy as np

from shapelex._typing import BoolArray, ComplexArray, FloatArray, IntArray
from shapelex.coding import decode, encode
from shapelex.coding.masked import equal_masks
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.geometry.missing_landmarks import centered_on, complete_by, normalized_on
from shapelex.geometry.preshapes import phases
from shapelex.spaces.rows import row_inner, row_norms

# Noise to try, as multiples of the mean squared error a coordinate of the shapes that were fitted.
NOISE_FACTORS = (1.0, 3.0, 10.0, 30.0)


class LandmarkGuesser:
    """Guesses missing landmarks by a fitted dictionary."""

    def __init__(self, dictionary: ShapeDictionary, method: str, reference: ComplexArray | None = None) -> None:
        self.dictionary = dictionary
        self.method = method
        atoms = dictionary.atoms_.astype(np.complex128)
        memory = dictionary._statistics
        # Rows B with z = Σ_j c_j B_j for weights c of unit variance: the moments are L L*, and B = Lᵀ D.
        values, vectors = np.linalg.eigh(memory.gram.conj() / memory.weight)
        self.basis: ComplexArray = (np.sqrt(np.maximum(values, 0)) * vectors).T @ atoms
        # The shape of least squared full distance to all shapes of the model.
        self.mean: ComplexArray = np.linalg.svd(self.basis, full_matrices=False)[2][0]
        self._aligned = None if reference is None else _AlignedModel(dictionary.reconstruct(reference), self.mean)

    @property
    def noises(self) -> FloatArray:
        """Variances to choose from; sparse codes know none, and get one that is not looked at."""
        if self.method == "sparse":
            return np.zeros(1)
        floor = np.finfo(np.float32).eps ** 2
        scale = max(float(self.dictionary.rmse_) ** 2, floor) / max(self.basis.shape[1] - 1, 1)
        return np.asarray(scale * np.array(NOISE_FACTORS))

    def guess(self, Z: ComplexArray, present: BoolArray, noises: FloatArray) -> ComplexArray:
        """Guess all landmarks."""
        rows = normalized_on(np.where(present, Z, 0), present, "X")
        completed = complete_by(self.mean, rows, present)
        guesses = np.empty((len(noises), *Z.shape), dtype=np.complex128)
        if self.method == "sparse":
            guesses[:] = self._code(completed, present)
        else:
            for numbers, landmarks in equal_masks(present):
                known = completed[np.ix_(numbers, landmarks)]
                guesses[:, numbers] = self._expect(known, landmarks, noises)
                if self._aligned is not None:
                    other = self._aligned.expect(completed[numbers], landmarks, noises)
                    guesses[:, numbers] = (_moved(guesses[:, numbers], landmarks) + _moved(other, landmarks)) / 2
        return _laid_over(guesses, completed, Z, present)

    def lay_mean(self, Z: ComplexArray, present: BoolArray) -> ComplexArray:
        """Return the mean shape, laid over the landmarks that are present: the plainest guess."""
        rows = normalized_on(np.where(present, Z, 0), present, "X")
        completed = complete_by(self.mean, rows, present)
        return np.asarray(_laid_over(completed[None].copy(), completed, Z, present)[0])

    def _expect(self, known: ComplexArray, landmarks: IntArray, noises: FloatArray) -> ComplexArray:
        """Return the shapes to be expected from some landmarks, for each noise."""
        part = _moved(self.basis, landmarks)[:, landmarks]
        weights = _expected_weights(part, known - known.mean(axis=1, keepdims=True), noises)
        expected: ComplexArray = weights @ self.basis
        return expected

    def _code(self, completed: ComplexArray, present: BoolArray) -> ComplexArray:
        """Return the sparse reconstructions, laid over the landmarks that are present."""
        model = self.dictionary
        rebuilt = decode(encode(completed, model.atoms_, model.n_nonzero, model.coder, mask=present), model.atoms_)
        (_, known), (_, found) = centered_on(completed, present), centered_on(rebuilt, present)
        squares = row_inner(found, found).real
        return np.asarray((row_inner(found, known) / np.where(squares > 0, squares, 1))[:, None] * rebuilt)


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
        factors = (completed.conj() @ self.center) / row_inner(completed, completed).real
        gaps = (factors[:, None] * completed - self.center)[:, landmarks]
        both = np.concatenate([landmarks, len(self.center) + landmarks])
        weights = _expected_weights(self.basis[:, both], _as_reals(gaps), noises)
        half = len(self.center)
        moves = weights @ self.basis
        expected: ComplexArray = (self.center + moves[..., :half] + 1j * moves[..., half:]) / factors[:, None]
        return expected


def _expected_weights(
    part: ComplexArray | FloatArray, known: ComplexArray | FloatArray, noises: FloatArray
) -> ComplexArray:
    """Return weights of unit variance to be expected where ``weights @ part``, plus noise, is known."""
    values, vectors = np.linalg.eigh(part.conj() @ part.T)
    along = vectors.conj().T @ (part.conj() @ known.T)
    shrunk = along / (np.maximum(values, 0)[:, None] + np.asarray(noises)[:, None, None])
    weights: ComplexArray = np.swapaxes(vectors @ shrunk, 1, 2)
    return weights


def _moved(Z: ComplexArray, landmarks: IntArray) -> ComplexArray:
    """Return shapes moved so that some landmarks have their center at 0."""
    return np.asarray(Z - Z[..., landmarks].mean(axis=-1, keepdims=True))


def _as_reals(Z: ComplexArray) -> FloatArray:
    return np.concatenate([Z.real, Z.imag], axis=1)


def _laid_over(guesses: ComplexArray, completed: ComplexArray, Z: ComplexArray, present: BoolArray) -> ComplexArray:
    """Bring guesses from the size and place of completed shapes to those of the given ones."""
    centers, centered = centered_on(Z, present)
    sizes = row_norms(centered) / row_norms(centered_on(completed, present)[1])
    guesses -= np.where(present, guesses, 0).sum(axis=2, keepdims=True) / present.sum(axis=1)[:, None]
    guesses *= sizes[:, None]
    guesses += centers[:, None]
    return guesses
