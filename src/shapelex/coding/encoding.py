"""Codes of shapes over a fixed dictionary, block by block: in memory, stored, on a device, or with missing landmarks.

Beyond what is asked for, memory does not grow with the number of shapes, and codes do not depend on the number of
threads. A shape with missing landmarks is coded from the landmarks ``P`` that it has:
``|P (z - b - sum_j alpha_j atoms_j)|`` is minimized over sparse weights and the translation ``b``, so shape and atoms
are centered on ``P``, and coded there as always.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

import numpy as np

from shapelex._typing import ArrayLike, BoolArray, ComplexArray, FloatArray, IntArray
from shapelex._validation import as_configurations, check_count, check_present, name_rows, removed_arguments
from shapelex.coding.coders import CodedBlock, Coding, as_rows, check_nonzero, refuse_conflicts
from shapelex.coding.codes import CodePath, SparseCodes, decode
from shapelex.coding.cpu import RowCoder, count_threads, run_blocks
from shapelex.coding.torch.device_coder import DeviceCoder, DeviceWhitening
from shapelex.exceptions import CoordinateCountError, NonFiniteError, ShapeInputError
from shapelex.geometry.missing import check_landmarks
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.storage import ArrayShapes, Block, Shapes
from shapelex.spaces import Landmarks, Space
from shapelex.spaces.base import PlainRows, row_norms

if TYPE_CHECKING:
    from torch import Tensor

# Shapes of an array whose errors are computed together.
_BLOCK_ROWS = 1 << 16


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
    coding = Coding(atom_rows, n_nonzero, method, width, tol, path, polish, weight_penalty, n_threads, device)
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


def coded_blocks(shapes: Shapes, coding: Coding, *, with_errors: bool = True) -> Iterator[CodedBlock]:
    """Yield the codes of all shapes, in order; those of Dask arrays are computed on the workers.

    Where landmarks may be missing, blocks in which some are missing are coded by those that are present.
    """
    if coding.n_threads is not None:
        check_count(coding.n_threads, 1, "n_threads")
    if shapes.is_remote:
        from shapelex.coding.dask_codes import coded_chunks

        return coded_chunks(shapes, coding, with_errors)
    if coding.device == "cpu":
        coder = RowCoder(coding, shapes.space, np.result_type(shapes.dtype, coding.atom_rows.dtype))
        return _code_on_cpu(coder, shapes, coding, with_errors)
    if isinstance(shapes, ArrayShapes) and any(_is_incomplete(block, shapes, coding) for block in shapes.blocks()):
        return (_code_incomplete(block, coding, with_errors) for block in shapes.blocks())
    return (
        CodedBlock(start, support.cpu().numpy(), coefs.cpu().numpy(), squares.cpu().numpy(), len(coding.atom_rows))
        for start, support, coefs, squares in _code_on_device(shapes, coding, with_errors)
    )


def shape_errors(shapes: Shapes, coding: Coding) -> FloatArray:
    """Return the full distances of all shapes to their reconstructions."""
    return np.concatenate([block.errors for block in coded_blocks(shapes, coding)])


def code_all(shapes: Shapes, coding: Coding) -> SparseCodes | CodePath:
    """Return the codes of all shapes, in memory."""
    blocks = list(coded_blocks(shapes, coding, with_errors=False))
    both: tuple[list[Any], list[Any]] = [block.support for block in blocks], [block.coefs for block in blocks]
    support, coefs = (parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in both)
    n_atoms = len(coding.atom_rows)
    return CodePath(support, coefs, n_atoms) if coding.path else SparseCodes._from_coder(support, coefs[:, 0], n_atoms)


def _is_incomplete(block: Block, shapes: Shapes, coding: Coding) -> bool:
    """Tell whether a block has landmarks that are missing, and may be."""
    if coding.path or not (shapes.allows_missing and isinstance(shapes.space, Landmarks)):
        return False
    # One sum is far cheaper than a mask; infinite coordinates that cancel out only cost the second look.
    with np.errstate(over="ignore", invalid="ignore"):
        is_suspect = bool(np.isnan(block.configurations.sum()))
    return is_suspect and bool(np.isnan(block.configurations).any())


def _code_on_cpu(coder: RowCoder, shapes: Shapes, coding: Coding, with_errors: bool) -> Iterator[CodedBlock]:
    # Errors are often all that is kept of a block, so the codes of a large array do not have to exist at once.
    n_rows = _BLOCK_ROWS if with_errors and isinstance(shapes, ArrayShapes) else None
    for block in shapes.blocks(n_rows):
        if _is_incomplete(block, shapes, coding):
            yield _code_incomplete(block, coding, with_errors)
            continue
        coded = coder.allocate(block.start, len(block), with_squares=with_errors)
        n_threads = count_threads(coding.n_threads, coder.cost_ns * len(block))
        run_blocks(partial(coder.code_part, block, coded), len(block), coder.part_rows, n_threads)
        yield coded


def dense_codes_on_device(shapes: Shapes, coding: Coding) -> "Tensor":
    """Return the weights of all shapes as a dense matrix on the device that `coding` names."""
    import torch

    from shapelex.kernels.torch.pursuit import densify

    blocks, n_atoms = _code_on_device(shapes, coding, with_errors=False), len(coding.atom_rows)
    return torch.cat([densify(support, coefs[:, -1], n_atoms) for _, support, coefs, _ in blocks])


def shape_errors_on_device(shapes: Shapes, coding: Coding) -> "Tensor":
    """Return what :func:`shape_errors` does, on the device that `coding` names."""
    import torch

    return torch.cat([squares for *_, squares in _code_on_device(shapes, coding)]).sqrt()


def _code_on_device(
    shapes: Shapes, coding: Coding, with_errors: bool = True
) -> "Iterator[tuple[int, Tensor, Tensor, Tensor]]":
    """Yield the number of the first shape, and supports, weights and squared errors on the device, of all blocks."""
    coder = DeviceCoder(coding, np.result_type(shapes.dtype, coding.atom_rows.dtype))
    from shapelex.kernels.torch.pursuit import squared_errors

    atoms = coder.to_device(coding.atom_rows)
    whitening = DeviceWhitening(shapes.space, coder.to_device, shapes.name)
    for start, sent in coder.upload(shapes):
        rows = whitening.preshapes(sent, shapes.dtype, shapes.first_row + start)
        support, coefs = coder.code(rows)
        squares = squared_errors(rows, atoms, support, coefs[:, -1]) if with_errors else coefs.real.new_empty(0)
        yield start, support, coefs, squares


def encode_masked(shapes: Shapes, mask: ArrayLike, coding: Coding) -> SparseCodes:
    """Code shapes from the landmarks that `mask` says are present; see :func:`shapelex.encode`."""
    check_landmarks(shapes.space, "mask leaves out")
    present = np.atleast_2d(np.asarray(mask))
    if present.dtype != bool:
        raise ShapeInputError(
            f"mask must be an array of booleans, True for landmarks that are present, got dtype {present.dtype}."
        )
    if present.shape != shapes.shape:
        raise ShapeInputError(
            f"mask must have one entry per landmark of X, shape {shapes.shape}, got {np.shape(mask)}."
        )
    coded = []
    for block in shapes.blocks():
        kept = present[block.start : block.start + len(block)]
        bad = kept & ~np.isfinite(block.configurations)
        if bad.any():
            raise NonFiniteError(
                f"{block.name} has NaN or infinite landmarks that mask says are present, in "
                f"{name_rows(bad.any(axis=1), block.first_row)}."
            )
        coded.append(_code_incomplete(block, coding, False, kept).codes)
    return SparseCodes.concatenate(coded)


def _code_incomplete(block: Block, coding: Coding, with_errors: bool, present: BoolArray | None = None) -> CodedBlock:
    """Code the shapes of a block from the landmarks that are present; by default NaN marks those that are not.

    Errors are those on these landmarks; weights are scaled for the completed shapes.
    """
    present = ~np.isnan(block.configurations) if present is None else present
    coded, completed = code_present(block, present, coding, with_errors=with_errors)
    is_incomplete = ~present.all(axis=1)
    coded.coefs[is_incomplete] /= row_norms(completed[is_incomplete])[:, None, None]
    return coded


def code_present(
    block: Block, present: BoolArray, coding: Coding, *, with_errors: bool
) -> tuple[CodedBlock, ComplexArray]:
    """Code the landmarks that are present, as pre-shapes; shapes that have the same landmarks share a coder.

    Also returns all landmarks, centered: those that are present as they were coded, the others as reconstructed.
    """
    check_present(present, block.name, block.first_row)
    atom_rows = coding.atom_rows
    dtype = np.result_type(block.configurations.dtype, atom_rows.dtype)
    # One width for all, however few landmarks some shapes have.
    n_nonzero = check_nonzero(coding.n_nonzero, len(atom_rows), atom_rows.shape[1], coding.tol)
    support: IntArray = np.empty((len(block), n_nonzero), dtype=np.int32)
    coefs: ComplexArray = np.empty((len(block), 1, n_nonzero), dtype=dtype)
    squares = np.empty(len(block) if with_errors else 0, dtype=coefs.real.dtype)
    completed: ComplexArray = np.empty(present.shape, dtype=dtype)
    for numbers, landmarks in equal_masks(present):
        atoms = Landmarks(len(landmarks)).whiten(atom_rows[:, landmarks]).astype(dtype)
        rows = _preshapes_on(block, numbers, landmarks)
        here = replace(coding, atom_rows=atoms, n_nonzero=n_nonzero)
        (part,) = coded_blocks(ArrayShapes(rows), here, with_errors=with_errors)
        support[numbers], coefs[numbers] = part.support, part.coefs
        if with_errors:
            squares[numbers] = part.squares
        rebuilt = decode(part.codes, atom_rows)
        # Sums of columns in another order of memory round a row by how many others there are.
        rebuilt -= np.ascontiguousarray(rebuilt[:, landmarks]).mean(axis=1, keepdims=True)
        rebuilt[:, landmarks] = rows
        completed[numbers] = rebuilt - rebuilt.mean(axis=1, keepdims=True)
    return CodedBlock(block.start, support, coefs, squares, len(atom_rows)), completed


def equal_masks(present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the numbers of the shapes that have the same landmarks, and these landmarks."""
    patterns, pattern_of, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(pattern_of.reshape(-1), kind="stable")
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), map(np.flatnonzero, patterns), strict=True)


def _preshapes_on(block: Block, numbers: IntArray, landmarks: IntArray) -> ComplexArray:
    """Return pre-shapes of some shapes, on the landmarks that they have."""
    space = Landmarks(len(landmarks))
    try:
        return space.whitened_preshapes(block.configurations[np.ix_(numbers, landmarks)], block.name)
    except ShapeInputError:
        # Raised again for the first one, with its number in the set.
        for number in numbers.tolist():
            space.whitened_preshapes(block.configurations[number, landmarks], block.name, block.first_row + number)
        raise
