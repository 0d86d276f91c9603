"""``shapelex demo``: from images to a page, by the commands that a user would type."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shapelex.cli.command import command
from shapelex.cli.errors import CommandError, Interruption
from shapelex.cli.leaf_sheets import write_leaf_sheets
from shapelex.cli.run import Run, begin_run

N_ROWS, N_POINTS, N_ATOMS, N_NONZERO = 4, 100, 12, 3
_IMAGES = "leaves"


@command()
def demo(run: Run, *, out: Path = Path("demo"), random_state: int = 0) -> dict[str, float]:
    """Run the main commands on images of leaves: import, registration, dictionary, codes, comparison, page.

    Draws images of simulated leaves, and then prints and runs the commands that lead from them to a page to explore.

    Example: shapelex demo -o demo

    Options
    -------
    out : Folder to write to.
    """
    from shapelex._extras import load_library

    for module, distribution in (("matplotlib", "matplotlib"), ("PIL", "Pillow"), ("skimage", "scikit-image")):
        load_library(module, distribution, "shapelex demo", extra="report")
    run.outputs.claim_folder(out, "-o")
    shared = ["--force"] * run.outputs.force + ["--quiet"] * (not run.talks)
    start = time.perf_counter()
    try:
        images = _draw_images(run, out / _IMAGES, random_state)
        run.say(f"{len(images)} images of simulated leaves, one per species: {out / _IMAGES}")
        for words in _commands(out, random_state):
            run.say(f"\n$ {shlex.join(['shapelex', *words])}")
            _run_command(run, words, shared)
    except Interruption:
        # The message of the command that was interrupted.
        raise
    except KeyboardInterrupt:
        written = ", ".join(sorted(path.name for path in out.iterdir())) or "nothing"
        raise Interruption(f"interrupted: {out} has {written}; run again with --force.") from None
    seconds = time.perf_counter() - start
    run.say(f"\n{seconds:.0f} s. Open {out / 'report.html'} in a browser; the figures are beside it.")
    run.written |= {str(path): None for path in sorted(out.iterdir())}
    return {"seconds": seconds}


def _run_command(run: Run, words: Sequence[str], options: Sequence[str]) -> None:
    """Run a command in this process, such that the files it writes record `words`, without `options`, as the command.

    Its files and remarks are noted in those of `run`.
    """
    from typer.main import get_command

    from shapelex.cli.app import app

    group: Any = get_command(app)
    command = group.commands[words[0]]
    inner = Run(words, run)
    with command.make_context(words[0], [*options, *words[1:]]) as context, begin_run(inner):
        command.invoke(context)
        inner.results = inner.work()


def _draw_images(run: Run, folder: Path, seed: int) -> list[Path]:
    """Draw the images into a folder, with the record of what made it beside it."""
    from shapelex.files.provenance import make_run, write_sidecar
    from shapelex.files.sidecar import has_sidecar

    if folder.exists() and not has_sidecar(folder):
        raise CommandError(f"{folder} exists, and shapelex did not write it: choose another -o.")
    images = write_leaf_sheets(folder, N_ROWS, seed)
    write_sidecar(folder, make_run(run.command, seed))
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
