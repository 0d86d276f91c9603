"""What holds for every command: help, outputs, figures, text of the data, bad input, interruptions."""

import csv
import json
import logging
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

import shapelex as sx
from shapelex._messages import Message, as_printable, parameter
from shapelex.cli.app import app
from shapelex.cli.terminal import echo
from tests.cli.conftest import facts_of, lines_of, needs_processes, run

WRITING = {
    "import": "import shapes.npz -o out.npz",
    "learn": "learn shapes.npz -o out.npz --n-atoms 4 --n-nonzero 2 --coder ormp",
    "encode": "encode model.npz shapes.npz -o out.csv",
    "sequence": "sequence model.npz shapes.npz -o out.csv",
    "reconstruct": "reconstruct model.npz shapes.npz -o out.npz",
    "mean": "mean shapes.npz -o out.npz",
    "distances": "distances shapes.npz -o out.csv",
    "check": "check shapes.npz -o out.csv",
    "measure": "measure shapes.npz -o out.csv",
    "compare": "compare shapes.npz -o out.csv --n-atoms 3 --n-nonzero 1-2 --methods 'complex PCA'",
    "suggest": "suggest shapes.npz -o out.csv --n-atoms 2,3 --n-nonzero 1 --cv 2 --no-stability",
    "report": "report model.npz shapes.npz -o out.html",
}
READING = {**WRITING, "info": "info shapes.npz"}
# Where each command spends its time.
WORK = {
    "import": "write",
    "learn": "ShapeDictionary.fit",
    "encode": "ShapeDictionary.encode",
    "sequence": "sequences.encode_sequence",
    "reconstruct": "ShapeDictionary.reconstruct",
    "mean": "mean_shape",
    "distances": "pairwise_distances",
    "check": "check",
    "measure": "measure",
    "compare": "compare",
    "suggest": "suggest",
    "report": "report.write_report",
    "info": "read",
    "replay": "files.provenance.read_run",
    "warmup": "ShapeDictionary.fit",
}

HELP = ("--help", "--help-all")


def out_of(command):
    return re.search(r"-o (\S+)", command)[1]


def test_help_on_one_screen_has_an_example_and_all_options_and_help_all_explains_them(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines, listed = lines_of(run("learn --help")), run("--help").stdout
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    assert "which --help-all explains" in " ".join(lines)
    assert run("--version").stdout == f"shapelex {sx.__version__}\n"
    for command in get_command(app).commands.values():
        short, whole = (" ".join(" ".join(lines_of(run(command.name, word))).split()) for word in HELP)
        assert command.name in listed
        assert f"Example: shapelex {command.name}" in short
        options = [max(one.opts, key=len) for one in command.params if one.opts[0].startswith("-")]
        assert [name for name in options if name not in short] == []
        assert [name for name in options if name not in whole] == []
        assert [one.name for one in command.params if one.name != "help" and not one.help] == []
        assert "which --help-all explains" not in whole


def test_sentences_are_broken_at_words_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    text = "A sentence of many words that does not fit on one line of a narrow terminal."
    row, command = "a  " * 30, f"$ shapelex {'word ' * 20}"
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stdout, "isatty", lambda is_terminal=is_terminal: is_terminal)
        echo("\n".join([text, row, command]))
        lines = capsys.readouterr().out.splitlines()
        assert " ".join(lines[:-2]) == text
        assert lines[-2:] == [row, command]
        assert (max(map(len, lines[:-2])) <= 40) is is_terminal


@pytest.mark.parametrize("name", WRITING)
def test_outputs_are_replaced_with_force_alone_and_say_what_made_them(ready, name):
    out = ready / out_of(WRITING[name])
    lines_of(run(WRITING[name]))
    before = out.read_bytes()
    result = run(WRITING[name])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"shapelex: {out.name} exists: choose another -o, or pass --force to replace it.\n"
    assert out.read_bytes() == before
    document = json.loads(run(f"{WRITING[name]} --force --json").stdout)
    assert (document["ok"], document["outputs"]) == (True, [out.name])
    assert run("replay", out).stdout.startswith(f"shapelex {name} ")
    assert not list(ready.glob(".*.partial"))


@pytest.mark.parametrize("name", READING)
def test_missing_and_damaged_files_are_one_line(ready, name):
    (ready / "shapes.npz").write_bytes(b"PK\x03\x04 and then nothing of use")
    result = run(READING[name])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "shapes.npz cannot be read as shapes: it is damaged" in result.stderr
    (ready / "shapes.npz").unlink()
    result = run(READING[name])
    assert (result.exit_code, result.output) == (1, "shapelex: There is no file shapes.npz.\n")


@pytest.mark.parametrize("name", WORK)
def test_interruption_is_130_and_leaves_nothing_half(ready, name, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    owner, _, attribute = f"shapelex.{WORK[name]}".rpartition(".")
    holder = sx
    for part in owner.split(".")[1:]:
        holder = getattr(holder, part)
    monkeypatch.setattr(holder, attribute, interrupt)
    before = {path.name for path in ready.iterdir()}
    result = run({**READING, "replay": "replay shapes.npz", "warmup": "warmup "}[name])
    assert result.exit_code == 130
    assert result.stderr.startswith("shapelex: interrupted")
    assert {path.name for path in ready.iterdir()} == before


MARKS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "eps": b"%!PS-Adobe-3.0 EPSF", "tiff": b"II*"}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        *(("learn", "png"), ("encode", "svg"), ("mean", "pdf"), ("mean", "eps"), ("distances", "tiff")),
    ],
)
def test_figures_by_their_end_say_what_made_them(ready, name, suffix):
    figure = ready / f"figure.{suffix}"
    # A name that each format has to keep: parentheses, a backslash, an ampersand, and no ASCII.
    (ready / "shapes.npz").rename(ready / "(a)\\ & <é>.npz")
    command = WRITING[name].replace("shapes.npz", r"'(a)\ & <é>.npz'") + f" --figure {figure.name}"
    assert lines_of(run(command))[-1] == f"wrote {figure.name}"
    assert figure.read_bytes().startswith(MARKS[suffix])
    made_by = run("replay", out_of(command)).stdout.splitlines()[0]
    assert facts_of(run("replay", figure, "--json"))["command"] == made_by
    assert run(f"{command} --force").exit_code == 0
    assert run(command.replace("-o out", "-o other")).exit_code == 1


def test_progress_of_suggest_is_written_where_there_is_no_terminal(ready, monkeypatch):
    monkeypatch.setattr("shapelex.cli.compare.LINE_SECONDS", 0.0)
    command = "suggest shapes.npz --n-atoms 2,3 --n-nonzero 1 --cv 2 --no-stability"
    lines = run(command).stderr.splitlines()
    assert lines[0] == "shapelex: trying sizes: 1 of about 4 dictionaries, 2 atoms, 1 per shape"
    assert len(lines) == 4
    assert run(f"{command} --quiet").stderr == ""
    assert run(f"{command} --json").stderr == ""


def test_warnings_are_one_line_and_quiet_is_quiet(ready, monkeypatch):
    encode = sx.ShapeDictionary.encode

    def warn_and_encode(*given, **options):
        warnings.warn(Message(f"Poor codes:\nset {parameter('n_points', 9)}."), UserWarning, stacklevel=2)
        return encode(*given, **options)

    monkeypatch.setattr(sx.ShapeDictionary, "encode", warn_and_encode)
    command = "encode model.npz shapes.npz -o c.csv"
    assert run(command).stderr == "shapelex: warning: Poor codes: set import --n-points 9.\n"
    assert run(f"{command} --force --quiet").stderr == ""


def test_warmup_says_that_it_is_ready(monkeypatch):
    # Every kernel of every coder would take minutes to compile where nothing is in the cache.
    monkeypatch.setattr("shapelex.cli.warmup._CODERS", ("ormp",))
    assert run("warmup").stdout.startswith("ready, after ")
    assert facts_of(run("warmup", "--json"))["seconds"] > 0
    assert not [handler for handler in logging.getLogger("shapelex").handlers if "Bar" in type(handler).__name__]


@pytest.mark.parametrize("contents", ["mine", '{"file": "other.csv", "run": {}}', "[]"])
def test_a_file_of_others_where_the_record_goes_stays(ready, contents):
    (ready / "c.csv.json").write_text(contents)
    result = run("mean shapes.npz -o c.csv --force")
    assert result.exit_code == 1
    assert result.stderr.startswith("shapelex: c.csv.json exists, where the record of c.csv goes")
    assert (ready / "c.csv.json").read_text() == contents
    assert not (ready / "c.csv").exists()
    (ready / "c.csv.json").unlink()
    for _ in range(2):
        # The record of an earlier run is no file of others.
        lines_of(run("mean shapes.npz -o c.csv"))
        (ready / "c.csv").unlink()


@pytest.mark.parametrize(
    "command", ["info {}", "learn {} -o out.npz", "mean {} -o out.npz", "encode model.npz {} -o o.csv"]
)
@pytest.mark.parametrize(
    ("name", "wanted"), [("table.csv", "--option layout=blocks"), ("notes.doc", "with import --format:")]
)
def test_what_only_import_can_be_told_is_said_of_import(ready, command, name, wanted):
    (ready / name).write_text("1,2,3,4,5,6\n" if name == "table.csv" else "no shapes")
    result = run(command.format(name))
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    # learn has --option too.
    has_option = command.startswith("learn") or name == "notes.doc"
    assert (wanted if has_option else f"import {wanted}") in result.stderr
    assert result.stderr.endswith(f"first run shapelex import {name} -o shapes.npz with it.\n")


def texts_of(name: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", Path(name).read_text())


@pytest.mark.parametrize(("width", "mm"), [("single", 85), ("60mm", 60)])
def test_width(folder, width, mm):
    lines_of(run(f"mean shapes.npz -o m.csv --figure m.pdf --width {width}"))
    size = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ", Path("m.pdf").read_bytes())
    assert float(size[1]) == pytest.approx(mm / 25.4 * 72, abs=0.1)


def test_look(folder):
    (folder / "my.mplstyle").write_text("# mine\nfont.size: 5\nlines.linewidth: 3\n")
    look = "--figure a.svg --no-joined --numbers --columns 1 --style my.mplstyle"
    lines_of(run(f"learn shapes.npz -o m.npz --n-atoms 4 --n-nonzero 1 --max-iter 0 --quiet {look}"))
    texts = texts_of("a.svg")
    assert {"1", "2", "3"} <= set(texts)
    assert sum(text.endswith("%") for text in texts) == 4
    assert "5px" in (folder / "a.svg").read_text()


def test_a_style_file_that_cannot_be_used(folder):
    (folder / "my.mplstyle").write_text("fontsize: 5\n")
    result = run("mean shapes.npz -o m.csv --figure m.pdf --style my.mplstyle")
    assert "'fontsize' is not a setting of matplotlib" in " ".join(result.stderr.split())
    assert not (folder / "m.csv").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("learn shapes.npz -o m.npz --atoms 3", "--atoms is now spelled --n-atoms."),
        ("mean shapes.npz -o m.npz --figure m.png --no-lines", "--no-lines is now spelled --no-joined."),
        ("mean shapes.npz -o m.npz --no-joined", "--no-joined: works only with --figure."),
        ("test shapes.npz --model '~ size'", "--model is now spelled --formula."),
        ("compare shapes.npz --method PCA", "--method is now spelled --methods."),
        ("mean shapes.npz -o m.npz --safe-cells", "--safe-cells is gone: text that a spreadsheet would take for"),
        ("mean shapes.npz -o m.npz --figure m.png --dpi 3", "--dpi is gone: give a style file by --style"),
        ("replay shapes.npz --run -o b.npz", "--run is gone: replay prints the command"),
    ],
)
def test_what_replaces_an_option_is_named(folder, command, message):
    result = run(command)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert message in json.loads(run(f"{command} --json").stdout)["error"]["message"]


BAD, OTHER = r"$\frac{$", "$x_{y$"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("mean", "bad.npz", "--by-label", "-o", "m.npz"), [BAD, OTHER]),
        (("distances", "bad.npz", "-o", "d.csv"), [BAD, OTHER]),
        (("encode", "model.npz", "bad.npz", "-o", "e.csv"), []),
    ],
)
def test_labels_are_drawn_as_they_are_written(ready, shapes, words, shown):
    sx.write(shapes.replace(labels=[BAD, OTHER] * 20), "bad.npz")
    lines_of(run(*words, "--figure", "f.svg"))
    assert {*shown} <= set(texts_of("f.svg"))
    assert (ready / words[-1]).exists()


FORMULAS = ["=1+1", "+1", "-x", "@SUM(A1)", " =1", "\t=1", "plain", "a=b"]
COMMANDS = {
    "import": "import odd.npz -o t.csv",
    "import to a .tsv": "import odd.npz -o t.tsv",
    "encode": "encode model.npz odd.npz -o t.csv",
    "distances": "distances odd.npz -o t.tsv",
    "test": "test odd.npz --by label --permutations 19 -o t",
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


@needs_processes
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
    assert formulas_in(tables) == set()
    lines_of(run(f"{COMMANDS[name]} --force --raw-cells"))
    assert formulas_in(tables)


def test_predictions_have_safe_names_of_columns_and_other_formats_keep_text_as_it_is(odd):
    lines_of(run("classify odd.npz --no-test -o c.npz"))
    lines_of(run("classify c.npz odd.npz -o p.csv"))
    lines_of(run("encode model.npz odd.npz -o codes.csv"))
    columns = sx.read_codes("codes.csv").columns
    assert columns["id"].tolist() == odd.ids.tolist()
    assert columns["=column"].tolist() == odd.metadata["=column"].tolist()
    assert formulas_in([Path("p.csv")]) == set()
    assert Path("p.csv").read_text().startswith("id,predicted,probability,p +1,p @SUM(A1)\n")
    for suffix in (".npz", ".tps", ".parquet", ".xlsx"):
        lines_of(run(f"import odd.npz -o t{suffix}"))
        found = [text.strip() for text in sx.read(f"t{suffix}").ids.tolist()]
        assert found == [text.strip() for text in odd.ids.tolist()]
