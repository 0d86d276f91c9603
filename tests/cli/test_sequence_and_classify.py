"""``shapelex sequence`` and ``classify``: tables, figures, movies, states, folds and predictions."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, refused, run

SEQUENCE = "sequence model.npz worms.npz"


@pytest.fixture(scope="module")
def crawl():
    """Two worms of 18 frames, of which the second has a gap, and a dictionary."""
    worms = sx.datasets.make_worms(18, 2, 12, random_state=0)
    frames = worms.metadata["frame"] + 5 * ((worms.sequence == 1) & (worms.metadata["frame"] > 11))
    worms = worms.replace(metadata={"frame": frames, "fps": np.full(36, 20.0)})
    return worms, sx.ShapeDictionary(5, 2, random_state=0, tol=1e-2).fit(worms)


@pytest.fixture
def recorded(tmp_path, monkeypatch, crawl):
    """A folder with ``worms.npz`` and ``model.npz``."""
    worms, model = crawl
    monkeypatch.chdir(tmp_path)
    sx.write(worms, "worms.npz")
    model.save("model.npz")
    return tmp_path


@pytest.mark.parametrize("picture", ["weights", "kymograph", "transitions"])
def test_every_picture_is_drawn(recorded, picture):
    lines_of(run(f"{SEQUENCE} -o s.csv --switch-cost 0.01 --figure p.png --picture {picture}"))
    with Image.open("p.png") as image:
        assert len(image.convert("L").getcolors(1 << 16)) > 5
    assert run("replay", "p.png").stdout.startswith("shapelex sequence model.npz worms.npz")


def test_states_go_into_tables(recorded, crawl, monkeypatch):
    worms, model = crawl
    result = sx.sequences.encode_sequence(worms, model, switch_cost=0.001)
    states, asked = sx.sequences.find_states(result), []
    # Clusters take long, and are those of another test.
    monkeypatch.setattr(sx.sequences, "find_states", lambda _, method: (asked.append(method), states)[1])
    words = "--switch-cost 0.001 --states cluster --min-duration 3 --bouts b.csv --transitions t.csv --figure e.svg"
    shown = lines_of(run(f"{SEQUENCE} -o s.csv {words}"))
    assert asked == ["cluster"]
    for name, make in (("b.csv", sx.sequences.bouts), ("t.csv", sx.sequences.transitions)):
        expected = make(result, states, min_duration=3).astype(str)
        pd.testing.assert_frame_equal(pd.read_csv(name, keep_default_na=False, dtype=str), expected, check_dtype=False)
    assert f"states: {states.explanation}" in shown
    assert "wrote b.csv" in shown


def test_what_cannot_be_used_is_one_line(recorded, monkeypatch):
    refused(f"{SEQUENCE} -o o.csv --figure w.png --series 7", "There is no series 7: --series can be 0, 1.")
    (recorded / "b.csv").write_text("mine")
    refused(f"{SEQUENCE} -o o.csv --bouts b.csv", "b.csv exists")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    refused(f"{SEQUENCE} -o o.csv --movie worm.mp4", 'pip install "shapelex[sequences]"')
    assert not (recorded / "o.csv").exists()


@pytest.mark.usefixtures("recorded")
def test_the_movie_is_of_one_series_and_records_its_command():
    words = "--switch-cost 0.01 --figure=e.svg --bouts b.csv --movie w.gif --series=1"
    lines_of(run(f"{SEQUENCE} -o series.csv {words}"))
    with Image.open("w.gif") as movie:
        assert movie.n_frames == 18
        assert movie.info["duration"] == 50
    assert run("replay w.gif").stdout == run("replay b.csv").stdout
    assert run("replay b.csv").stdout.startswith("shapelex sequence model.npz worms.npz -o series.csv")


@pytest.fixture
def flowers(tmp_path, monkeypatch):
    """Landmarks of two species that differ, four of each of ten plants."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))
    species = np.repeat([0, 1], 20)
    Z = means[species] + 0.8 * (rng.normal(size=(40, 6)) + 1j * rng.normal(size=(40, 6)))
    metadata = {"species": np.array(["iris", "rose"])[species], "plant": np.repeat([f"p{n}" for n in range(10)], 4)}
    flowers = sx.ShapeSet(Z, sx.Landmarks(6), ids=[f"f{n}" for n in range(40)], metadata=metadata)
    monkeypatch.chdir(tmp_path)
    sx.write(flowers, "flowers.npz")
    return flowers


LEARN = "classify flowers.npz --by species --unit plant --cv 2"


def test_learns_tests_predicts_and_tells(flowers):
    result = run(f"{LEARN} -o c.npz --tested tested.csv --misclassified wrong.csv --figure c.png --json")
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
    assert json.loads(result.stdout)["outputs"] == ["tested.csv", "wrong.csv", "c.png", "c.npz"]

    predicted = facts_of(run("classify c.npz flowers.npz -o p.csv --json"))
    table, model = pd.read_csv("p.csv"), sx.load("c.npz")
    assert isinstance(model, sx.ShapeClassifier)
    assert table["predicted"].tolist() == model.predict(flowers).tolist()
    np.testing.assert_allclose(table[["p iris", "p rose"]], model.predict_proba(flowers))
    assert predicted["counts"] == table["predicted"].value_counts().to_dict()
    refused("classify c.npz -o x.csv", "the shapes whose classes it is to predict are missing", status=2)

    text = " ".join(run("methods tested.csv").stdout.split())
    assert "was trained to distinguish 2 classes of species from 40 shapes (random seed 0)" in text
    assert (
        "In a stratified cross-validation with 2 folds, in which all shapes of one of the values of plant were" in text
    )
    assert f"it assigned {100 * facts['accuracy']:.1f} % of the shapes to the right class" in text
    name, exponent = next(iter(facts["methods"].items()))
    assert f"{name}, {exponent:.2f}" in " ".join(run("methods c.npz").stdout.split())
