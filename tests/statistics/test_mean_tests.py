"""mean_test: invariances, P values, and input that cannot be tested."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapelex as sx


def make_groups(space, seed=0, n_first=15, n_second=12, effect=0.1):
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    base, change = draw(space.n_coordinates), draw(space.n_coordinates)
    first = base + 0.1 * draw(n_first, space.n_coordinates)
    return first, base + effect * change + 0.1 * draw(n_second, space.n_coordinates)


def test_result_is_symmetric_in_the_groups():
    groups = make_groups(sx.Landmarks(5))
    one, other = (sx.statistics.mean_test(*pair, permutations=9, bootstrap=0) for pair in (groups, groups[::-1]))
    assert [test.statistic for test in one.tests] == pytest.approx([test.statistic for test in other.tests])


def test_tests_of_a_curve_are_those_of_its_whitened_landmarks():
    """Only products count, so that the Gram matrix of the space is enough."""
    space = sx.HermiteSpline(3, closed=False)
    first, second = make_groups(space)
    found = sx.statistics.mean_test(sx.ShapeSet(first, space), sx.ShapeSet(second, space), bootstrap=99)
    whitened = [space.whiten(group) for group in (first, second)]
    # Whitened rows are no landmarks: their average is not 0, and it must not be removed.
    identity = sx.CustomSpace(np.eye(space.n_coordinates), space.whiten(second[0]) * 0 + _unit_shift(space))
    plain = sx.statistics.mean_test(*(sx.ShapeSet(group, identity) for group in whitened), bootstrap=99)
    for one, two in zip(found.tests, plain.tests, strict=True):
        assert one.statistic == pytest.approx(two.statistic)
        assert (one.P, one.P_bootstrap) == (two.P, two.P_bootstrap)


def _unit_shift(space):
    return space._unit_shift.view(np.complex128)


def test_a_difference_is_found_and_equal_groups_are_not():
    different = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), n_first=30, n_second=25, effect=0.3))
    assert all(one.P == 0.001 and one.P_bootstrap < 0.02 for one in different.tests)
    equal = sx.statistics.mean_test(*make_groups(sx.Landmarks(5), seed=3, n_first=30, n_second=25, effect=0))
    assert all(one.P > 0.1 and one.P_bootstrap > 0.1 for one in equal.tests)


def test_too_few_shapes_leave_out_tests_and_say_why():
    first, second = make_groups(sx.Landmarks(12), n_first=10, n_second=11)
    test = sx.statistics.mean_test(first, second, names=("small", "large"), bootstrap=9)
    assert np.isfinite(test.goodall.F)
    assert np.isnan([test.hotelling.F, test.james.statistic, test.lambda_min.P]).all()
    text = str(test)
    assert "small (10 shapes) and large (11 shapes)" in text
    assert "20 dimensions need 22 shapes in all, there are 21" in text
    enough = sx.statistics.mean_test(*make_groups(sx.Landmarks(12), n_first=11, n_second=11), bootstrap=0)
    assert enough.hotelling.Df == (20, 1)


def test_shapes_that_do_not_vary_in_all_dimensions_are_not_tested_by_hotelling():
    rng = np.random.default_rng(0)
    line = np.array([0, 1, 2, 3.0])
    flat = line + 0.1 * rng.normal(size=(20, 4))  # all points on a line
    test = sx.statistics.mean_test(flat[:10] + 0j, flat[10:] + 0j, bootstrap=9)
    assert "vary in" in test.hotelling.reason
    assert np.isfinite(test.goodall.P)


def test_incomplete_shapes_are_left_out_and_named():
    first, second = make_groups(sx.Landmarks(5))
    broken = first.copy()
    broken[2, 1] = np.nan
    with_missing = sx.statistics.mean_test(sx.ShapeSet(broken, missing="allow"), second, bootstrap=0)
    without = sx.statistics.mean_test(np.delete(first, 2, axis=0), second, bootstrap=0)
    assert with_missing.dropped == {2: "missing landmarks in a"}
    assert with_missing.n_used == 26
    assert pytest.approx(without.goodall.F) == with_missing.goodall.F
    assert "1 of 27 shapes left out" in str(with_missing)


def test_plot_draws_both_means_and_the_displacements():
    ax = sx.statistics.mean_test(*make_groups(sx.Landmarks(6)), bootstrap=0).plot(Figure().subplots())
    assert len(ax.lines) == 2
    assert len(ax.collections) == 1
