"""``shapelex test`` and ``methods``: sentences, tables, figures, a folder of the results of one run."""

import errno
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import openpyxl
import pytest

import shapelex as sx
from shapelex import plotting
from shapelex.cli.group_tests import RESULT_FILES
from shapelex.files.provenance import read_run
from tests.cli.conftest import facts_of, lines_of, needs_processes, refused, run
from tests.report.conftest import payload_of

TEST = "test cells.npz --permutations 19"
BY_LABEL = f"{TEST} --by label --dictionary model.npz -o found"
BY_PLATE = f"{TEST} --by plate -o found --force"
OF_ATOMS = {"atoms.csv", "atom_means.csv", "atoms.png", "typical.png"}


@pytest.fixture(scope="module")
def grouped(shapes):
    """A set in which the treated shapes, and the animals, differ; two images of each animal, one without a label."""
    points = shapes.configurations.copy()
    points[:20] += 0.15 * np.exp(-4j * np.pi * np.arange(16) / 16) * points[:20] / np.abs(points[:20])
    metadata = {
        "treatment": np.repeat(["drug", "none"], 20),
        "animal": np.repeat(np.arange(20), 2),
        "plate": np.tile([1, 2], 20),
        "dose": np.random.default_rng(1).uniform(size=40),
    }
    labels = shapes.labels.copy()
    labels[3] = ""
    return shapes.replace(configurations=points, metadata=metadata, labels=labels)


@pytest.fixture
def cells(ready, grouped):
    """A folder with ``cells.npz`` and ``model.npz``."""
    sx.write(grouped, "cells.npz", command="shapelex import cells.tps -o cells.npz")
    return ready


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def results_in(folder: Path) -> dict[str, str]:
    """Return the column whose groups each result compares, by the name of the file."""
    names = [name for name in RESULT_FILES if (folder / name).exists()]
    return {name: read_run(folder / name)["facts"]["by"] for name in names}


@pytest.mark.usefixtures("cells")
def test_means_of_animals_are_compared_and_what_varies_within_them_is_refused():
    found = run(f"{TEST} --by treatment --unit animal --dictionary model.npz")
    note, answer = lines_of(found)[:2]
    assert note == ("note: 40 shapes from 20 values of animal; values of animal are the independent units; --unit none "
                    "treats shapes as independent.")  # fmt: skip
    assert "19 permutations of 20 values of animal" in answer
    assert found.stdout.count("are the independent units") == 1
    refused(f"{TEST} --by plate --unit animal", "plate varies within 20 of 20 values of animal")
    assert "(19 permutations);" in lines_of(run(f"{TEST} --by plate --unit none"))[0]
    for option in ("--within", "--group"):
        refused(f"{TEST} --by plate {option} animal", f"{option} is now spelled --unit", status=2)


def test_one_sentence_comes_first_then_the_tables_and_a_table_alone_is_replayed(cells):
    command = "test cells.npz --by treatment --permutations 99"
    lines = lines_of(run(command))
    assert lines[0].startswith("Shape differs between drug and none, at ")
    assert "P = 0.01 (99 permutations); the groups explain " in lines[0]
    text = "\n".join(lines)
    assert "shape ~ treatment: 40 shapes" in text
    assert "Distances between mean shapes, adjusted for sampling, with intervals of 95 %" in text
    assert "points of the outline differ between drug (20), none (20)" in text
    facts = facts_of(run(f"{command} --json --table anova.csv"))
    assert facts["answer"] == lines[0]
    assert facts["n_used"] == 40
    assert [row["term"] for row in facts["tables"]["anova"]] == ["treatment", "residuals", "total"]
    assert facts["tables"]["anova"][2]["F"] is None
    assert len(facts["tables"]["points"]) == 16
    text = (cells / "anova.csv").read_text()
    assert text.startswith("term,Df,SS,MS,Rsq,F,P")
    assert read_run(cells / "anova.csv")["facts"]["formula"] == "shape ~ treatment"
    lines_of(run("report model.npz cells.npz -o page.html --by treatment --unit animal"))
    tests = payload_of(cells / "page.html")["group_tests"]
    assert (tests["column"], tests["unit"], tests["units"]) == ("treatment", "animal", "values of animal")
    same = facts_of(run("test cells.npz --by treatment --unit animal --json"))
    assert tests["shape"]["p"] == same["tables"]["anova"][0]["P"]


def test_folder_has_the_results_of_one_test_with_their_records(cells):
    found = cells / "found"
    lines = lines_of(run(BY_LABEL))
    names = ["anova.csv", "atom_means.csv", "atoms.csv", "atoms.png", "effects.png", "means.png", "pairs.csv",
             "points.csv", "typical.png"]  # fmt: skip
    assert sorted(name for name in names_in(found) if not name.endswith(".json")) == names
    assert [line for line in lines if line.startswith("wrote found/")] != []
    record = read_run(found / "atoms.png")
    assert record["earlier"] == ["shapelex import cells.tps -o cells.npz", "shapelex learn shapes.npz -o model.npz"]
    assert record["facts"]["dropped"] == {"3": "no label"}
    assert record["facts"]["n_used"] == 39
    assert {one["path"] for one in record["inputs"]} == {"cells.npz", "model.npz"}
    assert set(results_in(found)) >= OF_ATOMS
    before = {path: path.read_bytes() for path in found.iterdir()}
    refused(BY_LABEL, "--force")
    assert {path: path.read_bytes() for path in found.iterdir()} == before
    lines_of(run(BY_PLATE))
    assert set(results_in(found).values()) == {"plate"}
    # Every file is a result, or the record of one.
    assert names_in(found) == {one for name in results_in(found) for one in (name, f"{name}.json")}
    assert not OF_ATOMS & names_in(found)


def test_files_of_others_are_kept(cells):
    found = cells / "found"
    (found / "sub").mkdir(parents=True)
    lines_of(run("encode model.npz cells.npz -o found/atoms.csv"))
    mine = {"notes.txt": "mine", "typical.png": "mine too", "atom_means.csv": "as well", "atom_means.csv.json": "{"}
    for name, text in mine.items():
        (found / name).write_text(text)
    lines_of(run(BY_PLATE))
    assert {"atoms.csv", "atoms.csv.json", "sub"} <= names_in(found)
    assert {name: (found / name).read_text() for name in mine} == mine
    assert read_run(found / "atoms.csv")["command"].startswith("shapelex encode")


@pytest.mark.parametrize("is_new", [True, False])
def test_errors_leave_the_earlier_results(cells, monkeypatch, is_new):
    found = cells / "found"
    if not is_new:
        lines_of(run(BY_LABEL))
    before = {} if is_new else {path: path.is_dir() or path.read_bytes() for path in found.iterdir()}

    def fail(figure, path, **options):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(plotting, "save_figure", fail)
        refused(BY_PLATE, "shapelex: found: No space left on device.")
    assert found.exists() is not is_new
    if not is_new:
        assert {path: path.read_bytes() for path in found.iterdir()} == before
        (found / "pairs.csv").unlink()
        (found / "pairs.csv").mkdir()
        before = {path: path.is_dir() or path.read_bytes() for path in found.iterdir()}
        refused(BY_PLATE, "pairs.csv is a folder, where a result would go")
        assert {path: path.is_dir() or path.read_bytes() for path in found.iterdir()} == before


@needs_processes
@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_killed_tests_mix_nothing_and_the_next_one_cleans_up(cells):
    found = cells / "found"
    lines_of(run(BY_LABEL))
    # When the results are made; and when the earlier ones have left, before the new ones come in.
    for owner, moment, left in (("shapelex.plotting", "save_figure", {"label"}), ("shutil", "move", set())):
        code = f"""
import os, signal
import {owner}
from shapelex.cli.main import main
def die(*words, **options):
    os.kill(os.getpid(), signal.SIGKILL)
{owner}.{moment} = die
main()
"""
        killed = subprocess.run([sys.executable, "-c", code, *BY_PLATE.split()], check=False, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert set(results_in(found).values()) == left
    lines_of(run(BY_PLATE))
    assert set(results_in(found).values()) == {"plate"}
    assert not [name for name in names_in(found) if name.startswith(".")]


def test_models_are_answered_by_term_and_draw_allometry(cells):
    model = "--by treatment --formula '~ log(size) + treatment'"
    lines = lines_of(run(f"{TEST} {model} -o out --table t.csv --permutations 99"))
    assert lines[0].startswith("In the model shape ~ log(size) + treatment, ")
    assert "treatment (P = 0.0" in lines[0]
    assert (cells / "out" / "allometry.png").exists()
    assert not (cells / "out" / "effects.png").exists()
    text = " ".join(" ".join(lines).split())
    assert "is of the groups of treatment alone: it is not adjusted for log(size)." in text
    told = " ".join(run("methods t.csv").stdout.split())
    assert "this comparison was not adjusted for log(size)." in told
    assert "Allometry was described by the model shape ~ log(size) * treatment." in told
    alone = lines_of(run(f"{TEST} --formula dose"))[0]
    assert alone.startswith("In the model shape ~ dose, dose (P = ")


def test_interactions_have_pairs_and_a_workbook_has_all_tables(folder, shapes):
    columns = {"sex": ["f", "m"] * 20, "site": ["n"] * 20 + ["s"] * 20}
    sx.write(shapes.replace(labels=None, metadata=columns), "both.npz")
    words = "test both.npz --by sex --formula '~ sex * site' --permutations 99 --random-state 3"
    text = run(f"{words} --type 3 --table all.xlsx --figure means.pdf --width single").stdout
    assert "sums of squares of type III" in text
    assert "Distances between mean shapes of the combinations in sex:site; P corrected by the method of Holm." in text
    book = openpyxl.load_workbook("all.xlsx")
    assert book.sheetnames == ["anova", "pairs", "interactions", "points"]
    fit = sx.statistics.shape_lm("shape ~ sex * site", sx.read("both.npz"), permutations=99, random_state=3, type=3)
    # What a pair differs in is not in its null model.
    nulls = {(True, False): "shape ~ site", (False, True): "shape ~ sex", (True, True): "shape ~ 1"}
    wanted = {two: sx.statistics.pairwise(fit, ["sex", "site"], null=null).table for two, null in nulls.items()}
    header, *rows = book["interactions"].iter_rows(values_only=True)
    assert header == ("term", *wanted[True, True].columns)
    for place, row in enumerate(rows):
        (sex, site), (other_sex, other_site) = (name.split(".") for name in row[1:3])
        table = wanted[sex != other_sex, site != other_site]
        assert row[1:3] == (table["first"][place], table["second"][place])
        np.testing.assert_allclose(row[3:5], table.loc[place, ["d", "P"]].astype(float))
    assert min(row[5] for row in rows) == pytest.approx(6 * min(row[4] for row in rows))
    assert "1 pair of groups of sex and of 6 pairs of combinations in sex:site" in run("methods all.xlsx").stdout
    # A column of a journal is 85 mm wide.
    box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+)", Path("means.pdf").read_bytes())
    assert 70 < float(box[1]) * 25.4 / 72 < 86


def test_columns_whose_names_are_not_one_word(folder, shapes):
    columns = {"treatment (C)": ["f", "m"] * 20, "my site": ["n"] * 20 + ["s"] * 20}
    sx.write(shapes.replace(labels=None, metadata=columns), "words.npz")
    alone = facts_of(run("test words.npz --by 'treatment (C)' --permutations 19 --json"))
    assert "other_terms" not in alone
    words = "test words.npz --by 'treatment (C)' --permutations 19 --json --formula"
    both = facts_of(run(f"{words} '~ `treatment (C)` * `my site` + log(size)'"))
    assert both["other_terms"] == ["my site", "log(size)", "treatment (C):my site"]
    assert len(both["tables"]["interactions"]) == 6


def test_too_few_units_to_show_a_difference_are_no_result(folder, shapes):
    sx.write(
        shapes.replace(labels=["a"] * 20 + ["b"] * 20, metadata={"dish": [f"d{i // 7}" for i in range(40)]}), "d.npz"
    )
    rows = sx.read("d.npz")[[*range(14), *range(21, 35)]]
    sx.write(rows.replace(labels=["a"] * 14 + ["b"] * 14), "few.npz")
    lines = lines_of(run("test few.npz --by label --unit dish --permutations 99"))
    # Of the three divisions of four dishes in pairs, the present one is one: exchanging the groups changes nothing.
    assert lines[1].startswith("With only 4 values of dish, no difference in shape by label can be shown: P can hardly")
    assert (
        "Only 6 different divisions of the values of dish into these groups exist: P cannot be much below 0.33."
        in " ".join(lines)
    )
    assert "different permutations" not in " ".join(lines)


def test_too_few_permutations_for_the_number_of_pairs_are_told(folder, shapes):
    sx.write(shapes.replace(labels=list("abcde") * 8), "many.npz")
    note = "note: with 99 permutations no corrected P of 10 pairs can be 0.05 or less: use at least 199 permutations."
    assert note in " ".join(run("test many.npz --by label --permutations 99").stdout.split())
    assert "no corrected P" not in run("test many.npz --by label --permutations 199").stdout


def test_groups_of_one_shape_are_left_out_and_named(folder, shapes):
    sx.write(shapes.replace(labels=["a", "b"] * 19 + ["c", "d"]), "odd.npz")
    first = lines_of(run("test odd.npz --by label -o odd --permutations 19"))[0]
    assert first.startswith("note: 2 groups that are too small to be compared are left out")
    assert "label c has one shape, label d has one shape" in first
    facts = read_run(folder / "odd" / "anova.csv")["facts"]
    assert facts["dropped"] == {"38": "label c has one shape", "39": "label d has one shape"}
    assert facts["n_used"] == 38


def test_methods_tell_numbers_exclusions_settings_and_versions(folder, shapes):
    sx.write(shapes.replace(missing="allow"), "points.tps")
    lines_of(run("import points.tps -o cells.npz --closed"))
    labelled = sx.read("cells.npz").replace(labels=["a", "b"] * 19 + ["", ""])
    sx.write(labelled, "labelled.npz", command="shapelex import points.tps -o labelled.npz")
    lines_of(run("learn cells.npz -o model.npz --n-atoms 3 --n-nonzero 2 --random-state 4 --no-stability"))
    lines_of(run("test labelled.npz --by label --dictionary model.npz -o found --permutations 49"))
    text = "\n".join(lines_of(run("methods found/anova.csv model.npz")))
    for told in (
        "The data set comprised 40 closed outlines, each described by 16 points.",
        "A dictionary of 3 typical shapes (atoms) was learned that approximates each shape by a weighted sum of at "
        "most 2 of them",
        "random seed 4",
        "2 of 40 shapes were omitted (no label: 2).",
        "The model shape ~ label was tested by Procrustes analysis of variance (Goodall, 1991) with sums of squares of "
        "type I and 49 random permutations of residuals",
        f"shapelex {sx.__version__} (Python ",
        f"NumPy {np.__version__}",
        "Benjamini",
        "arXiv:1903.11356",
    ):
        assert told in text
    # Each step once, though both files have them; a paper names no files and no programs' notes.
    assert text.count("A dictionary of 3 typical shapes (atoms) was learned") == 1
    assert not re.search(r"\.(npz|tps|csv|png)|note", text)
    lines_of(run("methods found/anova.csv -o methods.md"))
    facts = facts_of(run("methods found/anova.csv --json"))
    assert facts["paragraph"] in (folder / "methods.md").read_text()
    assert [step["name"] for step in facts["steps"]] == ["import", "import", "learn", "test"]
    refused("methods found/anova.csv -o methods.md", "--force")
