"""Held-out errors of dictionaries of many sizes and sparsities.

Input: whitened rows and folds. Output: errors of the held-out rows for each size, sparsity and fold, and the
description length of a shape. A dictionary is learned for each size and sparsity: a dictionary learned for more atoms
per shape than the shapes consist of does not find their atoms, and codes over one learned for fewer have much larger
errors than necessary. Sparsities that are clearly too large are left out.
"""

import time
from collections.abc import Callable, Sequence
from math import lgamma, log
from typing import Any

import numpy as np

from shapelex._blas import single_blas_thread
from shapelex._typing import ComplexArray, IntArray
from shapelex.coding import encode_rows, residual_norms
from shapelex.learning import learn
from shapelex.selection.tidy_table import TidyTable, format_grid

# Quick fits: their errors are a few percent larger than those of a full fit, for all sizes.
_QUICK: dict[str, Any] = {"n_swaps": 30, "max_iter": 50, "tol": 1e-4, "tie": 0.0}

PRECISION = 1e-3
"""Errors below this count as zero: shapes are not measured to a thousandth of their size."""

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
        self._measured: list[dict[str, Any]] = []

    @property
    def surface(self) -> ErrorSurface:
        """The measurements so far."""
        return ErrorSurface(self._measured, self._rows.shape[1] - 1)

    def measure_size(self, n_atoms: int, sparsities: Sequence[int], stops_early: bool) -> None:
        """Measure one size at ascending sparsities; stop early where the description gets much longer, or twice."""
        lengths: list[float] = []
        for n_nonzero in sparsities:
            if n_nonzero > n_atoms:
                break
            self.measure(n_atoms, n_nonzero)
            lengths.append(self.surface.description_length(n_atoms, n_nonzero))
            is_longer = len(lengths) > 1 and lengths[-1] > min(lengths) + _MUCH_LONGER
            is_longer_twice = len(lengths) > 2 and lengths[-3] < lengths[-2] < lengths[-1]
            if stops_early and (is_longer or is_longer_twice):
                break

    def measure(self, n_atoms: int, n_nonzero: int) -> None:
        """Learn and measure one size and sparsity on all folds."""
        for fold, ((learned_from, held_out), seed) in enumerate(zip(self._folds, self._seeds, strict=True)):
            start = time.perf_counter()
            with single_blas_thread():
                learned = learn(
                    self._rows[learned_from],
                    n_atoms,
                    n_nonzero,
                    **_QUICK,
                    generator=int(seed),
                    n_threads=self._n_threads,
                )
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
            self._measured.append(row)
            self._report(row)
