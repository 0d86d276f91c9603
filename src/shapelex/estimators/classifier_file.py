"""What a model file holds of a :class:`~shapelex.ShapeClassifier`: its training shapes and what the folds decided.

The decisions (methods, settings, calibrations and weights) take most of the time of a fit. Reading a file takes them
as they are, by name, and the methods are fitted once more to the training shapes, which gives the same classifier: no
part of it is random after the decisions. So the file holds arrays, numbers and names only, none of the objects of other
libraries.
"""

from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.estimators.class_candidates import METHODS
from shapelex.store.archive import as_plain
from shapelex.store.schema import Array, Fields, Part

VIEWS = ("", "start", "start, reflection")
"""Registrations of closed outlines, by what they choose."""

_NUMBERS = {method.name: number for number, method in enumerate(METHODS)}
_SCORES = ("method", "registration", "setting", "accuracy", "log_loss", "weight")


class Decisions(Part):
    """Training shapes, chosen methods with their settings, calibrations and weights, and the table of all methods."""

    _arrays = (
        Array("_shapes", "complex", ("n_shapes", "n_coordinates")),
        Array("_numbers", "int", ("n_shapes",)),
        Array("_sample", "int", ("n_sampled",)),
    )

    def write(self, owner: Any, fields: Fields) -> None:
        """Put them among the fields."""
        for part in self._arrays:
            part.write(owner, fields)
        fields.results["seed"], fields.results["view"] = owner._seed, VIEWS[owner._view]
        fields.results["members"] = [
            {
                "method": METHODS[method].name,
                "view": VIEWS[view],
                "setting": _as_list(METHODS[method].settings[setting]),
                "scale": scale,
                "offsets": offsets,
                "weight": weight,
            }
            for (method, setting, view), scale, offsets, weight in zip(
                owner._choices.tolist(),
                owner._scales.tolist(),
                owner._offsets.tolist(),
                owner.weights_.tolist(),
                strict=True,
            )
        ]
        rows = owner.scores_.to_dict("records")
        fields.results["scores"] = [{name: _plain_or_none(value) for name, value in row.items()} for row in rows]

    def read(self, owner: Any, fields: Fields) -> None:
        """Check them."""
        import pandas as pd

        for part in self._arrays:
            part.read(owner, fields)
        n_classes, n_shapes = len(owner.classes_), fields.sizes["n_shapes"]
        if n_classes < 2 or not np.array_equal(np.unique(owner._numbers), np.arange(n_classes)):
            raise ValueError(f"_numbers must be those of {n_classes} classes, at least 2")
        if not np.array_equal(np.unique(owner._sample), owner._sample) or not _are_rows(owner._sample, n_shapes):
            raise ValueError(f"_sample must be rows of {n_shapes} shapes in order")
        owner._seed, view = fields.result("seed"), fields.result("view")
        if isinstance(owner._seed, bool) or not isinstance(owner._seed, int) or view not in VIEWS:
            raise ValueError(f"seed {owner._seed!r} and view {view!r} are none")
        owner._view = VIEWS.index(view)
        members = fields.result("members")
        owner._choices = np.array([_choice(entry, view) for entry in members], dtype=np.int64)
        owner._scales = np.stack([_numbers(entry["scale"], n_classes) for entry in members])
        owner._offsets = np.stack([_numbers(entry["offsets"], n_classes) for entry in members])
        owner.weights_ = _numbers([entry["weight"] for entry in members], len(members))
        if owner.weights_.min() < 0 or owner._scales.min() <= 0:
            raise ValueError("its weights must not be negative, its scales must be positive")
        owner.scores_ = pd.DataFrame(fields.result("scores"), columns=list(_SCORES))
        owner.scores_[["accuracy", "log_loss", "weight"]] = owner.scores_[["accuracy", "log_loss", "weight"]].astype(
            float
        )


def _choice(entry: dict[str, Any], chosen_view: str) -> tuple[int, int, int]:
    """Return the numbers of a method, its setting and its registration."""
    if entry["method"] not in _NUMBERS or entry["view"] not in ("", chosen_view):
        raise ValueError(f"its method {entry['method']!r} of {entry['view']!r} is not known")
    number = _NUMBERS[entry["method"]]
    setting = tuple(entry["setting"]) if isinstance(entry["setting"], list) else entry["setting"]
    if setting not in METHODS[number].settings:
        raise ValueError(f"{entry['method']} has no setting {setting!r}")
    return number, METHODS[number].settings.index(setting), VIEWS.index(entry["view"])


def _are_rows(rows: Any, n_rows: int) -> bool:
    return len(rows) > 0 and rows[0] >= 0 and rows[-1] < n_rows


def _numbers(values: Any, count: int) -> FloatArray:
    numbers: FloatArray = np.asarray(values, dtype=np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"a calibration must hold {count} finite numbers")
    return numbers


def _as_list(setting: Any) -> Any:
    return list(setting) if isinstance(setting, tuple) else setting


def _plain_or_none(value: Any) -> Any:
    plain = as_plain(value)
    return None if isinstance(plain, float) and np.isnan(plain) else plain
