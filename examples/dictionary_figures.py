"""Learn a dictionary of worms made in code, and draw it.

``python examples/dictionary_figures.py FOLDER`` writes the atoms with their use, four shapes with reconstructions,
and the model, and prints what the code of one worm says.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import BLUE, GRAY, ORANGE, STYLE, clear_axes, draw, save, worm_midlines


def in_common_pose(model: sx.ShapeDictionary) -> np.ndarray[Any, Any]:
    """Return the atoms, most used first, rotated along the first of them, which lies flat."""
    atoms = model.atoms_[np.argsort(-model.usage_)]
    flat = atoms[0] * np.exp(-0.5j * np.angle(np.sum(model.space_.sample(atoms[0], np.linspace(0, 1, 200)) ** 2)))
    return sx.rotate_onto(atoms, flat, model.space_)


def figure_dictionary(model: sx.ShapeDictionary, X: np.ndarray[Any, Any], path: Path) -> Path:
    figure = Figure(figsize=(5.6, 3.9), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.25, 1])
    upper, lower = halves
    order = np.argsort(-model.usage_)
    upper.suptitle(f"{model.n_atoms} atoms, and the share of worms that use them", fontsize=8.5)
    for axes, atom, j in zip(upper.subplots(2, 4).ravel(), in_common_pose(model), order, strict=True):
        draw(axes, model.space_, atom, BLUE, lw=1.6)
        clear_axes(axes, f"{100 * model.usage_[j]:.0f} %")
    errors = model.errors(X)
    chosen = np.argsort(errors)[np.linspace(0, len(X) - 1, 4).astype(int)]
    lower.suptitle("From the best to the worst of 500 reconstructions, by 3 atoms each", fontsize=8.5)
    shapes = model.space_.preshape(X[chosen])
    for axes, shape, approximation, error in zip(
        lower.subplots(1, 4), shapes, model.reconstruct(X[chosen]), errors[chosen], strict=True
    ):
        flat = np.exp(-0.5j * np.angle(np.sum(model.space_.sample(shape, np.linspace(0, 1, 200)) ** 2)))
        draw(axes, model.space_, flat * shape, GRAY, lw=3.2, alpha=0.7)
        draw(axes, model.space_, flat * approximation, ORANGE, lw=1.1)
        clear_axes(axes, f"{100 * error:.1f} %")
    return save(figure, path)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    folder.mkdir(parents=True, exist_ok=True)
    space = sx.HermiteSpline(6)
    X = space.fit(worm_midlines(500, np.random.default_rng(0), bend=1.5, wave=2.0))
    model = sx.ShapeDictionary(n_atoms=8, n_nonzero=3, space=space, random_state=0).fit(X)
    print(f"{len(X)} worms, 3 of 8 atoms each: RMSE {100 * model.rmse_:.2f} % after {model.n_iter_} iterations")
    code = model.encode(X[:1])
    for atom, weight in zip(code.support[0], code.coefs[0], strict=True):
        turn = np.degrees(np.angle(weight))
        print(f"  worm 0 uses atom {atom}: {abs(weight):.2f} times its size, turned by {turn:.0f}°")
    print(f"wrote {model.save(folder / 'worms')}")
    with mpl.rc_context(STYLE):
        print(f"wrote {figure_dictionary(model, X, folder / 'dictionary.png')}")


if __name__ == "__main__":
    main()
