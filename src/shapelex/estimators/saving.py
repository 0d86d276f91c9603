"""Fitted estimators to model files and back.

The file format is that of :mod:`shapelex.io.model_file`; here is what of an estimator goes into it.
"""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ModelFileError
from shapelex.io.model_file import Model, write_model

_ARRAYS = ("atoms_", "usage_", "loss_curve_")
_NUMBERS = ("rmse_", "n_iter_", "n_features_in_")


def save_estimator(estimator: Any, path: str | Path) -> Path:
    """Write a fitted dictionary to a model file.

    Parameters
    ----------
    estimator : ShapeDictionary
        Fitted.
    path : str or Path
        Where to.

    Returns
    -------
    Path
        Where it went.
    """
    parameters = estimator.get_params(deep=False)
    space = parameters.pop("space")
    arrays = {name: np.asarray(getattr(estimator, name)) for name in _ARRAYS}
    if not isinstance(parameters["init"], str):
        arrays["init"] = np.asarray(parameters["init"])
        parameters["init"] = "spread"
    seed = parameters["random_state"]
    if not (seed is None or isinstance(seed, int | np.integer)):
        parameters["random_state"] = None
    model = Model(
        kind=type(estimator).__name__,
        parameters={name: _as_plain(value) for name, value in parameters.items()},
        space=estimator.space_,
        arrays=arrays,
        results={name: _as_plain(getattr(estimator, name)) for name in _NUMBERS} | {"space_given": space is not None},
        provenance={
            "random_state": repr(seed),
            "python": platform.python_version(),
            **{package: version(package) for package in ("shapelex", "numpy", "scipy", "numba", "scikit-learn")},
        },
    )
    return write_model(path, model)


def fill_estimator(estimator_class: type[Any], model: Model, source: Path) -> Any:
    """Return the fitted estimator that a model file holds.

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
    ShapeDictionary
        Fitted.
    """
    arrays, results = dict(model.arrays), model.results
    try:
        estimator = estimator_class(**model.parameters)
        if "init" in arrays:
            estimator.set_params(init=arrays.pop("init"))
        if results["space_given"]:
            estimator.set_params(space=model.space)
        for name in _ARRAYS:
            setattr(estimator, name, arrays.pop(name))
        estimator.rmse_ = float(results["rmse_"])
        estimator.n_iter_ = int(results["n_iter_"])
        estimator.n_features_in_ = int(results["n_features_in_"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{source} is damaged: {error}.") from error
    estimator.space_ = model.space
    atoms, n_coordinates = estimator.atoms_, model.space.n_coordinates
    is_sound = (
        atoms.shape == (estimator.n_atoms, n_coordinates)
        and atoms.dtype in (np.complex64, np.complex128)
        and bool(np.isfinite(atoms).all())
        and estimator.usage_.shape == (len(atoms),)
        and estimator.loss_curve_.ndim == 1
        and estimator.n_features_in_ == n_coordinates
    )
    if not is_sound:
        raise ModelFileError(f"{source} is damaged: its atoms do not fit its parameters and its space.")
    return estimator


def _as_plain(value: Any) -> Any:
    """Return NumPy numbers as Python ones, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value
