"""Write the golden outputs: ``python -m tests.golden --write``, only where a change of numbers is wanted."""

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import shapelex as sx
from tests.golden import commands
from tests.golden.calls import FILES, SPACES, cases, make_atoms, make_shapes


def write_models() -> None:
    """Store a dictionary of a curve space once; it stays as it is when results are written again."""
    path = FILES / "spline.npz"
    if not path.exists():
        model = sx.ShapeDictionary(6, 2, space=SPACES["spline"], init=make_atoms(), max_iter=3, random_state=0)
        model.fit(make_shapes()).save(path)


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        sys.exit("Usage: python -m tests.golden --write")
    warnings.simplefilter("ignore")
    write_models()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = {"/".join(case): case.run() for case in cases()}
        np.savez_compressed(
            FILES / "calls.npz",
            **{f"{record}/{part}": value for record, parts in records.items() for part, value in parts.items()},
        )
        commands.make_files(folder)
        os.chdir(folder)
        found = {command: commands.run(command) for command in commands.COMMANDS}
    lines = [f"{json.dumps(command)}: {json.dumps(result)}" for command, result in found.items()]
    (FILES / "commands.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
