"""``--group``: replicates of one specimen are held out together."""

import numpy as np
import pandas as pd
import pytest

import shapelex as sx
from tests.cli.conftest import facts_of, lines_of, run


@pytest.fixture
def replicates(folder, shapes):
    """Four shapes of each of ten specimens, which a sheet names, in ``specimens.npz``."""
    rows = np.repeat(shapes.configurations[:10], 4, axis=0)
    rows = rows + 0.001 * np.random.default_rng(0).normal(size=rows.shape)
    sx.write(shapes.replace(configurations=rows), "all.npz")
    sheet = pd.DataFrame({"id": shapes.ids, "specimen": np.repeat([f"s{n}" for n in range(10)], 4)})
    sheet.to_csv("sheet.csv", index=False)
    lines_of(run("import", "all.npz", "-o", "specimens.npz", "--labels", "sheet.csv"))


COMPARE = ("compare", "specimens.npz", "--atoms", "8", "--nonzero", "1", "--method", "complex PCA", "--folds", "5")


def test_groups_of_a_joined_sheet_are_held_out_together(replicates):
    found = sx.read("specimens.npz")
    expected = sx.compare(
        found, ["complex PCA"], [1], n_atoms=8, cv=5, groups=found.metadata["specimen"], random_state=0
    )
    grouped, shuffled = (
        [row["rmse"] for row in facts_of(run(*COMPARE, *options, "--json"))["rows"] if row["split"] == "held out"]
        for options in (("--group", "specimen"), ("--shuffle",))
    )
    np.testing.assert_allclose(grouped, [row["rmse"] for row in expected.rows() if row["split"] == "held out"])
    # A shape that is held out alone has near copies among the others.
    assert np.mean(grouped) > 1.01 * np.mean(shuffled)
