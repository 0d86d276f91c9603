"""Figures as files for journals: fonts that stay text, the size in print, and the same bytes for the same figure."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from shapelex._validation import check_choice, check_positive
from shapelex.files.atomic import write_atomically
from shapelex.plotting.style import import_matplotlib, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_SUFFIXES = (".png", ".svg", ".pdf", ".eps", ".ps", ".tif", ".tiff")

# Dates would make every file differ.
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
_POSTSCRIPT_DATE = re.compile(rb"^%%CreationDate:.*\n", re.MULTILINE)


def save_figure(
    figure: "Figure", path: str | Path, *, dpi: float | None = None, metadata: Mapping[str, Any] | None = None
) -> Path:
    """Write a figure as a journal wants it, in the format that the end of the name says.

    Text stays text: TrueType fonts in PDF and PostScript files, where matplotlib would write Type 3 fonts, and text
    elements in SVG. TIFF files are compressed without loss and have no transparency. PostScript has none either:
    transparent colors are mixed with white. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure, which is left as it is.
    path : str or Path
        Path of the file: ``.pdf``, ``.svg``, ``.eps``, ``.ps``, ``.png``, ``.tif`` or ``.tiff``. An existing file is
        replaced in one step.
    dpi : float, optional
        Dots per inch of images, and of color maps in other files; your ``savefig.dpi`` where you set it, else 300,
        when not given.
    metadata : mapping, optional
        Entries for the metadata of PNG, PDF or SVG files, as in :meth:`matplotlib.figure.Figure.savefig`.

    Returns
    -------
    Path
        Path of the written file.

    Raises
    ------
    ValueError
        If the path has another suffix, or `dpi` is not positive.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> import shapelex as sx
    >>> figure = Figure(figsize=sx.plotting.figure_size("single"))
    >>> _ = sx.plotting.plot_shape([0, 1, 1j], ax=figure.subplots())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sx.plotting.save_figure(figure, f"{folder}/triangle.pdf")
    ...     path.name
    'triangle.pdf'
    """
    import_matplotlib()
    path = Path(path)
    check_choice(path.suffix.lower(), FIGURE_SUFFIXES, "the end of the name of path")
    kind = {"tif": "tiff"}.get(path.suffix[1:].lower(), path.suffix[1:].lower())
    settings = {} if dpi is None else {"savefig.dpi": check_positive(dpi, "dpi")}
    with style(settings):
        contents = _contents(figure, kind, metadata)
    # Written in one piece: encoders that write to a full disk themselves raise errors without a reason or a name.
    write_atomically(path, lambda stream: stream.write(contents))
    return path


def _contents(figure: "Figure", kind: str, metadata: Mapping[str, Any] | None) -> bytes:
    """Return the bytes of the file."""
    content = io.BytesIO()
    if kind == "tiff":
        _write_tiff(figure, content)
    elif kind in ("eps", "ps"):
        with _without_transparency(figure):
            figure.savefig(content, format=kind)
        return _POSTSCRIPT_DATE.sub(b"", content.getvalue(), count=1)
    else:
        figure.savefig(content, format=kind, metadata={**_NO_DATE.get(kind, {}), **(metadata or {})} or None)
    return content.getvalue()


def _write_tiff(figure: "Figure", stream: BinaryIO) -> None:
    from PIL import Image

    content = io.BytesIO()
    figure.savefig(content, format="png")
    content.seek(0)
    with Image.open(content) as image:
        dots = image.info["dpi"]
        image.convert("RGB").save(stream, format="tiff", compression="tiff_lzw", dpi=dots)


@contextmanager
def _without_transparency(figure: "Figure") -> Iterator[None]:
    """Mix the transparent colors of a figure with white, and restore them afterwards."""
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

    changed: list[tuple[Any, Any, float]] = []
    for artist in figure.findobj(lambda one: isinstance(one, Line2D | PolyCollection) and one.get_alpha() is not None):
        alpha = float(artist.get_alpha())  # type: ignore[arg-type]
        color = artist.get_color() if isinstance(artist, Line2D) else artist.get_facecolor()  # type: ignore[attr-defined]
        changed.append((artist, color, alpha))
        artist.set_alpha(None)
        artist.set_color(_on_white(color, alpha))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for artist, color, alpha in changed:
            artist.set_color(color)
            artist.set_alpha(alpha)


def _on_white(color: Any, alpha: float) -> Any:
    from matplotlib.colors import to_rgb, to_rgba_array

    if isinstance(color, np.ndarray) and color.ndim == 2:
        return 1 - alpha * (1 - to_rgba_array(color)[:, :3])
    return tuple(1 - alpha * (1 - channel) for channel in to_rgb(color))
