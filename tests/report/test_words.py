import shapelex as sx
from shapelex.report.words import list_settings
from tests.report.made_data import make_shapes


def settings_of(**options):
    options = {"n_atoms": 6, "n_nonzero": 3, "max_iter": 0, "random_state": 0, **options}
    return dict(list_settings(sx.ShapeDictionary(**options).fit(make_shapes(8))))


def test_search():
    assert settings_of(effort=4)["Search"] == "effort 4"
    assert settings_of(n_swaps=12)["Search"] == "12 swaps of atoms"
    assert settings_of()["Search"] == "none"
    assert settings_of(batch_size=10)["Search"] == "none"
