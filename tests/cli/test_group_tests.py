"""``shapelex test``: the sentence, the tables, the figures, and what is refused."""

import json
import re

import numpy as np
import pytest

import shapelex as sx
from shapelex.store.provenance import read_run
from tests.cli.conftest import facts_of, lines_of, run

pytest.importorskip("formulaic")
FEW = ("--permutations", 99)


@pytest.fixture
def cells(folder, shapes):
    """A set in which the treated shapes, and the animals, differ; two images of each animal, one without a label."""
    rng = np.random.default_rng(1)
    points = shapes.configurations.copy()
    treatment = np.repeat(["drug", "none"], 20)
    points[:20] += 0.15 * np.exp(-4j * np.pi * np.arange(16) / 16) * points[:20] / np.abs(points[:20])
    metadata = {
        "treatment": treatment,
        "animal": np.repeat(np.arange(20), 2),
        "plate": np.tile([1, 2], 20),
        "dose": rng.uniform(size=40),
    }
    labels = shapes.labels.copy()
    labels[3] = ""
    made = shapes.replace(configurations=points, metadata=metadata, labels=labels)
    sx.write(made, "cells.npz", command="shapelex import cells.tps -o cells.npz")
    return made


def test_one_sentence_comes_first_then_the_tables(cells):
    lines = lines_of(run("test", "cells.npz", "--by", "treatment", *FEW))
    assert lines[0].startswith("Shape differs between drug and none, at ")
    assert "P = 0.01 (99 permutations); the groups explain " in lines[0]
    text = "\n".join(lines)
    assert "shape ~ treatment: 40 shapes" in text
    assert "Distances between mean shapes, adjusted for sampling, with intervals of 95 %" in text
    assert "points of the outline differ between drug (20), none (20)" in text


def test_animals_are_permuted_where_each_has_one_treatment_and_images_within_them_else(cells):
    whole = run("test", "cells.npz", "--by", "treatment", "--within", "animal", *FEW)
    assert "99 permutations of 20 values of animal" in lines_of(whole)[0]
    inside = run("test", "cells.npz", "--by", "plate", "--within", "animal", *FEW)
    assert "99 permutations within animal" in lines_of(inside)[0]


def test_folder_has_tables_and_figures_with_their_records(ready, cells):
    result = run("test", "cells.npz", "--by", "label", "--dictionary", "model.npz", "-o", "found", *FEW)
    lines = lines_of(result)
    written = sorted(path.name for path in (ready / "found").iterdir())
    names = ["anova.csv", "atom_means.csv", "atoms.csv", "atoms.png", "effects.png", "means.png", "pairs.csv",
             "points.csv", "typical.png"]  # fmt: skip
    assert [name for name in written if not name.endswith(".json")] == names
    assert [line for line in lines if line.startswith("wrote found/")] != []
    record = read_run(ready / "found" / "atoms.png")
    assert record["earlier"] == ["shapelex import cells.tps -o cells.npz", "shapelex learn shapes.npz -o model.npz"]
    assert record["facts"]["dropped"] == {"3": "no label"}
    assert record["facts"]["n_used"] == 39
    assert {one["path"] for one in record["inputs"]} == {"cells.npz", "model.npz"}
    assert run("test", "cells.npz", "--by", "label", "-o", "found", *FEW).exit_code == 1
    assert run("test", "cells.npz", "--by", "label", "-o", "found", "--force", *FEW).exit_code == 0


def test_models_are_answered_by_term_and_draw_allometry(ready, cells):
    result = run("test", "cells.npz", "--by", "treatment", "--model", "~ log(size) + treatment", "-o", "out", *FEW)
    first = lines_of(result)[0]
    assert first.startswith("In the model shape ~ log(size) + treatment, ")
    assert "treatment (P = 0.01)" in first
    assert (ready / "out" / "allometry.png").exists()
    assert not (ready / "out" / "effects.png").exists()
    alone = lines_of(run("test", "cells.npz", "--model", "dose", *FEW))[0]
    assert alone.startswith("In the model shape ~ dose, dose (P = ")


def test_json_has_the_answer_and_all_tables(cells):
    facts = facts_of(run("test", "cells.npz", "--by", "treatment", "--json", *FEW))
    assert facts["answer"].startswith("Shape differs between drug and none")
    assert facts["n_used"] == 40
    assert [row["term"] for row in facts["tables"]["anova"]] == ["treatment", "residuals", "total"]
    assert facts["tables"]["anova"][2]["F"] is None
    assert len(facts["tables"]["points"]) == 16


def test_table_alone_is_written_and_replayed(ready, cells):
    assert run("test", "cells.npz", "--by", "treatment", "--table", "anova.csv", *FEW).exit_code == 0
    text = (ready / "anova.csv").read_text()
    assert text.startswith("term,Df,SS,MS,Rsq,F,P")
    again = run("replay", "anova.csv", "--run", "-o", "again.csv")
    assert again.exit_code == 0, again.output
    assert (ready / "again.csv").read_text() == text
    assert json.loads((ready / "anova.csv.json").read_text())["run"]["facts"]["formula"] == "shape ~ treatment"


def test_groups_of_one_shape_are_left_out_and_named(folder, shapes):
    sx.write(shapes.replace(labels=["a", "b"] * 19 + ["c", "d"]), "odd.npz")
    result = run("test", "odd.npz", "--by", "label", "-o", "odd", *FEW)
    first = lines_of(result)[0]
    assert first.startswith("note: 2 groups that are too small to be compared are left out")
    assert "label c has one shape, label d has one shape" in first
    facts = read_run(folder / "odd" / "anova.csv")["facts"]
    assert facts["dropped"] == {"38": "label c has one shape", "39": "label d has one shape"}
    assert facts["n_used"] == 38


def test_models_say_what_is_not_adjusted_and_name_the_column_of_within(ready, cells):
    words = ("--by", "treatment", "--model", "~ log(size) + treatment", "--within", "plate")
    text = " ".join(run("test", "cells.npz", *words, "--table", "t.csv", *FEW).stdout.split())
    told = "is of the groups of treatment alone: it is not adjusted for log(size)."
    assert told in text
    assert "Shapes were permuted within plate, for the terms: log(size), treatment." in text
    assert told in " ".join(run("methods", "t.csv").stdout.split())


def test_report_compares_the_groups_of_a_column(ready, cells):
    facts_of(
        run("report", "model.npz", "cells.npz", "-o", "page.html", "--by", "treatment", "--within", "animal", "--json")
    )
    text = re.search(
        r'id="shapelex-data">(.*?)</script>', (ready / "page.html").read_text(encoding="utf-8"), re.DOTALL
    )[1]
    tests = json.loads(text)["group_tests"]
    assert (tests["column"], tests["within"], tests["unit"]) == ("treatment", "animal", "strata")
