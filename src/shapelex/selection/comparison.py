"""Compare methods by their root mean squared error as a function of sparsity; test a classifier on held-out shapes."""

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_choice, check_count
from shapelex.estimators.base import as_generator
from shapelex.estimators.dictionary_learning import AlignFirstDictionary
from shapelex.estimators.folds import check_units, make_folds
from shapelex.estimators.principal_components import ComplexPCA, TangentPCA
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.exceptions import ParameterError, ParameterTypeError
from shapelex.geometry.distances import row_distances
from shapelex.selection.tables import Progress, Row, TidyTable, collect, print_percent
from shapelex.shapes.opening import read_configurations
from shapelex.shapes.set import fold_groups
from shapelex.spaces.base import Space, row_norms

_MOST_NUMBERS = 10_000

# The methods that `compare` knows by name, and gives a number of atoms.
METHODS: dict[str, Any] = {
    "shape dictionary": ShapeDictionary(),
    "align-first": AlignFirstDictionary(),
    "complex PCA": ComplexPCA(),
    "complex PCA, centered": ComplexPCA(subtract_average=True),
    "tangent PCA": TangentPCA(),
}

# A fit with fewer modes finds the first modes of a larger fit.
_NESTED = (ComplexPCA, TangentPCA)


class Comparison(TidyTable):
    """Errors of several methods, one measurement per row; the result of :func:`~shapelex.compare`.

    Printed, it shows root mean squared errors in percent, one line per method.
    :func:`shapelex.plotting.plot_rmse_curves` draws it.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.
    n_shapes : int
        Number of shapes of the set.
    measure : {"loss", "distance"}
        Kind of the errors, see :func:`~shapelex.compare`.
    unconverged : iterable of str
        Names of the fits that ended at ``max_iter``.

    Attributes
    ----------
    columns : tuple of str
        ``method``, ``n_nonzero``, ``split`` (``"train"`` or ``"held out"``), ``fold`` (−1 for the whole set, then from
        0), ``rmse``, and ``seconds``, the time of the fit and of coding the measured shapes.
    """

    columns = ("method", "n_nonzero", "split", "fold", "rmse", "seconds")

    def __init__(
        self, rows: Iterable[Mapping[str, Any]], n_shapes: int, measure: str = "loss", unconverged: Iterable[str] = ()
    ) -> None:
        super().__init__(rows)
        self.n_shapes = n_shapes
        self.measure = measure
        self.unconverged = list(unconverged)

    def curves(self, split: str = "train") -> dict[str, dict[int, float]]:
        """Error of every method by sparsity, averaged over folds.

        Parameters
        ----------
        split : {"train", "held out"}, default "train"
            Errors of the shapes that were learned from, or of the held-out shapes.

        Returns
        -------
        dict
            ``{method: {n_nonzero: rmse}}``.
        """
        check_choice(split, ("train", "held out"), "split")
        return {str(method): curve.dropna().to_dict() for method, curve in self._errors(split).iterrows()}

    def _errors(self, split: str) -> pd.DataFrame:
        """Return errors averaged over folds, one row per method and one column per sparsity."""
        table = self.to_dataframe()
        measured = table[table["split"] == split]
        return measured.pivot_table("rmse", "method", "n_nonzero").loc[measured["method"].unique()]

    def __str__(self) -> str:
        what = "RMSE" if self.measure == "loss" else "RMS full distance"
        parts = []
        for split in dict.fromkeys(self["split"].tolist()):
            n_folds = len(set(self["fold"][self["split"] == split]))
            of = f"{self.n_shapes} shapes" if split == "train" else f"held-out shapes, mean of {n_folds} folds"
            kind = "training " if split == "train" else ""
            parts.append(f"{kind}{what} in percent of {of}\n{print_percent(self._errors(split), 'atoms per shape')}")
        if self.unconverged:
            named = ", ".join([*self.unconverged[:3], *(["..."] if len(self.unconverged) > 3 else [])])
            parts.append(f"{len(self.unconverged)} fits had not converged after max_iter updates: {named}")
        return "\n\n".join(parts)


def compare(
    X: ArrayLike,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    n_nonzero: int | Iterable[int] | None = None,
    *,
    n_atoms: int = 10,
    space: Space | None = None,
    cv: Any = None,
    groups: ArrayLike | None = None,
    measure: Literal["loss", "distance"] = "loss",
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Progress | None = None,
) -> Comparison:
    """Compare methods by their root mean squared error as a function of sparsity.

    As in the paper [1]_ (section 6.1, "Results", figure 5), a dictionary of `n_atoms` atoms is learned for every
    sparsity and for it alone, and principal component analyses use their first modes. Errors are measured on the
    shapes that were learned from and, with `cv`, also on held-out shapes.

    Parameters
    ----------
    X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
        Configurations.
    methods : iterable of str, or mapping of str to estimator, optional
        Among ``"shape dictionary"``, ``"align-first"``, ``"complex PCA"``, ``"complex PCA, centered"`` and
        ``"tangent PCA"``; all of them by default. A mapping gives names to estimators, such as
        ``{"plain": ShapeDictionary(10), "swapped": ShapeDictionary(10, n_swaps=50)}``: any estimator with a parameter
        `n_nonzero` and a method ``errors``, or one of the two principal component analyses. They are cloned; `space`,
        `random_state` and `n_jobs` are set where they are None.
    n_nonzero : int or iterable of int, optional
        Maximum numbers of atoms per shape; by default 1 to the smaller of 10 and `n_atoms`. For principal component
        analyses, see Notes.
    n_atoms : int, default 10
        Number of atoms of the dictionaries that are given by name.
    space : Space, optional
        Space of the configurations; when not given, that of a `ShapeSet`, otherwise landmarks.
    cv : int, splitter, iterable of pairs of rows, or None, default None
        Shapes to hold out. A number of folds holds out contiguous blocks of rows, as is necessary for shapes in
        temporal order, or whole groups where `groups` are given. For shapes sorted by kind, give ``KFold(5,
        shuffle=True)``.
    groups : array_like of shape (n_shapes,), optional
        Group of each shape, such as a recording or a specimen; a group is held out as a whole. By default the units of
        a set, see ``ShapeSet.study``.
    measure : {"loss", "distance"}, default "loss"
        ``"loss"`` is the error that each method minimizes and the paper compares: for ``"align-first"`` and ``"complex
        PCA, centered"`` the norm of a difference in a fixed pose. ``"distance"`` is for all methods the full Procrustes
        distance from shapes to their reconstructions, which is never larger.
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws. All methods and sparsities of a fold use the same seed.
    callback : callable, optional
        Called as ``callback(n_done, n_total, row)`` after every row; returning True ends the comparison with
        the rows so far.

    Returns
    -------
    Comparison
        A table with the columns ``method``, ``n_nonzero``, ``split``, ``fold``, ``rmse`` and ``seconds``.

    Raises
    ------
    ValueError
        If a method is not known, or a sparsity exceeds the number of atoms.
    TypeError
        If an estimator has no parameter `n_nonzero`.

    Notes
    -----
    `n_nonzero` counts complex weights for the shape dictionary and for complex principal component analysis (its first
    modes), and real weights for align-first. Tangent principal component analysis uses twice as many real modes, that
    is the same number of real numbers as the complex methods. The average of the centered analyses is not counted.
    Where the shapes span fewer modes, all are used.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(12) / 12)
    >>> X = circle + rng.normal(size=(60, 3)) @ [0.3 / circle, 0.2 * circle**2, 0.1 * circle**3]
    >>> table = sx.compare(X, ["complex PCA", "tangent PCA"], n_nonzero=[1, 2, 3], cv=3)
    >>> table.curves()["complex PCA"][1] > table.curves()["complex PCA"][3]
    True
    >>> print(str(table).splitlines()[0])
    training RMSE in percent of 60 shapes
    """
    check_choice(measure, ("loss", "distance"), "measure")
    check_count(n_atoms, 1, "n_atoms")
    sparsities = check_counts(range(1, min(10, n_atoms) + 1) if n_nonzero is None else n_nonzero, "n_nonzero")
    configurations, space = read_configurations(X, space)
    names = METHODS if methods is None else [methods] if isinstance(methods, str) else methods
    given = methods if isinstance(methods, Mapping) else {name: name for name in names}
    if not given:
        raise ParameterError(f"{parameter('methods')} must name at least one method, got none.")
    estimators = {str(name): _make_estimator(name, value, n_atoms, max(sparsities)) for name, value in given.items()}
    everything = np.arange(len(configurations))
    units = check_units(groups if cv is None else fold_groups(X, groups), len(configurations))
    if cv is None and units is not None:
        raise ParameterError(
            f"{parameter('groups')} need folds, but {parameter('cv', None)} holds out none: try {parameter('cv', 5)}."
        )
    held_out = [] if cv is None else make_folds(cv, len(configurations), units)
    folds = [(everything, everything), *held_out]
    seeds = as_generator(random_state).integers(2**31, size=len(folds))
    comparison = Comparison([], len(configurations), measure)

    def measurements() -> Iterator[Row]:
        cells = product(enumerate(folds, -1), estimators.items(), sparsities)
        for (fold, (learned, measured)), (method, estimator), sparsity in cells:
            start = time.perf_counter()
            model = clone(estimator)
            parameters = model.get_params(deep=False)
            shared = {"space": space, "n_jobs": n_jobs, "random_state": int(seeds[fold + 1])}
            model.set_params(**{name: value for name, value in shared.items() if parameters.get(name, 0) is None})
            if not isinstance(model, _NESTED):
                model.set_params(n_nonzero=sparsity)
            if not _fit(model, configurations[learned]):
                comparison.unconverged.append(f"{method} at {sparsity}" + (f", fold {fold}" if fold >= 0 else ""))
            errors = _errors(model, configurations[measured], sparsity, measure)
            rmse = float(np.sqrt(np.mean(errors.astype(np.float64) ** 2)))
            split = "train" if fold < 0 else "held out"
            yield comparison.add(method, sparsity, split, fold, rmse, time.perf_counter() - start)

    collect(measurements(), len(folds) * len(estimators) * len(sparsities), callback, "compare")
    return comparison


def _fit(estimator: Any, configurations: ComplexArray) -> bool:
    """Fit an estimator without its warning about convergence; return whether it converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(configurations)
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return len(others) == len(caught)


def _errors(model: Any, configurations: ComplexArray, n_nonzero: int, measure: str) -> FloatArray:
    options = {}
    if isinstance(model, _NESTED):
        count = 2 * n_nonzero if isinstance(model, TangentPCA) else n_nonzero
        options["n_components"] = min(count, model.n_components_)
    if measure == "loss":
        return np.asarray(model.errors(configurations, **options))
    rows = model.space_.whitened_preshapes(configurations, "X")
    reconstructed = model.space_.whiten(model.reconstruct(configurations, **options))
    # A reconstruction that is zero has no shape; the distance to it counts as 1, the maximum.
    norms = np.maximum(row_norms(reconstructed), np.finfo(rows.real.dtype).tiny)[:, None]
    return row_distances(reconstructed / norms, rows)


def _make_estimator(name: str, value: Any, n_atoms: int, largest: int) -> Any:
    """Return the estimator of a method, checked to take the largest number of atoms per shape."""
    if isinstance(value, str):
        check_choice(value, METHODS, "methods")
        estimator = clone(METHODS[value])
        if not isinstance(estimator, _NESTED):
            estimator.set_params(n_atoms=n_atoms)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        estimator = value
    else:
        raise ParameterTypeError(
            f"{parameter('methods')} must name methods, or map names to estimators, but {name!r} is {value!r}."
        )
    if isinstance(estimator, _NESTED):
        return estimator
    parameters = estimator.get_params(deep=False)
    if "n_nonzero" not in parameters or not hasattr(estimator, "errors"):
        raise ParameterTypeError(
            f"methods must have a parameter n_nonzero and a method errors, but {name!r} does not: it is a "
            f"{type(estimator).__name__}; use ShapeDictionary, AlignFirstDictionary, ComplexPCA or TangentPCA."
        )
    if largest > parameters.get("n_atoms", largest):
        raise ParameterError(
            f"{parameter('n_nonzero')} must be between 1 and {parameter('n_atoms', parameters['n_atoms'])} of "
            f"{name!r}, got {largest}."
        )
    return estimator


def check_counts(values: int | Iterable[int], name: str) -> list[int]:
    """Return the given positive integers in ascending order; refuse an empty list."""
    # Endless ranges would take all the memory.
    given = list(islice(values, _MOST_NUMBERS + 1)) if isinstance(values, Iterable) else [values]
    if not 1 <= len(given) <= _MOST_NUMBERS:
        found = "more" if given else "none"
        raise ParameterError(f"{parameter(name)} must hold 1 to {_MOST_NUMBERS} numbers, got {found}.")
    return sorted({check_count(one, 1, name) for one in given})
