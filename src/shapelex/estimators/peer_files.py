"""Fitted peers of the dictionary to model files and back.

The file format is that of :mod:`shapelex.store.model_file`; here is what of each peer goes into it,
and what must hold of what comes back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex.estimators.saving import are_finite_floats, as_plain, empty_estimator, plain_parameters
from shapelex.exceptions import ModelFileError
from shapelex.store.model_file import Model, write_model


@dataclass(frozen=True)
class PeerParts:
    """What a fitted peer is made of.

    Parameters
    ----------
    stacks : tuple of str
        Complex arrays of one configuration a row; the first says how many there are.
    configurations : tuple of str
        Complex arrays of one configuration.
    columns : tuple of str
        Real arrays with a value for each row of the stacks.
    curves : tuple of str
        Real arrays of any length.
    floats, counts : tuple of str
        Numbers.
    n_rows : str
        What says the number of rows: a parameter or a count.
    optional : tuple of str
        Those of the configurations that some fits do not have.
    """

    stacks: tuple[str, ...]
    configurations: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    n_rows: str = "n_components_"
    optional: tuple[str, ...] = ()

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of all arrays."""
        return (*self.stacks, *self.configurations, *self.columns, *self.curves)


class SavedAsFile:
    """An estimator that goes to a model file; its ``_parts`` say what of it."""

    _parts: PeerParts

    def save(self, path: str | Path) -> Path:
        """Write the fitted estimator to a model file, which :func:`shapelex.load` reads.

        Parameters
        ----------
        path : str or Path
            Where to; ``.npz`` is added where it is missing. An older file there is replaced in one step.

        Returns
        -------
        Path
            Where it went.

        Raises
        ------
        ModelFileError
            If the space holds functions, which a model file cannot.
        """
        check_is_fitted(self)
        parameters, arrays, provenance = plain_parameters(self)
        parts = self._parts
        arrays |= {name: np.asarray(getattr(self, name)) for name in parts.arrays if hasattr(self, name)}
        results = {name: as_plain(getattr(self, name)) for name in (*parts.floats, *parts.counts, "n_features_in_")}
        results["space_given"] = self.space is not None  # type: ignore[attr-defined]
        space = self.space_  # type: ignore[attr-defined]
        return write_model(path, Model(type(self).__name__, parameters, space, arrays, results, provenance))

    def _check_parameters(self) -> None:
        """Refuse parameters that no fit would take; a file may hold any."""

    def _try_out(self) -> None:
        """Do what a user would do first: collapsed means and atoms show here."""
        self.errors(getattr(self, self._parts.stacks[0])[:1])  # type: ignore[attr-defined]


def fill_peer(estimator_class: type[Any], model: Model, source: Path) -> Any:
    """Return the fitted peer that a model file holds.

    Parameters
    ----------
    estimator_class : type
        Its class.
    model : Model
        What was read.
    source : Path
        The file, for errors.

    Returns
    -------
    estimator
        Fitted.

    Raises
    ------
    ModelFileError
        If the parts do not fit each other.
    """
    arrays, parts = dict(model.arrays), estimator_class._parts
    try:
        estimator = empty_estimator(estimator_class, model, arrays)
        for name in parts.arrays:
            if name in arrays or name not in parts.optional:
                setattr(estimator, name, arrays.pop(name))
        if arrays:
            raise ValueError(f"it holds {', '.join(sorted(arrays))}, which a {model.kind} has not")
        for names, convert in ((parts.floats, as_float), ((*parts.counts, "n_features_in_"), as_count)):
            for name in names:
                setattr(estimator, name, convert(model.results[name]))
        estimator.space_ = model.space
        if not _is_sound(estimator, parts, model.space.n_coordinates):
            raise ValueError("its arrays do not fit its parameters and its space")
        estimator._check_parameters()
        estimator._try_out()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{source} is damaged: {str(error).rstrip('.')}.") from error
    return estimator


def _is_sound(estimator: Any, parts: PeerParts, n_coordinates: int) -> bool:
    n_rows = getattr(estimator, parts.n_rows)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(parts.stacks, (n_rows, n_coordinates))
    shapes |= {name: (n_coordinates,) for name in parts.configurations if hasattr(estimator, name)}
    is_complex = all(
        getattr(estimator, name).shape == shape
        and getattr(estimator, name).dtype in (np.complex64, np.complex128)
        and bool(np.isfinite(getattr(estimator, name)).all())
        for name, shape in shapes.items()
    )
    columns = [getattr(estimator, name) for name in parts.columns]
    curves = [getattr(estimator, name) for name in parts.curves]
    return (
        is_complex
        and all(column.shape == (n_rows,) for column in columns)
        and all(curve.ndim == 1 and curve.size > 0 for curve in curves)
        and are_finite_floats(*columns, *curves)
        and estimator.n_features_in_ == n_coordinates
    )


def as_float(value: Any) -> float:
    """Return a number of a file, finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def as_count(value: Any) -> int:
    """Return a count of a file, not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


Fill = Callable[[type[Any], Model, Path], Any]
