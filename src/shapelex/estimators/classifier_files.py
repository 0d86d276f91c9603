"""Fitted classifiers to model files and back.

The file format is that of :mod:`shapelex.store.model_file`. A classifier is its labels, how errors become scores, the
product that distances are measured by, and a dictionary for each class, whose arrays carry the number of the class in
their names.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex.estimators.peer_files import as_count, as_float
from shapelex.estimators.saving import (
    are_finite_floats,
    as_plain,
    describe_estimator,
    empty_estimator,
    fill_estimator,
    plain_parameters,
)
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ModelFileError
from shapelex.spaces import Space
from shapelex.store.model_file import Model, write_model
from shapelex.store.space_description import build_space, describe_space

if TYPE_CHECKING:
    from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier

_ARRAYS = ("temperatures_", "offsets_")
_FLOATS = ("temperature_", "shrinkage_")
_COUNTS = ("n_iter_", "n_features_in_")
_METRIC = "metric_"


def save_classifier(classifier: "ShapeDictionaryClassifier", path: str | Path) -> Path:
    """Write a fitted classifier to a model file.

    Parameters
    ----------
    classifier : ShapeDictionaryClassifier
        Fitted.
    path : str or Path
        Where to.

    Returns
    -------
    Path
        Where it went.

    Raises
    ------
    ModelFileError
        If its labels or its space cannot be written as data.
    """
    parameters, arrays, provenance = plain_parameters(classifier)
    arrays |= {name: np.asarray(getattr(classifier, name)) for name in _ARRAYS}
    arrays["classes_"] = _plain_labels(classifier.classes_)
    results = {name: as_plain(getattr(classifier, name)) for name in (*_FLOATS, *_COUNTS)}
    results |= {"space_given": classifier.space is not None, "metric": None}
    if classifier.metric_space_ is not classifier.space_:
        results["metric"], metric_arrays = describe_space(classifier.metric_space_)
        arrays |= {_METRIC + name: array for name, array in metric_arrays.items()}
    results["dictionaries"] = []
    first: dict[str, Any] = {}
    for number, dictionary in enumerate(classifier.dictionaries_):
        parts = describe_estimator(dictionary)
        arrays |= {_prefix(number) + name: array for name, array in parts.arrays.items()}
        # Most parameters are those of the first: thousands of classes fit in a header.
        changes = {name: value for name, value in parts.parameters.items() if not first or first[name] != value}
        first = first or dict(parts.parameters)
        results["dictionaries"].append({"parameters": changes, "results": dict(parts.results)})
    kind = type(classifier).__name__
    return write_model(path, Model(kind, parameters, classifier.space_, arrays, results, provenance))


def fill_classifier(estimator_class: type[Any], model: Model, source: Path) -> Any:
    """Return the fitted classifier that a model file holds.

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
    ShapeDictionaryClassifier
        Fitted.

    Raises
    ------
    ModelFileError
        If the parts do not fit each other.
    """
    arrays, results = dict(model.arrays), model.results
    try:
        classifier = empty_estimator(estimator_class, model, arrays)
        for name in (*_ARRAYS, "classes_"):
            setattr(classifier, name, arrays.pop(name))
        for names, convert in ((_FLOATS, as_float), (_COUNTS, as_count)):
            for name in names:
                setattr(classifier, name, convert(results[name]))
        classifier.space_ = model.space
        classifier.metric_space_ = _build_metric(results["metric"], arrays, model.space)
        classifier.dictionaries_ = _fill_dictionaries(classifier, results["dictionaries"], arrays, source)
        if arrays:
            raise ValueError(f"it holds {', '.join(sorted(arrays))}, which a {model.kind} has not")
        if not _is_sound(classifier):
            raise ValueError("its parts do not fit each other and its space")
        classifier._check_parameters()
    except ModelFileError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{source} is damaged: {str(error).rstrip('.')}.") from error
    return classifier


def _prefix(number: int) -> str:
    return f"class{number}_"


def _plain_labels(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return labels that NumPy writes without pickling: text as such, where it is in an array of objects."""
    if labels.dtype.kind not in "OT":
        return labels
    if not all(isinstance(label, str) for label in labels.tolist()):
        raise ModelFileError(
            "The labels of the classes are Python objects, which a model file cannot hold: use text or numbers as "
            "labels, or pickle the estimator instead."
        )
    return np.array(labels.tolist(), dtype=np.str_)


def _build_metric(description: Any, arrays: dict[str, np.ndarray[Any, Any]], space: Space) -> Space:
    if description is None:
        return space
    names = [name for name in arrays if name.startswith(_METRIC)]
    metric = build_space(description, {name.removeprefix(_METRIC): arrays.pop(name) for name in names})
    if metric.n_coordinates != space.n_coordinates:
        raise ValueError(f"its product is for {metric.n_coordinates} coordinates, its space has {space.n_coordinates}")
    return metric


def _fill_dictionaries(
    classifier: Any, described: Any, arrays: dict[str, np.ndarray[Any, Any]], source: Path
) -> list[ShapeDictionary]:
    if not isinstance(described, list) or len(described) != len(classifier.classes_):
        raise ValueError("it does not have one dictionary a class")
    owners: dict[str, dict[str, np.ndarray[Any, Any]]] = {_prefix(number): {} for number in range(len(described))}
    for name in list(arrays):
        prefix, is_split, own_name = name.partition("_")
        if is_split and prefix + "_" in owners:
            owners[prefix + "_"][own_name] = arrays.pop(name)
    dictionaries = []
    for number, parts in enumerate(described):
        parameters = {**described[0]["parameters"], **parts["parameters"]}
        own = owners[_prefix(number)]
        part = Model("ShapeDictionary", parameters, classifier.metric_space_, own, parts["results"])
        dictionaries.append(fill_estimator(ShapeDictionary, part, source))
    return dictionaries


def _is_sound(classifier: Any) -> bool:
    classes = classifier.classes_
    temperatures, offsets = classifier.temperatures_, classifier.offsets_
    return (
        classes.ndim == 1
        and classes.size > 0
        and classes.dtype.kind in "USbiuf"
        and np.array_equal(np.unique(classes), classes)
        and temperatures.shape == offsets.shape == classes.shape
        and are_finite_floats(temperatures, offsets)
        and bool((temperatures > 0).all())
        and classifier.temperature_ > 0
        and 0 < classifier.shrinkage_ <= 1
        and classifier.n_features_in_ == classifier.space_.n_coordinates
    )
