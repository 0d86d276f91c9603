"""What the estimators of shapes share: how they read shapes, how they are saved, and how they are scored."""

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import keeps_array_kind, to_numpy
from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array, check_flag, check_names, check_weights, refuse_removed
from shapelex.exceptions import CodesError, NonFiniteError, ParameterError, PreparationError, PreparationWarning
from shapelex.files.model_file import save_estimator
from shapelex.files.schema import Schema
from shapelex.geometry import register
from shapelex.plotting import plot_atoms
from shapelex.shapes import ShapeSet
from shapelex.shapes.opening import as_shapes, read_configurations
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.storage import Shapes
from shapelex.shapes.summary import html_with_thumbnails
from shapelex.spaces import Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_log = logging.getLogger(__name__)

Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(fit: Method) -> Method:
    """Restore the attributes of the estimator when a fit fails or is interrupted."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_restore  # type: ignore[return-value]


class NamedParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator that checks the names of its parameters, and returns arrays of the kind that it was given."""

    # Parameters of earlier versions, and what to use instead.
    _removed_parameters: ClassVar[Mapping[str, str]] = {}

    # Methods that return arrays; an estimator that handles tensors itself names fewer.
    _array_methods: ClassVar[tuple[str, ...]] = (
        *("transform", "fit_transform", "inverse_transform", "reconstruct", "errors", "realism"),
        *("predict", "predict_proba", "class_errors", "coding_errors"),
    )

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the methods of the class that return arrays keep the kind of array, as scikit-learn does for frames."""
        super().__init_subclass__(**options)
        for name in vars(cls).keys() & set(cls._array_methods):
            setattr(cls, name, keeps_array_kind(vars(cls)[name]))

    def __new__(cls, *_: Any, **parameters: Any) -> Any:
        """Check the names of the parameters."""
        refuse_removed(parameters, cls._removed_parameters)
        check_names(parameters, cls._get_param_names(), cls.__name__)
        return super().__new__(cls)


class ShapeEstimator(NamedParameters):
    """An estimator that takes configurations: complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)."""

    space: Space | None
    space_: Space
    # Preparation of the set that was fitted; None for plain arrays, which count as prepared.
    preparation_: Preparation | None

    # Opens the input as shapes of a space, not read yet where they are outside memory. An estimator that also takes
    # other input has a method instead.
    _open_input: Callable[..., Shapes] = staticmethod(as_shapes)

    def _open_new_input(self, X: Any, sample_weight: ArrayLike | None = None) -> Shapes:
        """Return shapes of the fitted space, prepared like those fitted, not read yet where they are outside memory."""
        check_is_fitted(self)
        shapes = self._open_input(X, self.space_, sample_weight)
        registration = self._missing_registration(X)
        if registration is None:
            return shapes
        _log.info("registering %d outlines like those that the model was learned from", len(shapes))
        return shapes.changed(partial(_register_rows, registration=registration, space=self.space_))

    def _prepare_set(self, shapes: ShapeSet) -> ShapeSet:
        """Return a set prepared like the shapes that were fitted, with a note where that changed it."""
        check_is_fitted(self)
        registration = self._missing_registration(shapes)
        if registration is None:
            return shapes
        found = register(shapes, self.space_, **registration.options)
        return shapes.replace(
            configurations=found.configurations,
            preparation=registration,
            notes=(*shapes.notes, f"Like the shapes of the model: {' '.join(str(found).split())}"),
        )

    def _missing_registration(self, X: Any) -> Preparation | None:
        """Return the registration that a set still needs, or None; refuse sets that were prepared differently."""
        own: Preparation | None = getattr(self, "preparation_", None)
        given = preparation_of(X)
        if own is None or given is None:
            return None
        is_raw = own.is_registered and not given.is_registered
        if is_raw:
            # Registration removes any start point and direction, those of files of earlier versions too.
            given = replace(own, resampling=given.resampling)
        difference = own.difference(given)
        if difference:
            raise PreparationError(
                f"X was prepared differently from the shapes that the model was learned from: {difference}. "
                f"{_way_out(own, given)}"
            )
        is_unknown = not (own.is_recorded and given.is_recorded) and (self.space_.closed or given.is_registered)
        if is_unknown and not getattr(self, "_has_warned_of_preparation", False):
            # Once a model: a command opens the same set several times.
            self._has_warned_of_preparation = True
            whose = "The model file does not record how the outlines that it was learned from were prepared"
            if own.is_recorded:
                whose = "The file of X does not record how its outlines were prepared"
            warnings.warn(
                f"{whose}, as it was written by an earlier version: codes of outlines that were resampled or "
                "registered in another way are wrong. Import the outlines and learn the model again to have this "
                "checked.",
                PreparationWarning,
                stacklevel=4,
            )
        return given if is_raw else None

    @single_blas_thread()
    def _read_new_rows(self, X: ArrayLike) -> ComplexArray:
        """Return the whitened pre-shapes of shapes of the fitted space."""
        shapes = self._open_new_input(X)
        return shapes.space.whitened_preshapes(shapes[:], "X")

    def _read_fit_input(self, X: ArrayLike) -> ComplexArray:
        """Return configurations in memory, and store their space and number of coordinates."""
        configurations, self.space_ = read_configurations(self._open_input(X, self.space))
        self.preparation_ = preparation_of(X)
        self.n_features_in_ = self.space_.n_coordinates
        return configurations

    def _thumbnails(self) -> tuple[ComplexArray, list[str]]:
        """Return shapes that show what was learned, and their captions; none before the fit."""
        for attribute, name in (("atoms_", "atom"), ("mean_", "mean"), ("components_", "component")):
            found = getattr(self, attribute, None)
            if found is not None:
                rows = np.atleast_2d(found)
                return rows, [name if found.ndim == 1 else f"{name} {number}" for number in range(len(rows))]
        return np.empty((0, 0), dtype=complex), []

    def _repr_html_inner(self) -> str:
        """Return the diagram of scikit-learn, and pictures of what was learned."""
        rows, captions = self._thumbnails()
        pictures = html_with_thumbnails("", rows, self.space_, captions) if len(rows) else ""
        return str(super()._repr_html_inner()) + pictures

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what notebooks show of the estimator."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


class SavedEstimator(ShapeEstimator, ABC):
    """An estimator that can be written to a model file; its ``_schema`` declares the content of the file."""

    _schema: Schema

    def save(self, path: str | Path, *, overwrite: bool = False, run: Mapping[str, Any] | None = None) -> Path:
        """Write the fitted estimator to a model file, which :func:`shapelex.load` reads.

        Parameters
        ----------
        path : str or Path
            Path of the file; ``.npz`` is added where it is missing.
        overwrite : bool, default False
            Whether to replace an existing file, in one step when the new one is complete.
        run : mapping, optional
            Record of what made the estimator, stored in the file unchanged: JSON values such as a command and its seed.

        Returns
        -------
        Path
            Path of the written file.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is False.
        ModelFileError
            If the space holds functions or class labels are neither text nor numbers, which a model file cannot
            hold, or if parameters were changed so that they no longer fit the fitted attributes.
        """
        check_is_fitted(self)
        return save_estimator(self, path, run, overwrite=check_flag(overwrite, "overwrite"))

    @abstractmethod
    def _check_loaded(self) -> None:
        """Refuse parameters that no fit would accept, and attributes that cannot be used, such as collapsed atoms."""


class ShapeReconstructor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SavedEstimator):  # type: ignore[misc]
    """A transformer of shapes whose score follows from the errors of its reconstructions."""

    @abstractmethod
    def errors(self, X: ArrayLike) -> FloatArray:
        """Error of each shape; each method documents what it measures.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Errors.
        """

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Negative root mean squared error, so that larger is better.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape.

        Returns
        -------
        float
            ``−sqrt(mean(errors(X)²))``.
        """
        errors = to_numpy(self.errors(X)).astype(np.float64)
        shares = check_weights(sample_weight, len(errors), np.dtype(np.float64), name="sample_weight")
        return -float(np.sqrt(shares @ errors**2))

    def __sklearn_is_fitted__(self) -> bool:
        # An interrupted fit may leave a space, but nothing to transform by.
        return hasattr(self, "_n_features_out")


class AtomReconstructor(ShapeReconstructor):
    """A transformer whose features are the weights of ``atoms_``, in ``space_``."""

    atoms_: ComplexArray

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)

    def plot(self, **options: Any) -> "Axes":
        """Draw the atoms as a gallery, in a common pose, most used first.

        Parameters
        ----------
        **options
            Options of :func:`shapelex.plotting.plot_atoms`, such as `pose`, `n_columns`, `points` and `ax`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        shapelex.plotting.plot_reconstructions : What the dictionary makes of shapes.
        """
        return plot_atoms(self, **options)


def preparation_of(X: Any) -> Preparation | None:
    """Return the preparation of a set; None for plain arrays and data frames."""
    found = getattr(X, "preparation", None)
    return found if isinstance(found, Preparation) else None


def _register_rows(
    rows: ComplexArray, name: str, first_row: int, *, registration: Preparation, space: Space
) -> ComplexArray:
    """Register outlines like those of a model."""
    # register would call the argument Z in its error message for collapsed outlines.
    space.whitened_preshapes(rows, name, first_row)
    return register(rows, space, **registration.options).configurations.astype(rows.dtype, copy=False)


def _way_out(own: Preparation, given: Preparation) -> str:
    """Return what to do with a set that was prepared differently from the shapes of a model."""
    if own.resampling != given.resampling and None not in (own.resampling, given.resampling):
        return (
            "Read the outlines again in the same way: with the same n_points or space; on the command line by shapelex "
            "import --like and the set that the model learned from. Only .npz and .zarr files keep the preparation."
        )
    reason = ": the model registers them itself" if own.is_registered else ", or learn a model from registered outlines"
    return f"Read the outlines again without registering them{reason}."


def check_matrix(array: ArrayLike, *shape: int | str, name: str = "codes", is_real: bool = False) -> Any:
    """Return a finite matrix; sizes in `shape` that are names may be any number. Refuse complex ones if `is_real`."""
    dense = as_numeric_array(array, name)
    wrong = (size != found for size, found in zip(shape, dense.shape, strict=False) if isinstance(size, int))
    if dense.ndim != 2 or any(wrong):
        raise CodesError(f"{name} must have shape ({shape[0]}, {shape[1]}), got {dense.shape}.")
    if is_real and np.iscomplexobj(dense):
        raise CodesError(f"{name} must be real, got {dense.dtype}: complex weights are those of another method.")
    if not np.isfinite(dense).all():
        raise NonFiniteError(f"{name} must be finite.")
    return dense


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a fit from a seed, a generator or scikit-learn's ``RandomState``."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    if isinstance(random_state, str | float | bool):
        raise ParameterError(
            f"{parameter('random_state')} must be a seed, a Generator, a RandomState or None, got {random_state!r}."
        )
    return np.random.default_rng(random_state)


def count_jobs(n_jobs: Any) -> int | None:
    """Return the maximum number of threads for ``n_jobs``; None leaves the choice to the coder."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ParameterError(f"{parameter('n_jobs')} must be a number of threads, -1 for all, or None, got {n_jobs!r}.")
    return int(effective_n_jobs(int(n_jobs)))
