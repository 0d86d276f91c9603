"""``shapelex sequence``: codes of time series that follow the motion, with pictures, movies and tables of states."""

from pathlib import Path
from typing import Any, Literal

from shapelex.cli.command import MovieFile, Table, command
from shapelex.cli.errors import CommandError
from shapelex.cli.run import Run
from shapelex.cli.shapes import load_dictionary, read_shapes_for

# Height divided by width of each picture.
_ASPECTS = {"ethogram": 0.28, "weights": 0.5, "phases": 0.4, "portrait": 0.75, "kymograph": 0.35, "transitions": 0.8}
_STRIP_ASPECT = 0.05  # of each further series of an ethogram


@command("raw_cells", "figure")
def sequence(
    run: Run,
    model: Path,
    shapes: str,
    *,
    out: Table,
    switch_cost: float | None = None,
    weight_penalty: float | None = None,
    fps: float | None = None,
    states: Literal["support", "cluster", "hmm"] = "support",
    min_duration: int = 1,
    bouts: Table | None = None,
    transitions: Table | None = None,
    picture: Literal["ethogram", "weights", "phases", "portrait", "kymograph", "transitions"] = "ethogram",
    movie: MovieFile | None = None,
    series: str | None = None,
) -> dict[str, Any]:
    """Code time series such that the sets of atoms change only where that pays, and write them as a table.

    The table has one row per frame: series, frame, time in seconds where the frame rate is known, error, and the
    modulus and phase of the weight of every atom; phases, in radians, go on from frame to frame. Frames with missing
    landmarks are not coded.

    Example: shapelex sequence model.npz worms.npz -o series.csv --figure ethogram.png --movie worm.mp4

    Options
    -------
    out : Table to write: .csv, .tsv, .xlsx or .parquet.
    switch_cost : Cost of a change of the set of atoms, as a squared distance; 0 codes frame by frame.
        [default: that of the model, else chosen by held-out error]
    weight_penalty : Price of large weights. [default: that of the model]
    fps : Frames per second, for times in seconds. [default: what import found]
    states : What a state is: a set of atoms, a cluster of postures, or a state of a hidden Markov model.
    min_duration : With --bouts or --transitions or --figure: join bouts of fewer frames to a neighboring one.
    bouts : Also write a table of bouts: stretches in one state.
    transitions : Also write a table of transitions between states.
    picture : With --figure: what to draw.
    movie : Also write a movie: a .gif or .mp4 file.
    series : With --figure or --movie: the series to show. [default: all in an ethogram, else the longest]
    """
    dictionary = load_dictionary(run, model)
    found = read_shapes_for(run, dictionary, shapes)
    import shapelex as sx

    if found.sequence is None and not {"frame", "time"} & set(found.metadata):
        run.say(f"note: {shapes} tells neither series nor frames: its shapes are taken for consecutive frames of one")
    chosen = _series_of(found, series)
    with run.progress("coding"):
        result = sx.sequences.encode_sequence(
            found, dictionary, switch_cost=switch_cost, weight_penalty=weight_penalty, fps=fps
        )
    run.make_record(dictionary.random_state, shapes, model)
    run.note(*result.remarks)
    run.write_table(out, {"id": found.ids, **result.to_dataframe()})
    n_coded = int(result.is_coded.sum())
    rate = "" if result.flicker_rate is None else f", {result.flicker_rate:.3g} per second"
    run.say(
        f"{n_coded} frames of {result.n_series} series, RMSE {100 * result.rmse:.2f} %, atoms change at "
        f"{100 * result.flicker:.1f} % of consecutive frames{rate}"
    )
    known: Any = states
    if bouts or transitions or (run.figure is not None and picture in ("ethogram", "transitions")):
        # Found once for all tables and pictures.
        with run.progress("finding states"):
            known = sx.sequences.find_states(result, states)
        run.say(f"states: {known.explanation}")
    for path, make in ((bouts, sx.sequences.bouts), (transitions, sx.sequences.transitions)):
        if path is not None:
            run.write_table(path, make(result, known, min_duration=min_duration))
    aspect = _ASPECTS[picture]
    if picture == "ethogram" and chosen is None:
        aspect = min(1.2, aspect + _STRIP_ASPECT * (result.n_series - 1))
    look = {"series": chosen, "states": known, "min_duration": min_duration, "X": found}
    run.draw(lambda ax: result.plot(picture, ax=ax, **look), aspect)
    if movie is not None:
        from shapelex.files.provenance import write_sidecar

        with run.progress("drawing"):
            result.save_movie(run.outputs.place(movie), found, series=chosen)
        write_sidecar(run.outputs.place(movie), run.record)
    told = ("rmse", "flicker", "flicker_rate", "fps", "switch_cost")
    counts = {"n_frames": len(result), "n_series": result.n_series, "n_coded": n_coded}
    return {**counts, **{name: getattr(result, name) for name in told}}


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
