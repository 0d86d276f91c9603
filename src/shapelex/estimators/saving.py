"""Fitted estimators to model files and back.

The file format is that of :mod:`shapelex.store.model_file`; here is what of an estimator goes into it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ModelFileError
from shapelex.learning import Statistics
from shapelex.store.model_file import Model, write_model
from shapelex.store.provenance import installed_versions

_ARRAYS = ("atoms_", "usage_", "loss_curve_")
_NUMBERS = ("rmse_", "n_iter_", "n_features_in_")

REMOVED_PARAMETERS = {"ShapeDictionary": ("update", "checkpoint_every"), "ShapeDictionaryClassifier": ("update",)}
"""Parameters that files of version 0.1.0 carry and that estimators no longer have."""


def save_estimator(estimator: Any, path: str | Path, run: Mapping[str, Any] | None = None) -> Path:
    """Write a fitted dictionary to a model file.

    Parameters
    ----------
    estimator : ShapeDictionary
        Fitted.
    path : str or Path
        Where to.
    run : mapping, optional
        What made it, as JSON values: command, seed, versions.

    Returns
    -------
    Path
        Where it went.
    """
    return write_model(path, describe_estimator(estimator, run))


def describe_estimator(estimator: Any, run: Mapping[str, Any] | None = None) -> Model:
    """Return what a model file holds of a fitted dictionary.

    Parameters
    ----------
    estimator : ShapeDictionary
        Fitted.
    run : mapping, optional
        As in :func:`save_estimator`.

    Returns
    -------
    Model
        Its parts, of which :func:`fill_estimator` makes it again.
    """
    parameters, arrays, provenance = plain_parameters(estimator)
    # Where a fit kept its state is a matter of that fit.
    parameters["checkpoint"] = None
    arrays |= {name: np.asarray(getattr(estimator, name)) for name in _ARRAYS}
    memory = estimator._statistics
    arrays |= {"memory_gram": memory.gram, "memory_products": memory.products, "memory_usage": memory.usage}
    return Model(
        kind=type(estimator).__name__,
        parameters=parameters,
        space=estimator.space_,
        arrays=arrays,
        results={name: as_plain(getattr(estimator, name)) for name in _NUMBERS}
        | {"space_given": estimator.space is not None, "memory_weight": memory.weight},
        provenance=provenance if run is None else {**provenance, "run": dict(run)},
    )


def plain_parameters(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]], dict[str, str]]:
    """Return the parameters of an estimator as JSON values, those that are arrays, and what made it.

    Parameters
    ----------
    estimator : estimator
        With a parameter ``space``, which is left out.

    Returns
    -------
    parameters, arrays, provenance : dict
        An `init` that is an array is among the arrays. A seed that is no number is kept as text alone.
    """
    parameters = estimator.get_params(deep=False)
    del parameters["space"]
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    if not isinstance(parameters.get("init", ""), str):
        arrays["init"] = np.asarray(parameters["init"])
        parameters["init"] = "spread"
    seed = parameters.get("random_state")
    if not (seed is None or isinstance(seed, int | np.integer)):
        parameters["random_state"] = None
    provenance = {"random_state": repr(seed), **installed_versions()}
    return {name: as_plain(value) for name, value in parameters.items()}, arrays, provenance


def empty_estimator(estimator_class: type[Any], model: Model, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return an estimator with the parameters of a model file; takes an `init` out of `arrays`.

    Parameters
    ----------
    estimator_class : type
        Its class.
    model : Model
        What was read.
    arrays : dict
        The arrays of the file.

    Returns
    -------
    estimator
        Not fitted.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the file is damaged.
    """
    if "space" in model.parameters:
        raise ValueError("its space is not a parameter")
    removed = removed_parameters(model)
    estimator = estimator_class(**{name: value for name, value in model.parameters.items() if name not in removed})
    if "init" in arrays:
        estimator.set_params(init=arrays.pop("init"))
    if model.results["space_given"]:
        estimator.set_params(space=model.space)
    return estimator


def removed_parameters(model: Model) -> dict[str, Any]:
    """Return the parameters in a model file that its estimator no longer has."""
    names = REMOVED_PARAMETERS.get(model.kind, ())
    return {name: model.parameters[name] for name in names if name in model.parameters}


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
        estimator = empty_estimator(estimator_class, model, arrays)
        for name in _ARRAYS:
            setattr(estimator, name, arrays.pop(name))
        estimator.rmse_ = float(results["rmse_"])
        estimator.n_iter_ = int(results["n_iter_"])
        estimator.n_features_in_ = int(results["n_features_in_"])
        estimator.space_ = model.space
        estimator._statistics = Statistics(
            arrays.pop("memory_gram"),
            arrays.pop("memory_products"),
            arrays.pop("memory_usage"),
            float(results["memory_weight"]),
        )
        if arrays:
            raise ValueError(f"it holds {', '.join(sorted(arrays))}, which a {model.kind} has not")
        # The checks of a fit: parameters in range, atoms that are shapes.
        estimator._options(model.space)
        estimator._atom_rows()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{source} is damaged: {str(error).rstrip('.')}.") from error
    atoms, n_coordinates = estimator.atoms_, model.space.n_coordinates
    is_sound = (
        atoms.shape == (estimator.n_atoms, n_coordinates)
        and atoms.dtype in (np.complex64, np.complex128)
        and bool(np.isfinite(atoms).all())
        and estimator.usage_.shape == (len(atoms),)
        and estimator.loss_curve_.ndim == 1
        and estimator.n_features_in_ == n_coordinates
        and are_finite_floats(estimator.usage_, estimator.loss_curve_, np.array(estimator.rmse_))
        and _is_sound_memory(estimator._statistics, *atoms.shape)
    )
    if not is_sound:
        raise ModelFileError(f"{source} is damaged: its atoms do not fit its parameters and its space.")
    return estimator


def are_finite_floats(*arrays: np.ndarray[Any, Any]) -> bool:
    """Return whether arrays are real floats without NaN and infinity."""
    return all(array.dtype.kind == "f" and bool(np.isfinite(array).all()) for array in arrays)


def _is_sound_memory(memory: Statistics, n_atoms: int, n_coordinates: int) -> bool:
    return (
        memory.gram.shape == (n_atoms, n_atoms)
        and memory.products.shape == (n_atoms, n_coordinates)
        and memory.usage.shape == (n_atoms,)
        and memory.gram.dtype == memory.products.dtype == np.complex128
        and are_finite_floats(memory.gram.real, memory.gram.imag, memory.products.real, memory.products.imag)
        and are_finite_floats(memory.usage, np.array(memory.weight))
    )


def as_plain(value: Any) -> Any:
    """Return NumPy numbers as Python ones, which JSON knows."""
    return value.item() if isinstance(value, np.generic) else value
