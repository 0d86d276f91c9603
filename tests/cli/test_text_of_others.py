"""Text of the data on the terminal and in tables: no control characters, and no formulas where asked for."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shapelex as sx
from shapelex._messages import as_printable
from tests.cli.conftest import lines_of, run

FORMULAS = ["=1+1", "+1", "-x", "@SUM(A1)", " =1", "\t=1", "plain", "a=b"]
COMMANDS = {
    "import": "import odd.npz -o t.csv",
    "import to a .tsv": "import odd.npz -o t.tsv",
    "register": "register odd.npz -o t.csv",
    "impute": "impute odd.npz -o t.csv",
    "reconstruct": "reconstruct model.npz odd.npz -o t.csv",
    "mean": "mean odd.npz --by-label -o t.csv",
    "encode": "encode model.npz odd.npz -o t.csv",
    "distances": "distances odd.npz -o t.tsv",
    "sequence": "sequence model.npz odd.npz --switch-cost 0 -o t.csv",
    "classify": "classify odd.npz --folds 2 --tested t.csv --misclassified t2.csv",
    "test": "test odd.npz --by label --permutations 19 -o t",
    "table of a test": "test odd.npz --by =column --permutations 19 --table t.csv",
}


@pytest.mark.usefixtures("folder")
def test_control_characters_in_labels_and_commands_are_escaped(shapes):
    evil = ["\x1b]0;title\x07", "a\rb\x08\x7f\x9b", "left\u202eright\u2028", "ü 形"]
    sx.write(shapes.replace(labels=evil * 10), "evil.npz", command=f"shapelex import '{''.join(evil)}' -o evil.npz")
    for command in ("info evil.npz", "replay evil.npz"):
        shown = run(command).output
        for words in (r"\x1b]0;title\x07", r"a\rb\x08\x7f\x9b", r"left\u202eright\u2028", "ü 形"):
            assert words in shown
        assert not set("\x1b\x07\r\x08\x7f\x9b\u202e\u2028") & set(shown)
    assert as_printable("\udc80") == r"\udc80"


@pytest.mark.usefixtures("ready")
def test_a_reader_who_goes_away_loses_nothing():
    command = [sys.executable, "-m", "shapelex", "encode", "model.npz", "shapes.npz", "-o", "codes.csv"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert len(sx.read_codes("codes.csv").codes) == 40


@pytest.fixture
def odd(ready, shapes):
    """A set whose ids, labels, columns and names of columns are formulas."""
    ids = [f"{FORMULAS[n % 8]} {n}" for n in range(40)]
    made = shapes.replace(ids=ids, labels=["@SUM(A1)", "+1"] * 20, metadata={"=column": ["-x", "=y"] * 20})
    sx.write(made, "odd.npz")
    return made


def formulas_in(paths: list[Path]) -> set[str]:
    found = set()
    for path in paths:
        with path.open(newline="") as stream:
            found.update(*csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))
    # Negative numbers are none; the label "+1" is text.
    return {cell for cell in found if re.match(r"\s*[=+@-]", cell) and not re.fullmatch(r"-\d[\d.e+-]*", cell)}


@pytest.mark.parametrize("name", COMMANDS)
def test_text_of_the_data_is_no_formula(ready, odd, name):
    lines_of(run(COMMANDS[name]))
    tables = [path for path in ready.rglob("*") if path.suffix in (".csv", ".tsv")]
    assert formulas_in(tables)
    lines_of(run(f"{COMMANDS[name]} --force --safe-cells"))
    assert formulas_in(tables) == set()


@pytest.mark.usefixtures("odd")
def test_predictions_have_safe_names_of_columns():
    lines_of(run("classify odd.npz --no-test -o c.npz"))
    lines_of(run("classify c.npz odd.npz -o p.csv --safe-cells"))
    assert formulas_in([Path("p.csv")]) == set()
    assert Path("p.csv").read_text().startswith("id,predicted,probability,p +1,p @SUM(A1)\n")


@pytest.mark.parametrize("suffix", [".npz", ".tps", ".parquet", ".xlsx"])
def test_other_formats_keep_text_as_it_is(odd, suffix):
    lines_of(run(f"import odd.npz -o t{suffix} --safe-cells"))
    found = [text.strip() for text in sx.read(f"t{suffix}").ids.tolist()]
    assert found == [text.strip() for text in odd.ids.tolist()]
