"""Learn a dictionary of worms made in code, and draw it.

``python examples/dictionary_figures.py FOLDER`` writes the atoms with their use and four reconstructions, one worm as a
sum of atoms, the errors, and the model, and prints what the code of one worm says.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import shapelex as sx
from made_shapes import STYLE, worm_midlines
from shapelex.plotting import (
    plot_atoms,
    plot_code,
    plot_combination,
    plot_loss,
    plot_reconstructions,
    plot_rmse_curves,
)


def figure_dictionary(model: sx.ShapeDictionary, X: np.ndarray[Any, Any], path: Path) -> Path:
    figure = Figure(figsize=(5.6, 3.9), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.6, 1])
    upper, lower = halves
    upper.suptitle(f"{model.n_atoms} atoms: number, and share of the worms that use it", fontsize=8.5)
    plot_atoms(model.atoms_, model.space_, usage=model.usage_, n_columns=4, linewidth=1.6, ax=upper.subplots())
    chosen = np.argsort(model.errors(X))[np.linspace(0, len(X) - 1, 4).astype(int)]
    lower.suptitle(f"From the best to the worst of {len(X)} reconstructions, by 3 atoms each", fontsize=8.5)
    plot_reconstructions(X[chosen], model.reconstruct(X[chosen]), model.space_, n_columns=4, ax=lower.subplots())
    figure.savefig(path)
    return path


def figure_combination(model: sx.ShapeDictionary, worm: np.ndarray[Any, Any], path: Path) -> Path:
    figure = Figure(figsize=(5.6, 1.7), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 2.6])
    code = model.encode(worm[None])
    plot_code(code, ax=left)
    left.set_title("complex weights")
    plot_combination(code, model.atoms_, model.space_, original=worm, ax=right)
    right.set_title("atoms, scaled and turned by them, add up to the worm")
    for axes in (left, right):
        axes.set_anchor("N")
    figure.savefig(path)
    return path


def figure_errors(model: sx.ShapeDictionary, X: np.ndarray[Any, Any], path: Path) -> Path:
    figure = Figure(figsize=(5.6, 2.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_loss(model.loss_curve_, ax=left)
    left.set_title("while learning")
    curves: dict[str, dict[int, float]] = {}
    for method, name in [("omp", "matching pursuit"), ("ormp", "order-recursive pursuit"), ("exact", "exact search")]:
        curves[name] = {}
        for n_nonzero in range(1, 6):
            codes = sx.encode(X, model.atoms_, n_nonzero, method=method, space=model.space_)
            errors = sx.distance(X, sx.decode(codes, model.atoms_), space=model.space_)
            curves[name][n_nonzero] = float(np.sqrt(np.mean(errors**2)))
    plot_rmse_curves(curves, ax=right)
    right.set_title(f"three ways to code with the {model.n_atoms} atoms")
    figure.savefig(path)
    return path


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    space = sx.HermiteSpline(6)
    X = space.fit(worm_midlines(500, np.random.default_rng(0), bend=1.5, wave=2.0))
    model = sx.ShapeDictionary(n_atoms=8, n_nonzero=3, space=space, tol=1e-4, random_state=0).fit(X)
    print(f"{len(X)} worms, 3 of 8 atoms each: RMSE {100 * model.rmse_:.2f} % after {model.n_iter_} iterations")
    code = model.encode(X[:1])
    for atom, weight in zip(code.support[0], code.coefs[0], strict=True):
        turn = np.degrees(np.angle(weight))
        print(f"  worm 0 uses atom {atom}: {abs(weight):.2f} times its size, turned by {turn:.0f}°")
    print(f"wrote {model.save(folder / 'worms', overwrite=True)}")
    with sx.plotting.style(STYLE):
        print(f"wrote {figure_dictionary(model, X, folder / 'dictionary.png')}")
        print(f"wrote {figure_combination(model, X[0], folder / 'combination.png')}")
        print(f"wrote {figure_errors(model, X, folder / 'errors.png')}")


if __name__ == "__main__":
    main()
