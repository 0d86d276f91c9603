"""Shapes and models that commands read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelex.cli.errors import CommandError
from shapelex.cli.screen import Screen
from shapelex.exceptions import CoordinateCountError, ShapeFileError, ShapelexError

if TYPE_CHECKING:
    from shapelex.estimators import ShapeDictionary
    from shapelex.shapes import ShapeSet
    from shapelex.spaces import Space


def read_shapes(paths: str | Sequence[str], screen: Screen, **options: Any) -> "ShapeSet":
    """Read shapes, with a bar while there are files to read."""
    import shapelex as sx

    with screen.progress("reading") as tell:
        shapes: ShapeSet = sx.read(paths, progress=lambda n_done, n_all: tell(n_done / n_all, ""), **options)
    return shapes


def read_complete_shapes(path: str, screen: Screen, **options: Any) -> "ShapeSet":
    """Read shapes that go into a command as they are."""
    try:
        return read_shapes(path, screen, **options)
    except (CoordinateCountError, ShapeFileError) as error:
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz --points 100") from error


def read_shapes_for(model: "ShapeDictionary", path: str, screen: Screen) -> "ShapeSet":
    """Read shapes in the space of a model."""
    from shapelex.store.run_records import zarr_attributes

    space = model.space_
    # Arrays alone do not say what space they are in.
    is_ready = path.endswith(".npz") or "space" in zarr_attributes(Path(path))
    try:
        shapes = read_shapes(path, screen) if is_ready else read_shapes(path, screen, space=space)
    except ShapelexError as error:
        raise with_hint(error, path, "shapelex import {path} -o shapes.npz, in the space of the model") from error
    check_space_of(shapes, model, path)
    return shapes


def check_space_of(shapes: Any, model: "ShapeDictionary", path: str) -> None:
    """Refuse shapes of another space than a model's."""
    if shapes.space == model.space_ or is_bare_form_of(shapes, model):
        return
    raise CommandError(
        f"{path} is in {shapes.space}, but the model is in {model.space_}: import these shapes with --like and the "
        "file that the model was learned from."
    )


def is_bare_form_of(shapes: Any, model: "ShapeDictionary") -> bool:
    """Tell whether shapes are an array of as many landmarks as a model has: it does not say whether they are closed."""
    import shapelex as sx

    is_bare = isinstance(shapes, sx.StoredShapes) and shapes.ids is None and not shapes.provenance
    return is_bare and isinstance(model.space_, sx.Landmarks) and shapes.shape[1] == model.space_.n_points


def load_dictionary(path: Path, device: str = "cpu") -> "ShapeDictionary":
    """Load a dictionary, to compute on a device."""
    import shapelex as sx

    model = sx.load(path)
    if not isinstance(model, sx.ShapeDictionary):
        raise CommandError(f"{path} holds a {type(model).__name__}: this command needs a dictionary that learn wrote.")
    model.set_params(device=device)
    return model


def make_space(kind: str, n_points: int, closed: bool) -> "Space":
    """Return a space by its name on the command line."""
    import shapelex as sx

    kinds: dict[str, Callable[..., Space]] = {
        "landmarks": sx.Landmarks,
        "bspline": sx.BSpline,
        "hermite": sx.HermiteSpline,
    }
    return kinds[kind](n_points, closed=closed)


def with_hint(error: ShapelexError, path: str, command: str) -> ShapelexError:
    """Return an error that says which command to run first, where that helps."""
    from shapelex.cli.errors import in_options

    message = in_options(" ".join(str(error).split()))
    if "--option" in message or "--format" in message:
        # Only import has these.
        return CommandError(f"{message.rstrip('.')}: first run shapelex import {path} -o shapes.npz with it.")
    if "--points" not in message and "--missing" not in message:
        return CommandError(message)
    return CommandError(f"{message.rstrip('.')}: bring them into one form first, as in: {command.format(path=path)}")
