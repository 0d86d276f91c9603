"""What a page says in words: the set, the method, the settings."""

from collections.abc import Mapping
from typing import Any

from shapelex import __version__
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

_CODERS = {
    "auto": "the best atoms by exact search where that is cheap, by a beam search elsewhere",
    "exact": "the best atoms, by exact search",
    "beam": "good atoms, by a beam search",
    "ormp": "atoms one after the other, each the one that lowers the error most (order recursive matching pursuit)",
    "omp": "atoms one after the other, each the one nearest to what is left (orthogonal matching pursuit)",
}


def name_kind(space: Space) -> str:
    """Return what one shape of a space is, as a noun.

    Parameters
    ----------
    space : Space
        The space.

    Returns
    -------
    str
        Such as ``"closed outline of 200 points"``.

    Examples
    --------
    >>> from shapelex.spaces import HermiteSpline
    >>> name_kind(HermiteSpline(6))
    'open Hermite curve through 6 knots'
    """
    ends = "closed" if space.closed else "open"
    if isinstance(space, Landmarks):
        return f"closed outline of {space.n_points} points" if space.closed else f"shape of {space.n_points} landmarks"
    if isinstance(space, BSpline):
        return f"{ends} B-spline curve of {space.n_points} control points"
    if isinstance(space, HermiteSpline):
        return f"{ends} Hermite curve through {space.n_points} knots"
    return f"{ends} curve of {space.n_coordinates} coefficients"


def list_settings(model: Any) -> list[list[str]]:
    """Return the settings of a fitted dictionary, as rows of name and words.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.

    Returns
    -------
    list of [str, str]
        Rows.
    """
    n_fitted = len(model.loss_curve_)
    rows = [
        ["Space", repr(model.space_)],
        ["Atoms", f"{len(model.atoms_)}, at most {model.n_nonzero} per shape"],
        ["Coding", f"{model.coder}: {_CODERS.get(model.coder, model.coder)}"],
        ["Update", "all atoms at once (method of optimal directions)"],
        ["Distance", f"{model.distance} Procrustes distance"],
        ["Start", model.init if isinstance(model.init, str) else "a given dictionary"],
        ["Search", _name_search(model)],
        ["Restarts", str(model.n_restarts)],
        [
            "Iterations",
            f"{model.n_iter_} of at most {model.max_iter}, tolerance {model.tol:g}, {n_fitted} losses recorded",
        ],
        ["Error when fitted", f"{100 * float(model.rmse_):.2f} % (root mean square)"],
        ["Seed", repr(model.random_state)],
    ]
    if model.batch_size is not None:
        rows.append(["Batches", f"of {model.batch_size} shapes"])
    return rows


def _name_search(model: Any) -> str:
    swaps = model.n_swaps
    if model.batch_size is not None or swaps == 0 or (swaps is None and model.effort == 1):
        return "none"
    return f"effort {model.effort:g}" if swaps is None else f"{swaps} swaps of atoms"


def list_provenance(provenance: Mapping[str, Any] | None) -> list[list[str]]:
    """Return where the page comes from, as rows of name and words.

    Parameters
    ----------
    provenance : mapping or None
        What the caller knows: command, files, seed.

    Returns
    -------
    list of [str, str]
        Rows; the version of shapelex is always there.
    """
    rows = {"shapelex": __version__} | {str(key): str(value) for key, value in (provenance or {}).items()}
    return [[key, value] for key, value in rows.items()]
