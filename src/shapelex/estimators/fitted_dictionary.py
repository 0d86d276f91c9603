"""The methods of a dictionary whose atoms are known: it codes shapes, reconstructs them, and measures the errors."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from shapelex._arrays import as_kind_of, is_on_device, keeps_array_kind
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import check_choice, check_flag
from shapelex.coding import SparseCodes, decode
from shapelex.coding.blocks import (
    code_all,
    coded_blocks,
    dense_codes_on_device,
    shape_errors,
    shape_errors_on_device,
)
from shapelex.coding.coders import CODERS, CodedBlock, Coding
from shapelex.coding.codes import shape_columns
from shapelex.estimators.base import count_jobs
from shapelex.estimators.dictionary_learning import DictionaryLearner
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.shapes import ShapeSet
from shapelex.shapes.storage import Shapes
from shapelex.store.code_files import CodeBlock, write_codes
from shapelex.store.provenance import make_run

_REALISM_BLOCK = 1 << 16

_EXPLANATION = (
    "These are the complex weights of a dictionary, which most estimators of scikit-learn refuse. CodeFeatures makes "
    "real columns of them: use make_pipeline(CodeFeatures(dictionary=ShapeDictionary(...)), LogisticRegression()) in "
    "place of make_pipeline(ShapeDictionary(...), LogisticRegression())."
)


class ComplexCodes(np.ndarray):
    """Complex weights, an ordinary array but for its text in error messages.

    scikit-learn refuses complex input by a message that ends with the input formatted as text. A step of a pipeline
    does not know the steps after it, so this text is the only place to explain what to do.
    """

    def __format__(self, specification: str) -> str:
        text = super().__format__(specification)
        return f"{text}\n{_EXPLANATION}" if self.ndim == 2 and self.dtype.kind == "c" else text

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: ComplexArray, context: object = None, return_scalar: bool = False) -> ComplexArray:  # type: ignore[override]
        """Return what is computed from codes as an ordinary array."""
        del context
        plain: ComplexArray = np.asarray(array)
        return plain[()] if return_scalar else plain


class FittedDictionary(DictionaryLearner):
    """The coding of shapes over atoms in a space; subclasses learn the atoms."""

    weight_penalty: float
    device: str

    def encode(self, X: ArrayLike) -> SparseCodes:
        """Code shapes over the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        SparseCodes
            Atoms and complex weights that approximate the pre-shape of each shape; for a Dask array
            `DaskCodes`, not computed yet. Shapes of a set with ``missing="allow"`` are
            coded by the landmarks that they have, see ``mask`` of :func:`shapelex.encode`.
        """
        shapes = self._open_new_input(X)
        if shapes.is_remote:
            from shapelex.coding.dask_codes import encode_lazily

            # The same members, not computed yet.
            return cast(SparseCodes, encode_lazily(shapes, self._coding(), self._code_dtype(shapes)))
        return cast(SparseCodes, code_all(shapes, self._coding()))

    def encode_to(self, X: ArrayLike, path: str | Path, *, overwrite: bool = False) -> Path:
        """Code any number of shapes over the atoms and write the codes to a file, in little memory.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, or any source of them that :meth:`encode` takes.
        path : str or Path
            Path of the file: ``.csv``, ``.tsv``, ``.xlsx``, ``.parquet``, ``.npz`` or ``.zarr``, with the content that
            ``shapelex encode`` writes; ``.npz`` and ``.xlsx`` are made in memory.
        overwrite : bool, default False
            Whether to replace an existing file, in one step, when the new one is complete.

        Returns
        -------
        Path
            Path of the written file; :func:`shapelex.read_codes` reads it.

        Raises
        ------
        CodesError
            If the path has another suffix.
        FileExistsError
            If the file exists and `overwrite` is False.
        ImportError
            If zarr, pyarrow or openpyxl is not installed.
        """
        if Path(path).exists() and not check_flag(overwrite, "overwrite"):
            raise FileExistsError(
                Message(f"{path} exists already: give {parameter('overwrite', True)} to replace it, or another name.")
            )
        shapes = self._open_new_input(X)

        def blocks() -> Iterator[CodeBlock]:
            for block in coded_blocks(shapes, self._coding()):
                end = block.start + len(block.codes)
                # Shapes without names are numbered: text would take longer to write than codes to compute.
                columns: dict[str, Any] = {"id": np.arange(block.start, end)}
                if isinstance(X, ShapeSet):
                    columns = shape_columns(X[block.start : end])
                yield block.codes, block.errors, columns

        return write_codes(path, blocks(), make_run(None, None))

    @keeps_array_kind
    def transform(self, X: ArrayLike) -> ComplexArray:
        """Code shapes over the atoms, as a dense matrix.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_atoms)
            Complex weights, most of them zero. :class:`~shapelex.CodeFeatures` makes real features of them.
        """
        shapes = self._open_new_input(X)
        if is_on_device(X, self.device):
            return cast(ComplexArray, dense_codes_on_device(shapes, self._coding()))
        if shapes.is_remote:
            return self.encode(X).toarray()
        dense = np.zeros((len(shapes), len(self.atoms_)), dtype=self._code_dtype(shapes))
        for block in coded_blocks(shapes, self._coding(), with_errors=False):
            dense[block.start : block.start + len(block.support)] = block.codes.toarray()
        return dense.view(ComplexCodes)

    @keeps_array_kind
    def reconstruct(self, X: ArrayLike) -> ComplexArray:
        """Approximate shapes by their codes.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``inverse_transform(encode(X))``: approximations of the pre-shapes ``space_.preshape(X)``, in their poses.
        """
        if is_on_device(X, self.device):
            codes = dense_codes_on_device(self._open_new_input(X), self._coding())
            return cast(ComplexArray, codes @ as_kind_of(self.atoms_, X).to(codes.dtype))
        shapes = self._open_new_input(X)
        if shapes.is_remote:
            return self.transform(X) @ self.atoms_
        return decode(cast(SparseCodes, code_all(shapes, self._coding())), self.atoms_)

    @keeps_array_kind
    def errors(self, X: ArrayLike) -> FloatArray:
        """Full Procrustes distance from each shape to its reconstruction.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Distances between 0 and 1; on the landmarks that are present, where some are missing.
        """
        shapes = self._open_new_input(X)
        if is_on_device(X, self.device):
            return cast(FloatArray, shape_errors_on_device(shapes, self._coding()))
        if shapes.is_remote:
            from shapelex.coding.dask_codes import map_rows

            dtype = np.empty(0, dtype=self._code_dtype(shapes)).real.dtype
            distances: FloatArray = map_rows(shapes, shape_errors, self._coding(), (), dtype)
            return distances
        return shape_errors(shapes, self._coding())

    @keeps_array_kind
    def realism(self, X: ArrayLike) -> FloatArray:
        """Full distance from each atom to the nearest shape: how much the atoms look like shapes of the set.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, usually those that were fitted.

        Returns
        -------
        ndarray of float, shape (n_atoms,)
            Distances; 0 for an atom that is a shape of the set.
        """
        shapes = self._open_new_input(X)
        nearest_distances = partial(_nearest_distances, atom_rows=self._atom_rows())
        return shapes.reduce(nearest_distances, partial(np.min, axis=0))

    def _atom_rows(self) -> ComplexArray:
        return self.space_.unit_rows(self.atoms_, "atoms_")

    def _coding(self) -> Coding:
        check_choice(self.coder, ("auto", *CODERS), "coder")
        return Coding(
            self._atom_rows(),
            self.n_nonzero,
            self.coder,
            weight_penalty=self.weight_penalty,
            n_threads=count_jobs(self.n_jobs),
            device=self.device,
        )

    def _coded_blocks(self, X: ArrayLike) -> Iterator[CodedBlock]:
        """Code shapes block by block, wherever they are."""
        return coded_blocks(self._open_new_input(X), self._coding())

    def _code_dtype(self, shapes: Shapes) -> np.dtype[Any]:
        return np.result_type(shapes.dtype, self.atoms_.dtype)


def _nearest_distances(shapes: Shapes, atom_rows: ComplexArray) -> FloatArray:
    """Return the full distance from each atom to the nearest shape."""
    nearest = []
    for block in shapes.blocks(_REALISM_BLOCK):
        first_row = shapes.first_row + block.start
        rows = shapes.space.whitened_preshapes(block.configurations, shapes.name, first_row)
        nearest.append(pairwise_row_distances(atom_rows, rows).min(axis=1))
    smallest: FloatArray = np.min(nearest, axis=0)
    return smallest
