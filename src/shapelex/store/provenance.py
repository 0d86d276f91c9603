"""What made a file: the command, the versions and the seed, to put into it."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shapelex import __version__

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "matplotlib")


def installed_versions() -> dict[str, str]:
    """Return the versions of shapelex, of Python and of the installed packages that results depend on."""
    versions = {"shapelex": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def describe_run(command: str | None, seed: int | None) -> dict[str, Any]:
    """Describe this run, as JSON values.

    Parameters
    ----------
    command : str or None
        What was typed, or None where nothing was.
    seed : int or None
        Seed of all that was random.

    Returns
    -------
    dict
        ``command``, ``seed``, ``versions`` of Python and of the packages that matter, ``processors``.

    Examples
    --------
    >>> describe_run("shapelex reproduce", 0)["command"]
    'shapelex reproduce'
    """
    return {"command": command, "seed": seed, "versions": installed_versions(), "processors": os.cpu_count()}
