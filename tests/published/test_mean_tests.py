"""Two-sample tests of mean shape, as R's package shapes computes them on its own data."""

import numpy as np
import pytest

import shapelex as sx

# Set, groups, Hotelling's F and its degrees of freedom, Goodall's F and its degrees of freedom, distance of the means.
PUBLISHED = [
    ("apes_8", ("gorf", "gorm"), "26.4704", (12, 46), "22.2423", (12, 684), "0.058664"),
    ("apes_8", ("pongof", "pongom"), "12.5282", (12, 41), "13.1861", (12, 624), "0.058661"),
    ("mice_vertebrae_6", ("s", "l"), "15.5234", (8, 37), "18.2851", (8, 352), "0.082448"),
    ("schizophrenia_13", ("con", "scz"), "0.83395", (22, 5), "1.8930", (22, 572), "0.038228"),
]


def as_printed(value: float, printed: str) -> str:
    return f"{value:.{len(printed.partition('.')[2])}f}"


def read_groups(folder, name, groups):
    shapes = sx.read(folder / f"{name}.npz")
    return [shapes[shapes.labels == group] for group in groups]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "groups", "hotelling", "hotelling_df", "goodall", "goodall_df", "rho"),
    PUBLISHED,
    ids=["gorillas", "orang-utans", "mice", "schizophrenia"],
)
def test_statistics_have_the_published_digits(
    data_folder, name, groups, hotelling, hotelling_df, goodall, goodall_df, rho
):
    test = sx.statistics.mean_test(*read_groups(data_folder, name, groups), permutations=0, bootstrap=0)
    assert as_printed(test.hotelling.F, hotelling) == hotelling
    assert test.hotelling.Df == hotelling_df
    assert as_printed(test.goodall.F, goodall) == goodall
    assert test.goodall.Df == goodall_df
    assert as_printed(test.distance, rho) == rho


@pytest.mark.realdata
def test_goodall_with_two_separate_means(data_folder):
    test = sx.statistics.mean_test(*read_groups(data_folder, "apes_8", ("gorf", "gorm")), permutations=0, bootstrap=0)
    assert as_printed(test.goodall_separate, "22.2857") == "22.2857"


@pytest.mark.realdata
def test_sexes_of_gorillas_differ_in_every_test_and_the_weak_set_does_not_by_hotelling(data_folder):
    gorillas = sx.statistics.mean_test(*read_groups(data_folder, "apes_8", ("gorf", "gorm")))
    assert [one.P for one in gorillas.tests] == [0.001] * 4
    assert [one.P_bootstrap for one in gorillas.tests] == [0.001] * 4
    weak = sx.statistics.mean_test(*read_groups(data_folder, "schizophrenia_13", ("con", "scz")))
    # Tables and permutations agree where the assumptions of the table do not matter.
    assert pytest.approx(weak.hotelling.P_table, abs=0.05) == weak.hotelling.P
    assert weak.hotelling.P > 0.5
    assert np.isnan(weak.james.F)
    assert "need 23 shapes" in weak.james.reason
