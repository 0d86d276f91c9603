"""Selects what computes a pass over the shapes: threads of this machine, a torch device, or remote workers.

In come a source and options; out goes a function that surveys a dictionary. All give the same
:class:`~shapelex.learning.passes.Survey`, up to rounding.
"""

from collections.abc import Callable
from functools import partial

from shapelex._typing import ComplexArray
from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, survey
from shapelex.learning.sources import RemoteRows, RowBlocks

Surveyor = Callable[[ComplexArray], Survey]


def surveyor(source: RowBlocks, options: LearningOptions, *, keeps_values: bool = False) -> Surveyor:
    """Return the function that codes all shapes of a source over a dictionary."""
    if isinstance(source, RemoteRows):
        return partial(source.survey, options=options)
    if options.device == "cpu":
        return partial(survey, source, options=options, keeps_values=keeps_values)
    from shapelex.learning.device_passes import DeviceRows

    return partial(DeviceRows(source, options.device).survey, options=options, keeps_values=keeps_values)
