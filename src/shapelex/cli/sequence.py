"""``shapelex sequence``: codes of time series that follow the motion, with pictures, movies and tables of states."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.errors import CommandError
from shapelex.cli.figures import FigureRequest, claim_figure, draw_figure, with_figure
from shapelex.cli.json_report import current_report
from shapelex.cli.options import (
    ForceOption,
    JsonOption,
    ModelArgument,
    QuietOption,
    RawCellsOption,
    ShapesArgument,
)
from shapelex.cli.outputs import claim_file, claim_table, record_run
from shapelex.cli.screen import Screen
from shapelex.cli.shapes import load_dictionary, read_shapes_for

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.sequences import SequenceCodes


class PictureName(StrEnum):
    """Pictures of a series."""

    ethogram = "ethogram"
    weights = "weights"
    phases = "phases"
    portrait = "portrait"
    kymograph = "kymograph"
    transitions = "transitions"


class StatesName(StrEnum):
    """What a state of behavior is."""

    support = "support"
    cluster = "cluster"
    hmm = "hmm"


# Height divided by width of each picture.
_ASPECTS = {"ethogram": 0.28, "weights": 0.5, "phases": 0.4, "portrait": 0.75, "kymograph": 0.35, "transitions": 0.8}
_STRIP_ASPECT = 0.05  # of each further series of an ethogram

_STATES_PANEL = "States of behavior"


def _tell(name: str, text: str, **settings: Any) -> Any:
    return typer.Option(name, help=text, **{"show_default": False, **settings})


@with_figure
def sequence(
    model: ModelArgument,
    shapes: ShapesArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Table to write: .csv, .tsv, .xlsx or .parquet.")],
    switch_cost: Annotated[
        float | None,
        _tell(
            "--switch-cost",
            "Cost of a change of the set of atoms, as a squared distance; 0 codes frame by frame.",
            min=0,
            show_default="that of the model, else chosen by held-out error",
        ),
    ] = None,
    weight_penalty: Annotated[
        float | None,
        _tell("--weight-penalty", "Price of large weights.", min=0, show_default="that of the model"),
    ] = None,
    fps: Annotated[
        float | None,
        _tell("--fps", "Frames per second, for times in seconds.", min=0, show_default="what import found"),
    ] = None,
    states: Annotated[
        StatesName,
        typer.Option(
            "--states",
            help="What a state is: a set of atoms, a cluster of postures, or a state of a hidden Markov model.",
            rich_help_panel=_STATES_PANEL,
        ),
    ] = StatesName.support,
    min_duration: Annotated[
        int,
        typer.Option(
            "--min-duration",
            min=1,
            help="Join bouts of fewer frames to a neighboring one.",
            rich_help_panel=_STATES_PANEL,
        ),
    ] = 1,
    bouts: Annotated[
        Path | None,
        _tell("--bouts", "Also write a table of bouts: stretches in one state.", rich_help_panel=_STATES_PANEL),
    ] = None,
    transitions: Annotated[
        Path | None,
        _tell("--transitions", "Also write a table of transitions between states.", rich_help_panel=_STATES_PANEL),
    ] = None,
    figure: FigureRequest = FigureRequest(),  # noqa: B008 -- it cannot change
    picture: Annotated[
        PictureName, typer.Option("--picture", help="With --figure: what to draw.", rich_help_panel="Figure")
    ] = PictureName.ethogram,
    movie: Annotated[
        Path | None,
        _tell("--movie", "Also write a movie: a .gif or .mp4 file.", rich_help_panel="Figure"),
    ] = None,
    series: Annotated[
        str | None,
        _tell(
            "--series",
            "Series of the figure and the movie.",
            rich_help_panel="Figure",
            show_default="all in an ethogram, else the longest",
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Code time series such that the sets of atoms change only where that pays, and write them as a table.

    The table has one row per frame: series, frame, time in seconds where the frame rate is known, error, and the
    modulus and phase of the weight of every atom; phases, in radians, go on from frame to frame. Frames with missing
    landmarks are not coded.

    Example: shapelex sequence model.npz worms.npz -o series.csv --figure ethogram.png --movie worm.mp4
    """
    if picture is not PictureName.ethogram and figure.figure is None:
        raise typer.BadParameter("works only with --figure.", param_hint="--picture")
    if series is not None and figure.figure is None and movie is None:
        raise typer.BadParameter("works only with --figure or --movie.", param_hint="--series")
    target, drawing, film = claim_table(out, force), claim_figure(figure, force), _claim_movie(movie, force)
    tables = {
        name: claim_table(path, force, f"--{name}")
        for name, path in (("bouts", bouts), ("transitions", transitions))
        if path is not None
    }
    screen = Screen(quiet, as_json)
    dictionary = load_dictionary(model)
    found = read_shapes_for(dictionary, shapes, screen)
    import shapelex as sx
    from shapelex.files.table_file import write_table

    _check_series(found, shapes, screen)
    chosen = _series_of(found, series)
    with screen.progress("coding"):
        result = sx.sequences.encode_sequence(
            found, dictionary, switch_cost=switch_cost, weight_penalty=weight_penalty, fps=fps
        )
    run = record_run(dictionary.random_state, (shapes, model))
    current_report().note_remarks(result.remarks)
    for remark in result.remarks:
        screen.say(f"note: {remark}")
    write_table(target, [{"id": found.ids, **_columns_of(result.to_dataframe())}], run, raw_cells=raw_cells)
    _say_result(result, screen)
    screen.wrote(target)
    known: Any = str(states)
    if tables or (drawing is not None and picture in (PictureName.ethogram, PictureName.transitions)):
        # Found once for all tables and pictures.
        with screen.progress("finding states"):
            known = sx.sequences.find_states(result, str(states))
        screen.say(f"states: {known.explanation}")
    make = {"bouts": sx.sequences.bouts, "transitions": sx.sequences.transitions}
    for name, path in tables.items():
        cells = _columns_of(make[name](result, known, min_duration=min_duration))
        write_table(path, [cells], run, raw_cells=raw_cells)
        screen.wrote(path)
    if drawing is not None:
        aspect = _ASPECTS[picture]
        if picture is PictureName.ethogram and chosen is None:
            aspect = min(1.2, aspect + _STRIP_ASPECT * (result.n_series - 1))
        draw_figure(
            figure,
            lambda ax: result.plot(
                str(picture), series=chosen, states=known, min_duration=min_duration, X=found, ax=ax
            ),
            run,
            aspect,
        )
        screen.wrote(drawing)
    if film is not None:
        from shapelex.files.provenance import write_sidecar

        with screen.progress("drawing"):
            result.save_movie(film, found, series=chosen)
        write_sidecar(film, run)
        screen.wrote(film)
    screen.show(
        {
            "n_frames": len(result),
            "n_series": result.n_series,
            "n_coded": int(result.is_coded.sum()),
            "rmse": result.rmse,
            "flicker": result.flicker,
            "flicker_rate": result.flicker_rate,
            "fps": result.fps,
            "switch_cost": result.switch_cost,
        }
    )


def _claim_movie(path: Path | None, force: bool) -> Path | None:
    """Return where a movie may go; what writes it must be there before the work begins."""
    if path is None:
        return None
    from shapelex._extras import load_library
    from shapelex.plotting.movies import MOVIE_SUFFIXES

    if path.suffix.lower() not in MOVIE_SUFFIXES:
        raise typer.BadParameter(f"{path.name} must end in {' or '.join(MOVIE_SUFFIXES)}.", param_hint="--movie")
    if path.suffix.lower() == ".mp4":
        load_library("imageio_ffmpeg", "imageio-ffmpeg", "Writing an MP4", extra="sequences")
    return claim_file(path, force)


def _check_series(shapes: Any, path: str, screen: Screen) -> None:
    """Say what is taken for time where the shapes do not tell it."""
    if shapes.sequence is None and not {"frame", "time"} & set(shapes.metadata):
        screen.say(f"note: {path} tells neither series nor frames: its shapes are taken for consecutive frames of one")


def _series_of(shapes: Any, name: str | None) -> Any:
    """Return the series of that name, as the set has it; asked before the work, so that a wrong name writes nothing."""
    if name is None:
        return None
    import numpy as np

    # Shapes that tell no series are one series, number 0.
    known = np.unique(0 if shapes.sequence is None else shapes.sequence)
    match = next((one for one in known.tolist() if str(one) == name), None)
    if match is None:
        listed = ", ".join(str(one) for one in known[:8].tolist()) + (", …" if len(known) > 8 else "")
        raise CommandError(f"There is no series {name}: --series can be {listed}.")
    return match


def _columns_of(table: "pd.DataFrame") -> dict[str, Any]:
    """Return the columns of a table as arrays; text as text, not as objects."""
    import numpy as np

    columns = {}
    for name in table.columns:
        values = table[name].to_numpy()
        columns[str(name)] = values if values.dtype.kind in "biuf" else np.array([str(one) for one in values.tolist()])
    return columns


def _say_result(result: "SequenceCodes", screen: Screen) -> None:
    rate = "" if result.flicker_rate is None else f", {result.flicker_rate:.3g} per second"
    n_coded = int(result.is_coded.sum())
    screen.say(
        f"{n_coded} frames of {result.n_series} series, RMSE {100 * result.rmse:.2f} %, atoms change at "
        f"{100 * result.flicker:.1f} % of consecutive frames{rate}"
    )
