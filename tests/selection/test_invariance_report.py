import numpy as np
import pytest

import shapelex as sx
from tests.test_imputation import family

POSE = ["rotation", "scale", "translation"]
RENUMBERED = ["start point", "direction"]


def effects(report):
    return {effect.change: effect for effect in report.effects}


def test_closed_outlines(rng):
    X = family(rng, 20, n_points=40)
    space = sx.Landmarks(40, closed=True)
    report = sx.invariance_report(X, space)
    found = effects(report)
    for change in POSE:
        assert found[change].is_nothing(report.tol)
        assert found[change].rmse == pytest.approx(report.rmse, abs=1e-6)
        assert f"- {change}: nothing changes" in str(report)
    for change in RENUMBERED:
        assert found[change].to_itself > 0.1
        assert found[change].between_shapes > 0.1
        assert found[change].rmse > 1.5 * report.rmse
        assert found[change].to_itself_registered < 1e-9
        assert found[change].rmse_registered == pytest.approx(report.rmse_registered, abs=1e-6)
        line = next(line for line in str(report).splitlines() if line.startswith(f"- {change}:"))
        assert line.endswith("After register nothing changes.")
    assert 0 < found["other points on the same curve"].to_itself < found["start point"].to_itself
    assert not found["mirror image"].is_nothing(report.tol)


@pytest.mark.parametrize("space", [sx.BSpline(12), sx.HermiteSpline(8, closed=True)], ids=repr)
def test_closed_splines(rng, space):
    report = sx.invariance_report(space.fit(family(rng, 12, n_points=100)), space)
    assert len(report.effects) == 8
    assert all(effects(report)[change].is_nothing(report.tol) for change in POSE)
    assert effects(report)["start point"].to_itself_registered < 1e-9


def test_open_curves_and_spaces_without_points(rng):
    report = sx.invariance_report(family(rng, 10))
    assert "start point" not in effects(report)
    assert all(effect.to_itself_registered is None for effect in report.effects)
    gram = np.diag(np.arange(1.0, 6.0))
    custom = sx.invariance_report(rng.normal(size=(9, 5, 2)), sx.CustomSpace(gram, np.ones(5)))
    assert list(effects(custom)) == [*POSE, "mirror image"]


def test_draws_from_large_sets_and_repeats(rng):
    X = family(rng, 50)
    first, second = (sx.invariance_report(X, max_shapes=10) for _ in range(2))
    assert first.n_shapes == 10
    assert str(first) == str(second)
    with pytest.raises(ValueError, match="at least 3 shapes"):
        sx.invariance_report(X[:2])


def test_codes_that_are_not_unique_are_not_blamed(rng):
    t = np.exp(2j * np.pi * np.arange(40) / 40)
    plane = t + np.linspace(0.1, 0.3, 12)[:, None] / t**2  # three atoms, but two dimensions
    report = sx.invariance_report(plane, sx.Landmarks(40, closed=True))
    assert all(effects(report)[change].is_nothing(report.tol) for change in POSE)
