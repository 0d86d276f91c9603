"""Collections whose parts lie on other machines, and the room that knows each kind.

The rooms stand above this one, so they are named here and loaded when a collection of their kind first comes in.
"""

from importlib import import_module
from typing import Any

from shapelex.spaces import Space

ROOMS = {"dask": "shapelex.distributed.estimation"}
"""Package of a collection's class, and the module that fits and codes such collections."""


def room_of(X: Any) -> Any:
    """Module that handles a collection.

    Parameters
    ----------
    X : object
        What a user handed in.

    Returns
    -------
    module or None
        None for everything that is not spread over machines.
    """
    if isinstance(getattr(X, "space", None), Space):
        X = getattr(X, "configurations", X)
    package = type(X).__module__.partition(".")[0]
    return import_module(ROOMS[package]) if package in ROOMS else None
