"""Model files: fitted estimators as archives, and back.

Of an estimator this needs ``get_params``, ``set_params``, the attributes ``space`` and ``space_``, and
``_check_loaded``, which raises where what was read makes no sense. A damaged, truncated, too new or hostile file is a
:class:`~shapelex.exceptions.ModelFileError`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shapelex.exceptions import ModelFileError, ShapelexError, reason_of
from shapelex.files.archive import (
    Arrays,
    as_plain,
    build_space,
    check_header,
    describe_space,
    preparation_of_header,
    preparation_to_json,
    read_archive,
    write_archive,
)
from shapelex.files.atomic import check_replaceable, write_atomically
from shapelex.files.provenance import installed_versions
from shapelex.files.schema import Count, Fields, Part, Schema
from shapelex.spaces import Space

FORMAT_NAME = "shapelex model"
FORMAT_VERSION = 1

_PARTS = ("parameters", "results", "provenance")
_N_FEATURES = Count("n_features_in_")


@dataclass(frozen=True)
class Model:
    """The parts of a fitted model that a file holds: `kind` is the name of its class, `results` its fitted numbers."""

    kind: str
    parameters: dict[str, Any]
    space: Space
    arrays: Arrays
    results: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)


def write_model(path: str | Path, model: Model, *, overwrite: bool = True) -> Path:
    """Write a model file, whole or not at all, and return where it went; ``.npz`` is added where it is missing."""
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    check_replaceable(target, overwrite)
    try:
        space, space_arrays = describe_space(model.space)
        arrays = model.arrays | space_arrays
        header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "kind": model.kind, "space": space}
        header |= {name: getattr(model, name) for name in _PARTS} | {"arrays": sorted(arrays)}
        write_atomically(target, lambda stream: write_archive(stream, header, arrays))
    except (ShapelexError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"The model cannot be written to a file: {reason_of(error)}; pickle the estimator instead."
        ) from error
    return target


def read_model(path: str | Path) -> Model:
    """Read a model file; a damaged one, one of another kind or of a newer version is a ModelFileError."""
    source = Path(path)
    try:
        header, arrays = read_archive(source)
        check_header(header, FORMAT_NAME, FORMAT_VERSION)
        if header.get("arrays") != sorted(arrays):
            raise ValueError(f"it holds the arrays {sorted(arrays)}, its header names {header.get('arrays')}")
        parts: dict[str, Any] = {name: header.get(name) for name in (*_PARTS, "space")}
        if not isinstance(header.get("kind"), str) or not all(isinstance(part, dict) for part in parts.values()):
            raise ValueError("its header is incomplete")
        space = build_space(parts.pop("space"), arrays)
    except ValueError as error:
        raise ModelFileError(f"{source} is damaged or no model file: {reason_of(error)}.") from error
    return Model(header["kind"], space=space, arrays=arrays, **parts)


def save_estimator(
    estimator: Any, path: str | Path, run: Mapping[str, Any] | None = None, *, overwrite: bool = False
) -> Path:
    """Write a fitted estimator to a model file, with what made it; one that could not be loaded is refused."""
    model = _describe(estimator)
    complaint = "The estimator cannot be saved (set the parameters that it was fitted with, or fit it again)"
    restore_estimator(type(estimator), model, complaint)
    provenance: dict[str, Any] = {
        "random_state": repr(getattr(estimator, "random_state", None)),
        **installed_versions(),
    }
    if run is not None:
        provenance["run"] = dict(run)
    return write_model(path, replace(model, provenance=provenance), overwrite=overwrite)


def removed_parameters(estimator_class: type[Any], model: Model) -> dict[str, Any]:
    """Return the parameters in a model file that its estimator no longer has."""
    removed = {name: model.parameters.get(name) for name in estimator_class._schema.removed}
    return {name: value for name, value in removed.items() if value is not None}


def restore_estimator(estimator_class: type[Any], model: Model, complaint: str) -> Any:
    """Return the fitted estimator that a model file holds; the error for a damaged one begins with `complaint`."""
    try:
        return _restore(estimator_class, model)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{complaint}: {reason_of(error)}.") from error


@dataclass(frozen=True)
class EstimatorList(Part):
    """Fitted estimators of one class: `size` many, in the space of attribute `space`, under `key` in the file.

    Their arrays carry `prefix` and the number of the estimator in their names.
    """

    estimator_class: type[Any]
    size: str
    space: str
    key: str
    prefix: str

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the estimators among the fields."""
        described: list[dict[str, Any]] = []
        first: dict[str, Any] = {}
        for number, estimator in enumerate(getattr(owner, self.name)):
            model = _describe(estimator)
            fields.arrays |= {f"{self.prefix}{number}_{name}": array for name, array in model.arrays.items()}
            # Most parameters are those of the first: thousands of estimators fit in a header.
            changes = {name: value for name, value in model.parameters.items() if not first or first[name] != value}
            first = first or model.parameters
            described.append({"parameters": changes, "results": model.results})
        fields.results[self.key] = described

    def read(self, owner: Any, fields: Fields) -> None:
        """Make the estimators."""
        described = fields.result(self.key)
        if not isinstance(described, list) or len(described) != fields.sizes[self.size]:
            raise ValueError(f"{self.key} must be a list of {self.size}={fields.sizes[self.size]}")
        arrays: dict[str, dict[str, np.ndarray[Any, Any]]] = {
            f"{self.prefix}{number}": {} for number in range(len(described))
        }
        for name in list(fields.arrays):
            owner_name, _, own_name = name.partition("_")
            if owner_name in arrays:
                arrays[owner_name][own_name] = fields.arrays.pop(name)
        kind, space = self.estimator_class.__name__, getattr(owner, self.space)
        estimators = []
        for own_arrays, parts in zip(arrays.values(), described, strict=True):
            parameters = {**described[0]["parameters"], **parts["parameters"]}
            model = Model(kind, parameters, space, own_arrays, parts["results"])
            estimators.append(_restore(self.estimator_class, model))
        setattr(owner, self.name, estimators)


def _describe(estimator: Any) -> Model:
    """Return what a model file holds of a fitted estimator, but for what made it."""
    schema: Schema = estimator._schema
    space = estimator.space_
    parameters = estimator.get_params(deep=False)
    for name in ("space", *schema.left_out):
        del parameters[name]
    fields = Fields(space, results={"space_given": estimator.space is not None})
    fields.results |= preparation_to_json(getattr(estimator, "preparation_", None))
    if not isinstance(parameters.get("init", ""), str):
        fields.arrays["init"] = np.asarray(parameters["init"])
        parameters["init"] = "spread"
    # A seed that is not a number is kept as text alone, with what made the file.
    if not isinstance(parameters.get("random_state"), int | np.integer | None):
        parameters["random_state"] = None
    for part in (_N_FEATURES, *schema.parts):
        part.write(estimator, fields)
    plain = {name: as_plain(value) for name, value in parameters.items()}
    return Model(type(estimator).__name__, plain, space, fields.arrays, fields.results)


def _restore(estimator_class: type[Any], model: Model) -> Any:
    if "space" in model.parameters:
        raise ValueError("its space is not a parameter")
    schema: Schema = estimator_class._schema
    gone = (*schema.removed, *schema.left_out)
    parameters = {name: value for name, value in model.parameters.items() if name not in gone}
    parameters |= {name: renew(parameters[name]) for name, renew in schema.renewed.items() if name in parameters}
    estimator = estimator_class(**parameters)
    sizes = {name: value for name, value in parameters.items() if isinstance(value, int)}
    sizes["n_coordinates"] = model.space.n_coordinates
    arrays = {name: array for name, array in model.arrays.items() if name not in schema.removed}
    fields = Fields(model.space, arrays, model.results, sizes)
    if "init" in fields.arrays:
        estimator.set_params(init=fields.arrays.pop("init"))
    if fields.result("space_given"):
        estimator.set_params(space=model.space)
    estimator.space_ = model.space
    estimator.preparation_ = preparation_of_header(model.results, model.space.n_coordinates)
    for part in (_N_FEATURES, *schema.parts):
        part.read(estimator, fields)
    if fields.arrays:
        raise ValueError(f"it holds {', '.join(sorted(fields.arrays))}, which a {model.kind} has not")
    if estimator.n_features_in_ != model.space.n_coordinates:
        raise ValueError(f"n_features_in_ must be {model.space.n_coordinates}, got {estimator.n_features_in_}")
    estimator._check_loaded()
    return estimator
