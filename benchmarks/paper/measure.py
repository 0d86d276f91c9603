"""What the paper measures, on one dataset: three methods, their errors and times, and errors by sparsity."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from paper.paper_sets import PaperSet
from shapelex._typing import ComplexArray, FloatArray
from shapelex.estimators import AlignFirstDictionary, ComplexPCA, ShapeDictionary
from shapelex.geometry import pairwise_distances
from shapelex.selection.comparison import compare

Tell = Callable[[float, str], None]

OURS, ALIGN_FIRST, COMPLEX_PCA = "shape dictionary", "align-first", "complex PCA"

PAPER_ALGORITHM: Mapping[str, Any] = {
    "coder": "ormp",
    "n_swaps": 0,
    "init": "random",
    "max_iter": 30,
    "tol": 0.0,
}
"""Options that make a :class:`ShapeDictionary` run the paper's algorithm: 30 updates, greedy codes. With the batches of
:class:`PaperSet`, it reads all shapes 30 times, and updates the atoms after each batch."""

QUICK_SHAPES = 300
"""Most shapes of a dataset in a quick run."""

_QUICK_SETTINGS = {"max_iter": 5, "n_swaps": 0}
_QUICK_REFINEMENT = {"max_iter": 1}
_REALISM_BLOCK = 4096


@dataclass(frozen=True)
class Measurement:
    """Error of one fit, and what it took, the final coding included.

    Attributes
    ----------
    rmse : float
        Root mean squared error of all shapes.
    seconds : float
        Time on the clock.
    cpu_seconds : float
        Time of all processors together.
    """

    rmse: float
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, eq=False)
class SetResult:
    """All that was measured on one dataset.

    Attributes
    ----------
    paper_set : PaperSet
        The dataset.
    shapes : ndarray of complex, shape (n_shapes, n_coordinates)
        Its configurations.
    dictionary : ShapeDictionary
        Fitted at the paper's sparsity.
    align_first : AlignFirstDictionary
        Likewise.
    loss_curve : ndarray of float, shape (n_losses,)
        Mean squared distance of every dictionary on the way to `dictionary`.
    measured : dict of str to Measurement
        By the name of the method.
    paper_algorithm : tuple of Measurement
        The paper's algorithm, one run a seed.
    curves : dict
        ``{method: {n_nonzero: rmse}}``.
    realism : dict of str to float
        Median full distance of an atom to its nearest shape.
    """

    paper_set: PaperSet
    shapes: ComplexArray
    dictionary: ShapeDictionary
    align_first: AlignFirstDictionary
    loss_curve: FloatArray
    measured: dict[str, Measurement]
    paper_algorithm: tuple[Measurement, ...]
    curves: dict[str, dict[int, float]]
    realism: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Numbers alone, as JSON values; errors in percent."""
        paper_set = self.paper_set
        return {
            "dataset": paper_set.name,
            "title": paper_set.title,
            "file": paper_set.file,
            "same_data_as_paper": paper_set.is_same_data,
            "n_coordinates": int(self.shapes.shape[1]),
            "n_shapes": len(self.shapes),
            "n_nonzero": paper_set.n_nonzero,
            "n_atoms": paper_set.n_atoms,
            "paper": {
                "rmse": paper_set.paper_rmse,
                "align_first": paper_set.paper_align_first,
                "seconds": paper_set.paper_seconds,
            },
            "measured": {method: _as_json(measurement) for method, measurement in self.measured.items()},
            "paper_algorithm": [_as_json(measurement) for measurement in self.paper_algorithm],
            "paper_batch_size": paper_set.batch_size,
            "realism": self.realism,
            "curves": {
                method: {str(n_nonzero): 100 * rmse for n_nonzero, rmse in curve.items()}
                for method, curve in self.curves.items()
            },
        }


def measure_set(
    paper_set: PaperSet, shapes: ComplexArray, *, random_state: int = 0, quick: bool = False, tell: Tell | None = None
) -> SetResult:
    """Fit all methods to one dataset, as the paper does.

    Parameters
    ----------
    paper_set : PaperSet
        The dataset.
    shapes : ndarray of complex, shape (n_shapes, n_coordinates)
        Its configurations.
    random_state : int, default 0
        Seed.
    quick : bool, default False
        Whether to stop every fit early and measure the curves at two sparsities only.
    tell : callable, optional
        Called with the share that is done, between 0 and 1, and with what comes next.

    Returns
    -------
    SetResult
        What was found.
    """
    say = tell or (lambda done, text: None)  # noqa: ARG005
    hurry = _QUICK_SETTINGS if quick else {}
    sizes: dict[str, Any] = {
        "n_atoms": paper_set.n_atoms,
        "n_nonzero": paper_set.n_nonzero,
        "space": paper_set.space,
        "random_state": random_state,
    }
    ours = ShapeDictionary(**sizes, **{**paper_set.settings, **hurry})
    aligned = AlignFirstDictionary(**sizes, **{**paper_set.settings, **hurry})
    modes = ComplexPCA(paper_set.n_nonzero, space=paper_set.space, subtract_average=True)
    refinement = (
        {**paper_set.refinement, **_QUICK_REFINEMENT} if quick and paper_set.refinement else paper_set.refinement
    )
    measured = {}
    say(0.0, OURS)
    ours, measured[OURS], losses = _measure_stages(ours, shapes, refinement)
    say(0.1, ALIGN_FIRST)
    aligned, measured[ALIGN_FIRST], _ = _measure_stages(aligned, shapes, refinement)
    say(0.2, COMPLEX_PCA)
    measured[COMPLEX_PCA] = _measure(modes, shapes)
    runs = []
    for seed in range(1 if quick else paper_set.n_seeds):
        in_batches = f", in batches of {paper_set.batch_size} shapes" if paper_set.batch_size else ""
        say(0.25, f"the paper's algorithm{in_batches}")
        options = {
            **PAPER_ALGORITHM,
            **hurry,
            "batch_size": paper_set.batch_size,
            "random_state": random_state + seed,
        }
        runs.append(_measure(ShapeDictionary(**{**sizes, **options}), shapes))
    curves = _measure_curves(paper_set, shapes, measured, {OURS: ours, ALIGN_FIRST: aligned}, quick, say)
    say(0.95, "how real the atoms are")
    realism = {OURS: _realism(ours, shapes), ALIGN_FIRST: _realism(aligned, shapes)}
    return SetResult(paper_set, shapes, ours, aligned, losses, measured, tuple(runs), curves, realism)


def warm_up() -> None:
    """Compile or load the kernels that the measurements use, so that no run-time includes it."""
    generator = np.random.default_rng(0)
    shapes = generator.normal(size=(40, 8)) + 1j * generator.normal(size=(40, 8))
    for estimator in (ShapeDictionary, AlignFirstDictionary):
        for options in ({"coder": "exact"}, {"coder": "beam", "init": shapes[:6]}, {"coder": "ormp"}):
            _measure(estimator(6, 2, max_iter=2, random_state=0, **options), shapes)


def _measure(model: Any, shapes: ComplexArray) -> Measurement:
    start, cpu_start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # The paper stops after a number of updates, converged or not.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(shapes)
    errors = model.errors(shapes)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return Measurement(float(np.sqrt(np.mean(errors**2))), seconds, cpu_seconds)


def _measure_stages(
    model: Any, shapes: ComplexArray, refinement: Mapping[str, Any]
) -> tuple[Any, Measurement, FloatArray]:
    """Fit, and fit again from there where a refinement is asked for; return the last model and all losses."""
    first = _measure(model, shapes)
    if not refinement:
        return model, first, model.loss_curve_
    refined = clone(model).set_params(init=model.atoms_, **refinement)
    second = _measure(refined, shapes)
    # The final coding of the first stage is measured too: little, beside its updates.
    total = Measurement(second.rmse, first.seconds + second.seconds, first.cpu_seconds + second.cpu_seconds)
    return refined, total, np.concatenate([model.loss_curve_, refined.loss_curve_])


def _measure_curves(
    paper_set: PaperSet,
    shapes: ComplexArray,
    measured: Mapping[str, Measurement],
    dictionaries: Mapping[str, Any],
    quick: bool,
    say: Tell,
) -> dict[str, dict[int, float]]:
    """Return errors by sparsity; those at the paper's sparsity are known already."""
    if not paper_set.sparsities:
        return {}
    given = (1,) if quick else paper_set.sparsities
    sparser = [n_nonzero for n_nonzero in given if n_nonzero < paper_set.n_nonzero]
    denser = [n_nonzero for n_nonzero in given if n_nonzero > paper_set.n_nonzero]
    # Where a shape may use more atoms, to go on from atoms that are good with fewer takes less time than to start
    # anew, and leads further; the other way it does not.
    warm = {method: clone(model).set_params(init=model.atoms_) for method, model in dictionaries.items()}
    cold = {method: clone(model) for method, model in dictionaries.items()}
    modes = {COMPLEX_PCA: ComplexPCA(space=paper_set.space, subtract_average=True)}
    curves = {method: {paper_set.n_nonzero: one.rmse} for method, one in measured.items()}
    start = 0.35
    for estimators, sparsities in ((cold, sparser), (warm, denser)):
        if not sparsities:
            continue
        share = 0.6 * len(sparsities) / (len(sparser) + len(denser))
        tell = _tell_curves(say, start, share)
        found = compare(shapes, {**estimators, **modes}, sparsities, space=paper_set.space, callback=tell)
        for method, curve in found.curves().items():
            curves[method] |= curve
        start += share
    return {method: dict(sorted(curve.items())) for method, curve in curves.items()}


def _tell_curves(say: Tell, start: float, share: float) -> Callable[[int, int, dict[str, Any]], None]:
    def tell(n_done: int, n_total: int, row: Mapping[str, Any]) -> None:
        say(start + share * n_done / n_total, f"curve at {row['n_nonzero']} atoms")

    return tell


def _realism(model: Any, shapes: ComplexArray) -> float:
    blocks = [shapes[start : start + _REALISM_BLOCK] for start in range(0, len(shapes), _REALISM_BLOCK)]
    nearest = [pairwise_distances(model.atoms_, block, space=model.space_).min(axis=1) for block in blocks]
    return float(np.median(np.min(nearest, axis=0)))


def _as_json(measurement: Measurement) -> dict[str, float]:
    return {
        "rmse": 100 * measurement.rmse,
        "seconds": measurement.seconds,
        "cpu_seconds": measurement.cpu_seconds,
    }
