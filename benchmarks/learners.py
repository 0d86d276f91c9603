"""Settings of dictionaries that are compared, for versions of shapelex that may lack some of the parameters."""

from collections.abc import Mapping
from typing import Any

import shapelex as sx
from measure import skip

Settings = Mapping[str, Any]

PAPER: Settings = {"coder": "ormp", "tie": 0, "n_swaps": 0, "init": "random"}

LEARNERS: dict[str, Settings] = {"default": {}, "effort=2": {"effort": 2}}


def make_dictionary(settings: Settings, **options: Any) -> sx.ShapeDictionary | None:
    """Return the estimator, or None where this version lacks one of the settings."""
    known = sx.ShapeDictionary().get_params()
    return sx.ShapeDictionary(**settings, **options) if settings.keys() <= known.keys() else None


def make_learners(learners: Mapping[str, Settings], table: str, **options: Any) -> dict[str, sx.ShapeDictionary]:
    """Return the estimators that this version has and that differ; a line says which it lacks."""
    made: dict[str, sx.ShapeDictionary] = {}
    for name, settings in learners.items():
        model = make_dictionary(settings, **options)
        if model is None:
            skip(f"{table}, {name}", f"this version of ShapeDictionary has not all of {', '.join(settings)}")
        elif not any(model.get_params() == other.get_params() for other in made.values()):
            made[name] = model
    return made
