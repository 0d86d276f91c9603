import pytest

import shapelex as sx
from shapelex.report.words import list_settings
from tests.report.made_data import make_shapes

PENALTY = "times the mean squared distance from the atoms to their nearest shapes"


def settings_of(**options):
    options = {"n_atoms": 6, "n_nonzero": 3, "max_iter": 0, "random_state": 0, **options}
    return dict(list_settings(sx.ShapeDictionary(**options).fit(make_shapes(8))))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, f"0.2 (for small sets up to 0.5) {PENALTY}"),
        ({"tie": 0.35}, f"0.35 {PENALTY}"),
        ({"tie": 0}, "none"),
        ({"n_nonzero": 1}, "none"),
        ({"n_nonzero": 1, "tie": 0.1}, f"0.1 {PENALTY}"),
        ({"batch_size": 10}, "none"),
    ],
)
def test_penalty(options, words):
    assert settings_of(**options)["Penalty"] == words


def test_sparsities():
    assert settings_of(nested=True)["Sparsities"] == "nested: learned for 1, 2 and 3 per shape together"
    # There are 5 shapes per atom.
    assert settings_of()["Sparsities"] == settings_of(nested=False)["Sparsities"] == "learned for 3 per shape"
    assert settings_of(n_nonzero=1)["Sparsities"] == "learned for 1 per shape"


def test_search():
    assert settings_of(effort=4)["Search"] == "effort 4"
    assert settings_of(n_swaps=12)["Search"] == "12 swaps and crossovers"
    assert settings_of(init=make_shapes(8)[:6])["Search"] == "none"
    assert settings_of(batch_size=10)["Search"] == "none"
