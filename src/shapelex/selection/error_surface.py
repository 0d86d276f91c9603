"""Held-out errors of dictionaries of many sizes and sparsities.

Input: whitened rows and folds. Output: errors of the held-out rows for each size, sparsity and fold, and the
description length of a shape. A dictionary is learned for each size and sparsity: a dictionary learned for more atoms
per shape than the shapes consist of does not find their atoms, and codes over one learned for fewer have much larger
errors than necessary. Learning starts from the atoms of a similar size or sparsity, learned from the same part of the
rows. Sparsities that are clearly too large are left out.
"""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb, lgamma, log
from typing import Any

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex.coding import encode_rows, residual_norms
from shapelex.learning import LearnedDictionary, learn
from shapelex.selection.tidy_table import TidyTable, format_grid

# The last updates of a fit. Errors are a few percent larger than those of a full fit, for all sizes.
_DESCENT: dict[str, Any] = {"max_iter": 10, "tol": 2e-3}

# Number of swaps of a fit that starts from shapes or whose error decides on the suggestion, and of one that starts from
# the atoms of a similar fit.
_MANY_SWAPS = 30
_FEW_SWAPS = 5

# Swaps are tried with the best coder up to this number of supports, with a pursuit beyond.
_FAST_SUPPORTS = 300

PRECISION = 1e-3
"""Errors below this count as zero: shapes are not measured to a thousandth of their size."""

LEAST_STEP = 0.1
"""Smallest fraction by which one more atom per shape must lower the held-out error."""

# Increase of the description length per shape, in nats, that is too large to be random.
_MUCH_LONGER = 3.0


class ErrorSurface(TidyTable):
    """Held-out errors by size and sparsity, one fold per row.

    Parameters
    ----------
    rows : iterable of mapping
        The rows; each has a value for every column.
    n_dimensions : int
        Number of complex dimensions of centered shapes.

    Attributes
    ----------
    columns : tuple of str
        ``n_atoms``, ``n_nonzero``, ``fold``, ``rmse`` of the held-out shapes, ``train_rmse``, ``energy`` (mean squared
        modulus of their weights) and ``seconds``.
    """

    columns = ("n_atoms", "n_nonzero", "fold", "rmse", "train_rmse", "energy", "seconds")

    def __init__(self, rows: Any, n_dimensions: int) -> None:
        super().__init__(rows)
        self.n_dimensions = n_dimensions

    def sizes(self) -> list[int]:
        """Numbers of atoms that were tried, in ascending order.

        Returns
        -------
        list of int
            Numbers of atoms.
        """
        return sorted({row["n_atoms"] for row in self._rows})

    def sparsities(self, n_atoms: int | None = None) -> list[int]:
        """Numbers of atoms per shape that were tried, in ascending order.

        Parameters
        ----------
        n_atoms : int, optional
            Size to list; all sizes by default.

        Returns
        -------
        list of int
            Numbers of atoms per shape.
        """
        return sorted({row["n_nonzero"] for row in self._rows if n_atoms in (None, row["n_atoms"])})

    def rmse(self, n_atoms: int, n_nonzero: int) -> float:
        """Held-out error of one size and sparsity, over all folds.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Root of the mean over folds of the mean squared full distance; NaN where it was not measured.
        """
        squares = [row["rmse"] ** 2 for row in self._cell(n_atoms, n_nonzero)]
        return float(np.sqrt(np.mean(squares))) if squares else float("nan")

    def spread(self, n_atoms: int, n_nonzero: int) -> float:
        """Standard error of the held-out error, from its differences between folds.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Standard error; NaN where there are fewer than two folds.
        """
        rmses = [row["rmse"] for row in self._cell(n_atoms, n_nonzero)]
        return float(np.std(rmses, ddof=1) / np.sqrt(len(rmses))) if len(rmses) > 1 else float("nan")

    def description_length(self, n_atoms: int, n_nonzero: int) -> float:
        """Description length of a held-out shape in nats: of its code and of the residual.

        ``n log(mse)`` for the residual, a Gaussian of ``n`` complex dimensions, ``s log(n |a|² / mse)`` for ``s``
        weights of mean squared modulus ``|a|²`` at the precision of the residual, and ``log C(J, s)`` for the choice of
        ``s`` of ``J`` atoms.

        Parameters
        ----------
        n_atoms, n_nonzero : int
            Size and sparsity.

        Returns
        -------
        float
            Description length up to a constant; smaller is better.
        """
        cell = self._cell(n_atoms, n_nonzero)
        mse = max(self.rmse(n_atoms, n_nonzero), PRECISION) ** 2
        energy = max(float(np.mean([row["energy"] for row in cell])), mse / self.n_dimensions) if cell else float("nan")
        return self.n_dimensions * log(mse) + code_length(n_atoms, n_nonzero, self.n_dimensions * energy / mse)

    def _cell(self, n_atoms: int, n_nonzero: int) -> list[dict[str, Any]]:
        return [row for row in self._rows if row["n_atoms"] == n_atoms and row["n_nonzero"] == n_nonzero]

    def __str__(self) -> str:
        sparsities, cells = self.sparsities(), {}
        for n_atoms in self.sizes():
            errors = [self.rmse(n_atoms, n_nonzero) for n_nonzero in sparsities]
            cells[f"{n_atoms} atoms"] = ["" if np.isnan(error) else f"{100 * error:.2f}" for error in errors]
        return format_grid("atoms per shape", [str(n_nonzero) for n_nonzero in sparsities], cells)


def code_length(n_atoms: int, n_nonzero: int, precision: float) -> float:
    """Return the length of a code in nats: ``log(precision)`` per weight, and the choice of its atoms."""
    choices = lgamma(n_atoms + 1) - lgamma(n_nonzero + 1) - lgamma(n_atoms - n_nonzero + 1)
    return n_nonzero * log(precision) + choices


class SurfaceMeasurer:
    """Learns dictionaries from whitened pre-shapes and measures them, and calls `report` with every new row."""

    def __init__(
        self,
        rows: ComplexArray,
        folds: Sequence[tuple[IntArray, IntArray]],
        seeds: IntArray,
        n_threads: int | None,
        report: Callable[[dict[str, Any]], None],
    ) -> None:
        self._rows = rows
        self._folds = folds
        self._seeds = seeds
        self._n_threads = n_threads
        self._report = report
        self._measured: dict[tuple[int, int, int], dict[str, Any]] = {}
        self._learned: dict[tuple[int, int, int], LearnedDictionary] = {}

    @property
    def surface(self) -> ErrorSurface:
        """The measurements so far."""
        return ErrorSurface(self._measured.values(), self._rows.shape[1] - 1)

    def measure_size(self, n_atoms: int, sparsities: Sequence[int], stops_early: bool) -> None:
        """Measure one size at ascending sparsities; stop early where larger ones would not be chosen.

        That is where the description gets much longer, or longer twice, or where the error decreases by less than
        LEAST_STEP twice.
        """
        lengths: list[float] = []
        errors: list[float] = []
        for n_nonzero in sparsities:
            if n_nonzero > n_atoms:
                break
            self.measure(n_atoms, n_nonzero)
            lengths.append(self.surface.description_length(n_atoms, n_nonzero))
            errors.append(self.surface.rmse(n_atoms, n_nonzero))
            is_longer = lengths[-1] > min(lengths) + _MUCH_LONGER
            is_longer_twice = len(lengths) > 2 and lengths[-3] < lengths[-2] < lengths[-1]
            is_flat_twice = len(errors) > 2 and all(
                after > (1 - LEAST_STEP) * before for before, after in pairwise(errors[-3:])
            )
            if stops_early and (is_longer or is_longer_twice or is_flat_twice):
                break

    def measure(self, n_atoms: int, n_nonzero: int, is_decisive: bool = False) -> None:
        """Learn and measure one size and sparsity on all folds, with more swaps where its error is decisive."""
        for fold, (learned_from, held_out) in enumerate(self._folds):
            start = time.perf_counter()
            cell = (n_atoms, n_nonzero, fold)
            with single_blas_thread():
                learned = self._learn(self._rows[learned_from], cell, is_decisive)
                codes = encode_rows(self._rows[held_out], learned.atoms, n_nonzero, n_threads=self._n_threads)
                errors = residual_norms(self._rows[held_out], learned.atoms, codes)
            row = {
                "n_atoms": n_atoms,
                "n_nonzero": n_nonzero,
                "fold": fold,
                "rmse": float(np.sqrt(np.mean(errors.astype(np.float64) ** 2))),
                "train_rmse": learned.rmse,
                "energy": float(np.mean(np.abs(codes.coefs.astype(np.complex128)) ** 2)),
                "seconds": time.perf_counter() - start,
            }
            self._learned[cell], self._measured[cell] = learned, row
            self._report(row)

    def _learn(self, rows: ComplexArray, cell: tuple[int, int, int], is_decisive: bool) -> LearnedDictionary:
        """Try swaps with a fast coder, then descend with the best one."""
        n_atoms, n_nonzero, fold = cell
        generator = np.random.default_rng([int(self._seeds[fold]), n_atoms, n_nonzero, cell in self._learned])
        first = self._first_atoms(rows, cell, generator)
        is_fast = comb(n_atoms, n_nonzero) <= _FAST_SUPPORTS
        shared: dict[str, Any] = {"tie": 0.0, "generator": generator, "n_threads": self._n_threads}
        swapped = learn(
            rows,
            n_atoms,
            n_nonzero,
            init=first,
            coder="auto" if is_fast else "ormp",
            n_swaps=_MANY_SWAPS if is_decisive or isinstance(first, str) else _FEW_SWAPS,
            max_iter=1,
            **shared,
        )
        return learn(rows, n_atoms, n_nonzero, init=swapped.atoms, **_DESCENT, **shared)

    def _first_atoms(
        self, rows: ComplexArray, cell: tuple[int, int, int], generator: np.random.Generator
    ) -> ComplexArray | str:
        """Return atoms learned before: for this cell, for one atom per shape less, or for the nearest size."""
        n_atoms, n_nonzero, fold = cell
        before = self._learned.get(cell) or self._learned.get((n_atoms, n_nonzero - 1, fold))
        if before is not None:
            return before.atoms
        sizes = [size for size, *others in self._learned if others == [n_nonzero, fold]]
        if not sizes:
            return "spread"
        # A size that is too large by one often contains all atoms that are looked for.
        nearest = min(sizes, key=lambda size: (abs(size - n_atoms), -size))
        atoms = self._learned[nearest, n_nonzero, fold].atoms
        while len(atoms) > n_atoms:
            smaller = [np.delete(atoms, one, axis=0) for one in range(len(atoms))]
            atoms = min(smaller, key=lambda kept: float(self._squares(rows, kept, n_nonzero).sum()))
        if len(atoms) < n_atoms:
            squares = self._squares(rows, atoms, n_nonzero) + PRECISION**2
            added = generator.choice(len(rows), n_atoms - len(atoms), replace=False, p=squares / squares.sum())
            atoms = np.concatenate([atoms, rows[added]])
        return atoms

    def _squares(self, rows: ComplexArray, atoms: ComplexArray, n_nonzero: int) -> FloatArray:
        """Return the squared distances of rows to their approximations by a pursuit."""
        codes = encode_rows(rows, atoms, n_nonzero, method="ormp", n_threads=self._n_threads)
        return residual_norms(rows, atoms, codes).astype(np.float64) ** 2
