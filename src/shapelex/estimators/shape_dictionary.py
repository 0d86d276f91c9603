"""The dictionary of planar shapes, as a scikit-learn transformer."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shapelex._arrays import as_kind_of, is_on_device
from shapelex._blas import single_blas_thread
from shapelex._messages import parameter
from shapelex._typing import ArrayLike, ComplexArray, DistanceKind, FloatArray
from shapelex._validation import check_choice, check_flag
from shapelex.coding import SparseCodes, decode
from shapelex.coding.coders import CODERS, CodedBlock, Coding
from shapelex.coding.codes import shape_columns
from shapelex.coding.encoding import code_all, coded_blocks, dense_codes_on_device, shape_errors, shape_errors_on_device
from shapelex.estimators.base import as_generator, count_jobs, preparation_of
from shapelex.estimators.dictionary_learning import LEARNED_PARTS, RENEWED_PARAMETERS, DictionaryLearner, make_options
from shapelex.exceptions import ParameterError
from shapelex.files.atomic import check_replaceable
from shapelex.files.code_files import CodeBlock, write_codes
from shapelex.files.provenance import make_run
from shapelex.files.schema import Array, Count, Group, Number, Schema
from shapelex.geometry.distances import pairwise_row_distances
from shapelex.geometry.matching import DictionaryStability
from shapelex.learning.descent import STABILITY_ROWS, Learner, LearningOptions, measure_stability
from shapelex.learning.one_pass import PassSums
from shapelex.learning.sampling import draw_rows, open_incomplete, take_part
from shapelex.shapes import ShapeSet
from shapelex.shapes.storage import Shapes
from shapelex.spaces import Space

if TYPE_CHECKING:
    from shapelex.report.inline import InlinePage

_REALISM_BLOCK = 1 << 16

_MEMORY = (
    Array("memory_gram", "complex128", ("n_atoms", "n_atoms")),
    Array("memory_products", "complex128", ("n_atoms", "n_coordinates")),
    Array("memory_usage", "float", ("n_atoms",)),
    Number("memory_weight"),
)
_STABILITY = (
    Array("stability_distances", "float", ("n_atoms",), allows_nan=True),
    Array("stability_chance", "float", ("n_atoms",), allows_nan=True),
    Number("stability_between_halves", allows_nan=True),
    Number("stability_chance_between_halves", allows_nan=True),
    Count("stability_n_shapes"),
)

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

    def __array_wrap__(self, array: ComplexArray, _: object = None, return_scalar: bool = False) -> ComplexArray:  # type: ignore[override]
        """Return what is computed from codes as an ordinary array."""
        plain: ComplexArray = np.asarray(array)
        return plain[()] if return_scalar else plain


@dataclass(eq=False, repr=False)
class ShapeDictionary(DictionaryLearner):
    """Learn a small set of typical shapes (atoms) such that sums of a few of them approximate every shape of a set.

    In the sum, each atom is scaled and rotated individually: pre-shapes ``z_k`` (centered shapes of norm 1) are
    approximated by ``Σ_j a_kj d_j``, with pre-shape atoms ``d_j`` and at most `n_nonzero` complex weights ``a_kj`` per
    shape. Atoms and weights minimize

    ``RMSE² = mean_k |z_k − Σ_j a_kj d_j|²_Phi``, the mean squared full Procrustes distance from the shapes to their
    approximations, so nothing has to be aligned first (paper [1]_, section 4, "Shape Dictionary", equation 28).

    Coding all shapes and updating all atoms by least squares take turns. By default the first dictionary follows from
    the shapes without random draws: it consists either of *tails*, the means of the shapes weighted by the positive and
    by the negative part of their scores on each principal axis, or of the means of the parts of a *tree* that divides
    the shapes; atoms are held near it, with the weight of one shape each, so that similar sets of shapes give
    similar atoms. Updates of a sample of the shapes are followed by three passes over all. The algorithm of the paper
    is ``coder="ormp", init="random", n_swaps=0``.

    Parameters
    ----------
    n_atoms : int, default 20
        Number of atoms.
    n_nonzero : int, default 5
        Maximum number of atoms per shape.
    space : Space, optional
        Space of the configurations; landmarks when not given.
    coder : {"auto", "exact", "beam", "ormp", "omp"}, default "auto"
        How to find the atoms of a shape, see :func:`shapelex.encode`. The paper uses ``"ormp"``; ``"auto"`` finds the
        true minimum where that is cheap. Elsewhere it uses a beam search with polishing; learning then uses ORMP with
        polishing until the last pass.
    tie : None or 0
        0 not to hold the atoms near their start: the training error is a little smaller, and atoms differ more between
        similar sets of shapes.
    n_swaps : int, optional
        Number of swaps; by default `effort` decides. In a swap, a badly approximated shape takes the place of an atom
        of little worth, both drawn at random, and a few updates follow; it is kept unless the error is larger by more
        than 1 %. The best dictionary is returned.
    n_restarts : int, default 1
        Number of descents or searches by swaps, where random draws make them differ; the best result is kept.
    max_iter : int, default 100
        Maximum number of updates per descent. The default learner makes at most 14 from each of its starts, 44 more
        of the sample, and 2 of all shapes.
    tol : float, default 1e-5
        A descent ends when an update changes the error by no more than this fraction of it (or by no more than
        rounding, 8e-6 in complex64).
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors. Results are the same to the bit for any number.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws.
    verbose : bool or int, default False
        True or 1 writes a line to standard error every tenth iteration and at the end, 2 every iteration.
    init : {"auto", "random"} or array_like of complex, shape (n_atoms, n_coordinates), default "auto"
        First dictionary: tails or tree, whichever leads to the smaller error, random shapes, or
        given configurations. From random or given atoms, without swaps, all updates are plain least-squares updates
        over all shapes, as in the paper.
    weight_penalty : float, default 0
        Price of large weights, see :func:`shapelex.encode`, in learning and in all codes: atoms then do not cancel each
        other.
    distance : {"full", "partial", "geodesic"}, default "full"
        Distance whose squares are summed.
    nested : None or False
        Without effect; it was a parameter of version 0.1.0.
    effort : float, default 1
        How much to do for a smaller training error: 50 *swaps* for each unit above 1. The atoms then differ more
        between similar sets of shapes, and held-out errors are hardly smaller.
    batch_size : int, optional
        Learn from mini-batches of this many shapes, `max_iter` times through the set at most, as
        :meth:`partial_fit` does: without swaps and restarts, and keeping the last dictionary.
    device : str, default "cpu"
        Where to compute: ``"cpu"`` by compiled kernels, ``"cuda"`` or any other torch device, ``"torch"`` for torch on
        the CPU. All give the same codes up to rounding; a loaded model may use another device than the one it was
        learned on. Chunks of Dask arrays are coded by the device of the worker that holds them.
    checkpoint : str or Path, optional
        File to which :meth:`fit` saves its progress after an iteration, once a second at most. Where it exists, a fit
        of the same shapes with the same parameters resumes from it, and ends with the same bits as if it had never
        stopped; another fit is refused. The file stays when the fit is done: the same fit then returns at once, one
        with a larger `max_iter` continues, and one with a smaller `max_iter` returns what the file holds. Remove it to
        start again. The checkpoint before it is kept beside it, as ``.previous``. Other `max_iter` than those of one
        descent belong to another fit.

    Attributes
    ----------
    atoms_ : ndarray of complex, shape (n_atoms, n_coordinates)
        The atoms: pre-shapes.
    space_ : Space
        Space of the configurations.
    rmse_ : float
        Root mean squared distance from the shapes to their reconstructions from at most `n_nonzero` atoms, of the kind
        `distance`; :meth:`errors` and :meth:`score` always use the full distance.
    usage_ : ndarray of float, shape (n_atoms,)
        Fraction of the shapes that use each atom.
    loss_curve_ : ndarray of float, shape (n_losses,)
        Mean squared distance of each pass that led to the dictionary, those over the sample included.
    n_iter_ : int
        Number of these passes after the first one; after :meth:`partial_fit`, number of batches.
    n_features_in_ : int
        Number of coordinates.
    stability_ : DictionaryStability
        Which atoms are found again when the dictionary is learned from halves of the shapes, see the property.

    Notes
    -----
    An interrupted fit (Ctrl-C) leaves the best dictionary so far on the estimator and raises.

    Memory maps, Zarr arrays, HDF5 datasets, lists of arrays and functions that return blocks of shapes are read in
    blocks, once per update; chunks of Dask arrays are coded by the workers that hold them. A :class:`ShapeSet` with
    ``missing="allow"`` may have missing landmarks (NaN): the distance from a shape to its approximation is then that on
    the landmarks that it has. Such a set is read into memory, and cannot be learned from in batches.

    The sample has 2,000 shapes, or 20 per atom if that is more; sets up to this size are learned from as a whole.

    Shapes with missing landmarks are centered and scaled to norm 1 on the landmarks that they have. Each update takes
    their other landmarks from the current approximations; the squared errors of shapes completed in this way are an
    upper bound of those on the landmarks present, with equality at the current atoms, so an update lowers both. The
    first dictionary uses shapes that are completed by the mean.

    References
    ----------
    .. [1] A. Song, V. Uhlmann, J. Fageot and M. Unser, "Dictionary learning for two-dimensional Kendall shapes", SIAM
       Journal on Imaging Sciences (2020), arXiv:1903.11356.

    Examples
    --------
    >>> import numpy as np
    >>> import shapelex as sx
    >>> rng = np.random.default_rng(0)
    >>> circle = np.exp(2j * np.pi * np.arange(30) / 30)
    >>> X = circle + rng.normal(size=(200, 2)) @ [circle**-1, 0.3 * circle**2]
    >>> model = sx.ShapeDictionary(n_atoms=4, n_nonzero=3, random_state=0).fit(X)
    >>> float(model.rmse_) < 1e-6
    True
    >>> model.transform(X).shape
    (200, 4)
    """

    _: KW_ONLY
    weight_penalty: float = 0.0
    distance: DistanceKind = "full"
    nested: bool | None = None
    effort: float = 1
    batch_size: int | None = None
    device: str = "cpu"
    checkpoint: str | Path | None = None

    _schema = Schema(
        *LEARNED_PARTS,
        Group("_memory", PassSums, "memory_", _MEMORY),
        Group("_stability", DictionaryStability, "stability_", _STABILITY, optional=True),
        # The path of a checkpoint belongs to one fit, not to the model.
        left_out=("checkpoint",),
        removed=(
            *("update", "checkpoint_every", "max_weight", "switch_cost"),
            *("sparsities_", "combined_gram", "combined_products", "combined_usage"),
        ),
        renewed=RENEWED_PARAMETERS,
    )

    _removed_parameters: ClassVar = {
        "max_weight": "weight_penalty keeps weights small",
        "switch_cost": "encode_sequence(..., switch_cost=) keeps atoms from frame to frame",
    }

    def _start(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Learner, dict[str, Any]]:
        """Open the shapes, and draw those by which the stability will be measured."""
        shapes = self._open_input(X, self.space, sample_weight)
        if shapes.allows_missing and self.batch_size is None:
            shapes = open_incomplete(shapes)
        options, generator = self._options(shapes.space), as_generator(self.random_state)
        # Of another generator: what is learned does not depend on it.
        seed = int(deepcopy(generator).integers(2**63))
        chosen = draw_rows(shapes, max(STABILITY_ROWS, 20 * self.n_atoms), np.random.default_rng((seed, 0)))
        sample = take_part(shapes, chosen), options, seed
        return Learner(shapes, options, generator), {"space_": shapes.space, "_sample": sample}

    def _attributes(self, found: PassSums, learner: Learner, known: dict[str, Any]) -> dict[str, Any]:
        later = learner.memory or found
        # What later batches are added to.
        memory = PassSums(later.gram, later.products, later.usage, later.weight)
        return super()._attributes(found, learner, known) | {"_memory": memory, "_stability": None}

    @single_blas_thread()
    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn from one more batch of shapes.

        The batch is coded over the current dictionary, its statistics are added to the previous ones, and the atoms are
        updated once. Before batch ``t = 2, 3, …`` the previous statistics are multiplied by ``1 − t^(−0.7)``, so that
        early batches, coded over poor dictionaries, lose influence. A fitted or loaded dictionary is continued, with
        its `n_iter_` iterations counted as batches. Otherwise the first dictionary comes from the first batch, which
        must have at least `n_atoms` shapes. `tie`, `effort` and `n_swaps` do not apply.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape.

        Returns
        -------
        ShapeDictionary
            The estimator itself; ``rmse_`` and ``usage_`` are weighted averages over the batches, each coded before its
            update, ``loss_curve_`` has one value per batch and ``n_iter_`` counts batches.
        """
        is_first = not hasattr(self, "atoms_")
        if is_first:
            shapes, preparation = self._open_input(X, self.space, sample_weight), preparation_of(X)
        elif len(self.atoms_) != self.n_atoms:
            raise ParameterError(
                f"{parameter('n_atoms')} must be {len(self.atoms_)}, the number of atoms of this dictionary, got "
                f"{self.n_atoms}: more batches do not change it; learn a new dictionary with fit."
            )
        else:
            shapes, preparation = self._open_new_input(X, sample_weight), self.preparation_
        options = self._options(shapes.space, batch_size=len(shapes), max_iter=1)
        learner = Learner(shapes, options, as_generator(self.random_state))
        if not is_first:
            # As after the batches before.
            learner.stage, learner.n_batches = len(learner.plan) - 1, max(self.n_iter_, 1)
            learner.atoms, learner.curve = self._atom_rows(), self.loss_curve_.tolist()
            memory = self._memory
            learner.memory = replace(memory, loss=self.rmse_**2 * memory.weight, worst_rows=memory.products[:0])
        for _ in learner.passes():
            pass
        assert learner.best is not None
        known = {"space_": shapes.space, "preparation_": preparation, "_sample": None}
        self.__dict__.update(self._attributes(learner.best, learner, known), n_iter_=learner.n_batches)
        return self

    @property
    def stability_(self) -> DictionaryStability:
        """Which atoms are found again when the dictionary is learned from halves of the shapes.

        :meth:`fit` keeps a random sample of at most 4,000 of its shapes (20 per atom, if that is more). The first time
        that this attribute is read, the sample is divided at random into two halves, a dictionary is learned from each
        with the same parameters, and the atoms are matched. This takes about as long as two fits of 2,000 shapes. The
        result is kept, and saved with the model; the sample is dropped. It depends on `random_state`, and not on
        `n_jobs`.

        Atoms with ``can_be_named`` are at most half as far from their matches as from random shapes. Halves are drawn
        shape by shape: where a set has many similar shapes of each specimen or recording, both halves have some of
        them, and the atoms of other specimens may differ more.

        Raises
        ------
        NotFittedError
            If the dictionary is not fitted.
        AttributeError
            If it was not computed before the model was saved, or the dictionary was changed by :meth:`partial_fit`:
            then there are no shapes to compute it from.
        """
        check_is_fitted(self)
        known: DictionaryStability | None = getattr(self, "_stability", None)
        if known is not None:
            return known
        sample: Any = getattr(self, "_sample", None)
        if sample is None:
            raise AttributeError(
                "stability_ is not known, and this dictionary has no shapes to compute it from: the model was saved "
                "before stability_ was computed, or changed by partial_fit. Call fit with the shapes, read stability_, "
                "and save the model after that."
            )
        shapes, options, seed = sample
        # The runs are independent: none begins with given atoms.
        init = options.init if isinstance(options.init, str) else "auto"
        options = replace(options, init=init, n_threads=count_jobs(self.n_jobs), device=self.device)
        with single_blas_thread():
            self._stability = measure_stability(self._atom_rows(), shapes, options.for_local_shapes(), seed)
        self._sample = None
        return self._stability

    def __dir__(self) -> list[str]:
        # scikit-learn's dir(), its HTML and debuggers read every attribute: displaying a model would learn two more.
        is_computed = getattr(self, "_stability", None) is not None
        names = (name for name in object.__dir__(self) if name != "stability_" or is_computed)
        return [name for name in names if hasattr(self, name)]

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
        check_replaceable(Path(path), check_flag(overwrite, "overwrite"))
        coded = self._coded_blocks(X)

        def blocks() -> Iterator[CodeBlock]:
            for block in coded:
                start, end = block.start, block.start + len(block.codes)
                # Shapes without names are numbered: text would take longer to write than codes to compute.
                columns = shape_columns(X[start:end]) if isinstance(X, ShapeSet) else {"id": np.arange(start, end)}
                yield block.codes, block.errors, columns

        return write_codes(path, blocks(), make_run(None, None))

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
            dense: Any = self.transform(X)
            return cast(ComplexArray, dense @ as_kind_of(self.atoms_, X).to(dense.dtype))
        codes: Any = self.encode(X)
        return decode(codes, self.atoms_) if isinstance(codes, SparseCodes) else codes.toarray() @ self.atoms_

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
            return cast(FloatArray, map_rows(shapes, shape_errors, self._coding(), dtype))
        return shape_errors(shapes, self._coding())

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
        return shapes.reduce(partial(_nearest_distances, atom_rows=self._atom_rows()), partial(np.min, axis=0))

    def explore(self, X: Any, *, height: int = 800, max_shapes: int = 1000, **options: Any) -> "InlinePage":
        """Show the dictionary and the shapes it codes as an interactive page in a notebook.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2), or a set of shapes
            Configurations in the space of the model.
        height : int, default 800
            Height of the page in pixels.
        max_shapes : int, default 1000
            Maximum number of shapes on the page, which is stored in the notebook.
        **options : object
            Further options of :func:`shapelex.report.write_report`, such as ``labels`` and ``title``.

        Returns
        -------
        InlinePage
            The page; a notebook shows it where it is the last value of a cell.

        See Also
        --------
        shapelex.report.write_report : Writes the same page to a file.
        """
        # The page is above this folder: one of the few imports upwards.
        from shapelex.report.inline import make_inline_page

        return make_inline_page(self, X, height, max_shapes=max_shapes, **options)

    def _thumbnails(self) -> tuple[ComplexArray, list[str]]:
        atoms, captions = super()._thumbnails()
        shares = getattr(self, "usage_", ())
        return atoms, [f"{name}, {100 * share:.0f} %" for name, share in zip(captions, shares, strict=True)]

    def _options(self, space: Space, **others: Any) -> LearningOptions:
        """Check the parameters and return them as options of a learner."""
        if self.nested:
            raise ParameterError(
                f"{parameter('nested', True)} has no meaning any more: leave it out, and learn one dictionary for each "
                f"{parameter('n_nonzero')} that you use."
            )
        init = self.init if isinstance(self.init, str) else space.whitened_preshapes(self.init, "init")
        return make_options(self, init=init, **others)

    def _check_loaded(self) -> None:
        self._options(self.space_)
        self._atom_rows()

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
    blocks = shapes.blocks(_REALISM_BLOCK)
    rows = (shapes.space.whitened_preshapes(block.configurations, block.name, block.first_row) for block in blocks)
    return np.asarray(np.min([pairwise_row_distances(atom_rows, part).min(axis=1) for part in rows], axis=0))
