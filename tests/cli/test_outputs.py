"""What commands may replace: no input, nothing that shapelex did not write; and all outputs of a run, or none."""

import contextlib
import errno
import shutil
from pathlib import Path

import pytest

import shapelex as sx
from shapelex import plotting
from shapelex.files.provenance import read_run
from tests.cli.conftest import lines_of, refused, run

SMALL = "--permutations 19"


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


REPLACING_AN_INPUT = [
    "mean shapes.npz -o shapes.npz",
    "mean '*.tsv' -o table.tsv",
    "mean sub -o sub/table.tsv",
    "encode model.npz shapes.npz -o shapes.npz",
    "encode model.npz shapes.zarr -o shapes.zarr",
    "encode model.npz shapes.zarr -o shapes.zarr/configurations",
    "distances table.csv -o table.csv",
    "distances shapes.npz table.csv -o table.csv",
    "register shapes.npz -o shapes.npz",
    "register shapes.npz -o like.npz --like like.npz",
    "impute shapes.npz -o ./shapes.npz",
    "learn shapes.npz -o shapes.npz --n-atoms 2 --n-nonzero 1",
    "learn shapes.npz -o m.npz --n-atoms 2 --n-nonzero 1 --checkpoint shapes.npz",
    "learn shapes.npz -o m.npz --n-atoms 2 --n-nonzero 1 --exclude list.csv --checkpoint list.csv",
    "mean link.npz -o shapes.npz",
    "mean shapes.npz -o link.npz",
    f"test table.csv --by label -o results --table table.csv {SMALL}",
    f"test results/points.csv --by label -o results {SMALL}",
    "methods codes.csv -o codes.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory, shapes, model):
    """A folder with inputs of many kinds, all written by shapelex."""
    folder = tmp_path_factory.mktemp("filled")
    with contextlib.chdir(folder):
        model.save("model.npz", run={"command": "shapelex learn shapes.npz -o model.npz", "earlier": []})
        for name in ("shapes.npz", "like.npz", "shapes.zarr"):
            sx.write(shapes, name)
        Path("sub").mkdir()
        for name in ("table.csv", "table.tsv", "sub/table.tsv"):
            lines_of(run(f"import shapes.npz -o {name}"))
        lines_of(run(f"test shapes.npz --by label -o results {SMALL}"))
        # A set of shapes under the name of a result, with the record of a test.
        Path("results", "points.csv").write_bytes(Path("table.csv").read_bytes())
        lines_of(run("encode model.npz shapes.npz -o codes.csv"))
        Path("list.csv").write_text("id\ncell 1\n")
        Path("link.npz").symlink_to("shapes.npz")
    return folder


@pytest.mark.parametrize("command", REPLACING_AN_INPUT)
def test_no_input_is_replaced_with_force(filled, monkeypatch, command):
    monkeypatch.chdir(filled)
    before = contents(filled)
    result = run(f"{command} --force")
    assert result.exit_code in (1, 2), result.output
    assert "wrote" not in result.stdout
    assert contents(filled) == before


WRITING = {
    "out.zarr": "encode model.npz shapes.npz -o out.zarr",
    "out.npz": "import shapes.npz -o out.npz",
    "out.md": "methods model.npz -o out.md",
    "out.svg": "mean shapes.npz -o mean.npz --figure out.svg",
    "results/anova.csv": f"test shapes.npz --by label -o results {SMALL}",
}


@pytest.mark.parametrize("name", WRITING)
def test_only_what_shapelex_wrote_is_replaced(ready, name):
    target = ready / name
    target.parent.mkdir(exist_ok=True)
    if target.suffix == ".zarr":
        target.mkdir()
        (target / "zarr.json").write_text('{"attributes": {}, "zarr_format": 3, "node_type": "group"}')
    else:
        target.write_text("mine")
    before = contents(ready)
    refused(f"{WRITING[name]} --force", f"{target.name} exists, and shapelex did not write it: choose another -")
    assert contents(ready) == before
    (target / "zarr.json" if target.is_dir() else target).unlink()
    if target.is_dir():
        target.rmdir()
    lines_of(run(WRITING[name]))
    made_by = run("replay", target).stdout.splitlines()[0]
    assert made_by == f"shapelex {WRITING[name]}"
    refused(WRITING[name], "--force")
    lines_of(run(f"{WRITING[name]} --force"))
    assert not list(ready.rglob("*.partial"))


def test_all_outputs_of_a_run_or_none(ready, monkeypatch):
    command = "mean shapes.npz -o mean.csv --figure mean.png"
    lines_of(run(command))
    before = contents(ready)

    def fail(figure, path, **options):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(plotting, "save_figure", fail)
        result = refused(
            "mean shapes.npz --distance partial -o mean.csv --figure mean.png --force", "mean.png: No space"
        )
        assert "wrote" not in result.stdout
        refused("mean shapes.npz -o other.csv --figure other.png", "shapelex: other.png: No space left on device.")
    assert contents(ready) == before


def test_a_file_that_came_during_the_work_stays_and_so_does_all_else(ready, monkeypatch):
    lines_of(run("mean shapes.npz -o a.npz"))
    before = contents(ready)
    draw = plotting.plot_mean

    def come_between(*arguments, **options):
        Path("mean.png").write_text("mine")
        return draw(*arguments, **options)

    monkeypatch.setattr(plotting, "plot_mean", come_between)
    refused("mean shapes.npz -o a.npz --figure mean.png --force", "mean.png exists, and shapelex did not write it")
    assert (ready / "mean.png").read_text() == "mine"
    (ready / "mean.png").unlink()
    assert contents(ready) == before


def test_a_failure_while_outputs_are_put_in_place_brings_everything_back(ready, monkeypatch):
    lines_of(run("encode model.npz shapes.npz -o codes.zarr"))
    lines_of(run(f"test shapes.npz --by label -o found --table t.csv {SMALL}"))
    lines_of(run("mean shapes.npz -o mean.csv --figure mean.png"))
    before = contents(ready)
    move = shutil.move
    for command in (
        "mean shapes.npz -o mean.csv --figure mean.png --distance partial --force",
        f"test shapes.npz --by label --random-state 1 -o found --table t.csv {SMALL} --force",
    ):
        for n_moves in (1, 3) if command.startswith("mean") else (2,):
            moves = []

            def fail(source, target, moves=moves, n_moves=n_moves):
                moves.append(target)
                if len(moves) == n_moves:
                    raise OSError(errno.EIO, "Input/output error", str(target))
                return move(source, target)

            with monkeypatch.context() as patch:
                patch.setattr("shapelex.cli.outputs.shutil.move", fail)
                refused(command, "Input/output error")
            assert contents(ready) == before


def test_a_link_stays_a_link_to_what_is_new(ready):
    (ready / "there").mkdir()
    (ready / "link.csv").symlink_to("there/codes.csv")
    lines_of(run("encode model.npz shapes.npz -o link.csv"))
    assert (ready / "link.csv").is_symlink()
    assert len(sx.read_codes("there/codes.csv").codes) == 40
    assert read_run("link.csv")["command"] == "shapelex encode model.npz shapes.npz -o link.csv"


def test_a_log_goes_to_no_other_file_and_its_name_is_taken(folder):
    before = (folder / "shapes.npz").read_bytes()
    (folder / "own.csv").write_text("id,x\n")
    for words in (
        "info shapes.npz --log shapes.npz",
        "info shapes.npz --log own.csv",
        "mean shapes.npz -o a.npz --log a.npz",
    ):
        assert run(words).exit_code != 0
    assert (folder / "shapes.npz").read_bytes() == before
    assert (folder / "own.csv").read_text() == "id,x\n"
    for _ in range(2):
        lines_of(run("mean shapes.npz -o mean.npz --force --log a.log"))
    assert (folder / "a.log").read_text().count("started: ") == 2


def test_a_list_that_names_no_shape_excludes_none_and_is_refused(folder):
    refused("import shapes.npz -o less.npz --exclude 'cell 1000'", "names no shape of these: 'cell 1000'")
    assert not (folder / "less.npz").exists()
