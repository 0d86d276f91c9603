"""``shapelex classify``: learning, testing by folds, predicting."""

import json

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from shapelex.selection import class_test
from shapelex.store.provenance import read_run
from tests.cli.conftest import facts_of, lines_of, run


@pytest.fixture(scope="module")
def flowers():
    """Landmarks of two species that differ, four of each of ten plants."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))
    species = np.repeat([0, 1], 20)
    Z = means[species] + 0.8 * (rng.normal(size=(40, 6)) + 1j * rng.normal(size=(40, 6)))
    metadata = {"species": np.array(["iris", "rose"])[species], "plant": np.repeat([f"p{n}" for n in range(10)], 4)}
    return sx.ShapeSet(Z, sx.Landmarks(6), ids=[f"f{n}" for n in range(40)], metadata=metadata)


@pytest.fixture
def garden(tmp_path, monkeypatch, flowers):
    monkeypatch.chdir(tmp_path)
    sx.write(flowers, "flowers.npz")
    return tmp_path


LEARN = ("classify", "flowers.npz", "--by", "species", "--within", "plant", "--folds", "2")


def test_learns_tests_and_predicts(garden, flowers):
    options = ("-o", "c.npz", "--tested", "tested.csv", "--misclassified", "wrong.csv", "--figure", "c.png", "--json")
    result = run(*LEARN, *options)
    facts = facts_of(result)
    tested, wrong = pd.read_csv("tested.csv"), pd.read_csv("wrong.csv")
    assert tested["id"].tolist() == flowers.ids.tolist()
    assert tested["class"].tolist() == flowers.metadata["species"].tolist()
    is_right = tested["class"] == tested["predicted"]
    assert facts["accuracy"] == pytest.approx(is_right.mean())
    assert facts["accuracy"] > 0.7
    by_fold = [is_right[tested["fold"] == fold].mean() for fold in (1, 2)]
    assert facts["standard_error"] == pytest.approx(abs(by_fold[0] - by_fold[1]) / 2)
    counts = pd.crosstab(tested["class"], tested["predicted"]).reindex(columns=["iris", "rose"], fill_value=0)
    assert facts["confusion"] == counts.to_numpy().tolist()
    assert wrong["id"].tolist() == tested["id"][~is_right].tolist()
    assert facts["classes"] == ["iris", "rose"]
    # A plant is in one fold only.
    assert (tested.groupby(flowers.metadata["plant"])["fold"].nunique() == 1).all()
    outputs = json.loads(result.stdout)["outputs"]
    assert outputs == ["tested.csv", "wrong.csv", "c.png", "c.npz"]

    predicted = facts_of(run("classify", "c.npz", "flowers.npz", "-o", "p.csv", "--json"))
    table, model = pd.read_csv("p.csv"), sx.load("c.npz")
    assert isinstance(model, sx.ShapeClassifier)
    assert table["predicted"].tolist() == model.predict(flowers).tolist()
    np.testing.assert_allclose(table[["p iris", "p rose"]], model.predict_proba(flowers))
    assert predicted["counts"] == table["predicted"].value_counts().to_dict()


def test_words_and_records(garden):
    lines = lines_of(run(*LEARN, "--misclassified", "wrong.csv"))
    assert lines[0].startswith("40 shapes of 2 classes, 2 folds: accuracy 0.")
    assert lines[1].split() == ["class", "iris", "rose"]
    assert lines[2].split()[0] == "iris"
    assert sum(map(int, lines[2].split()[1:] + lines[3].split()[1:])) == 40
    record = read_run("wrong.csv")
    assert record["command"].startswith("shapelex classify flowers.npz")


def test_small_classes_and_shapes_without_a_class_are_left_out(garden, flowers, monkeypatch):
    species = flowers.metadata["species"].astype(object)
    species[0], species[1] = "", "tulip"
    sx.write(flowers.replace(metadata={"species": species.astype(str)}), "flowers.npz", overwrite=True)
    seen = []

    def note(shapes, labels, groups, n_folds, seed, tell):
        seen.append((len(shapes), sorted(set(labels.tolist())), groups, n_folds, seed))
        return class_test.ClassTest(np.unique(labels), labels, labels, np.ones(len(labels)), np.arange(len(labels)) % 2)

    monkeypatch.setattr(class_test, "run_class_test", note)
    lines = lines_of(run("classify", "flowers.npz", "--by", "species", "--folds", "3", "--seed", "5"))
    assert lines[:2] == [
        "note: 1 of 40 shapes have no species, and are left out.",
        "note: 1 classes with fewer than 3 shapes are left out: tulip (1).",
    ]
    assert seen == [(38, ["iris", "rose"], None, 3, 5)]
    assert "accuracy 1.000 ± 0.000" in lines[2]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("flowers.npz",), 2, "'label' is no column of the shapes, which have id, species, plant"),
        (("flowers.npz", "--by", "species", "--within", "garden"), 2, "'garden' is no column"),
        (("flowers.npz", "--by", "id"), 1, "fewer than 2 classes have 5 shapes or more"),
        (("flowers.npz", "--by", "species", "-o", "c.csv"), 2, "a classifier ends in .npz, got c.csv"),
        (("flowers.npz", "--by", "species", "--no-test"), 2, "needs -o"),
        (("flowers.npz", "--by", "species", "--no-test", "-o", "c.npz", "--tested", "t.csv"), 2, "leaves nothing for"),
        (("flowers.npz", "flowers.npz"), 2, "needs a table to write the predictions to"),
        (("flowers.npz", "flowers.npz", "-o", "p.csv"), 1, "is a set of shapes, no classifier"),
        (("flowers.npz", "flowers.npz", "-o", "p.csv", "--by", "species"), 2, "works without NEW only"),
        (("flowers.npz", "--by", "species", "--tested", "flowers.npz"), 2, "must end in .csv"),
    ],
)
def test_wrong_usage_is_told(garden, words, status, message):
    result = run("classify", *words)
    assert result.exit_code == status
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_a_dictionary_is_no_classifier(garden, flowers):
    model = sx.ShapeDictionary(2, 1, space=flowers.space, coder="ormp", max_iter=2, tol=0.5, random_state=0)
    model.fit(flowers).save("model.npz")
    result = run("classify", "model.npz", "flowers.npz", "-o", "p.csv")
    assert result.exit_code == 1
    assert "holds a ShapeDictionary: this command needs a classifier" in result.stderr


def test_methods_tell_the_test_and_the_classifier(garden):
    facts = facts_of(run(*LEARN, "-o", "c.npz", "--tested", "tested.csv", "--json"))
    text = " ".join(run("methods", "tested.csv").stdout.split())
    assert "A classifier was learned to tell 2 classes of species apart from 40 shapes of flowers.npz (seed 0)" in text
    assert "In a stratified cross-validation of 2 folds, in which shapes with the same plant were held out" in text
    assert f"its accuracy was {facts['accuracy']:.3f} ± " in text
    name, exponent = next(iter(facts["methods"].items()))
    assert f"{name} ({exponent:.2f})" in " ".join(run("methods", "c.npz").stdout.split())
    forgotten = run("classify", "c.npz", "-o", "x.csv")
    assert forgotten.exit_code == 2
    assert "the shapes whose classes it is to predict are missing" in " ".join(
        forgotten.output.replace("│", " ").split()
    )


def test_misspelled_columns_are_suggested(garden):
    result = run("classify", "flowers.npz", "--by", "specie")
    assert result.exit_code == 2
    assert "did you mean 'species'" in " ".join(result.output.replace("│", " ").split())


def test_ids_that_are_not_unique_are_remarked_on(garden, flowers):
    ids = flowers.ids.copy()
    ids[[4, 9]] = "f3"
    sx.write(flowers.replace(ids=ids), "flowers.npz", overwrite=True)
    plain = run(*LEARN)
    assert "share their id" not in plain.output
    result = run(*LEARN, "--tested", "tested.csv", "--json")
    note = (
        "3 of 40 shapes share their id with another one, such as 'f3': ids do not tell the rows of the table apart, "
        "and shapelex report --predictions needs ids that differ."
    )
    assert note in json.loads(result.stdout)["remarks"]
    assert f"note: {note}" in lines_of(run(*LEARN, "--misclassified", "wrong.csv"))
