"""Codes of shapes over a fixed dictionary.

In: configurations and atoms (:func:`encode`), or whitened rows of both (:func:`encode_rows`). Out:
:class:`~shapelex.coding.codes.SparseCodes`. Codes do not depend on the number of threads.
"""

from typing import Any, Literal, TypedDict, Unpack, cast, overload

import numpy as np

from shapelex._typing import ArrayLike, ComplexArray
from shapelex._validation import as_configurations, removed_arguments
from shapelex.coding.blocks import code_all, encode_masked
from shapelex.coding.coders import Coding, as_rows, refuse_conflicts
from shapelex.coding.codes import CodePath, SparseCodes
from shapelex.exceptions import CoordinateCountError
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.storage import ArrayShapes
from shapelex.spaces import Space
from shapelex.spaces.base import PlainRows, row_norms


class _Options(TypedDict, total=False):
    width: int | None
    tol: float | None
    polish: bool | None
    weight_penalty: float
    mask: ArrayLike | None
    space: Space | None
    n_threads: int | None
    device: str


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    path: Literal[False] = ...,
    **options: Unpack[_Options],
) -> SparseCodes: ...


@overload
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = ...,
    method: str = ...,
    *,
    path: Literal[True],
    **options: Unpack[_Options],
) -> CodePath: ...


@removed_arguments(max_weight="weight_penalty keeps weights small")
def encode(
    X: ArrayLike,
    atoms: ArrayLike,
    n_nonzero: int | None = None,
    method: str = "auto",
    *,
    width: int | None = None,
    tol: float | None = None,
    path: bool = False,
    polish: bool | None = None,
    weight_penalty: float = 0.0,
    mask: ArrayLike | None = None,
    space: Space | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
) -> SparseCodes | CodePath:
    """Code shapes over a dictionary.

    For the pre-shape `z` of each shape (the centered shape of norm 1), looks for the weights that solve
    ``min |z - sum_j alpha_j atoms_j|  subject to  |alpha|_0 <= n_nonzero`` in the norm of the space (the sparse coding
    problem of the paper [1]_, section 4). The minimum is the full Procrustes distance of the shape to its
    reconstruction.

    Parameters
    ----------
    X : array_like of complex, shape (n_samples, n_coordinates), or real, shape (n_samples, n_coordinates, 2)
        Configurations; memory maps, Zarr arrays, HDF5 datasets and blocks of shapes are read piece by piece.
    atoms : array_like of complex, shape (n_atoms, n_coordinates)
        The dictionary. Atoms need not be pre-shapes, nor independent, nor different from zero.
    n_nonzero : int, optional
        Maximum number of atoms per shape. May be left out when `tol` is given.
    method : {"auto", "ormp", "omp", "beam", "exact"}
        How to search.

        - ``"ormp"``: order recursive matching pursuit (paper, section 5.2): each step takes the atom that
          lowers the error most.
        - ``"omp"``: orthogonal matching pursuit: each step takes the atom that correlates most with the residual.
        - ``"beam"``: ORMP that keeps the best `width` supports at each step, its own path always among them.
        - ``"exact"``: the true minimum over all supports, by enumeration.
        - ``"auto"``: ``"exact"`` where ``comb(n_atoms, n_nonzero)`` is at most 50,000 (up to 40 µs per shape),
          otherwise ``"beam"`` of width 8 with `polish`. On torch devices it is then ``"ormp"`` with `polish`, which has
          a fused kernel on NVIDIA GPUs; a `width`, ``polish=False`` or `tol` selects the beam there too.
    width : int, optional
        Number of supports that a beam keeps; 1 is ORMP, bit for bit. Default: 16 for ``"beam"``, 8 for ``"auto"``.
    tol : float, optional
        Stop at this full distance: a shape gets no more atoms once ``|z - sum_j alpha_j atoms_j| <= tol``.
    path : bool, default False
        Give the codes of every sparsity up to `n_nonzero`, from one pursuit: ``"ormp"``, which ``"auto"`` means
        here, or ``"omp"``.
    polish : bool, optional
        Improve the atoms that a search found: as long as the error falls, exchange one of them for another atom, the
        best of all pairs. By default only ``"auto"`` does so, where its search is not exact; a method that is named
        gives what its name says. With `tol`, a shape that reaches it also tries fewer atoms, and never gets more. Not
        possible with `path`, because exchanged supports do not contain each other.
    weight_penalty : float, default 0
        Price ``p`` of large weights: codes minimize ``|z - sum_j alpha_j atoms_j|^2 + p |alpha|^2``, supports as well
        as weights, so that similar atoms do not cancel each other. Errors are distances, without the price. With
        `tol`, the root of the whole sum must reach the target.
    mask : array_like of bool, shape (n_samples, n_coordinates), optional
        True for the landmarks that are present; the others may be NaN. Each shape is coded from the landmarks that
        it has, with shape and atoms re-centered on these, and at least three. Its weights are scaled for the
        completed shape, in which the missing landmarks are those of the reconstruction. By default NaN is an error,
        except in a :class:`~shapelex.ShapeSet` with ``missing="allow"``, where it marks the missing landmarks.
    space : Space, optional
        Space of the configurations. Default: landmarks.
    n_threads : int, optional
        Maximum number of threads. Default: all processors of this process. Few shapes are coded by one thread.
    device : str, default "cpu"
        Where to code: ``"cpu"`` by compiled kernels, ``"cuda"`` or any other torch device, ``"torch"`` for torch on the
        CPU. Supports of one method are the same everywhere, except where two are equally good to rounding, or atoms are
        nearly dependent.

    Returns
    -------
    SparseCodes or CodePath
        The codes; with ``path=True`` a :class:`~shapelex.coding.CodePath`, whose item `s` has the codes of
        sparsity `s`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the method is not known.
    SearchTooLargeError
        If an exact search would take too long.
    NonFiniteError
        If a coordinate is NaN or infinite.
    DeviceError
        If there is no such device.

    Notes
    -----
    A pursuit stops early when no atom lowers the error by more than rounding, skips atoms that the chosen
    ones span (to a distance of 1e-4 of their norm in double precision, 3e-3 in single), and settles ties for the
    lowest index. ``"exact"`` is the minimum over the supports that are independent in this sense, to a few roundings
    of the squared norm.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.coding import decode, encode
    >>> triangle = np.array([1, 1j, -1, -1j]) / 2
    >>> kite = np.array([2, 1j, -1, -1j])
    >>> codes = encode([3 * triangle + 5], [triangle, kite], n_nonzero=1)
    >>> np.round(codes.toarray(), 6) + 0
    array([[1.+0.j, 0.+0.j]])
    """
    refuse_conflicts(mask=mask is not None, path=path, polish=polish, tol=tol, device=device)
    shapes = as_shapes(X, space)
    shapes.space.check_space_of(atoms, "atoms")
    atom_rows = shapes.space.whiten(as_configurations(atoms, name="atoms", n_coordinates=shapes.shape[1])[0])
    coding = Coding(
        atom_rows, n_nonzero, method, width, tol, path, polish, weight_penalty, n_threads=n_threads, device=device
    )
    return code_all(shapes, coding) if mask is None else encode_masked(shapes, mask, coding)


def encode_rows(
    rows: ComplexArray, atom_rows: ComplexArray, n_nonzero: int | None = None, **settings: Any
) -> SparseCodes:
    """Code whitened rows of any norm over whitened atoms; `settings` are those of :class:`Coding`.

    An error target `tol` is relative to the norms of the rows, which must be finite (not checked).
    """
    return cast(SparseCodes, _code_rows(rows, Coding(as_rows(atom_rows, "atom_rows"), n_nonzero, **settings)))


def encode_path_rows(
    rows: ComplexArray, atom_rows: ComplexArray, n_nonzero: int | None = None, **settings: Any
) -> CodePath:
    """Code whitened rows at every sparsity up to `n_nonzero`, by one pursuit; see :func:`encode_rows`."""
    return cast(CodePath, _code_rows(rows, Coding(as_rows(atom_rows, "atom_rows"), n_nonzero, path=True, **settings)))


def _code_rows(rows: ComplexArray, coding: Coding) -> SparseCodes | CodePath:
    refuse_conflicts(path=coding.path, polish=coding.polish, tol=coding.tol, device=coding.device)
    norms = row_norms(as_rows(rows, "rows"))
    if rows.shape[1] != coding.atom_rows.shape[1]:
        raise CoordinateCountError(
            f"rows and atom_rows must have the same number of coordinates, got {rows.shape[1]} and "
            f"{coding.atom_rows.shape[1]}."
        )
    # A row of zeros gets no atoms.
    scales = 1 / np.where(norms > 0, norms, 1).astype(np.float64)
    codes = code_all(ArrayShapes(rows, PlainRows(rows.shape[1]), scales=scales, name="rows"), coding)
    factors = norms.astype(codes.coefs.real.dtype)
    if isinstance(codes, CodePath):
        return CodePath(codes.support, codes.coefs * factors[:, None, None], codes.n_atoms)
    return SparseCodes._from_coder(codes.support, codes.coefs * factors[:, None], codes.n_atoms)
