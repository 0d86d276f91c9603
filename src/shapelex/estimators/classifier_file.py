"""What a model file holds of a :class:`~shapelex.ShapeClassifier`: its training shapes and what the folds decided.

The decisions (methods, settings, calibrations and weights) take most of the time of a fit. Reading a file takes them
as they are and fits the methods once more to the training shapes, which gives the same classifier: no part of it is
random after the decisions. So the file holds arrays, numbers and names only, none of the objects of other libraries.
"""

from typing import Any

import numpy as np

from shapelex._typing import FloatArray
from shapelex.estimators.class_candidates import (
    Calibration,
    Candidate,
    ClassDictionaries,
    ConvolutionRidge,
    ProcrustesMachine,
    TangentDiscriminant,
    TangentMachine,
)
from shapelex.estimators.error_calibration import ErrorCalibration
from shapelex.estimators.inner_folds import Judged
from shapelex.estimators.score_calibration import ScoreCalibration
from shapelex.store.archive import as_plain
from shapelex.store.schema import Array, Fields, Part

_CLASSES: tuple[type[Candidate], ...] = (
    TangentDiscriminant,
    TangentMachine,
    ProcrustesMachine,
    ClassDictionaries,
    ConvolutionRidge,
)
CANDIDATES = {str(candidate.name): candidate for candidate in _CLASSES}
VIEWS = ("", "start", "start, reflection")
_SCORES = ("method", "registration", "setting", "accuracy", "log_loss", "weight")


class Decisions(Part):
    """Training shapes, chosen methods with their settings, calibrations and weights, and the table of all methods."""

    _arrays = (
        Array("_training", "complex", ("n_training", "n_coordinates")),
        Array("_training_numbers", "int", ("n_training",)),
        Array("_sample", "int", ("n_sample",)),
    )

    def write(self, owner: Any, fields: Fields) -> None:
        """Put them among the fields."""
        for part in self._arrays:
            part.write(owner, fields)
        fields.results["seed"], fields.results["view"] = owner._seed, owner._view
        fields.results["members"] = [
            {
                "method": member.candidate.name,
                "view": view,
                "setting": _as_list(member.setting),
                "calibration": _calibration_to_json(member.calibration),
                "weight": float(weight),
            }
            for (view, member), weight in zip(owner._members, owner.weights_, strict=True)
        ]
        rows = owner.scores_.to_dict("records")
        fields.results["scores"] = [{name: _plain_or_none(value) for name, value in row.items()} for row in rows]

    def read(self, owner: Any, fields: Fields) -> None:
        """Check them, and fit the chosen methods."""
        import pandas as pd

        for part in self._arrays:
            part.read(owner, fields)
        n_classes, n_training = len(owner.classes_), fields.sizes["n_training"]
        if not np.array_equal(np.unique(owner._training_numbers), np.arange(n_classes)):
            raise ValueError(f"_training_numbers must be those of {n_classes} classes")
        if not np.array_equal(np.unique(owner._sample), owner._sample) or owner._sample[-1] >= n_training:
            raise ValueError(f"_sample must be rows of {n_training} shapes in order")
        owner._seed, owner._view = fields.result("seed"), fields.result("view")
        if not isinstance(owner._seed, int) or owner._view not in VIEWS:
            raise ValueError(f"seed {owner._seed!r} and view {owner._view!r} are none")
        members = fields.result("members")
        owner._members = [_member(entry, owner._view, n_classes) for entry in members]
        owner.weights_ = np.array([float(entry["weight"]) for entry in members])
        if not len(members) or not (np.isfinite(owner.weights_).all() and (owner.weights_ >= 0).all()):
            raise ValueError("its weights must be finite and not negative")
        owner.candidates_ = [member.candidate.name for _, member in owner._members]
        owner.scores_ = pd.DataFrame(fields.result("scores"), columns=list(_SCORES))
        owner._refit_members()


def _member(entry: dict[str, Any], chosen_view: str, n_classes: int) -> tuple[str, Judged]:
    if entry["method"] not in CANDIDATES or entry["view"] not in ("", chosen_view):
        raise ValueError(f"its method {entry['method']!r} of {entry['view']!r} is not known")
    candidate = CANDIDATES[entry["method"]]()
    setting = tuple(entry["setting"]) if isinstance(entry["setting"], list) else entry["setting"]
    if setting not in candidate.settings:
        raise ValueError(f"{candidate.name} has no setting {setting!r}")
    calibration = _calibration_of_json(entry["calibration"], n_classes)
    return entry["view"], Judged(candidate, setting, calibration, np.empty((0, n_classes)))


def _calibration_to_json(calibration: Calibration) -> dict[str, Any]:
    if isinstance(calibration, ErrorCalibration):
        return {"temperatures": calibration.temperatures.tolist(), "offsets": calibration.offsets.tolist()}
    return {"scale": calibration.scale, "offsets": calibration.offsets.tolist()}


def _calibration_of_json(found: dict[str, Any], n_classes: int) -> Calibration:
    offsets = _numbers(found["offsets"], n_classes)
    if "temperatures" in found:
        return ErrorCalibration(_numbers(found["temperatures"], n_classes), offsets)
    return ScoreCalibration(float(_numbers([found["scale"]], 1)[0]), offsets)


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
