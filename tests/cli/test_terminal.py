"""Text of others on the terminal, readers who go away, and cells that spreadsheets take for formulas."""

import os
import subprocess
import sys

import pytest

import shapelex as sx
from shapelex._messages import as_printable
from shapelex.store.provenance import make_run
from shapelex.store.table_file import write_table
from tests.cli.conftest import run


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 形\nnext\tcell", "plain ü 形\nnext\tcell"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb\x08\x7f\x9b", r"a\rb\x08\x7f\x9b"),
        ("left\u202eright\u2028", r"left\u202eright\u2028"),
        ("\udc80", r"\udc80"),
    ],
)
def test_control_characters_are_escaped(text, shown):
    assert as_printable(text) == shown


@pytest.mark.usefixtures("folder")
def test_labels_and_commands_of_others():
    shapes = sx.read("shapes.npz")
    evil = shapes.replace(labels=["\x1b[2Ja", "\x1b]0;owned\x07"] * 20)
    sx.write(evil, "evil.npz", command="shapelex import '\x1b[31mred' -o evil.npz")
    for words in (["info", "evil.npz"], ["replay", "evil.npz"]):
        shown = run(*words).output
        assert "\\x1b" in shown
        assert "\x1b" not in shown


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


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "plain", "a=b", ""]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formulas_are_escaped_where_asked_for(tmp_path, suffix):
    import pandas as pd

    columns = {"=id": FORMULAS, "number": [-float(n) for n in range(len(FORMULAS))]}

    def cells(**options):
        path = write_table(tmp_path / f"a{suffix}", [columns], make_run(None, None), **options)
        return pd.read_csv(path, sep="," if suffix == ".csv" else "\t", keep_default_na=False)

    assert cells()["=id"].tolist() == FORMULAS
    safe = cells(safe_cells=True)
    assert safe["'=id"].tolist() == [f"'{text}" for text in FORMULAS[:6]] + FORMULAS[6:]
    assert safe["number"].tolist() == columns["number"]
