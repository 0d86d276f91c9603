"""The style sheet of all figures, applied by a context manager.

Settings that the user has changed in matplotlib take precedence over the sheet.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from shapelex._validation import check_choice, check_positive
from shapelex.exceptions import ParameterError
from shapelex.plotting.palette import CYCLE, LIGHT_GRAY

if TYPE_CHECKING:
    from matplotlib import RcParams

FONT_SIZE = 8.0  # points
COLUMN_WIDTHS = {"single": 85.0, "double": 180.0}  # mm: one and two columns of most journals
MM_PER_INCH = 25.4

_SHEET: dict[str, Any] = {
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE + 0.5,
    "axes.labelsize": FONT_SIZE,
    "xtick.labelsize": FONT_SIZE,
    "ytick.labelsize": FONT_SIZE,
    "legend.fontsize": FONT_SIZE,
    "figure.titlesize": FONT_SIZE + 0.5,
    "lines.linewidth": 1.4,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LIGHT_GRAY,
    "grid.linewidth": 0.5,
    # Text stays text: journals refuse Type 3 fonts, and editors change words, not outlines of letters.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    # The same picture gives the same bytes.
    "svg.hashsalt": "shapelex",
    "savefig.dpi": 300,
}
_TEXT_SIZES = [name for name in _SHEET if name.endswith("size")]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@contextmanager
def style(
    settings: Mapping[str, Any] | str | Path | None = None, *, font_size: float | None = None
) -> Iterator["RcParams"]:
    """Draw and save figures in the style of shapelex, with your own settings where you made some.

    The style sheet has small text for figures as wide as a column, colors that color-blind readers can tell apart, and
    fonts that stay text in PDF, PostScript and SVG files. A setting of matplotlib that differs from matplotlib's
    default, because you set it in ``rcParams``, by ``plt.style.use`` or in a ``matplotlibrc`` file, is kept.

    Every function that draws uses the same sheet by itself. The context matters for what you add to a figure, such as
    titles, and for ``savefig``; :func:`save_figure` saves with the sheet too.

    Parameters
    ----------
    settings : mapping of str to object or path, optional
        Settings of matplotlib that replace those of the sheet and your own ones inside the context; or a style file of
        matplotlib with lines such as ``savefig.dpi: 600``. Its ``font.size`` is the size of all text.
    font_size : float, optional
        Size of all text in points; titles are half a point larger. When not given, your ``font.size`` if you set one,
        else 8.

    Yields
    ------
    matplotlib.RcParams
        The settings in effect.

    Raises
    ------
    ValueError
        If `font_size` is not positive, or a style file has a line that matplotlib does not know.
    FileNotFoundError
        If there is no such style file.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> import shapelex as sx
    >>> with sx.plotting.style({"lines.linewidth": 2}) as settings:
    ...     settings["font.size"], settings["lines.linewidth"], settings["pdf.fonttype"]
    (8.0, 2.0, 42)
    >>> mpl.rcParams["font.size"]
    10.0
    """
    mpl = import_matplotlib()
    if isinstance(settings, str | Path):
        settings = _read_style_file(Path(settings))
        font_size = settings.get("font.size") if font_size is None else font_size
    size = check_positive(font_size, "font_size") if font_size is not None else None
    sheet = _sheet_beside(mpl.rcParams, mpl.rcParamsDefault, size)
    with mpl.rc_context({**sheet, **(settings or {})}):
        yield mpl.rcParams


def styled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run a function that draws inside the style, with its `fontsize` as the size of all text."""

    @wraps(function)
    def draw(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        size: Any = options.get("fontsize")
        with style(font_size=size):
            return function(*args, **options)

    return draw


def import_matplotlib() -> Any:
    """Return matplotlib; name the extra that installs it where it is missing."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError(
            'shapelex.plotting needs matplotlib, which is not installed: pip install "shapelex[plot]".'
        ) from error
    return mpl


def text_size(given: float | None = None) -> float:
    """Return the size of text, in points: the given one, or the one in effect."""
    return float(import_matplotlib().rcParams["font.size"]) if given is None else given


def cycle_colors() -> list[Any]:
    """Return the colors of the color cycle in effect."""
    return list(import_matplotlib().rcParams["axes.prop_cycle"].by_key().get("color") or CYCLE)


def cycle_color(place: int) -> Any:
    """Return a color of the color cycle in effect, by its place."""
    colors = cycle_colors()
    return colors[place % len(colors)]


def figure_size(
    width: float | Literal["single", "double"] = "single", height: float | None = None
) -> tuple[float, float]:
    """Return the size of a figure in inches, as matplotlib's ``figsize`` takes it, from millimeters.

    Draw a figure in the size that it has in print, and text is in print as large as its size says.

    Parameters
    ----------
    width : float, "single" or "double", default "single"
        Width in mm, or that of one or two columns of a journal: 85 or 180 mm.
    height : float, optional
        Height in mm; 0.7 times the width when not given.

    Returns
    -------
    tuple of float
        Width and height in inches.

    Raises
    ------
    ValueError
        If a size is not positive, or the name of a width is not known.

    Examples
    --------
    >>> import shapelex as sx
    >>> sx.plotting.figure_size(127, 50.8)
    (5.0, 2.0)
    """
    if isinstance(width, str):
        check_choice(width, tuple(COLUMN_WIDTHS), "width")
    wide = COLUMN_WIDTHS[width] if isinstance(width, str) else check_positive(width, "width")
    high = 0.7 * wide if height is None else check_positive(height, "height")
    return wide / MM_PER_INCH, high / MM_PER_INCH


def _read_style_file(path: Path) -> dict[str, Any]:
    """Return the settings in a style file; matplotlib itself leaves out lines that it does not know."""
    mpl = import_matplotlib()
    text = path.read_text(encoding="utf-8")
    names = [line.partition(":")[0].strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]
    unknown = next((name for name in names if name not in mpl.rcParams), None)
    if unknown is not None:
        raise ParameterError(f"{path}: {unknown!r} is not a setting of matplotlib; lines are such as font.size: 7.")
    try:
        found = mpl.rc_params_from_file(path, fail_on_error=True, use_default_template=False)
    except ValueError as error:
        raise ParameterError(f"{path} is not a style file: {' '.join(str(error).split())}.") from error
    return {name: found[name] for name in found}


def _sheet_beside(current: Mapping[str, Any], defaults: Mapping[str, Any], size: float | None) -> dict[str, Any]:
    """Return the entries of the sheet that the user has not set, with text of the given size."""
    from cycler import cycler

    sheet = {**_SHEET, "axes.prop_cycle": cycler(color=CYCLE)}
    sheet = {name: value for name, value in sheet.items() if current[name] == defaults[name]}
    own = float(current["font.size"]) if "font.size" not in sheet else None
    if size is None and own is not None:
        # Relative sizes such as "medium" follow the font size of the user.
        return {name: value for name, value in sheet.items() if name not in _TEXT_SIZES}
    if size is not None:
        sheet |= {name: size + (_SHEET[name] - FONT_SIZE) for name in _TEXT_SIZES}
    return sheet
