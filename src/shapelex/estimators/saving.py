"""Estimators that go to model files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from shapelex.store.estimator_file import save_estimator
from shapelex.store.schema import Schema


class SavedEstimator:
    """An estimator that goes to a model file; its ``_schema`` declares what it consists of."""

    _schema: Schema

    def save(self, path: str | Path, *, run: Mapping[str, Any] | None = None) -> Path:
        """Write the fitted estimator to a model file, which :func:`shapelex.load` reads.

        Parameters
        ----------
        path : str or Path
            Where to; ``.npz`` is added where it is missing. An older file there is replaced in one step.
        run : mapping, optional
            What made it, to be kept in the file as it is: JSON values such as a command and its seed.

        Returns
        -------
        Path
            Where it went.

        Raises
        ------
        ModelFileError
            If the space holds functions or labels of classes are neither text nor numbers, which a model file cannot
            hold, or if parameters were changed so that they no longer fit the fitted attributes.
        """
        check_is_fitted(self)
        return save_estimator(self, path, run)

    def _check_loaded(self) -> None:
        """Refuse parameters that no fit would take, and do what a user would do first: collapsed atoms show there."""
        raise NotImplementedError
