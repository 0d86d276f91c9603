"""Commands that cannot be run end in one error, which names the option, and write nothing."""

import json

import numpy as np
import pytest

import shapelex as sx
from tests.cli.conftest import error_of, run

KEYS = {"schema", "version", "command", "ok", "inputs", "outputs", "remarks", "warnings", "result", "error"}
FEW = "--permutations 99"
IMPUTE = "shapelex impute gaps.npz -o complete.npz"
SIZES = "--atoms 3 --nonzero 1"


@pytest.fixture(scope="module")
def files(tmp_path_factory, shapes, model):
    """A folder with sets, a model, codes, and files that cannot be used."""
    folder = tmp_path_factory.mktemp("refused")
    treatment = np.repeat(["drug", "none"], 20)
    plate = np.tile([1, 2], 20)
    dose = np.random.default_rng(1).uniform(size=40)
    sx.write(shapes.replace(metadata={"treatment": treatment, "plate": plate, "dose": dose}), folder / "shapes.npz")
    model.save(folder / "model.npz")
    for name in ("codes.csv", "codes.npz", "codes.zarr"):
        model.encode_to(shapes, folder / name)
    rows = shapes.configurations.copy()
    rows[3:9, 2] = np.nan
    sx.write(shapes.replace(configurations=rows, missing="allow"), folder / "gaps.npz")
    names = np.repeat([f"s{n}" for n in range(10)], 4).astype(object)
    names[3] = ""
    sx.write(shapes.replace(labels=None, metadata={"specimen": names.astype(str)}), folder / "specimens.npz")
    sx.write(shapes.replace(space=sx.Landmarks(16)), folder / "open.npz")
    nine = shapes.replace(configurations=shapes.configurations[:, :9], space=sx.Landmarks(9, closed=True))
    sx.write(nine, folder / "nine.npz")
    (folder / "points.tps").write_text("LM=3\n0 0\n1 0\n0 1\nID=a\n")
    (folder / "table.csv").write_text("id,x1,y1,x2,y2,x3,y3\na,0,0,1,0,0,1\n")
    (folder / "own.csv").write_text("a\n1\n")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "link.npz").symlink_to("a.npz")
    lists = {
        "names": "cell 3\ncell 4\n",
        "files": "file\none.npz\n",
        "all": "id\n" + "".join(f"cell {n}\n" for n in range(40)),
    }
    for name, text in lists.items():
        (folder / f"{name}.list.csv").write_text(text)
    return folder


# Command, exit status, the option that JSON names (if any), and words of the message.
REFUSED = [
    ("nothing", 2, None, "nothing"),
    ("--nothing learn", 2, "--nothing", "--nothing"),
    ("learn shapes.npz", 2, "--out", "--out"),
    ("learn shapes.npz -o m.npz --device nonsense", 2, "--device", "nonsense"),
    ("learn shapes.npz -o m.npz --atoms 0", 2, "--atoms", "--atoms"),
    ("learn shapes.npz -o m.npz --atoms 3 --nonzero 4", 2, "--nonzero", "4"),
    ("learn shapes.npz -o m.csv", 2, "-o", ".npz"),
    ("learn shapes.npz -o m.npz --coder magic", 2, "--coder", "magic"),
    ("learn shapes.npz -o m.npz --figure atoms.gif", 2, "--figure", "gif"),
    (f"learn gaps.npz -o m.npz {SIZES} --batch-size 10", 1, None, IMPUTE),
    ("learn table.csv -o m.npz --atoms 1 --nonzero 1 --option id_column=nosuch", 1, "--option", "id_column=nosuch is"),
    (f"learn shapes.npz -o a.npz --checkpoint link.npz {SIZES}", 2, "--checkpoint", "is the path of"),
    ("learn shapes.npz -o m.npz --exclude names.list.csv", 1, None, "no column id or file"),
    ("learn shapes.npz -o m.npz --exclude files.list.csv", 1, None, "do not say which files"),
    ("learn shapes.npz -o m.npz --exclude all.list.csv", 1, None, "excludes all 40 shapes"),
    ("learn shapes.npz -o m.npz --exclude all.list.csv --scheduler tcp://x:1", 2, "--exclude", "import --exclude"),
    ("compare shapes.npz --atoms 3 --nonzero 4", 2, "--nonzero", "4"),
    (f"compare shapes.npz --folds 50 {SIZES}", 2, "--folds", "50"),
    (f"compare shapes.npz --folds 50 --shuffle {SIZES}", 2, "--folds", "50"),
    ("compare shapes.npz --method magic", 2, "--method", "magic"),
    ("compare shapes.npz -o table.txt", 2, "-o", ".csv"),
    ("compare gaps.npz", 1, None, IMPUTE),
    ("compare specimens.npz --group species --folds 5", 2, "--group", "id, specimen"),
    ("compare specimens.npz --group specimen --shuffle --folds 5", 2, "--group", "--shuffle"),
    ("compare specimens.npz --group specimen", 2, "--group", "--folds"),
    (f"compare specimens.npz --group specimen --folds 5 {SIZES}", 1, None, "1 of 40 shapes have no value"),
    ("suggest shapes.npz --atoms 200", 2, "--atoms", "200"),
    ("suggest shapes.npz --atoms 1-99999999", 2, "--atoms", "at most 10000 numbers"),
    ("suggest shapes.npz -o table.txt", 2, "-o", ".csv"),
    ("suggest gaps.npz", 1, None, IMPUTE),
    ("import shapes.npz -o x.npz --label-from (", 2, "--label-from", "("),
    ("import shapes.npz -o x.npz --format magic", 2, "--format", "magic"),
    ("import shapes.npz -o x.npz --option n_points=3", 2, "--option", "n_points"),
    ("import shapes.npz -o x.npz --option bordr=drop", 2, None, "shapelex formats npz"),
    ("import shapes.npz -o x.npz --option border", 2, "--option", "border"),
    ("import points.tps -o x.npz --option curves=some", 2, "--option", "some"),
    ("import table.csv -o x.npz --option id_column=nosuch", 1, "--option", "--option id_column=nosuch is none"),
    ("import table.csv -o x.npz --option layout=blocks", 1, "--option", "--option layout=blocks contradicts the names"),
    ("import shapes.npz -o x.npz --space bspline --points 2", 2, "--points", "2"),
    ("import shapes.npz -o x.npz --space bspline", 2, "--space", "--points"),
    ("import shapes.npz -o x.npz --reflection", 2, "--reflection", "--register"),
    ("import shapes.npz -o x.npz --like loop.csv", 1, None, "loop.csv"),
    ("import loop.csv -o x.npz", 1, None, "loop.csv"),
    ("import gone.npz -o x.npz", 1, None, "There is no file gone.npz"),
    ("import gone.npz -o x.doc", 2, "-o", "(.npz)"),
    ("register gaps.npz -o x.npz", 1, None, IMPUTE),
    ("encode model.npz shapes.npz -o codes.txt", 2, "-o", ".csv"),
    ("encode shapes.npz model.npz -o c.csv", 1, None, "shapes.npz is a set of shapes, no model: the model that learn"),
    ("encode model.npz open.npz -o c.csv", 1, None, "is in Landmarks(n_points=16, closed=True): if they are outlines"),
    ("encode model.npz nine.npz -o c.csv", 1, None, "import these shapes with --like"),
    ("reconstruct model.npz codes.npz -o shapes.doc", 2, "-o", "(.npz)"),
    ("reconstruct model.npz codes.npz -o x.npz", 1, None, "is a file of codes, not of shapes: give the shapes that"),
    ("mean codes.csv -o x.npz", 1, None, "is a file of codes, not of shapes: give the shapes that"),
    ("mean codes.zarr -o x.npz", 1, None, "is a file of codes, not of shapes: give the shapes that"),
    ("mean gaps.npz -o x.npz", 1, None, IMPUTE),
    ("mean shapes.npz", 2, "--out", "-o"),
    ("mean gone.npz -o mean.doc", 2, "-o", "(.npz)"),
    ("mean shapes.npz -o shapes.npz", 1, None, "shapes.npz"),
    ("mean shapes.npz -o m.csv --width single", 2, "--width", "works only with --figure"),
    ("mean shapes.npz -o m.csv --no-lines", 2, "--no-lines", "works only with --figure"),
    ("distances gone.npz -o table", 2, "-o", ".csv"),
    ("distances gaps.npz -o x.csv", 1, None, IMPUTE),
    ("report model.npz shapes.npz -o page.pdf", 2, "-o", ".html"),
    ("report model.npz gaps.npz -o x.html", 1, None, IMPUTE),
    ("report model.npz shapes.npz -o x.html --by treatmen", 1, None, "did you mean 'treatment'"),
    ("report model.npz shapes.npz -o x.html --predictions none.csv", 1, None, "There is no file none.csv"),
    ("sequence model.npz shapes.npz -o s.csv --picture weights", 2, "--picture", "works only with --figure"),
    ("sequence model.npz shapes.npz -o s.csv --series 0", 2, "--series", "works only with --figure or --movie"),
    ("sequence model.npz shapes.npz -o s.csv --movie worm.avi", 2, "--movie", "must end in .gif or .mp4"),
    ("sequence model.npz shapes.npz -o s.csv --bouts b.txt", 2, "--bouts", "must end in .csv"),
    ("sequence model.npz shapes.npz -o s.csv --switch-cost -1", 2, "--switch-cost", "greater than or equal"),
    ("sequence model.npz shapes.npz -o a.csv --bouts ./a.csv", 2, "--bouts", "is the path of"),
    ("classify shapes.npz --by species", 2, "--by", "'species' is no column of the shapes, which have id, label"),
    ("classify shapes.npz --within garden", 2, "--within", "'garden' is no column"),
    ("classify shapes.npz --by id", 1, None, "fewer than 2 classes have 5 shapes or more"),
    ("classify shapes.npz -o c.csv", 2, "-o", "a classifier ends in .npz, got c.csv"),
    ("classify shapes.npz --no-test", 2, "--no-test", "needs -o"),
    ("classify shapes.npz --no-test -o c.npz --tested t.csv", 2, "--no-test", "leaves nothing for"),
    ("classify shapes.npz --tested shapes.npz", 2, "--tested", "must end in .csv"),
    ("classify shapes.npz --tested a.csv --misclassified a.csv", 2, "--misclassified", "is the path of"),
    ("classify shapes.npz shapes.npz", 2, "-o", "needs a table to write the predictions to"),
    ("classify shapes.npz shapes.npz -o p.csv", 1, None, "is a set of shapes, no classifier"),
    ("classify shapes.npz shapes.npz -o p.csv --by label", 2, "--by", "works without NEW only"),
    ("classify . shapes.npz -o p.csv", 1, None, "shapelex: "),
    (f"test specimens.npz {FEW}", 2, "--by", "give the column of the groups"),
    (f"test shapes.npz --by treatmen {FEW}", 2, "--by", "did you mean 'treatment'"),
    (f"test shapes.npz --by treatment --within plat {FEW}", 2, "--within", "value for --within: 'plat' is no column"),
    (f"test shapes.npz --by plate --within plate {FEW}", 2, "--within", "value for --within: is plate, as --by is"),
    (f"test shapes.npz --by dose {FEW}", 2, "--by", 'fractional numbers, no groups: test it as a covariate by --model'),
    (f"test shapes.npz --by treatment --model '~ dose' {FEW}", 1, None, "does not contain treatment"),
    (f"test shapes.npz --by id {FEW}", 1, "--by", "--by must have at least two shapes in each group, but 'cell 0', "),
    (f"test shapes.npz --by treatment --table t.txt {FEW}", 2, "--table", "for --table: t.txt must end in"),
    (f"test shapes.npz --by label --dictionary . {FEW}", 1, None, "."),
    ("test loop.csv --by label", 1, None, "shapelex: "),
    (f"test shapes.npz --by label {FEW} --force -o ''", 2, "-o", "needs the name of a folder"),
    (f"test shapes.npz --by label {FEW} --force --out=", 2, "-o", "needs the name of a folder"),
    ("info loop.csv", 1, None, "shapelex: "),
    ("info shapes.npz --log none/run.log", 1, None, "none"),
    ("methods own.csv", 1, None, "own.csv"),
    ("methods gone.csv", 1, None, "there is no file gone.csv"),
    ("methods loop.csv", 1, None, "loop.csv"),
    ("replay loop.csv", 1, None, "loop.csv"),
    ("formats tpss", 2, None, "morphologika"),
    ("reproduce --data nowhere", 1, None, "there is no folder nowhere"),
    ("reproduce --only 6", 2, "--only", "got 6"),
    ("reproduce --only ,", 2, "--only", "got nothing"),
    ("reproduce --seed -1", 2, "--seed", "--seed"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "status", "option", "message"), REFUSED)
def test_refused(files, monkeypatch, command, status, option, message):
    monkeypatch.chdir(files)
    before = sorted(files.rglob("*"))
    result = run(command)
    assert (result.exit_code, result.stdout if status == 2 else "") == (status, "")
    assert message in error_of(result)
    assert status == 2 or len(result.stderr.splitlines()) == 1
    found = run(f"{command} --json")
    printed = json.loads(found.stdout)
    assert (found.exit_code, found.stderr, set(printed)) == (status, "", KEYS)
    assert (printed["ok"], printed["result"], printed["outputs"]) == (False, None, [])
    assert set(printed["error"]) == {"kind", "message", "exit_code", "option", "traceback"}
    assert (printed["error"]["exit_code"], printed["error"]["option"]) == (status, option)
    assert sorted(files.rglob("*")) == before
