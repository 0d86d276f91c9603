"""``shapelex demo``: the whole way, from handwritten digits to a page, on data that comes along."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shapelex.cli.encode import draw_overlays
from shapelex.cli.errors import STATUS_INTERRUPTED, report_error
from shapelex.cli.figures import save_figure
from shapelex.cli.fit_progress import follow_fit
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, SeedOption
from shapelex.cli.outputs import claim_folder, record_run
from shapelex.cli.report import on_page
from shapelex.cli.screen import Screen
from shapelex.cli.shape_files import write_shapes

if TYPE_CHECKING:
    from shapelex.io import ShapeSet

METHODS = ("shape dictionary", "align-first", "complex PCA")
SPARSITIES = (1, 2, 3, 4, 5)
N_ATOMS, N_NONZERO, N_POINTS = 20, 5, 48


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write to.")] = Path("demo"),
    n_shapes: Annotated[
        int, typer.Option("--shapes", min=100, max=1793, help="How many digits; all 1793 by default.")
    ] = 1793,
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Go the whole way on handwritten digits: outlines, registration, dictionary, codes, comparison, page.

    About a minute on two cores. Writes shapes.npz, model.npz, codes.csv, comparison.csv, figures and report.html.

    Example: shapelex demo -o demo
    """
    folder = claim_folder(out, force)
    screen = Screen(quiet, as_json)
    written: list[Path] = []
    try:
        results = _go(folder, n_shapes, seed, screen, written)
    except KeyboardInterrupt:
        what = ", ".join(path.name for path in written) or "nothing"
        report_error(f"interrupted: {folder} has {what}; run again with --force.")
        raise typer.Exit(STATUS_INTERRUPTED) from None
    screen.show(results)


def _go(folder: Path, n_shapes: int, seed: int, screen: Screen, written: list[Path]) -> dict[str, Any]:
    import shapelex as sx
    from shapelex.io.code_table import write_codes
    from shapelex.io.table_file import write_table

    start = time.perf_counter()
    run = record_run(seed)

    def keep(name: str) -> Path:
        written.append(folder / name)
        return folder / name

    shapes = _outlines(n_shapes, seed, screen)
    write_shapes(shapes, keep("shapes.npz"), run)
    screen.say(f"1. {len(shapes)} outlines of handwritten digits, {N_POINTS} points each, with a common start point")
    model = sx.ShapeDictionary(N_ATOMS, N_NONZERO, space=shapes.space, coder="beam", random_state=seed)
    with screen.progress("learning") as tell, follow_fit(tell, 80):
        model.fit(shapes)
    model.save(keep("model.npz"), run=run)
    screen.say(f"2. a dictionary of {N_ATOMS} atoms, {N_NONZERO} a shape: RMSE {100 * model.rmse_:.2f} %")
    codes, errors = model.encode(shapes), model.errors(shapes)
    write_codes(keep("codes.csv"), codes, errors, shapes, run)
    save_figure(
        keep("atoms.png"), lambda ax: sx.plotting.plot_atoms(model.atoms_, shapes.space, usage=model.usage_, ax=ax), run
    )
    draw_overlays(keep("reconstructions.png"), shapes, model.inverse_transform(codes), errors, run)
    sx.report.write_report(
        model, shapes, keep("report.html"), title="Handwritten digits", overwrite=True, provenance=on_page(run)
    )
    screen.say("3. codes of all shapes, figures, and the page to explore them")
    table = _compare(shapes, seed, screen)
    write_table(keep("comparison.csv"), {name: table[name] for name in table.columns}, run)
    save_figure(keep("comparison.png"), lambda ax: sx.plotting.plot_rmse_curves(table, ax=ax), run, (6.0, 4.2))
    screen.say(f"4. other methods of {N_ATOMS} atoms or modes:\n\n{table}\n")
    seconds = time.perf_counter() - start
    screen.say(f"{seconds:.0f} s. Open {folder / 'report.html'} in a browser; the figures are beside it.")
    return {"out": str(folder), "rmse": float(model.rmse_), "seconds": seconds, "comparison": table.rows(),
            "files": [str(path) for path in written]}  # fmt: skip


def _outlines(n_shapes: int, seed: int, screen: Screen) -> "ShapeSet":
    import numpy as np

    import shapelex as sx

    with screen.progress("outlines of digits") as tell:
        shapes = sx.datasets.load_digits_outlines(N_POINTS)
        # In the order of the file, so that blocks that are held out have all digits in them.
        shapes = shapes[np.unique(np.linspace(0, len(shapes) - 1, n_shapes).astype(int))]
        tell(0.5, "registering")
        found = sx.register(shapes, shapes.space, random_state=seed)
    note = " ".join(str(found).split())
    registered: ShapeSet = shapes.replace(configurations=found.configurations, notes=(*shapes.notes, note))
    return registered


def _compare(shapes: "ShapeSet", seed: int, screen: Screen) -> Any:
    import shapelex as sx

    # One dictionary serves all sparsities, and a part of the shapes is enough to rank the methods.
    methods = {
        "shape dictionary": sx.ShapeDictionary(N_ATOMS, N_NONZERO, coder="beam", max_iter=30),
        "align-first": sx.AlignFirstDictionary(N_ATOMS, N_NONZERO, max_iter=30),
        "complex PCA": sx.ComplexPCA(),
    }
    with screen.progress("comparing methods") as tell:
        return sx.compare(
            shapes,
            methods,
            SPARSITIES,
            n_atoms=N_ATOMS,
            space=shapes.space,
            cv=2,
            learn_at=N_NONZERO,
            random_state=seed,
            callback=lambda n_done, n_all, row: tell(n_done / n_all, f"comparing: {row['method']}"),
        )
