"""Selects what computes a pass over the shapes: threads of this machine, a torch device, or remote workers.

In come a source and options; out goes a function that surveys a dictionary. All give the same
:class:`~shapelex.learning.passes.Survey`, up to rounding.
"""

from collections.abc import Callable
from functools import partial

from shapelex.learning.options import LearningOptions
from shapelex.learning.passes import Survey, survey
from shapelex.learning.sources import RemoteRows, RowBlocks

Surveyor = Callable[..., Survey]


def surveyor(source: RowBlocks, options: LearningOptions) -> Surveyor:
    """Function that codes all shapes of a source over a dictionary.

    Parameters
    ----------
    source : RowBlocks
        The shapes.
    options : LearningOptions
        Says where to compute.

    Returns
    -------
    callable
        Takes ``(atoms, n_nonzero, coder=…, distance=…, with_nearest=…, with_details=…)``, gives a
        :class:`~shapelex.learning.passes.Survey`.

    Raises
    ------
    DeviceError
        If there is no such device.

    Examples
    --------
    >>> import numpy as np
    >>> source = RowBlocks.from_rows(np.eye(3, dtype=complex))
    >>> make_pass = surveyor(source, LearningOptions(n_atoms=2, n_nonzero=1))
    >>> make_pass(np.eye(3, dtype=complex)[:2], 1).usage
    array([1., 1.])
    """
    if isinstance(source, RemoteRows):
        return source.survey
    if options.device == "cpu":
        return partial(survey, source, n_threads=options.n_threads)
    from shapelex.learning.device_passes import DeviceRows

    return DeviceRows(source, options.device).survey
