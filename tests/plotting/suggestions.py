"""A suggestion to draw, made without learning anything."""

from shapelex.selection.error_surface import AtomStability, ErrorSurface
from shapelex.selection.suggestion import Suggestion


def make_suggestion(with_stability=True):
    rows = [
        {"n_atoms": J, "n_nonzero": s, "fold": f, "rmse": (0.4 / (J * s)) * (1 + 0.1 * f), "train_rmse": 0.1,
         "energy": 0.3, "seconds": 1.0}
        for J in (3, 5, 9) for s in (1, 2, 3) for f in (0, 1) if (J, s) != (9, 3)
    ]  # fmt: skip
    stable = [
        {"n_atoms": J, "n_nonzero": 2, "distance": 0.1, "chance": 0.2, "n_named": J, "stability": 0.1 * J}
        for J in (3, 5, 9)
    ]
    return Suggestion(5, 2, ErrorSurface(rows, 11), AtomStability(stable if with_stability else []))
