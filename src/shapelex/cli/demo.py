"""``shapelex demo``: from images to a page, by the commands that a user would type."""

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from shapelex.cli.errors import CommandError, Interruption
from shapelex.cli.json_report import current_report
from shapelex.cli.leaf_sheets import write_leaf_sheets
from shapelex.cli.options import ForceOption, JsonOption, QuietOption, SeedOption
from shapelex.cli.outputs import claim_folder, typed_command
from shapelex.cli.running import run_command
from shapelex.cli.screen import Screen

N_ROWS, N_POINTS, N_ATOMS, N_NONZERO = 4, 100, 12, 3
_IMAGES = "leaves"


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write to.")] = Path("demo"),
    seed: SeedOption = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run the main commands on images of leaves: import, registration, dictionary, codes, comparison, page.

    Draws images of simulated leaves, and then prints and runs the commands that lead from them to a page to explore.

    Example: shapelex demo -o demo
    """
    from shapelex._extras import load_library

    for module, distribution in (("matplotlib", "matplotlib"), ("PIL", "Pillow"), ("skimage", "scikit-image")):
        load_library(module, distribution, "shapelex demo", extra="report")
    folder = claim_folder(out, force)
    screen = Screen(quiet, as_json)
    start = time.perf_counter()
    try:
        images = _draw_images(folder / _IMAGES, seed)
        screen.say(f"{len(images)} images of simulated leaves, one per species: {folder / _IMAGES}")
        for words in _commands(folder, seed):
            screen.say(f"\n$ {shlex.join(['shapelex', *words])}")
            run_command(words, ["--force"] * force + ["--quiet"] * (quiet or as_json))
    except Interruption:
        # The message of the command that was interrupted.
        raise
    except KeyboardInterrupt:
        written = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise Interruption(f"interrupted: {folder} has {written}; run again with --force.") from None
    seconds = time.perf_counter() - start
    screen.say(f"\n{seconds:.0f} s. Open {folder / 'report.html'} in a browser; the figures are beside it.")
    for path in sorted(folder.iterdir()):
        current_report().note_output(path)
    screen.show({"seconds": seconds})


def _draw_images(folder: Path, seed: int) -> list[Path]:
    """Draw the images into a folder, with the record of what made it beside it."""
    from shapelex.files.provenance import make_run, write_sidecar
    from shapelex.files.sidecar import has_sidecar

    if folder.exists() and not has_sidecar(folder):
        raise CommandError(f"{folder} exists, and shapelex did not write it: choose another -o.")
    images = write_leaf_sheets(folder, N_ROWS, seed)
    write_sidecar(folder, make_run(typed_command(), seed))
    return images


def _commands(folder: Path, seed: int) -> list[list[str]]:
    """Return the arguments of the commands, in the order in which they run."""
    shapes, model = str(folder / "shapes.npz"), str(folder / "model.npz")
    seeded = ["--random-state", str(seed)] if seed else []
    return [
        ["import", str(folder / _IMAGES), "-o", shapes, "--n-points", str(N_POINTS), "--register", "--unit", "none",
         "--label-from", r"(\w+)\.png", *seeded],
        ["learn", shapes, "-o", model, "--n-atoms", str(N_ATOMS), "--n-nonzero", str(N_NONZERO), *seeded,
         "--figure", str(folder / "atoms.png")],
        ["encode", model, shapes, "-o", str(folder / "codes.csv"), "--figure", str(folder / "reconstructions.png")],
        ["compare", shapes, "-o", str(folder / "comparison.csv"), "--n-atoms", str(N_ATOMS), "--n-nonzero",
         f"1-{N_NONZERO}", "--methods", "shape dictionary", "--methods", "align-first", "--methods", "complex PCA",
         "--cv", "2", "--shuffle", *seeded, "--figure", str(folder / "comparison.png")],
        ["report", model, shapes, "-o", str(folder / "report.html"), "--title", "Leaves of six species"],
    ]  # fmt: skip
