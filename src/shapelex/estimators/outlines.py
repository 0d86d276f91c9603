"""Estimators of outlines, as scikit-learn transformers: registration, and features by circular convolutions."""

from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import is_tensor, to_numpy
from shapelex._typing import ArrayLike, ComplexArray, FloatArray, IntArray
from shapelex._validation import check_flag
from shapelex.coding.cpu import count_threads, run_blocks
from shapelex.estimators.base import ShapeEstimator, all_or_nothing, as_generator
from shapelex.geometry import Registration, register
from shapelex.kernels.convolutions import KERNELS, N_TAPS, convolve_batch
from shapelex.shapes import ShapeSet
from shapelex.shapes.opening import choose_space
from shapelex.shapes.storage import Shapes, TensorShapes
from shapelex.spaces import Landmarks, Space

# Distances, in samples, of the points between which turning angles are measured.
_TURNING_STEPS = (1, 3, 6)
_SIGNAL_NAMES = ("distance", *(f"turning{step}" for step in _TURNING_STEPS))
_MIN_CLOSED_STEPS = 64
_MIN_OPEN_STEPS = 95
_MAX_SAMPLES = 256
_DILATIONS = (1, 2, 4, 8)
_QUANTILES = (0.25, 0.5, 0.75)
# Width of a ramp around a threshold, relative to the interquartile range of the responses, and in absolute terms.
_RAMP_SHARE = 0.1
_MIN_RAMP = 1e-3
_BLOCK_ROWS = 16
_TENSOR_ROWS = 256
_NS_PER_RESPONSE = 0.5


class OutlineEstimator(ShapeEstimator):
    """An estimator whose default space is that of closed outlines."""

    def _open_input(self, X: Any, space: Space | None, sample_weight: ArrayLike | None = None) -> Shapes:
        shapes = super()._open_input(X, space, sample_weight)
        if choose_space(space, X) is None:
            return shapes.in_space(Landmarks(shapes.shape[1], closed=True))
        return shapes


@dataclass(eq=False, repr=False)
class OutlineRegistration(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OutlineEstimator):  # type: ignore[misc]
    """Choose the start point and direction of outlines such that they are closest to the mean of the fitted outlines.

    Fitting registers the outlines to their own mean, see :func:`shapelex.register`, and keeps that mean; new
    outlines are registered to it. In a pipeline before :class:`ShapeDictionary`, the dictionary does not depend on the
    start points of the outlines.

    Parameters
    ----------
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise closed landmarks. Open curves need
        ``start=False``.
    start : bool, default True
        Whether to search for the start point.
    direction : bool, default True
        Whether the direction of an outline may be reversed.
    reflection : bool, default False
        Whether an outline may be mirrored.
    subsample : bool, default False
        Whether to shift landmarks by fractions of a point.
    n_starts : int, default 6
        Number of first means to start from.
    max_iter : int, default 100
        Maximum number of iterations.
    random_state : int, default 0
        Seed of the choice of first means.

    Attributes
    ----------
    mean_ : ndarray of complex, shape (n_coordinates,)
        Mean of the registered outlines, a pre-shape.
    registration_ : Registration
        Registration of the fitted outlines.
    space_ : Space
        Space of the configurations.
    preparation_ : Preparation
        Record of the registration, which sets that are transformed carry.
    n_iter_ : int
        Number of iterations; each computes a new mean.
    n_features_in_ : int
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> space = sx.Landmarks(40, closed=True)
    >>> t = 2j * np.pi * np.arange(40) / 40
    >>> X = np.exp(t) + np.linspace(0.2, 0.4, 20)[:, None] * np.exp(-2 * t) + 0.2 * np.exp(3 * t)
    >>> rolled = space.roll(X, np.arange(20))
    >>> registration = sx.OutlineRegistration(space=space).fit(X)
    >>> bool((registration.transform(rolled) == registration.transform(X)).all())
    True
    """

    _: KW_ONLY
    space: Space | None = None
    start: bool = True
    direction: bool = True
    reflection: bool = False
    subsample: bool = False
    n_starts: int = 6
    max_iter: int = 100
    random_state: int = 0

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "OutlineRegistration":  # noqa: ARG002
        """Register outlines to their mean, and keep it.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        OutlineRegistration
            The estimator itself.
        """
        found = self.registration_ = self._register(self._read_fit_input(X), "mean")
        self.preparation_ = found.preparation
        self.mean_, self._n_features_out = found.target, len(found.target)
        self.n_iter_ = found.n_iter
        return self

    def register(self, X: ArrayLike) -> Registration:
        """Register outlines to the mean, and return the details for each.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        Registration
            The registered configurations, shifts, directions, angles and distances.
        """
        check_is_fitted(self)
        return self._register(self._open_input(X, self.space_)[:], self.mean_)

    def transform(self, X: ArrayLike) -> Any:
        """Register outlines to the mean.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates), or ShapeSet
            The registered configurations, each with its own position, size and rotation; for a set of shapes a set
            that records the registration, so that a model learned from it registers other sets in the same way.
        """
        found = self.register(X)
        if not isinstance(X, ShapeSet):
            return found.configurations
        assert self.preparation_ is not None
        resampling = None if X.preparation is None else X.preparation.resampling
        preparation = replace(self.preparation_, resampling=resampling)
        return X[:].replace(configurations=found.configurations, space=self.space_, preparation=preparation)

    def _register(self, X: ComplexArray, to: str | ComplexArray) -> Registration:
        # register would call the argument Z in its error message for collapsed outlines.
        self.space_.whitened_preshapes(X, "X")
        return register(X, **{**self.get_params(deep=False), "space": self.space_, "to": to})


@dataclass(eq=False, repr=False)
class OutlineConvolutions(TransformerMixin, OutlineEstimator):  # type: ignore[misc]
    """Features of outlines by convolutions with fixed kernels, pooled over the whole outline.

    Four signals are computed along each curve: the distance to the centroid, and the turning angle at three scales.
    Each is convolved with 84 fixed kernels of length 9 at the dilations 1, 2, 4 and 8, as in MiniRocket [1]_. A feature
    is the proportion of the responses above a threshold. There are three thresholds for each kernel: the quartiles of
    the responses of one randomly drawn training shape. No labels are used. A linear classifier with a penalty, such as
    :class:`~sklearn.linear_model.RidgeClassifierCV` after a :class:`~sklearn.preprocessing.StandardScaler`, suits the
    4032 features.

    The features do not depend on position, size and rotation, nor on the direction of a curve; those of closed curves
    do not depend on the start point, because the convolutions wrap around. Outlines need not be registered.

    Parameters
    ----------
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise closed landmarks.
    mirror : bool, default False
        Whether the features must not depend on reflections, either: the mean of the features of a shape and of its
        mirror image. Use it where mirrored shapes belong to the same class.
    random_state : int, Generator, RandomState or None, default None
        Seed of the choice of the training shapes that give the thresholds.

    Attributes
    ----------
    thresholds_ : ndarray of float32, shape (n_signals, n_dilations, n_kernels, 3)
        The thresholds.
    slopes_ : ndarray of float32, shape (n_signals, n_dilations, n_kernels)
        Slopes of the ramps around the thresholds, see Notes.
    n_samples_ : int
        Number of samples of each curve.
    space_ : Space
        Space of the configurations.
    n_features_in_ : int
        Number of coordinates.

    Notes
    -----
    Curves are sampled at equispaced parameters, in place of equal steps of arc length: the samples of an outline whose
    start point is moved by whole points are then the same, and so are the features, up to rounding. The number of
    samples is the smallest multiple of the number of points that is at least 64; curves with more than 256 points are
    sampled at 256 parameters, where the invariance to the start point is approximate.

    Open curves do not wrap around: responses count where all taps of a kernel lie on the curve. Their features are
    the mean over both directions.

    Single responses do not count as 0 or 1, but by a ramp around the threshold, whose width is a tenth of the
    interquartile range of the responses. Otherwise rounding errors could change the features of straight edges.

    Features are computed in single precision. Tensors on a GPU are transformed there.

    References
    ----------
    .. [1] A. Dempster, D. F. Schmidt and G. I. Webb, "MiniRocket: a very fast (almost) deterministic transform for time
       series classification", KDD (2021), arXiv:2012.08791.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> t = 2j * np.pi * np.arange(80) / 80
    >>> X = np.exp(t) + np.linspace(0.1, 0.3, 20)[:, None] * np.exp(-2 * t)
    >>> convolutions = sx.OutlineConvolutions(random_state=0).fit(X)
    >>> convolutions.transform(X).shape
    (20, 4032)
    >>> moved = 3j * np.roll(X, 7, axis=1) + 5
    >>> bool(np.allclose(convolutions.transform(moved), convolutions.transform(X), atol=1e-4))
    True
    """

    space: Space | None = None
    mirror: bool = False
    random_state: Any = None

    _array_methods = ("_transform_array",)

    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> "OutlineConvolutions":  # noqa: ARG002
        """Learn the thresholds.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.

        Returns
        -------
        OutlineConvolutions
            The transformer itself.
        """
        check_flag(self.mirror, "mirror")
        generator = as_generator(self.random_state)
        configurations = self._read_fit_input(X)
        self.space_.whitened_preshapes(configurations, "X")
        self.n_samples_ = _count_samples(self.space_)
        drawn = generator.integers(len(configurations), size=(len(_SIGNAL_NAMES), len(_DILATIONS), len(KERNELS)))
        used, numbers = np.unique(drawn, return_inverse=True)
        self._learn_thresholds(self._signals(configurations[used]), numbers.reshape(drawn.shape))
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Compute the features.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes, 4032)
            Proportions between 0 and 1; float32 for complex64 input. A tensor on a GPU gives a tensor on that GPU.
        """
        check_is_fitted(self)
        if is_tensor(X) and X.device.type != "cpu":  # type: ignore[union-attr]
            return self._transform_tensor(X)
        return self._transform_array(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, np.dtype[np.object_]]:  # noqa: ARG002
        """Names such as ``turning3_d2_k048_q50``: signal, dilation, the three heavy taps, and quantile in percent.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str, shape (4032,)
            The names.
        """
        check_is_fitted(self)
        taps = ["".join(map(str, kernel)) for kernel in KERNELS]
        parts = product(_SIGNAL_NAMES, _DILATIONS, taps, _QUANTILES)
        names = [f"{signal}_d{step}_k{kernel}_q{100 * quantile:.0f}" for signal, step, kernel, quantile in parts]
        return np.array(names, dtype=object)

    def _transform_array(self, X: ArrayLike) -> FloatArray:
        shapes = self._open_new_input(X)
        features = np.empty((len(shapes), self.thresholds_.size), dtype=np.empty(0, shapes.dtype).real.dtype)
        for block in shapes.blocks():
            self.space_.whitened_preshapes(block.configurations, block.name, block.first_row)
            features[block.start : block.start + len(block)] = self._convolve(self._signals(block.configurations))
        return features

    def _transform_tensor(self, X: Any) -> Any:
        """Return features of a tensor on its device."""
        import torch

        rows: Any = TensorShapes(X, self.space_, "X").tensor
        matrix = torch.from_numpy(np.array(self._samples_matrix())).to(rows)
        thresholds, slopes = (torch.from_numpy(array).to(rows.device) for array in (self.thresholds_, self.slopes_))
        closed, features = self.space_.closed, []
        for part in rows.split(_TENSOR_ROWS):
            signals = _outline_signals(part @ matrix.T, closed, torch).to(torch.float32)
            copies = _signal_copies(signals, closed, self.mirror, torch)
            features.append(sum(_shares_on_device(copy, closed, thresholds, slopes) for copy in copies) / len(copies))
        result = torch.cat(features).to(rows.real.dtype)
        if not bool(torch.isfinite(result).all()):
            # The check on the host names the rows that are collapsed or not finite.
            self.space_.whitened_preshapes(to_numpy(rows), "X")
        return result

    def _signals(self, configurations: ComplexArray) -> FloatArray:
        preshapes = self.space_.preshape(configurations).astype(np.complex128, copy=False)
        signals = _outline_signals(preshapes @ self._samples_matrix().T, self.space_.closed)
        return np.asarray(signals, dtype=np.float32)

    def _samples_matrix(self) -> ComplexArray | FloatArray:
        return self.space_.basis(self.space_.parameters(self.n_samples_))

    def _convolve(self, signals: FloatArray) -> FloatArray:
        """Return the mean features of all copies of the signals."""
        closed = self.space_.closed
        margins, dilations = np.array(_signal_margins(closed)), np.array(_DILATIONS)
        features = np.zeros((len(signals), self.thresholds_.size), dtype=np.float32)
        copies = [np.ascontiguousarray(copy) for copy in _signal_copies(signals, closed, self.mirror)]
        share = np.float32(1 / len(copies))

        def convolve_rows(start: int, stop: int) -> None:
            for copy in copies:
                found = np.empty((stop - start, features.shape[1]), dtype=np.float32)
                arguments = margins, closed, dilations, KERNELS, self.thresholds_, self.slopes_
                convolve_batch(copy[start:stop], *arguments, found)
                features[start:stop] += share * found

        work = len(copies) * features.size * self.n_samples_ * _NS_PER_RESPONSE
        run_blocks(convolve_rows, len(signals), _BLOCK_ROWS, count_threads(None, work))
        return features

    def _learn_thresholds(self, signals: FloatArray, numbers: IntArray) -> None:
        """Take the quartiles of the responses of the shapes that `numbers` gives each signal, dilation and kernel."""
        closed = self.space_.closed
        self.thresholds_ = np.empty((*numbers.shape, len(_QUANTILES)), dtype=np.float32)
        self.slopes_ = np.empty(numbers.shape, dtype=np.float32)
        for signal, margin in enumerate(_signal_margins(closed)):
            inside = signals[:, signal, margin : self.n_samples_ - margin]
            for place, dilation in enumerate(_DILATIONS):
                taps = _taps(inside[numbers[signal, place]], dilation, closed)
                chosen = np.take_along_axis(taps, KERNELS[:, :, None], axis=1)
                responses = 3 * chosen.sum(axis=1) - taps.sum(axis=1)
                quantiles = np.quantile(responses, _QUANTILES, axis=1).T
                self.thresholds_[signal, place] = quantiles
                widths = np.maximum(_RAMP_SHARE * (quantiles[:, -1] - quantiles[:, 0]), _MIN_RAMP)
                self.slopes_[signal, place] = 1 / widths


def _count_samples(space: Space) -> int:
    """Return the number of equispaced curve parameters to evaluate signals at.

    The least multiple of the number of points that is large enough: moving the start point of a closed curve by whole
    points then moves the samples, too. Curves with more than 256 points are sampled at 256 parameters.
    """
    n_points = space.n_coordinates // (space.coordinates_per_point or 1)
    n_steps, least = (n_points, _MIN_CLOSED_STEPS) if space.closed else (max(n_points - 1, 1), _MIN_OPEN_STEPS)
    n_samples = n_steps * -(-least // n_steps) + (0 if space.closed else 1)
    return min(n_samples, _MAX_SAMPLES)


def _signal_margins(closed: bool) -> tuple[int, ...]:
    """Return how many samples at each end of a signal are undefined: none of a closed curve."""
    return (0,) * len(_SIGNAL_NAMES) if closed else (0, *_TURNING_STEPS)


def _outline_signals(points: Any, closed: bool, xp: Any = np) -> Any:
    """Return signals ``(n_shapes, n_signals, n_samples)`` of points along curves, arrays or, with torch, tensors.

    The distance to the centroid is relative to the root mean square distance. The turning angle at scale ``s`` is the
    angle from ``p[i] − p[i−s]`` to ``p[i+s] − p[i]``, divided by ``s``; at the ends of an open curve it is set to 0.
    Closed curves are run counter-clockwise.
    """
    points = points - points.mean(1, keepdims=True)
    if closed:
        areas = (points.conj() * xp.roll(points, -1, 1)).imag.sum(1)
        points = xp.where(areas[:, None] < 0, xp.flip(points, (1,)), points)
    distances = abs(points)
    signals = [distances / xp.sqrt((distances**2).mean(1, keepdims=True))]
    for step in _TURNING_STEPS:
        if closed:
            ahead, behind = xp.roll(points, -step, 1) - points, points - xp.roll(points, step, 1)
            signals.append(xp.angle(ahead * behind.conj()) / step)
        else:
            chords = points[:, step:] - points[:, :-step]
            angles = xp.angle(chords[:, step:] * chords[:, :-step].conj()) / step
            blank = xp.zeros_like(angles[:, :step])
            signals.append(xp.concatenate([blank, angles, blank], 1))
    return xp.stack(signals, 1)


def _signal_copies(signals: Any, closed: bool, mirror: bool, xp: Any = np) -> list[Any]:
    """Return the signals of the same curves in all directions and reflections that must give the same features.

    An open curve has no preferred direction: it is also run backwards, which reverses its signals and the sign of its
    turning angles. With `mirror`, mirrored curves are added: their turning angles have the other sign, and closed ones
    are run counter-clockwise again.
    """
    backwards = xp.flip(signals, (2,))
    if closed:
        return [signals, backwards] if mirror else [signals]
    turned = xp.concatenate([signals[:, :1], -signals[:, 1:]], 1)
    copies = [signals, xp.flip(turned, (2,))]
    return [*copies, turned, backwards] if mirror else copies


def _taps(signal: Any, dilation: int, closed: bool, xp: Any = np) -> Any:
    """Return what each tap of a kernel sees, ``(n_rows, n_taps, n_responses)``."""
    if closed:
        return xp.stack([xp.roll(signal, (4 - tap) * dilation, 1) for tap in range(N_TAPS)], 1)
    n_responses = signal.shape[1] - (N_TAPS - 1) * dilation
    return xp.stack([signal[:, tap * dilation : tap * dilation + n_responses] for tap in range(N_TAPS)], 1)


def _shares_on_device(signals: Any, closed: bool, thresholds: Any, slopes: Any) -> Any:
    """Return what :func:`convolve_batch` writes, for signals on a torch device."""
    import torch

    chosen = torch.from_numpy(KERNELS).to(signals.device)
    shares = []
    for number, margin in enumerate(_signal_margins(closed)):
        signal = signals[:, number, margin : signals.shape[2] - margin]
        for place, dilation in enumerate(_DILATIONS):
            taps = _taps(signal, dilation, closed, torch)
            # One response (n_rows, n_kernels, n_responses) at a time fits in memory, thresholds in turn.
            responses = -taps.sum(dim=1, keepdim=True) + 3 * sum(taps[:, chosen[:, i]] for i in range(3))
            levels, slope = thresholds[number, place], slopes[number, place][None, :, None]
            ramps = [((responses - level[None, :, None]) * slope + 0.5).clamp(0, 1).mean(dim=2) for level in levels.T]
            shares.append(torch.stack(ramps, dim=2).flatten(1))
    return torch.cat(shares, dim=1)
