"""What a dictionary does once its atoms are known: code shapes, rebuild them, and say what is lost.

In come configurations, in memory, stored or on a cluster; out go codes, reconstructions and errors.
"""

from pathlib import Path
from typing import cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex._typing import ArrayLike, ComplexArray, FloatArray
from shapelex._validation import as_numeric_array
from shapelex.coding import SparseCodes, decode, encode_rows
from shapelex.estimators import dask_coding
from shapelex.estimators.block_coding import coded_blocks, encode_in_blocks, errors_in_blocks
from shapelex.estimators.configurations import count_jobs
from shapelex.estimators.reconstruction import ShapeReconstructor
from shapelex.exceptions import CodesError
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.spaces import Space
from shapelex.spaces.dask_chunks import is_dask_collection
from shapelex.store.code_files import open_codes_writer

_REALISM_BLOCK = 1 << 16


class FittedDictionary(ShapeReconstructor):
    """Atoms in a space, and how to code shapes over them; how they are learned is the business of a subclass."""

    n_nonzero: int
    coder: str
    device: str
    n_jobs: int | None
    atoms_: ComplexArray
    space_: Space

    def encode(self, X: ArrayLike) -> SparseCodes:
        """Code shapes over the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        SparseCodes
            Which atoms build the pre-shape of each shape, and with which complex weights; for a Dask array
            :class:`~shapelex.distributed.DaskCodes`, not computed yet.
        """
        if is_dask_collection(X):
            check_is_fitted(self)
            return cast(SparseCodes, dask_coding.encode(self, X))  # the same members, not computed yet
        return encode_in_blocks(self, self._open_new_input(X))

    def encode_to(self, X: ArrayLike, path: str | Path) -> Path:
        """Code shapes over the atoms, into a file: codes of any number of shapes, in little memory.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, or what they are read from.
        path : str or Path
            Where to. ``.zarr`` makes a Zarr folder of the arrays ``support``, ``coefs`` and ``errors``; ``.parquet`` a
            table with the columns ``support``, ``coefs_real``, ``coefs_imag`` and ``error``. An older file there is
            replaced in one step, when the new one is whole.

        Returns
        -------
        Path
            Where they went; :func:`shapelex.read_codes` reads them.

        Raises
        ------
        CodesError
            If the path ends in something else.
        ImportError
            If zarr or pyarrow is not installed.
        """
        if is_dask_collection(X):
            check_is_fitted(self)
            return dask_coding.encode_to(self, X, path)
        configurations = self._open_new_input(X)
        dtype = np.result_type(configurations.dtype, self.atoms_.dtype)
        with open_codes_writer(path, len(configurations), self.n_nonzero, len(self.atoms_), dtype) as writer:
            for block in coded_blocks(self, configurations):
                writer.add(block.codes, block.errors)
        return Path(path)

    def transform(self, X: ArrayLike) -> ComplexArray:
        """Code shapes over the atoms, as a dense matrix.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_atoms)
            Complex weights, most of them zero.
        """
        return self.encode(X).toarray()

    def inverse_transform(self, codes: SparseCodes | ArrayLike) -> ComplexArray:
        """Configurations that codes stand for.

        Parameters
        ----------
        codes : SparseCodes, or array_like of complex, shape (n_shapes, n_atoms)
            Codes.

        Returns
        -------
        ndarray of complex, shape (n_shapes, n_coordinates)
            ``Σ_j a_j d_j``: centered, and where the codes come from :meth:`encode`, each in the pose of its pre-shape.

        Raises
        ------
        CodesError
            If the codes belong to another number of atoms.
        """
        check_is_fitted(self)
        if isinstance(codes, SparseCodes):
            return decode(codes, self.atoms_)
        dense = as_numeric_array(codes, "codes")
        if dense.ndim != 2 or dense.shape[1] != len(self.atoms_):
            raise CodesError(f"codes must have shape (n_shapes, {len(self.atoms_)}), got {dense.shape}.")
        configurations: ComplexArray = dense @ self.atoms_
        return configurations

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
        if is_dask_collection(X):
            check_is_fitted(self)
            approximations: ComplexArray = dask_coding.reconstruct(self, X)
            return approximations
        return self.inverse_transform(self.encode(X))

    def errors(self, X: ArrayLike) -> FloatArray:
        """Full Procrustes distance of each shape to its reconstruction.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.

        Returns
        -------
        ndarray of float, shape (n_shapes,)
            Distances between 0 and 1.
        """
        if is_dask_collection(X):
            check_is_fitted(self)
            distances: FloatArray = dask_coding.errors(self, X)
            return distances
        return errors_in_blocks(self, self._open_new_input(X))

    def realism(self, X: ArrayLike) -> FloatArray:
        """Full distance of each atom to the nearest shape: how much the atoms look like shapes of the set.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations, as a rule those that were fitted.

        Returns
        -------
        ndarray of float, shape (n_atoms,)
            Distances; 0 for an atom that is a shape of the set.
        """
        configurations = self._open_new_input(X)
        atom_rows = self._atom_rows()
        nearest = []
        for start in range(0, len(configurations), _REALISM_BLOCK):
            block = configurations[start : start + _REALISM_BLOCK]
            rows = self.space_.whitened_preshapes(block, "X", first_row=start)
            nearest.append(pairwise_row_distances(atom_rows, rows).min(axis=1))
        distances: FloatArray = np.min(nearest, axis=0)
        return distances

    def _atom_rows(self) -> ComplexArray:
        return self.space_.whitened_preshapes(self.atoms_, "atoms_")

    def _encode(self, rows: ComplexArray, n_threads: int | None = None) -> SparseCodes:
        return encode_rows(
            rows,
            self._atom_rows(),
            self.n_nonzero,
            method=self.coder,
            n_threads=count_jobs(self.n_jobs) if n_threads is None else n_threads,
            device=self.device,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)
