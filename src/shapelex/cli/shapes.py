"""Shapes and models that commands read, whole or piece by piece, and clusters that learn from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex._messages import marked_text, parameter
from shapelex.cli.errors import CommandError, parameters_in
from shapelex.cli.exclusion import select_shapes
from shapelex.exceptions import CoordinateCountError, ModelFileError, PreparationError, ShapeFileError, ShapelexError

if TYPE_CHECKING:
    from shapelex.cli.run import Run
    from shapelex.estimators import ShapeDictionary
    from shapelex.shapes import ShapeSet
    from shapelex.spaces import Space


def read_shapes(run: "Run", path: str, *, hints: bool = True, **options: Any) -> "ShapeSet":
    """Read shapes that go into a command as they are; `hints` makes errors say what to run before it."""
    import shapelex as sx

    run.reads(path)
    try:
        with run.progress("reading") as tell:
            shapes: ShapeSet = sx.read(path, progress=lambda n_done, n_all: tell(n_done / n_all, ""), **options)
    except (CoordinateCountError, ShapeFileError) as error:
        # The command may have the option itself.
        if not hints or (options.keys() - {"missing"} and "option" in parameters_in(marked_text(error))):
            raise
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz --n-points 100") from error
    run.keep_remarks(shapes.notes)
    return shapes


def say_notes(run: "Run", shapes: Any) -> None:
    """Print the notes on shapes that were read from other files than those that import wrote, which showed them."""
    if not {"npz", "zarr"} >= set(shapes.provenance.get("formats", ())):
        run.note(*shapes.notes)


def count_incomplete(shapes: Any) -> int:
    """Return how many shapes of a set, in memory or stored, have missing landmarks."""
    import numpy as np

    from shapelex.shapes.opening import as_shapes

    return sum(int(np.isnan(block.configurations).any(axis=1).sum()) for block in as_shapes(shapes).blocks())


def read_shapes_for(run: "Run", model: "ShapeDictionary", path: str) -> "ShapeSet":
    """Read shapes in the space of a model; closed outlines are resampled or fitted like those of the model."""
    import shapelex as sx
    from shapelex.files.provenance import zarr_attributes

    # Incomplete shapes are coded by the landmarks that they have.
    wanted = {"missing": "allow"} if isinstance(model.space_, sx.Landmarks) else {}
    # Arrays alone do not say what space they are in, but are prepared.
    is_ready = Path(path).suffix.lower() in (".npy", ".npz") or "space" in zarr_attributes(Path(path))
    try:
        if is_ready or Path(path).suffix.lower() == ".zarr":
            shapes = read_shapes(run, path, hints=False, **wanted)
        else:
            shapes = _read_outlines_for(run, model, path, wanted)
    except ShapelexError as error:
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz, in the space of the model") from error
    return model._prepare_set(fit_for(run, model, shapes, path))


def _read_outlines_for(run: "Run", model: "ShapeDictionary", path: str, wanted: dict[str, Any]) -> "ShapeSet":
    """Read a file of shapes that are not prepared; only outlines are resampled or fitted, landmarks are refused."""
    from shapelex.io.parts import SAME_COUNTS
    from shapelex.spaces import Landmarks

    space, is_closed = model.space_, False

    def note_closed(closed: bool) -> "Space":
        nonlocal is_closed
        is_closed = closed
        return space

    try:
        shapes = read_shapes(run, path, hints=False, space=note_closed, **wanted)
    except ShapeFileError:
        # Incomplete shapes cannot be resampled.
        shapes = read_shapes(run, path, hints=False, **wanted)
        is_closed = shapes.closed
    if shapes.preparation is None or {"npz", "zarr"} >= set(shapes.provenance["formats"]):
        # Arrays and sets in a folder are prepared.
        return shapes
    given = f"shapes of {shapes.shape[1]} points"
    is_given = shapes.preparation.resampling == "as given" and shapes.shape[1] == space.n_coordinates
    # The number of points of an outline that was traced in an image is chance.
    is_given &= shapes.provenance["formats"] != ["image"]
    is_outline = was_closed = is_closed
    if not (is_given or is_outline):
        try:
            given = f"shapes of {read_shapes(run, path, hints=False, **wanted).shape[1]} points"
        except ShapeFileError as error:
            if SAME_COUNTS not in marked_text(error):
                raise
            # Landmarks would be as many in every shape.
            is_outline, is_closed = True, space.closed
    if is_closed != space.closed or not (is_given or is_outline):
        ends = "--like and the set that the model was learned from"
        if isinstance(space, Landmarks):
            ends = f"--n-points {space.n_points} {'--closed' if space.closed else '--open'}"
        raise CommandError(
            f"{path} holds {'closed' if is_closed else 'open'} {given}, but the model is in {space}. If they are "
            f"outlines, first run shapelex import {path} -o shapes.npz {ends}."
        )
    if is_given:
        return shapes
    if shapes.preparation.resampling in (None, "as given") or not was_closed:
        shapes = read_shapes(run, path, hints=False, **reading_options(space, model.preparation_), **wanted)
    done = "resampled at equal steps of arc length" if isinstance(space, Landmarks) else "fitted by least squares"
    run.say(f"{path} holds outlines: {done} like those of the model, to {space}")
    return shapes


def reading_options(space: "Space", preparation: Any) -> dict[str, Any]:
    """Return the options of ``read`` that bring outlines into a space in the same way as those of a set."""
    if preparation is not None and preparation.resampling == "arc length":
        return {"n_points": space.n_coordinates, "closed": space.closed}
    return {"space": space}


def leave_out_like(run: "Run", shapes: Any, preparation: Any, source: str) -> Any:
    """Return a set without the kinds of objects of masks that were left out of the one that it is prepared like."""
    kinds = () if preparation is None else preparation.left_out
    if not kinds:
        return shapes
    n_all = shapes.shape[0]
    shapes = select_shapes(shapes, lambda part: ~_left_out_rows(part, kinds))
    n_left_out = n_all - shapes.shape[0]
    if n_left_out == n_all:
        raise CommandError(f"All {n_all} shapes are objects that were left out of {source}: none is left.")
    if not n_left_out:
        return shapes
    told = f"{n_left_out} of {n_all} shapes left out, as in {source}: objects of masks ({', '.join(kinds)}=drop)"
    run.say(told)
    return shapes.replace(preparation=replace(shapes.preparation, left_out=kinds), notes=(*shapes.notes, told))


def _left_out_rows(shapes: Any, left_out: Sequence[str]) -> Any:
    """Return which shapes of a set are objects of masks of the kinds that were left out of another set."""
    import numpy as np

    from shapelex.io.contours import has_hole

    found = np.zeros(len(shapes), dtype=bool)
    columns = {"border": ("touches_border",), "holes": ("hole_area", "area")}
    for kind in left_out:
        if set(columns[kind]) <= set(shapes.metadata):
            values = [np.asarray(shapes.metadata[name][:]) for name in columns[kind]]
            found |= values[0] == 1 if kind == "border" else has_hole(*values)
    return found


def is_registered(shapes: Any) -> bool:
    """Tell whether the outlines of a set are registered."""
    return shapes.preparation is not None and shapes.preparation.is_registered


def fit_for(run: "Run", model: "ShapeDictionary", shapes: Any, path: str) -> Any:
    """Return shapes in the space of a model; refuse those of another one, or that were prepared differently.

    Arrays do not name their space, and count as prepared.
    """
    import shapelex as sx

    shapes = leave_out_like(run, shapes, model.preparation_, "the set that the model was learned from")
    is_array = shapes.preparation is None and isinstance(model.space_, sx.Landmarks)
    if shapes.space != model.space_:
        if not is_array or shapes.shape[1] != model.space_.n_coordinates:
            advice = "import these shapes with --like and the file that the model was learned from."
            if shapes.space.closed != model.space_.closed:
                ends = "--closed" if model.space_.closed else "--open"
                advice = f"if they are outlines, import their files again with {ends} and the same --n-points."
            raise CommandError(f"{path} is in {shapes.space}, but the model is in {model.space_}: {advice}")
        shapes = shapes.replace(space=model.space_, preparation=shapes.preparation)
    try:
        needs_registration = model._missing_registration(shapes) is not None
    except PreparationError as error:
        raise CommandError(f"{path}{str(error).removeprefix('X')}") from error
    n_incomplete = count_incomplete(shapes) if shapes.missing == "allow" else 0
    if needs_registration and n_incomplete:
        raise CommandError(
            f"{path} has missing landmarks and is not registered, as the model needs it, and incomplete outlines "
            f"cannot be registered: first run shapelex impute {path} -o complete.npz."
        )
    if needs_registration:
        run.say(f"{path} is not registered: registered to the mean that the model was learned with")
    if n_incomplete:
        run.say(f"{n_incomplete} shapes are incomplete: they are coded by the landmarks that they have")
    return shapes


def load_dictionary(run: "Run", path: Path, device: str = "cpu") -> "ShapeDictionary":
    """Load a dictionary, to compute on a device."""
    import shapelex as sx

    model: ShapeDictionary = load_model(run, path, sx.ShapeDictionary, "dictionary", "learn")
    model.set_params(device=device)
    return model


def load_model(run: "Run", path: Path, kind: type, noun: str, maker: str) -> Any:
    """Load a model of a kind, which is called by a noun and which a command makes."""
    import shapelex as sx

    run.reads(path)
    try:
        model = sx.load(path)
    except ModelFileError as error:
        if "it is a set of shapes" not in str(error):
            raise
        raise CommandError(
            f"{path} is a set of shapes, no model: the model that {maker} wrote comes first, then the shapes. Perhaps "
            "the two were swapped."
        ) from error
    if not isinstance(model, kind):
        raise CommandError(f"{path} holds a {type(model).__name__}: this command needs a {noun} that {maker} wrote.")
    return model


def refuse_incomplete(shapes: Any, path: str, why: str) -> None:
    """Refuse a set with missing landmarks."""
    n_incomplete = count_incomplete(shapes)
    if n_incomplete:
        raise CommandError(
            f"{n_incomplete} of {len(shapes)} shapes of {path} have missing landmarks, and {why}: first run shapelex "
            f"impute {path} -o complete.npz."
        )


def unit_of(option: str | None) -> str | None:
    """Return the unit that the option names, as functions of the library take it."""
    return "auto" if option is None else None if option == "none" else option


def say_units(run: "Run", shapes: "ShapeSet", option: str | None) -> "ShapeSet":
    """Find the units of a set, say what they are, and return the set with them: whatever is made of it has them."""
    units = shapes.units(unit_of(option))
    if units is not None:
        run.note(f"{units}; --unit none treats shapes as independent.")
    return shapes.replace(roles={**shapes.roles, "unit": None if units is None else units.column})


def with_unit(shapes: "ShapeSet", option: str | None) -> "ShapeSet":
    """Return a set with the unit that the option names."""
    return shapes if option is None else shapes.replace(roles={**shapes.roles, "unit": unit_of(option)})


def make_space(kind: str, n_points: int, closed: bool) -> "Space":
    """Return a space of curves by its name on the command line."""
    import shapelex as sx

    return (sx.BSpline if kind == "bspline" else sx.HermiteSpline)(n_points, closed=closed)


def with_hint(error: ShapelexError, path: str, command: str) -> ShapelexError:
    """Return an error that says which command to run first, where that helps."""
    from shapelex.exceptions import CodesError
    from shapelex.files.code_files import SUFFIXES, read_codes

    if Path(path).suffix.lower() in SUFFIXES:
        with suppress(CodesError, OSError):
            read_codes(path)
            return CommandError(
                f"{path} is a file of codes, not of shapes: give the shapes that were coded. In Python, "
                "model.inverse_transform(shapelex.read_codes(path).codes) makes shapes of codes."
            )
    message = marked_text(error)
    named = parameters_in(message)
    if {"option", "format"} & named:
        # Only import has these.
        return CommandError(f"{message.rstrip('.')}: first run shapelex import {path} -o shapes.npz with it.")
    allow = parameter("missing", "allow")
    if allow in message and parameter("missing", "negative") not in message:
        return CommandError(
            f"{message.partition(f': {allow}')[0].rstrip('.')}: fill them in first, by shapelex impute {path} "
            "-o complete.npz"
        )
    if not {"n_points", "missing"} & named:
        return error
    return CommandError(f"{message.rstrip('.')}: bring them into one form first, as in: {command.format(path=path)}")


# Shapes of a chunk that a worker reads.
_CHUNK_ROWS = 100_000


def open_stored_shapes(run: "Run", path: str, *, whatever_size: bool = False) -> "ShapeSet | None":
    """Open shapes that are read piece by piece: arrays, and large sets; None where the file is of another kind.

    Parameters
    ----------
    path : str
        The file.
    whatever_size : bool
        Whether small sets are opened too.
    """
    import shapelex as sx
    from shapelex.files.archive import read_header
    from shapelex.files.atomic import is_zarr_folder
    from shapelex.io.stored_shapes import SHAPES_FORMAT, is_large

    file = Path(path)
    is_array = file.suffix.lower() == ".npy" and file.is_file()
    is_set = file.suffix.lower() == ".npz" and file.is_file() and (whatever_size or is_large(file))
    if is_set:
        is_set = read_header(file).get("format", SHAPES_FORMAT) == SHAPES_FORMAT
    if not (is_array or is_set or is_zarr_folder(file)):
        return None
    run.reads(path)
    try:
        stored = sx.open_shapes(file)
    except ShapelexError as error:
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz") from error
    run.keep_remarks(stored.notes)
    return stored


def open_or_read(run: "Run", path: str) -> "ShapeSet":
    """Open a large set of shapes, or read a small one, of which landmarks may be missing."""
    return open_if_large(run, path) or read_shapes(run, path, missing="allow")


def open_if_large(run: "Run", path: str) -> "ShapeSet | None":
    """Open a large set of shapes; None for all else."""
    from shapelex.io.stored_shapes import is_large

    file = Path(path)
    return open_stored_shapes(run, path) if file.exists() and is_large(file) else None


@contextmanager
def assembled_shapes(run: "Run", paths: Sequence[str], out: Path, **options: Any) -> "Iterator[ShapeSet]":
    """Read shapes that may be more than memory holds; what does not fit waits beside the file that is made of them."""
    from shapelex.files.atomic import work_folder
    from shapelex.io.read import read_to

    run.reads(*paths, leaves_out=True)
    with work_folder(out) as folder:
        with run.progress("reading") as tell:
            shapes = read_to(
                paths, folder, progress=lambda n_done, n_all: tell(n_done / n_all, ""), leave_out=out, **options
            )
        yield shapes


@contextmanager
def on_cluster(shapes: Any, path: str, address: str | None) -> Iterator[Any]:
    """Give the shapes of a file as a Dask array on the cluster of a scheduler; as they are where there is none."""
    if address is None:
        yield shapes
        return
    try:
        import dask.array
        from dask.distributed import Client
    except ImportError as error:
        raise CommandError('--scheduler needs Dask: pip install "shapelex[dask]".') from error
    try:
        # A default client that could not connect would stay the default of this process, and everything wait for it.
        Client(address, timeout=10, set_as_default=False).close()
        client = Client(address, timeout=10, set_as_default=True)
    except (OSError, ValueError) as error:
        raise CommandError(f"no scheduler answers at {address}: {' '.join(str(error).split())}") from error
    with client:
        from shapelex.io import open_shapes

        if shapes.in_memory:
            yield shapes.replace(configurations=dask.array.from_array(shapes.configurations))
        else:
            yield open_shapes(path, chunks=_CHUNK_ROWS).replace(space=shapes.space, preparation=shapes.preparation)
