"""Sparse codes, codes as tables, and shapes from codes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from shapelex._arrays import keeps_array_kind
from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, check_choice, check_count, name_rows
from shapelex.exceptions import CodesError
from shapelex.kernels.statistics import reconstruct_batch
from shapelex.shapes import ShapeSet
from shapelex.shapes.summary import html_text

if TYPE_CHECKING:
    import pandas as pd


LAYOUTS = ("slots", "atoms")

# Names of columns that hold codes and errors, not what is known of the shapes.
OWN_COLUMNS = re.compile(r"error|n_used|n_atoms|(atom|modulus|angle)_a?\d+")


def shape_columns(shapes: ShapeSet) -> dict[str, Any]:
    """Return what is known of shapes as named columns; names that codes have themselves begin with ``meta``."""
    return dict(shapes.columns.described(lambda name: OWN_COLUMNS.fullmatch(name) is not None))


def code_columns(
    codes: "SparseCodes", errors: FloatArray | None, columns: Mapping[str, Any], layout: str = "slots"
) -> dict[str, Any]:
    """Return codes as named columns, one row per shape, after all that is known of the shapes, and the errors if given.

    Layout ``"slots"`` has for each of the atoms that a shape may use ``atom_1``, ``modulus_1``, ``angle_1``, …, the
    largest weight first; ``"atoms"`` has for every atom of the dictionary ``modulus_a0``, ``angle_a0``, …, modulus 0
    and no angle where a shape does not use it. Angles are in radians.
    """
    check_choice(layout, LAYOUTS, "layout")
    table = {**columns, **({} if errors is None else {"error": errors}), "n_used": codes.counts()}
    if layout == "atoms":
        dense = codes.toarray()
        for atom in range(codes.n_atoms):
            weights = dense[:, atom]
            table[f"modulus_a{atom}"] = np.abs(weights)
            table[f"angle_a{atom}"] = np.where(weights != 0, np.angle(weights), np.nan)
        return table
    table["n_atoms"] = np.full(len(codes), codes.n_atoms)
    order = np.argsort(-np.abs(codes.coefs), axis=1, kind="stable")
    support, coefs = np.take_along_axis(codes.support, order, axis=1), np.take_along_axis(codes.coefs, order, axis=1)
    for slot in range(codes.n_nonzero):
        is_empty = support[:, slot] < 0
        parts = {"atom": support[:, slot], "modulus": np.abs(coefs[:, slot]), "angle": np.angle(coefs[:, slot])}
        table |= {f"{what}_{slot + 1}": np.ma.masked_array(part, mask=is_empty) for what, part in parts.items()}
    return table


_ROWS_SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class SparseCodes:
    """Sparse codes of a set of shapes.

    Row `k` says that shape `k` is ``sum_l coefs[k, l] * atoms[support[k, l]]`` (paper [1]_, section 5.2,
    "Sparse coding with ORMP", equation 35).

    Parameters
    ----------
    support : array_like of int, shape (n_samples, n_nonzero)
        Atoms used by each shape, in the order in which they were chosen, then -1. Kept as int32.
    coefs : array_like of complex, shape (n_samples, n_nonzero)
        Their weights; 0 where the support is -1. complex64 stays complex64.
    n_atoms : int
        Number of atoms of the dictionary.

    Attributes
    ----------
    n_nonzero : int
        Maximum number of atoms per shape: the width of `support`.
    nbytes : int
        Memory of the two arrays.

    Raises
    ------
    CodesError
        If the arrays do not fit together, name an atom that does not exist, or name one twice in a row.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> from shapelex.coding import SparseCodes
    >>> codes = SparseCodes([[2, 0], [1, -1]], [[1j, 0.5], [1, 0]], n_atoms=3)
    >>> codes.toarray()
    array([[0.5+0.j, 0. +0.j, 0. +1.j],
           [0. +0.j, 1. +0.j, 0. +0.j]])
    """

    support: IntArray
    coefs: ComplexArray
    n_atoms: int

    def __post_init__(self) -> None:
        n_atoms = check_count(self.n_atoms, 1, "n_atoms")
        array, coefs = np.asarray(self.support), _as_coefs(self.coefs)
        if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
            raise CodesError(
                f"support must be a 2-D array of integers (n_samples, n_nonzero), got shape {array.shape}, "
                f"dtype {array.dtype}."
            )
        if array.shape != coefs.shape:
            raise CodesError(f"support and coefs must have one shape, got {array.shape} and {coefs.shape}.")
        last, ordered = n_atoms - 1, np.sort(array, axis=1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        for is_bad, rule in (
            ((array < -1) | (array > last), f"support must lie between -1 and n_atoms - 1 = {last}, but does not"),
            ((array < 0) & (coefs != 0), "coefs must be 0 where support is -1, but are not"),
            (repeated, "support must name an atom at most once per row, but does not"),
        ):
            rows: BoolArray = np.any(is_bad, axis=1)
            if rows.any():
                raise CodesError(f"{rule} in {name_rows(rows)}.")
        self._store(np.ascontiguousarray(array, dtype=np.int32), coefs, n_atoms)

    def _store(self, support: IntArray, coefs: ComplexArray, n_atoms: int) -> None:
        for name, array in (("support", support.view()), ("coefs", coefs.view())):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "n_atoms", n_atoms)

    @classmethod
    def _from_coder(cls, support: IntArray, coefs: ComplexArray, n_atoms: int) -> "SparseCodes":
        """Codes whose arrays are right by construction: no second look at every entry."""
        codes = object.__new__(cls)
        codes._store(support, coefs, n_atoms)
        return codes

    @classmethod
    def from_dense(cls, dense: ArrayLike, n_nonzero: int | None = None) -> "SparseCodes":
        """Codes from a matrix of weights.

        Parameters
        ----------
        dense : array_like of complex, shape (n_samples, n_atoms)
            Weights, mostly zero.
        n_nonzero : int, optional
            Width of the support. Default: as many as the fullest row needs.

        Returns
        -------
        SparseCodes
            The codes; atoms are in ascending order.

        Raises
        ------
        CodesError
            If a row has more than `n_nonzero` non-zero weights.
        """
        weights = _as_coefs(dense)
        counts = np.count_nonzero(weights, axis=1)
        fullest = int(counts.max(initial=0))
        width = max(fullest, 1) if n_nonzero is None else check_count(n_nonzero, 1, "n_nonzero")
        if fullest > width:
            raise CodesError(
                f"n_nonzero={width} is too small: {name_rows(counts > width)} of dense use up to {fullest} atoms."
            )
        support = np.full((len(weights), width), -1, dtype=np.int32)
        coefs = np.zeros((len(weights), width), dtype=weights.dtype)
        is_used = np.arange(width) < counts[:, None]
        rows, atoms = np.nonzero(weights)
        support[is_used], coefs[is_used] = atoms, weights[rows, atoms]
        return cls._from_coder(support, coefs, weights.shape[1])

    @classmethod
    def concatenate(cls, parts: Sequence["SparseCodes"]) -> "SparseCodes":
        """Stack sets of codes over one dictionary; narrower supports are padded.

        Parameters
        ----------
        parts : sequence of SparseCodes
            Sets with the same `n_atoms`.

        Returns
        -------
        SparseCodes
            All rows, in order.

        Raises
        ------
        CodesError
            If there is no part, or the parts belong to dictionaries of different sizes.
        """
        if not parts:
            raise CodesError("parts must hold at least one set of codes, got none.")
        sizes = {part.n_atoms for part in parts}
        if len(sizes) > 1:
            raise CodesError(f"parts must share one n_atoms, got {sorted(sizes)}.")
        width = max(part.n_nonzero for part in parts)
        padding = [((0, 0), (0, width - part.n_nonzero)) for part in parts]
        support = [np.pad(part.support, pad, constant_values=-1) for part, pad in zip(parts, padding, strict=True)]
        coefs = [np.pad(part.coefs, pad) for part, pad in zip(parts, padding, strict=True)]
        return cls._from_coder(np.concatenate(support), np.concatenate(coefs), parts[0].n_atoms)

    @property
    def n_nonzero(self) -> int:
        """Most atoms that a shape may use."""
        return int(self.support.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the two arrays, in bytes."""
        return int(self.support.nbytes + self.coefs.nbytes)

    def counts(self) -> IntArray:
        """Number of atoms that each shape uses.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Between 0 and `n_nonzero`.
        """
        counts: IntArray = np.count_nonzero(self.support >= 0, axis=1)
        return counts

    def toarray(self) -> ComplexArray:
        """Weights as a dense matrix.

        Returns
        -------
        ndarray of complex, shape (n_samples, n_atoms)
            Row `k` holds the weights of shape `k`.
        """
        dense = np.zeros((len(self), self.n_atoms), dtype=self.coefs.dtype)
        rows, columns = np.nonzero(self.support >= 0)
        dense[rows, self.support[rows, columns]] = self.coefs[rows, columns]
        return dense

    def tocsr(self) -> sparse.csr_array:
        """Weights as a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_array of complex, shape (n_samples, n_atoms)
            Row `k` holds the weights of shape `k`, columns sorted.
        """
        is_used = self.support >= 0
        starts = np.concatenate(([0], np.cumsum(is_used.sum(axis=1))))
        matrix = sparse.csr_array((self.coefs[is_used], self.support[is_used], starts), shape=(len(self), self.n_atoms))
        matrix.sort_indices()
        return matrix

    def to_dataframe(
        self, shapes: ShapeSet | None = None, *, errors: ArrayLike | None = None, layout: str = "slots"
    ) -> "pd.DataFrame":
        """Return the codes as a pandas table, one row per shape, with the columns that ``shapelex encode`` writes.

        Parameters
        ----------
        shapes : ShapeSet, optional
            The shapes, in the same order: their ids, labels, series and metadata are the first columns. By default the
            only such column is ``id``, the row numbers.
        errors : array_like of float, shape (n_samples,), optional
            Errors of the shapes, such as those of :meth:`shapelex.ShapeDictionary.errors`, for the column ``error``,
            which is left out without them.
        layout : {"slots", "atoms"}, default "slots"
            ``"slots"`` has ``atom_1``, ``modulus_1``, ``angle_1``, … for the atoms that a shape uses, the largest
            weight first; entries are missing where a shape uses fewer. ``"atoms"`` has ``modulus_a0``, ``angle_a0``, …
            for every atom of the dictionary. Angles are in radians.

        Returns
        -------
        pandas.DataFrame
            The table.

        Raises
        ------
        CodesError
            If there is not one shape or error for each row.

        Examples
        --------
        >>> from shapelex.coding import SparseCodes
        >>> codes = SparseCodes([[2, 0], [1, -1]], [[1j, 0.5], [1, 0]], n_atoms=3)
        >>> codes.to_dataframe()[["id", "n_used", "atom_1", "modulus_1", "atom_2"]]
          id  n_used  atom_1  modulus_1  atom_2
        0  0       2       2        1.0       0
        1  1       1       1        1.0    <NA>
        """
        import pandas as pd

        columns = {"id": np.arange(len(self)).astype(str)} if shapes is None else shape_columns(shapes)
        distances = None if errors is None else np.asarray(errors)
        for name, part in (("shapes", columns["id"]), ("errors", distances)):
            if part is not None and part.shape != (len(self),):
                raise CodesError(f"{name} must have one entry for each of {len(self)} codes, got shape {part.shape}.")
        table = code_columns(self, distances, columns, layout)
        return pd.DataFrame({name: _as_series(column) for name, column in table.items()})

    def __len__(self) -> int:
        return int(self.support.shape[0])

    def __getitem__(self, rows: Any) -> "SparseCodes":
        if isinstance(rows, tuple) or rows is None or rows is Ellipsis:
            raise CodesError("codes are taken by rows alone: write codes[rows], and support or coefs for columns.")
        if isinstance(rows, int | np.integer):
            raise CodesError(f"codes are taken by slices or arrays of rows: write codes[{rows}:{rows + 1}].")
        return self._from_coder(self.support[rows], self.coefs[rows], self.n_atoms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseCodes):
            return NotImplemented
        return (
            self.n_atoms == other.n_atoms
            and np.array_equal(self.support, other.support)
            and np.array_equal(self.coefs, other.coefs)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"SparseCodes(n_samples={len(self)}, n_nonzero={self.n_nonzero}, n_atoms={self.n_atoms}, "
            f"dtype={self.coefs.dtype})"
        )

    def _repr_html_(self) -> str:
        """Return the codes as notebooks show them: what ``repr`` says, and the first rows as a table."""
        table = self[:_ROWS_SHOWN].to_dataframe().to_html(index=False, float_format="%.4g", na_rep="", border=0)
        more = f"<small>{_ROWS_SHOWN} of {len(self)} rows</small>" if len(self) > _ROWS_SHOWN else ""
        return f"<div>{html_text(repr(self))}{table}{more}</div>"


@dataclass(frozen=True, eq=False)
class CodePath:
    """Codes of every sparsity up to `n_nonzero`, from one pursuit.

    A greedy pursuit is nested: its first `s` atoms are its choice for sparsity `s`.

    Parameters
    ----------
    support : ndarray of int32, shape (n_samples, n_nonzero)
        Atoms in the order of choice, then -1.
    coefs : ndarray of complex, shape (n_samples, n_nonzero, n_nonzero)
        ``coefs[:, s - 1, :s]`` are the weights of the first `s` atoms.
    n_atoms : int
        Number of atoms of the dictionary.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import encode_path_rows
    >>> path = encode_path_rows(np.array([[0.8, 0.6j]]), np.eye(2, dtype=complex), 2)
    >>> path[1].toarray()
    array([[0.8+0.j, 0. +0.j]])
    >>> len(path)
    2
    """

    support: IntArray
    coefs: ComplexArray
    n_atoms: int

    def __len__(self) -> int:
        return int(self.support.shape[1])

    def __iter__(self) -> Iterator[SparseCodes]:
        return (self[n_nonzero] for n_nonzero in range(1, len(self) + 1))

    def __getitem__(self, n_nonzero: int) -> SparseCodes:
        if not 1 <= n_nonzero <= len(self):
            raise IndexError(f"n_nonzero must be between 1 and {len(self)}, got {n_nonzero}.")
        return SparseCodes._from_coder(
            np.ascontiguousarray(self.support[:, :n_nonzero]),
            np.ascontiguousarray(self.coefs[:, n_nonzero - 1, :n_nonzero]),
            self.n_atoms,
        )


def _as_series(column: Any) -> Any:
    """Return a column for pandas; masked integers stay integers."""
    import pandas as pd

    if not isinstance(column, np.ma.MaskedArray):
        return column
    if column.dtype.kind == "i":
        return pd.arrays.IntegerArray(column.data.copy(), np.ma.getmaskarray(column).copy())
    return column.filled(np.nan)


def _as_coefs(coefs: ArrayLike) -> ComplexArray:
    array = np.asarray(coefs)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.number):
        raise CodesError(f"coefs must be a 2-D array of numbers, got shape {array.shape}, dtype {array.dtype}.")
    is_single = array.dtype in (np.dtype(np.complex64), np.dtype(np.float32))
    return np.ascontiguousarray(array, dtype=np.complex64 if is_single else np.complex128)


@keeps_array_kind
def decode(codes: SparseCodes, atoms: ArrayLike) -> ComplexArray:
    """Reconstruct configurations ``sum_j alpha_j atoms_j``.

    Parameters
    ----------
    codes : SparseCodes
        Codes of the shapes.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary they were coded over.

    Returns
    -------
    ndarray of complex, shape (n_samples, n_coordinates)
        Configurations; centered when the atoms are.

    Raises
    ------
    CodesError
        If the codes belong to another number of atoms.

    Examples
    --------
    >>> from shapelex.coding import SparseCodes, decode
    >>> decode(SparseCodes([[1]], [[2j]], n_atoms=2), [[1, -1 + 0j], [1, 1j]])
    array([[ 0.+2.j, -2.+0.j]])
    """
    atom_rows, _ = as_configurations(atoms, name="atoms")
    return _sum_atoms(codes, atom_rows, np.result_type(codes.coefs.dtype, atom_rows.dtype))


def squared_residuals(rows: ComplexArray, atom_rows: ComplexArray, codes: SparseCodes) -> FloatArray:
    """Squared norms of ``rows - sum_j alpha_j atom_rows_j``, without cancellation.

    Parameters
    ----------
    rows : ndarray of complex, shape (n_samples, n_coordinates)
        Whitened rows.
    atom_rows : ndarray of complex, shape (n_atoms, n_coordinates)
        Whitened atoms.
    codes : SparseCodes
        Codes of the rows.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        For rows of norm 1 coded by least squares, squared full distances.

    Raises
    ------
    CodesError
        If the codes belong to another number of atoms or rows.
    """
    if len(codes) != rows.shape[0]:
        raise CodesError(f"codes and rows must have the same number of rows, got {len(codes)} and {rows.shape[0]}.")
    residuals = rows - _sum_atoms(codes, atom_rows, np.result_type(rows.dtype, atom_rows.dtype, codes.coefs.dtype))
    reals = residuals.view(residuals.real.dtype)
    squares: FloatArray = np.einsum("kn,kn->k", reals, reals)
    return squares


def residual_norms(rows: ComplexArray, atom_rows: ComplexArray, codes: SparseCodes) -> FloatArray:
    """Norms of ``rows - sum_j alpha_j atom_rows_j``; see :func:`squared_residuals`.

    Parameters
    ----------
    rows, atom_rows, codes
        As in :func:`squared_residuals`.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        For rows of norm 1 coded by least squares, full distances.
    """
    return np.sqrt(squared_residuals(rows, atom_rows, codes))


def _sum_atoms(codes: SparseCodes, atom_rows: ComplexArray, dtype: np.dtype[np.complexfloating]) -> ComplexArray:
    """Return the sums of atoms, computed in a precision."""
    if codes.n_atoms != atom_rows.shape[0]:
        raise CodesError(f"codes are over {codes.n_atoms} atoms, but {atom_rows.shape[0]} were given.")
    atoms = np.ascontiguousarray(atom_rows, dtype=dtype)
    coefs = np.ascontiguousarray(codes.coefs, dtype=dtype)
    sums: ComplexArray = np.empty((len(codes), atoms.shape[1]), dtype=dtype)
    arrays = (array.view(atoms.real.dtype) for array in (coefs, atoms, sums))
    reconstruct_batch(np.ascontiguousarray(codes.support), *arrays)
    return sums
