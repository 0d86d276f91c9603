"""Fitted models as arguments of functions that draw: whatever has atoms and a space.

Errors name the call that draws what was given.
"""

from typing import Any

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex.exceptions import ShapeInputError
from shapelex.spaces import Space


def is_model(value: Any) -> bool:
    """Return whether this is an estimator, fitted or not."""
    return hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, type)


def refuse_model(value: Any, function: str, name: str) -> None:
    """Refuse a model where shapes are expected."""
    if is_model(value):
        raise ShapeInputError(
            f"{name} of {function} must be shapes, got a {type(value).__name__}: plot_atoms(model) draws its atoms, "
            "plot_reconstructions(model, X) what it makes of shapes."
        )


def check_no_space(space: Space | None) -> None:
    """Refuse a space beside a model, which has its own."""
    if space is not None:
        raise ShapeInputError(f"space must be left out with a model, whose own space is used, got {space!r}.")


def atoms_of(model: Any, space: Space | None, usage: ArrayLike | None) -> tuple[ArrayLike, Space, ArrayLike | None]:
    """Return the atoms, space and use of a fitted model."""
    kind = type(model).__name__
    check_no_space(space)
    if not hasattr(model, "atoms_"):
        _check_fitted(model)
        raise ShapeInputError(
            f"plot_atoms draws atoms, but {kind} has none: give a ShapeDictionary, AlignFirstDictionary or "
            "RiemannianDictionary, or atoms and their space."
        )
    return model.atoms_, model.space_, getattr(model, "usage_", None) if usage is None else usage


def reconstruct(model: Any, X: Any, space: Space | None) -> tuple[ComplexArray, ComplexArray, Space]:
    """Return the complete shapes among `X` as the model takes them, their reconstructions, and the space."""
    check_no_space(space)
    if not hasattr(model, "reconstruct"):
        raise ShapeInputError(
            f"plot_reconstructions(model, X) needs a model with the method reconstruct, such as ShapeDictionary, got "
            f"{type(model).__name__}."
        )
    _check_fitted(model)
    # Outlines are registered like those that the model was learned from.
    shapes = model._open_new_input(X)
    rows, made = np.asarray(shapes[:]), np.asarray(model.reconstruct(X))
    is_complete = ~np.isnan(rows).any(axis=1)
    if not is_complete.any():
        raise ShapeInputError("X must have a complete shape to draw, but all have missing landmarks: see impute.")
    return rows[is_complete], made[is_complete], model.space_


def _check_fitted(model: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
