"""Load fitted estimators from model files."""

import warnings
from pathlib import Path
from typing import Any

from shapelex import estimators
from shapelex.exceptions import ModelFileError, RemovedParameterWarning
from shapelex.files.model_file import read_model, removed_parameters, restore_estimator
from shapelex.riemannian import RiemannianDictionary

# The estimators that declare what their files hold.
_CLASSES: dict[str, type[Any]] = {
    **{name: getattr(estimators, name) for name in dir(estimators) if hasattr(getattr(estimators, name), "_schema")},
    "RiemannianDictionary": RiemannianDictionary,
}


def load(path: str | Path) -> Any:
    """Read a fitted model that was written by its ``save``.

    Parameters
    ----------
    path : str or Path
        The model file.

    Returns
    -------
    estimator
        Fitted: a ShapeDictionary, AlignFirstDictionary, ComplexPCA, TangentPCA, RiemannianDictionary, ProcrustesKernel,
        ShapeDictionaryClassifier or ShapeClassifier.

    Raises
    ------
    ModelFileError
        If the file is damaged, truncated, of another kind, or of a newer version. Nothing in it is ever executed.
    FileNotFoundError
        If there is no such file.

    Warns
    -----
    RemovedParameterWarning
        If an earlier version wrote the file, with parameters that the estimator no longer has; they are ignored.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import shapelex as sx
    >>> X = np.random.default_rng(0).normal(size=(40, 6, 2))
    >>> model = sx.ShapeDictionary(n_atoms=3, n_nonzero=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     copy = sx.load(model.save(f"{folder}/model"))
    >>> bool((copy.transform(X) == model.transform(X)).all())
    True
    """
    source = Path(path)
    written = Path(f"{source}.npz")
    if not source.exists() and written.is_file():
        raise FileNotFoundError(f"There is no file {source}, but there is {written}, as save names it: load that.")
    model = read_model(source)
    if model.kind not in _CLASSES:
        raise ModelFileError(f"{source} holds a {model.kind!r}, which this shapelex does not know: upgrade shapelex.")
    estimator_class = _CLASSES[model.kind]
    removed = removed_parameters(estimator_class, model)
    if removed:
        told = ", ".join(f"{name}={value!r}" for name, value in removed.items())
        bounded = " Weights are no longer bounded: weight_penalty= keeps them small." if "max_weight" in removed else ""
        warnings.warn(
            f"{source} was written by an earlier version, with parameters that {model.kind} no longer has: {told}. "
            f"They are ignored; the atoms are the same.{bounded} Save it again to get rid of this warning.",
            RemovedParameterWarning,
            stacklevel=2,
        )
    return restore_estimator(estimator_class, model, f"{source} is damaged")
