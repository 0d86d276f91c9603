"""The dictionary of planar shapes, as a scikit-learn transformer."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from shapelex._blas import single_blas_thread
from shapelex._messages import Message, parameter
from shapelex._typing import ArrayLike, ComplexArray, DistanceKind
from shapelex._validation import check_count
from shapelex.estimators.base import as_generator, count_jobs, preparation_of
from shapelex.estimators.fitted_dictionary import FittedDictionary
from shapelex.estimators.progress import CallbackSupportMixin, FitProgress, check_verbose, with_callbacks
from shapelex.exceptions import ParameterError
from shapelex.geometry.atom_matching import DictionaryStability
from shapelex.learning import (
    Iteration,
    LearnedDictionary,
    Learner,
    LearningOptions,
    OnlineLearner,
    Statistics,
)
from shapelex.learning.checkpoint import Checkpoint, describe_fit
from shapelex.learning.incomplete_shapes import open_incomplete
from shapelex.learning.options import NESTED_FROM, default_target_share, default_tie
from shapelex.learning.stability import TrainingSample, measure_stability
from shapelex.learning.timed_shapes import TimedShapes, open_timed
from shapelex.shapes.collection import ArrayShapes, Shapes
from shapelex.shapes.preparation import Preparation
from shapelex.shapes.time_order import moments_of
from shapelex.spaces import Space
from shapelex.store.schema import Array, Count, Group, Number, Schema

if TYPE_CHECKING:
    from shapelex.report.inline import InlinePage


class ShapeDictionary(CallbackSupportMixin, FittedDictionary):
    """Learn a small set of typical shapes (atoms) such that sums of a few of them approximate every shape of a set.

    In the sum, each atom is scaled and rotated individually: pre-shapes ``z_k`` (centered shapes of norm 1) are
    approximated by ``Σ_j a_kj d_j``, with pre-shape atoms ``d_j`` and at most `n_nonzero` complex weights ``a_kj`` per
    shape. Atoms and weights minimize

    ``Π_s RMSE_s^(w_s) + tie · mean_j d_F²(d_j, nearest shape)``, where ``RMSE_s² = mean_k |z_k − Σ_j a_kj d_j|²_Phi``
    with at most ``s`` weights per shape.

    ``RMSE_s`` is the root mean squared full Procrustes distance from the shapes to their approximations, so nothing has
    to be aligned first. The first term is the weighted geometric mean of these errors at the sparsities ``s`` = 1, 2,
    3, 5, 8, … (Fibonacci numbers) below `n_nonzero`, and at `n_nonzero`, which has ``4 + 120 n_atoms / n_shapes`` times
    the weight of each of the others. Such a *nested* dictionary is also good where shapes are coded with fewer atoms,
    and its atoms are similar for other samples of shapes and other seeds. With ``nested=False``, the first term is the
    error at `n_nonzero` alone. The second term is a penalty on the squared full Procrustes distance ``d_F²`` from each
    atom to its nearest shape: of the many dictionaries that approximate equally well, it prefers atoms that look like
    shapes.

    The paper [1]_ minimizes the error at `n_nonzero` alone (section 4, "Shape Dictionary", equation 28); its algorithm
    is ``coder="ormp", nested=False, tie=0, n_swaps=0, init="random"``.

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
        true minimum where that is cheap, and elsewhere uses a beam search with polishing, on torch devices ORMP with
        polishing.
    max_weight : float, optional
        Largest modulus of a weight, see :func:`shapelex.encode`, in learning and in all codes: atoms then cannot
        cancel each other. Not bounded by default.
    switch_cost : float, optional
        Learn from time series, with the cost of a change of atoms of
        :func:`~shapelex.sequences.encode_sequence`, which is added to the squared distances: updates of the atoms take
        turns with the path of sets of atoms of least sum. :meth:`fit` then takes `frames` and `sequence`. Coding by
        :meth:`encode` is frame by frame; :func:`~shapelex.sequences.encode_sequence` uses this cost by default.
        By default shapes are learned from without regard to time.
    distance : {"full", "partial", "geodesic"}, default "full"
        Distance whose squares are summed.
    init : {"spread", "random"} or array_like of complex, shape (n_atoms, n_coordinates), default "spread"
        First dictionary: shapes far from each other, random shapes (as in the paper), or given configurations.
    nested : bool, optional
        Whether to lower the errors at several sparsities up to `n_nonzero` together, or the error at `n_nonzero` alone.
        By default together where there are at least 20 shapes per atom and no `switch_cost`.
        Without it, the training error at `n_nonzero` is smaller on small sets and about the same on large ones, errors
        at lower sparsities are larger, and atoms differ more from sample to sample and from seed to seed.
    tie : float, optional
        Strength of the penalty on the distance from each atom to its nearest shape; 0 for none. By default ``0.2 +
        n_atoms / n_shapes``, but at most 0.5, and 0 at one atom per shape, where atoms are averages of similar shapes.
    effort : float, default 1
        How long to search for a good dictionary before a descent: the search makes as many times more passes over a
        sample of the shapes. It improves a population of dictionaries by *swaps* (a badly approximated shape takes the
        place of an atom) and *crossovers* (some atoms of one dictionary are combined with the others of another one).
        From 4 on, several independent populations are followed by one of their best dictionaries.
    n_swaps : int, optional
        Number of trials of that search, swaps and crossovers together; 0 for no search. By default `effort` decides,
        and there is no search where `init` is an array.
    n_restarts : int, default 1
        Number of descents from different first dictionaries; the best result is kept. A larger `effort` is usually a
        better use of the same time.
    max_iter : int, default 100
        Maximum number of updates per descent; the search before a descent counts as one.
    tol : float, default 1e-5
        A descent ends when an update changes the objective by no more than this fraction of it, divided by `effort`
        where that is above 1 (or by no more than rounding, 8e-6 in complex64).
    batch_size : int, optional
        Learn from mini-batches of this many shapes, `max_iter` times through the set at most, as
        :meth:`partial_fit` does: without search, penalty and restarts, and keeping the last dictionary. By default
        every update sees all shapes.
    device : str, default "cpu"
        Where to compute: ``"cpu"`` by compiled kernels, ``"cuda"`` or any other torch device, ``"torch"`` for torch on
        the CPU. All give the same codes up to rounding; a loaded model may use another device than the one it was
        learned on. Chunks of Dask arrays are coded by the device of the worker that holds them.
    n_jobs : int, optional
        Maximum number of threads; −1 or None for all processors. Results are the same to the bit for any number.
    random_state : int, Generator, RandomState or None, default None
        Seed of all random draws.
    verbose : bool or int, default False
        True or 1 writes a line to standard error every tenth iteration and at the end, 2 every iteration.
    checkpoint : str or Path, optional
        File to which :meth:`fit` saves its progress after an iteration, once a second at most. Where it exists, a fit
        of the same shapes with the same parameters resumes from it, and ends with the same bits as if it had never
        stopped; another fit is refused. The file stays when the fit is done: the same fit then returns at once, one
        with a larger `max_iter` continues, and one with a smaller `max_iter` returns what the file holds. Remove it to
        start again. The checkpoint before it is kept beside it, as ``.previous``.

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
        Mean squared distance at `n_nonzero` atoms per shape: of the first dictionary, of the one that the search found,
        and after each update. With ``nested=True`` or a penalty it may rise while the objective falls.
    n_iter_ : int
        Number of updates.
    sparsities_ : ndarray of int
        Sparsities whose errors were lowered together; `n_nonzero` alone where the dictionary is not nested.
    n_features_in_ : int
        Number of coordinates.
    stability_ : DictionaryStability
        Which atoms are found again when the dictionary is learned from halves of the shapes, see the property.

    Notes
    -----
    An interrupted fit (Ctrl-C) leaves the best dictionary so far on the estimator and raises.

    The search uses a random sample of 2,000 shapes (8,000 with ``n_nonzero=1``), or of 20 per atom if that is more. The
    updates after it use all shapes.

    Shapes with missing landmarks are centered and scaled to norm 1 on the landmarks that they have. Each update takes
    their other landmarks from the current approximations; the squared errors of shapes completed in this way are an
    upper bound of those on the landmarks present, with equality at the current atoms, so an update lowers both. The
    first dictionary, and the search before the updates, use shapes that are completed by the mean.

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

    _schema = Schema(
        (
            Array("atoms_", "complex", ("n_atoms", "n_coordinates")),
            Array("usage_", "float", ("n_atoms",)),
            Array("loss_curve_", "float", ("n_losses",)),
            Array("sparsities_", "int", ("n_sparsities",), optional=True),
            Number("rmse_"),
            Count("n_iter_"),
            Group(
                "_statistics",
                Statistics,
                "memory_",
                (
                    Array("memory_gram", "complex128", ("n_atoms", "n_atoms")),
                    Array("memory_products", "complex128", ("n_atoms", "n_coordinates")),
                    Array("memory_usage", "float", ("n_atoms",)),
                    Number("memory_weight"),
                ),
            ),
            Group(
                "_combined",
                Statistics,
                "combined_",
                (
                    Array("combined_gram", "complex128", ("n_atoms", "n_atoms")),
                    Array("combined_products", "complex128", ("n_atoms", "n_coordinates")),
                    Array("combined_usage", "float", ("n_atoms",)),
                    Number("combined_weight"),
                ),
                optional=True,
            ),
            Group(
                "_stability",
                DictionaryStability,
                "stability_",
                (
                    Array("stability_distances", "float", ("n_atoms",), allows_nan=True),
                    Array("stability_chance", "float", ("n_atoms",), allows_nan=True),
                    Number("stability_between_halves", allows_nan=True),
                    Number("stability_chance_between_halves", allows_nan=True),
                    Count("stability_n_shapes"),
                ),
                optional=True,
            ),
        ),
        # The path of a checkpoint belongs to one fit, not to the model.
        left_out=("checkpoint",),
        removed=("update", "checkpoint_every"),
        added={"nested": False},
    )

    def __init__(
        self,
        n_atoms: int = 20,
        n_nonzero: int = 5,
        *,
        space: Space | None = None,
        coder: str = "auto",
        max_weight: float | None = None,
        switch_cost: float | None = None,
        distance: DistanceKind = "full",
        init: str | ArrayLike = "spread",
        nested: bool | None = None,
        tie: float | None = None,
        effort: float = 1,
        n_swaps: int | None = None,
        n_restarts: int = 1,
        max_iter: int = 100,
        tol: float = 1e-5,
        batch_size: int | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.n_nonzero = n_nonzero
        self.space = space
        self.coder = coder
        self.max_weight = max_weight
        self.switch_cost = switch_cost
        self.distance = distance
        self.init = init
        self.nested = nested
        self.tie = tie
        self.effort = effort
        self.n_swaps = n_swaps
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.batch_size = batch_size
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    @with_callbacks
    @single_blas_thread()
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        frames: ArrayLike | None = None,
        sequence: ArrayLike | None = None,
    ) -> "ShapeDictionary":
        """Learn the atoms.

        Parameters
        ----------
        X : array_like, complex (n_shapes, n_coordinates) or real (n_shapes, n_points, 2)
            Configurations. Memory maps, Zarr arrays, HDF5 datasets, lists of arrays and functions that return blocks of
            shapes are read in blocks, once per update; chunks of Dask arrays are coded by the workers that hold them.
            A :class:`ShapeSet` with ``missing="allow"`` may have missing landmarks (NaN): the distance from a shape to
            its approximation is then that on the landmarks that it has. Such a set is read into memory, and cannot be
            learned from in batches.
        y : None
            Ignored.
        sample_weight : array_like of float, shape (n_shapes,), optional
            Weight of each shape; an integer weight equals that many copies, but where the number of shapes matters
            (`nested`, the default `tie`), each shape of positive weight counts once.
        frames, sequence : array_like of shape (n_shapes,), optional
            Frame or time, and time series, of each shape, see :func:`~shapelex.sequences.encode_sequence`: for
            `switch_cost`. By default those of a set of shapes. The shapes are then read into memory, and frames with
            missing coordinates are left out.

        Returns
        -------
        ShapeDictionary
            The estimator itself.
        """
        shapes, preparation = self._open_input(X, self.space, sample_weight), preparation_of(X)
        if self.switch_cost:
            shapes = self._open_timed(X, shapes, frames, sequence)
        elif frames is not None or sequence is not None:
            raise ParameterError(f"frames and sequence are for {parameter('switch_cost')}: give it, or leave them out.")
        elif self.batch_size is None:
            shapes = open_incomplete(shapes)
        options, space = self._prepare(shapes), shapes.space
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        progress = FitProgress(self, self.verbose, data, options, lambda iteration: _attributes_at(iteration, space))
        generator = as_generator(self.random_state)
        sample = TrainingSample.draw(shapes, options, self.batch_size, generator)
        checkpoint = self._open_checkpoint(shapes, options)
        learner = self._learner(shapes, options, generator, progress, checkpoint)
        try:
            learned = learner.run()
        except KeyboardInterrupt:
            if learner.best is not None:
                self._store(learner.best, space, preparation, options.sparsities, sample)
            if checkpoint is not None:
                checkpoint.flush()
            raise
        self._store(learned, space, preparation, options.sparsities, sample)
        if checkpoint is not None:
            checkpoint.finish()
        # The losses of batches are too noisy to tell whether the dictionary has converged.
        if not learned.converged and not progress.was_stopped and options.max_iter > 0 and self.batch_size is None:
            warnings.warn(
                Message(
                    f"The dictionary still changed after {parameter('max_iter', self.max_iter)} iterations, by more "
                    f"than {options.settled_change:g} of its loss: "
                    f"raise {parameter('max_iter')}, or {parameter('tol')}."
                ),
                ConvergenceWarning,
                stacklevel=4,
            )
        progress.finish()
        return self

    @single_blas_thread()
    def partial_fit(
        self,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002
        sample_weight: ArrayLike | None = None,
    ) -> "ShapeDictionary":
        """Learn from one more batch of shapes.

        The batch is coded over the current dictionary, its statistics are added to the previous ones, and the atoms are
        updated once. Before batch ``t = 2, 3, …`` the previous statistics are multiplied by ``1 − t^(−0.7)``, so that
        early batches, coded over poor dictionaries, lose influence. A fitted or loaded dictionary is continued, with
        its `n_iter_` iterations counted as batches. Otherwise the first dictionary comes from the first batch, which
        must have at least `n_atoms` shapes. `nested` applies; `tie`, `effort`, `n_swaps` and `switch_cost` do not.

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
        online: OnlineLearner | None = getattr(self, "_online", None)
        is_fitted = hasattr(self, "atoms_")
        if is_fitted:
            shapes, preparation = self._open_new_input(X, sample_weight), self.preparation_
        else:
            shapes, preparation = self._open_input(X, self.space, sample_weight), preparation_of(X)
        options = self._prepare(shapes, more_follow=True)
        if is_fitted and len(self.atoms_) != options.n_atoms:
            raise ParameterError(
                f"{parameter('n_atoms')} must be {len(self.atoms_)}, the number of atoms of this dictionary, got "
                f"{options.n_atoms}: more batches do not change it; learn a new dictionary with fit."
            )
        if online is not None:
            online.set_options(options)
        elif is_fitted:
            generator = as_generator(self.random_state)
            online = OnlineLearner.resume(
                options,
                generator,
                self._atom_rows(),
                self._statistics,
                self.n_iter_,
                self.rmse_,
                getattr(self, "_combined", None),
            )
        else:
            online = OnlineLearner(options, as_generator(self.random_state))
        online.learn_batch(shapes)
        assert online.best is not None
        self._store(online.best, shapes.space, preparation, options.sparsities)
        self._online = online
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
        found: DictionaryStability | None = getattr(self, "_stability", None)
        if found is None:
            sample: TrainingSample | None = getattr(self, "_sample", None)
            if sample is None:
                raise AttributeError(
                    "stability_ is not known, and this dictionary has no shapes to compute it from: the model was "
                    "saved before stability_ was computed, or changed by partial_fit. Call fit with the shapes, read "
                    "stability_, and save the model after that."
                )
            options = replace(sample.options, n_threads=count_jobs(self.n_jobs), device=self.device)
            with single_blas_thread():
                found = measure_stability(self._atom_rows(), replace(sample, options=options.for_local_shapes()))
            self._stability = found
            del self._sample
        return found

    def __dir__(self) -> list[str]:
        # scikit-learn's dir(), its HTML and debuggers read every attribute: displaying a model would learn two more.
        is_computed = hasattr(self, "_stability")
        names = (name for name in object.__dir__(self) if name != "stability_" or is_computed)
        return [name for name in names if hasattr(self, name)]

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

    def _prepare(self, shapes: Shapes, *, more_follow: bool = False) -> LearningOptions:
        """Check the parameters and return them as options of a learner."""
        check_verbose(self.verbose)
        n_shapes = len(shapes) if shapes.weights is None else int(np.count_nonzero(shapes.weights))
        # The size of one batch tells nothing about the size of the set.
        options = self._options(shapes.space, np.inf if more_follow else n_shapes)
        if more_follow and self.nested is None and hasattr(self, "sparsities_"):
            options = replace(options, nested=len(self.sparsities_) > 1)
        if isinstance(shapes, ArrayShapes):
            shapes.keep_scales()
        return options

    def _open_timed(self, X: Any, shapes: Shapes, frames: ArrayLike | None, sequence: ArrayLike | None) -> TimedShapes:
        if self.batch_size is not None:
            raise ParameterError(
                f"{parameter('switch_cost')} learns from whole series: leave out {parameter('batch_size')}."
            )
        columns = moments_of(X, frames, sequence)
        return open_timed(shapes, columns.frames, columns.sequence)

    def _open_checkpoint(self, shapes: Shapes, options: LearningOptions) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        return Checkpoint(self.checkpoint, describe_fit(shapes, options, self.batch_size, self.random_state))

    def _learner(
        self,
        shapes: Shapes,
        options: LearningOptions,
        generator: np.random.Generator,
        progress: FitProgress,
        checkpoint: Checkpoint | None,
    ) -> Learner | OnlineLearner:
        saver = None if checkpoint is None else checkpoint.save
        state = None if checkpoint is None else checkpoint.load()
        if self.batch_size is None:
            learner = Learner(shapes, options, generator, progress, saver)
            if checkpoint is not None and state is not None:
                with checkpoint.restoring():
                    learner.resume(state)
            return learner
        batch_size = check_count(self.batch_size, 1, "batch_size")
        online = OnlineLearner(options, generator, shapes, batch_size, progress, saver)
        if checkpoint is not None and state is not None:
            with checkpoint.restoring():
                online.resume_run(state)
        return online

    def _options(self, space: Space, n_shapes: float) -> LearningOptions:
        init, nested = self.init, self.nested
        check_count(self.n_atoms, 1, "n_atoms")
        if nested is None:
            nested = n_shapes >= NESTED_FROM * self.n_atoms and not self.switch_cost
        return LearningOptions(
            n_atoms=self.n_atoms,
            n_nonzero=self.n_nonzero,
            coder=self.coder,
            max_weight=self.max_weight,
            switch_cost=self.switch_cost,
            distance=self.distance,
            init=init if isinstance(init, str) else space.whitened_preshapes(init, "init"),
            nested=nested,
            target_share=default_target_share(self.n_atoms, n_shapes),
            tie=default_tie(self.n_atoms, self.n_nonzero, n_shapes) if self.tie is None else self.tie,
            effort=self.effort,
            n_swaps=self.n_swaps,
            n_restarts=self.n_restarts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_threads=count_jobs(self.n_jobs),
            device=self.device,
        )

    def _check_loaded(self) -> None:
        self._options(self.space_, n_shapes=1)
        self._atom_rows()

    def _store(
        self,
        learned: LearnedDictionary,
        space: Space,
        preparation: Preparation | None,
        sparsities: tuple[int, ...],
        sample: TrainingSample | None = None,
    ) -> None:
        for name in ("_online", "_stability", "_sample", "_combined"):
            self.__dict__.pop(name, None)
        if sample is not None:
            self._sample = sample
        self.space_, self.preparation_ = space, preparation
        self.n_features_in_ = space.n_coordinates
        self._statistics = learned.statistics
        if learned.combined is not None and len(sparsities) > 1:
            self._combined = learned.combined
        self.atoms_ = space.unwhiten(learned.atoms)
        self.rmse_ = learned.rmse
        self.usage_ = learned.usage
        self.loss_curve_ = learned.loss_curve
        self.sparsities_ = np.array(sparsities)
        self.n_iter_ = learned.n_iter


def _attributes_at(iteration: Iteration, space: Space) -> dict[str, Any]:
    """Return the attributes of an estimator that stops at this iteration."""
    return {
        "atoms_": space.unwhiten(iteration.atoms),
        "space_": space,
        "n_features_in_": space.n_coordinates,
        "rmse_": iteration.rmse,
    }
