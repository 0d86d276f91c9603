"""Findings in a set from its import to the test of its groups, the commands that mend it, and measures."""

import json

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from tests.checks.test_check import WING, changed, made
from tests.cli.conftest import facts_of, lines_of, refused, run


@pytest.fixture
def wings(tmp_path, monkeypatch):
    """A set of two groups, ``clean.npz``, and ``wings.npz``, in which six specimens are mirrored."""
    monkeypatch.chdir(tmp_path)
    clean = made(WING, labels=["f", "m"] * 20)
    rows = np.array(clean.configurations)
    rows[1::2, 2] += 0.02 * (rows[1::2, 2] - rows[1::2, 0])
    clean = clean.replace(configurations=rows)
    sx.write(clean, "clean.npz")
    sx.write(changed(clean, mirrored=([3, 5, 11, 20, 22, 31], np.conj)), "wings.npz")
    return clean


def test_mirrored_wings_are_named_by_every_command_and_flipped_by_the_one_that_check_names(wings):
    told = lines_of(run("check wings.npz"))
    assert told[0].startswith("mirrored: clearly closer to the mean when mirrored: 6 shapes (specimen 3, specimen 5, ")
    assert told[2] == "1 finding in 40 shapes"
    for command in ("import wings.npz -o again.npz", "test wings.npz --by label --permutations 99",
                    "learn wings.npz -o model.npz --n-atoms 2 --n-nonzero 1 --no-stability"):  # fmt: skip
        shown = lines_of(run(command))
        place = next(
            n for n, line in enumerate(shown) if line.startswith("check: clearly closer to the mean when mirrored")
        )
        assert shown[place + 1].startswith("shapelex check ")
    command = told[1].strip().removeprefix("shapelex ")
    assert any(line.startswith("note: 6 shapes mirrored: specimen 3") for line in lines_of(run(command)))
    flipped = sx.read("flipped.npz")
    np.testing.assert_allclose(sx.distance(flipped, wings.configurations), 0, atol=1e-7)
    assert lines_of(run("check flipped.npz")) == ["0 findings in 40 shapes"]
    bad, good = (
        facts_of(run(f"test {name} --by label --permutations 99 --json"))["tables"]["anova"][0]
        for name in ("wings.npz", "flipped.npz")
    )
    assert good["P"] <= 0.05 < bad["P"]


def test_the_table_of_findings_is_a_list_for_import(wings, everything_is_large):
    lines_of(run("check wings.npz --kind mirrored -o mirrored.csv"))
    table = pd.read_csv("mirrored.csv")
    assert table["id"].tolist() == [f"specimen {n}" for n in (3, 5, 11, 20, 22, 31)]
    assert set(table["kind"]) == {"mirrored"}
    lines_of(run("import wings.npz -o flipped.npz --flip mirrored.csv"))
    np.testing.assert_allclose(sx.distance(sx.read("flipped.npz"), wings.configurations), 0, atol=1e-7)
    lines_of(run("import", "wings.npz", "-o", "rest.npz", "--exclude", "specimen 3,specimen 5"))
    assert len(sx.read("rest.npz")) == 38
    refused("import wings.npz -o no.npz --flip nobody", "--flip nobody names no shape of these")
    refused("import wings.npz -o no.npz --flip nobody.csv", "There is no file nobody.csv")


def test_missing_values_that_were_written_as_numbers_are_marked(wings):
    rows = np.array(wings.configurations)
    rows[[1, 4], 2] = 0
    sx.write(wings.replace(configurations=rows), "zeros.npz")
    told = lines_of(run("check zeros.npz"))
    assert told[0].endswith("landmarks at exactly (0, 0), which may be missing ones: 2 shapes (specimen 1, specimen 4)")
    lines_of(run(told[1].strip().removeprefix("shapelex ")))
    assert sx.read("marked.npz", missing="allow").is_missing.sum() == 2


def test_findings_as_json(wings):
    (finding,) = facts_of(run("check wings.npz --json"))
    assert finding["kind"] == "mirrored"
    assert finding["ids"][0] == "specimen 3"
    assert finding["command"].startswith("shapelex import wings.npz -o flipped.npz --flip ")
    document = json.loads(run("import wings.npz -o again.npz --json").stdout)
    assert any("when mirrored: 6 shapes" in text for text in document["remarks"])


def test_measures_as_a_table_and_as_columns(folder):
    shown = lines_of(run("measure shapes.npz -o measures.csv"))
    assert "note: No scale is known: lengths are in the unit of the coordinates, such as pixels." in shown
    table = pd.read_csv("measures.csv", index_col="id")
    pd.testing.assert_frame_equal(table, sx.measure(sx.read("shapes.npz")))
    result = facts_of(run("measure shapes.npz -o measured.npz --add --json"))
    assert result["n_shapes"] == 40
    measured = sx.read("measured.npz")
    np.testing.assert_allclose(measured.metadata["solidity"], table["solidity"])
    assert "solidity" in facts_of(run('test measured.npz --formula "~ solidity" --json'))["answer"]
    lines_of(run("measure measured.npz -o twice.npz --add"))
    assert {"area", "measured_area"} <= set(sx.read("twice.npz").metadata)
    refused("measure shapes.npz -o measures.npz", "must end in .csv", 2)
