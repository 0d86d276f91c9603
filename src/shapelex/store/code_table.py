"""Codes as files: a table of atoms, moduli and angles for statistics, or ``.npz`` with the arrays themselves.

In come codes with the errors of their shapes and what is known of these; out goes a file, whole or not at all, and the
codes again.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_openpyxl, load_pyarrow
from shapelex._typing import FloatArray
from shapelex._validation import check_choice
from shapelex.coding import SparseCodes
from shapelex.exceptions import CodesError, ShapelexError, reason_of
from shapelex.shapes import ShapeSet
from shapelex.shapes.columns import as_column
from shapelex.shapes.shapeset import description_columns
from shapelex.store.archive import read_archive, write_archive
from shapelex.store.atomic import write_atomically
from shapelex.store.table_file import TABLE_SUFFIXES, write_table

FORMAT_NAME = "shapelex codes"
FORMAT_VERSION = 1
LAYOUTS = ("slots", "atoms")
SUFFIXES = (*TABLE_SUFFIXES, ".npz")

_OWN = re.compile(r"error|n_used|n_atoms|(atom|modulus|angle)_a?\d+")


def shape_columns(shapes: ShapeSet) -> dict[str, Any]:
    """Return what is known of shapes as named columns; names that codes have themselves begin with ``meta``."""
    return {f"meta {name}" if _OWN.fullmatch(name) else name: column for name, column in description_columns(shapes)}


def code_columns(codes: SparseCodes, errors: FloatArray, shapes: ShapeSet, layout: str = "slots") -> dict[str, Any]:
    """Return codes as named columns, one row per shape, after all that is known of the shapes.

    Layout ``"slots"`` has for each of the atoms that a shape may use ``atom_1``, ``modulus_1``, ``angle_1``, …, the
    largest weight first; ``"atoms"`` has for every atom of the dictionary ``modulus_a0``, ``angle_a0``, …, modulus 0
    and no angle where a shape does not use it. Angles are in radians.
    """
    check_choice(layout, LAYOUTS, "layout")
    columns = shape_columns(shapes)
    columns |= {"error": errors, "n_used": codes.counts()}
    if layout == "atoms":
        dense = codes.toarray()
        for atom in range(codes.n_atoms):
            weights = dense[:, atom]
            columns[f"modulus_a{atom}"] = np.abs(weights)
            columns[f"angle_a{atom}"] = np.where(weights != 0, np.angle(weights), np.nan)
        return columns
    columns["n_atoms"] = np.full(len(codes), codes.n_atoms)
    order = np.argsort(-np.abs(codes.coefs), axis=1, kind="stable")
    support, coefs = np.take_along_axis(codes.support, order, axis=1), np.take_along_axis(codes.coefs, order, axis=1)
    for slot in range(codes.n_nonzero):
        is_empty = support[:, slot] < 0
        columns[f"atom_{slot + 1}"] = np.ma.masked_array(support[:, slot], mask=is_empty)
        columns[f"modulus_{slot + 1}"] = np.ma.masked_array(np.abs(coefs[:, slot]), mask=is_empty)
        columns[f"angle_{slot + 1}"] = np.ma.masked_array(np.angle(coefs[:, slot]), mask=is_empty)
    return columns


def write_codes(
    path: str | Path,
    codes: SparseCodes,
    errors: FloatArray,
    shapes: ShapeSet,
    run: Mapping[str, Any],
    *,
    layout: str = "slots",
) -> Path:
    """Write codes as ``.npz``, or as a table (see :func:`code_columns`); a file that is there is replaced."""
    target = Path(path)
    if target.suffix.lower() != ".npz":
        return write_table(target, code_columns(codes, errors, shapes, layout), run)
    named = shape_columns(shapes)
    arrays = {"support": codes.support, "coefs": codes.coefs, "errors": errors, "ids": named.pop("id")}
    if "label" in named:
        arrays["labels"] = named.pop("label")
    keys = {name: f"column_{place}" for place, name in enumerate(named)}
    header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "n_atoms": codes.n_atoms, "run": dict(run)}
    encoded = json.dumps({**header, "columns": keys}).encode()
    arrays |= {keys[name]: column for name, column in named.items()}
    write_atomically(target, lambda stream: write_archive(stream, encoded, arrays))
    return target


def read_codes_npz(path: str | Path) -> tuple[SparseCodes, dict[str, Any]]:
    """Read the codes of a ``.npz`` file, the column ``error``, and what is known of the shapes."""
    source = Path(path)
    try:
        with source.open("rb") as stream:
            header, arrays = read_archive(stream)
        if header["format"] != FORMAT_NAME:
            raise ValueError("it is of another kind")
        codes = SparseCodes(arrays["support"], arrays["coefs"], int(header["n_atoms"]))
        keys = {"error": "errors", "id": "ids", **({"label": "labels"} if "labels" in arrays else {})}
        columns = {name: arrays[key] for name, key in {**keys, **header.get("columns", {})}.items()}
        for name, column in columns.items():
            if column.shape != (len(codes),):
                raise ValueError(f"its column {name!r} does not have one entry per shape")
    except (ShapelexError, ValueError, LookupError, TypeError) as error:
        raise CodesError(f"{source} holds no codes that can be read: {reason_of(error)}.") from error
    return codes, columns


def read_code_errors(path: str | Path) -> FloatArray | None:
    """Return the errors of the shapes in a table of codes; None where the file is no such table."""
    try:
        return np.asarray(_read_table(Path(path))["error"], dtype=float)
    except (CodesError, OSError, ValueError):
        return None


def read_codes_table(path: Path) -> tuple[SparseCodes, dict[str, Any]]:
    """Read the codes of a table in either layout, the column ``error``, and what is known of the shapes."""
    frame = _read_table(path)
    n_shapes = len(frame)
    try:
        if "modulus_a0" in frame:
            n_atoms = sum(re.fullmatch(r"modulus_a\d+", name) is not None for name in frame)
            atoms = [f"a{atom}" for atom in range(n_atoms)]
            moduli, angles = (frame[[f"{what}_{atom}" for atom in atoms]].to_numpy(float) for what in _POLAR)
            codes = SparseCodes.from_dense(moduli * np.exp(1j * np.nan_to_num(angles)))
        else:
            if "n_atoms" not in frame or n_shapes == 0:
                raise CodesError("it does not say how many atoms the dictionary has: encode the shapes again")
            slots = range(1, 1 + sum(re.fullmatch(r"modulus_\d+", name) is not None for name in frame))
            support, moduli, angles = (
                frame[[f"{what}_{slot}" for slot in slots]].to_numpy(float) for what in ("atom", *_POLAR)
            )
            coefs = np.nan_to_num(moduli) * np.exp(1j * np.nan_to_num(angles))
            whole = np.where(np.isnan(support), -1, support).astype(np.int64)
            codes = SparseCodes(whole, coefs, int(frame["n_atoms"].iloc[0]))
    except (ShapelexError, LookupError, ValueError, TypeError) as error:
        raise CodesError(f"{path} holds no codes that can be read: {reason_of(error)}.") from error
    names = [name for name in frame if name == "error" or not _OWN.fullmatch(name)]
    return codes, {name: as_column(_as_array(frame[name]), n_shapes, name) for name in names}


_POLAR = ("modulus", "angle")


def _as_array(column: Any) -> Any:
    """Return a column of a data frame; text that is missing is empty."""
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    return column.astype(object).where(column.notna(), "").to_numpy().astype(str)


def _read_table(path: Path) -> Any:
    """Return a table of codes as a data frame; refuse other files."""
    import pandas as pd

    suffix = path.suffix.lower()
    text = {"id": str, "label": str}
    try:
        if suffix == ".parquet":
            # By file, not by path: pyarrow takes paths for folders of partitions.
            with path.open("rb") as stream:
                frame = load_pyarrow().parquet.read_table(stream).to_pandas()
        elif suffix == ".xlsx":
            load_openpyxl()
            frame = pd.read_excel(path, dtype=text, na_values=[""], keep_default_na=False)
        elif suffix in (".csv", ".tsv"):
            separator = "," if suffix == ".csv" else "\t"
            frame = pd.read_csv(path, sep=separator, dtype=text, na_values=[""], keep_default_na=False)
        else:
            raise ValueError(f"its name ends in none of {', '.join(TABLE_SUFFIXES)}")
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:  # parsers of damaged files raise nearly anything
        raise CodesError(f"{path} holds no codes that can be read: {reason_of(error)}.") from error
    names = {str(name) for name in frame}
    if not {"id", "error", "n_used"} <= names or {"modulus_1", "modulus_a0"}.isdisjoint(names):
        raise CodesError(f"{path} holds no codes of shapelex: it has no columns id, error, n_used and modulus_1.")
    if frame["error"].dtype.kind not in "fi" or frame["error"].isna().any():
        raise CodesError(f"{path} holds no codes that can be read: its column 'error' has entries that are no numbers.")
    return frame
