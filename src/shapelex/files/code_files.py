"""Files of codes: tables for statistics (``.csv .tsv .xlsx .parquet``), or the arrays (``.npz``, ``.zarr``).

A table has the columns of :mod:`shapelex.coding.codes`; archives and Zarr folders hold the arrays ``support``,
``coefs`` and ``errors`` and one for each column, whose names are in the header.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shapelex._extras import load_zarr
from shapelex._typing import FloatArray
from shapelex.exceptions import CodesError
from shapelex.files.archive import check_header, read_archive, write_archive
from shapelex.files.atomic import recover, replace_folder, write_atomically
from shapelex.files.guards import LARGE_BYTES, refusing
from shapelex.files.table_file import TABLE_SUFFIXES, read_table, write_table
from shapelex.files.zarr_folder import check_size, check_whole, open_zarr
from shapelex.shapes.columns import as_column

if TYPE_CHECKING:
    # At runtime it is imported where it is used: numba, which comes with it, takes longer than reading errors alone.
    from shapelex.coding import SparseCodes

FORMAT_NAME = "shapelex codes"
FORMAT_VERSION = 1
SUFFIXES = (*TABLE_SUFFIXES, ".npz", ".zarr")

# Rows of a chunk or a row group.
_GROUP_ROWS = 1 << 16
_KEYS = {"id": "ids", "label": "labels"}
# Says in the attributes of a Zarr folder that chunks of zeros were written, too.
_ALL_CHUNKS = "all_chunks"

CodeBlock: TypeAlias = tuple["SparseCodes", FloatArray, Mapping[str, Any]]


def write_codes(
    path: str | Path,
    blocks: Iterable[CodeBlock],
    run: Mapping[str, Any],
    layout: str = "slots",
    *,
    raw_cells: bool = False,
) -> Path:
    """Write blocks of codes, of errors and of columns about the shapes; the end of the name says in which format.

    A file that is there is replaced when the new one is complete. ``.npz`` and ``.xlsx`` are made in memory.
    `raw_cells` writes text in CSV and TSV as it is, see :func:`write_table`.
    """
    from shapelex.coding.codes import code_columns

    target = Path(path)
    suffix = _check_suffix(target)
    groups = _join(blocks, None if suffix == ".npz" else _GROUP_ROWS)
    if suffix == ".zarr":
        with replace_folder(target) as partial:
            _write_zarr(partial, groups, run)
    elif suffix == ".npz":
        header, arrays = _describe(*next(groups), run)
        write_atomically(target, lambda stream: write_archive(stream, header, arrays))
    else:
        write_table(target, (code_columns(*group, layout) for group in groups), run, raw_cells=raw_cells)
    return target


class StoredCodes(tuple["SparseCodes", FloatArray]):
    """What :func:`read_codes` returns: codes and errors, as a pair, with what is known of the shapes.

    Attributes
    ----------
    codes : SparseCodes
        The codes.
    errors : ndarray of float, shape (n_shapes,)
        Full distances of the shapes to their reconstructions.
    columns : dict of str to ndarray of shape (n_shapes,)
        What else the file says of the shapes: ``id``, ``label``, ``sequence``, and all metadata of the set.
    """

    columns: dict[str, Any]

    def __new__(cls, codes: "SparseCodes", errors: FloatArray, columns: Mapping[str, Any]) -> "StoredCodes":
        """Make the pair."""
        made = super().__new__(cls, (codes, errors))
        made.columns = dict(columns)
        return made

    @property
    def codes(self) -> "SparseCodes":
        """The codes."""
        return self[0]

    @property
    def errors(self) -> FloatArray:
        """Full distances of the shapes to their reconstructions."""
        return self[1]


def read_codes(path: str | Path) -> StoredCodes:
    """Read a file of codes into memory.

    Parameters
    ----------
    path : str or Path
        What the command ``shapelex encode`` or :meth:`shapelex.ShapeDictionary.encode_to` wrote, as ``.csv``,
        ``.tsv``, ``.xlsx``, ``.parquet``, ``.npz`` or ``.zarr``. Tables have the atoms of a shape in the order of
        their moduli, and weights as modulus and angle, which changes them by rounding.

    Returns
    -------
    StoredCodes
        A pair of the codes and the errors, ``codes, errors = read_codes(path)``, whose attribute ``columns`` has what
        else the file says of the shapes, by name.

    Raises
    ------
    CodesError
        If the file holds something else.
    FileNotFoundError
        If there is no such file.
    """
    from shapelex.coding import SparseCodes

    source = Path(path)
    if not recover(source):
        raise FileNotFoundError(f"There is no file {source}.")
    suffix = _check_suffix(source)
    with refusing(source, "codes", CodesError):
        if suffix in TABLE_SUFFIXES:
            codes, columns = _read_table(source)
        else:
            header, arrays = _open_arrays(source)
            codes = SparseCodes(arrays["support"][:], arrays["coefs"][:], int(header["n_atoms"]))
            keys = {name: key for name, key in _KEYS.items() if key in arrays} | header.get("columns", {})
            columns = {name: arrays[key][:] for name, key in {"error": "errors", **keys}.items()}
        columns = {name: as_column(_as_fixed(column, name), len(codes), name) for name, column in columns.items()}
        _check_errors(columns["error"])
    return StoredCodes(codes, columns.pop("error"), columns)


def describe_codes(path: Path) -> tuple[tuple[int, int], int, FloatArray]:
    """Return the codes' shape, the number of atoms and the errors in a file of arrays; Zarr's codes are not read."""
    with refusing(path, "codes", CodesError):
        header, arrays = _open_arrays(path)
        n_shapes, n_nonzero = arrays["support"].shape
        return (n_shapes, n_nonzero), int(header["n_atoms"]), _check_errors(arrays["errors"][:])


def read_code_errors(path: str | Path) -> FloatArray | None:
    """Return the errors of the shapes in a table of codes; None where the file is not such a table."""
    try:
        with refusing(Path(path), "codes", CodesError):
            return _check_errors(np.asarray(_read_frame(Path(path))["error"], dtype=float))
    except CodesError:
        return None


def _check_errors(errors: FloatArray) -> FloatArray:
    if errors.dtype.kind not in "fiu" or not np.isfinite(errors).all() or (errors < 0).any():
        raise CodesError("its errors must be finite numbers that are not negative")
    return errors


def _check_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise CodesError(f"path must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, got {str(path)!r}.")
    return suffix


def _join(blocks: Iterable[CodeBlock], n_rows: int | None) -> Iterator[CodeBlock]:
    """Join neighboring blocks, up to `n_rows` rows or a block more; all of them for None."""
    from shapelex.coding import SparseCodes

    waiting: list[CodeBlock] = []

    def join() -> CodeBlock:
        codes, errors, columns = zip(*waiting, strict=True)
        joined = {name: np.concatenate([block[name] for block in columns]) for name in columns[0]}
        return SparseCodes.concatenate(codes), np.concatenate(errors), joined

    for block in blocks:
        waiting.append(block)
        if n_rows is not None and sum(len(codes) for codes, _, _ in waiting) >= n_rows:
            yield join()
            waiting = []
    if waiting:
        yield join()


def _describe(
    codes: "SparseCodes", errors: FloatArray, columns: Mapping[str, Any], run: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of codes, as archives and Zarr folders have them."""
    keys = {name: _KEYS.get(name, f"column_{place}") for place, name in enumerate(columns)}
    header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "n_atoms": codes.n_atoms, "columns": keys}
    arrays = {"support": codes.support, "coefs": codes.coefs, "errors": errors}
    return {**header, "run": dict(run)}, arrays | {keys[name]: column for name, column in columns.items()}


def _write_zarr(folder: Path, groups: Iterable[CodeBlock], run: Mapping[str, Any]) -> None:
    group = load_zarr().open_group(str(folder), mode="w")
    # Every chunk is written, so that one that is not there was lost.
    options = {"config": {"write_empty_chunks": True}}
    stored: dict[str, Any] = {}
    n_written = 0
    for block in groups:
        header, arrays = _describe(*block, run)
        for name, values in arrays.items():
            if n_written == 0:
                kind = values.dtype if values.dtype.kind in "biufc" else str
                stored[name] = group.create_array(name, shape=values.shape, chunks=values.shape, dtype=kind, **options)
            stored[name].resize((n_written + len(values), *values.shape[1:]))
            stored[name][n_written:] = values
        n_written += len(block[0])
    # Last, so that a folder without attributes is one that was not finished.
    group.attrs.update({**header, _ALL_CHUNKS: True})


def _open_arrays(source: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of an archive or a Zarr folder; those of a folder are not read yet."""
    if source.suffix.lower() == ".npz":
        header, arrays = read_archive(source)
    else:
        attributes, arrays = open_zarr(source)
        # Folders of 0.1.0 have no version.
        header = {"version": 1, **(attributes or {})}
        for array in arrays.values():
            # Folders of earlier versions have no chunks of zeros.
            (check_whole if header.get(_ALL_CHUNKS) else check_size)(array, source)
    check_header(header, FORMAT_NAME, FORMAT_VERSION)
    return header, arrays


def _as_fixed(column: Any, name: str) -> Any:
    """Return text of any length as an array of text of one length; missing text is empty."""
    if column.dtype.kind in "biufcU":
        return np.asarray(column)
    texts = ["" if text is None or text != text else str(text) for text in column.tolist()]
    longest = max(map(len, texts), default=0)
    if 4 * longest * len(texts) > LARGE_BYTES:
        raise CodesError(f"its column {name!r} has {len(texts)} rows, one of {longest} characters: refused")
    return np.array(texts, dtype=np.str_)


def _read_table(path: Path) -> tuple["SparseCodes", dict[str, Any]]:
    """Read the codes of a table in either layout, the column ``error``, and what is known of the shapes."""
    from shapelex.coding import SparseCodes
    from shapelex.coding.codes import OWN_COLUMNS

    frame = _read_frame(path)

    def parts(what: str, places: Iterable[Any]) -> Any:
        values = frame[[f"{what}_{place}" for place in places]].to_numpy()
        return values if values.dtype == np.float32 else values.astype(float)

    if "coefs_real" in frame:
        # The lists that encode_to wrote to Parquet in 0.1.0.
        support, real, imag = (np.stack(frame[name].to_numpy()) for name in ("support", "coefs_real", "coefs_imag"))
        return SparseCodes(support, real + 1j * imag, int(frame.attrs["n_atoms"])), {"error": frame["error"]}
    if "modulus_a0" in frame:
        atoms = [f"a{atom}" for atom in range(sum(re.fullmatch(r"modulus_a\d+", name) is not None for name in frame))]
        codes = SparseCodes.from_dense(parts("modulus", atoms) * np.exp(1j * np.nan_to_num(parts("angle", atoms))))
    else:
        if "n_atoms" not in frame or frame.empty:
            raise CodesError("it does not say how many atoms the dictionary has: encode the shapes again")
        slots = range(1, 1 + sum(re.fullmatch(r"modulus_\d+", name) is not None for name in frame))
        atom, modulus, angle = (parts(what, slots) for what in ("atom", "modulus", "angle"))
        support = np.where(np.isnan(atom), -1, atom).astype(np.int64)
        coefs = np.nan_to_num(modulus) * np.exp(1j * np.nan_to_num(angle))
        codes = SparseCodes(support, coefs, int(frame["n_atoms"].iloc[0]))
    return codes, {name: frame[name] for name in frame if name == "error" or not OWN_COLUMNS.fullmatch(name)}


def _read_frame(path: Path) -> Any:
    """Return a table of codes as a data frame; refuse other files."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise CodesError(f"its name ends in none of {', '.join(TABLE_SUFFIXES)}")
    frame = read_table(path, {"id": str, "label": str}, ("id", "error", "n_used"))
    if {"support", "coefs_real", "coefs_imag", "error"} <= set(frame) and "n_atoms" in frame.attrs:
        return frame
    names = {str(name) for name in frame}
    if not {"id", "error", "n_used"} <= names or {"modulus_1", "modulus_a0"}.isdisjoint(names):
        raise CodesError("it has no columns id, error, n_used and modulus_1")
    if frame["error"].dtype.kind not in "fi" or frame["error"].isna().any():
        raise CodesError("its column 'error' has entries that are not numbers")
    return frame
